"""Models by name, and the errors for unknown ones."""

import subprocess
import sys

import pytest

from branchline.context import ModelRef
from branchline.errors import AuthMissing, UnknownModel
from branchline.models import ModelRegistry, OfflineModel, model_by_name, model_by_reference, model_name


def test_without_a_name_it_is_the_offline_model():
    assert isinstance(model_by_name(), OfflineModel)
    assert model_name(model_by_name()) == "offline:echo"


@pytest.mark.parametrize("name", ["offline/parrot", "offline:parrot"])
def test_the_model_of_the_settings_may_be_written_as_lists_write_it(name):
    assert model_name(ModelRegistry().find(name)) == "offline:parrot"
    assert model_name(ModelRegistry(base_url="http://localhost:1/v1").find(name)) == "offline:parrot"


def test_a_model_comes_back_from_what_a_path_says():
    model = model_by_reference(ModelRef(provider="offline", id="parrot"))

    assert model_name(model) == "offline:parrot"


@pytest.mark.parametrize("name", ["plain", "openai:", ":x", ""])
def test_a_name_without_a_provider_or_a_model_is_refused_with_an_example(name):
    with pytest.raises(UnknownModel, match="provider:model"):
        model_by_name(name)


def test_an_unknown_provider_is_said_to_be_unknown():
    with pytest.raises(UnknownModel, match="unknown model nosuch:thing"):
        model_by_name("nosuch:thing")


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("anthropic:claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
        ("openai:gpt-5", "OPENAI_API_KEY"),
        ("google:gemini-2.5-pro", "GOOGLE_API_KEY"),
    ],
)
def test_a_missing_key_is_named(name, variable, monkeypatch):
    for key in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(key, raising=False)

    with pytest.raises(AuthMissing, match=f"set {variable}"):
        model_by_name(name)


def test_a_missing_client_library_is_named():
    with pytest.raises(UnknownModel, match=r"pip install 'pydantic-ai-slim\[groq\]'"):
        model_by_name("groq:llama-3.3-70b")


@pytest.mark.parametrize(
    ("name", "api", "window"),
    [
        ("anthropic:claude-sonnet-4-5", "anthropic-messages", True),
        ("openai:gpt-5", "openai-responses", True),
        ("openai-chat:gpt-5", "openai-completions", True),
        ("google:gemini-2.5-pro", "google-generative-ai", False),
    ],
)
def test_with_a_key_the_model_knows_its_protocol_and_mostly_its_window(name, api, window):
    model = model_by_name(name, api_key="not-a-key")

    assert model.api == api
    assert (model.context_window is not None) is window
    assert model_name(model) == name
    assert model_by_name(name, api_key="not-a-key", context_window=5).context_window == 5


def test_without_the_extra_the_sentence_names_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)

    with pytest.raises(UnknownModel, match=r"pip install '\.\[chat\]'"):
        model_by_name("openai:gpt-5")


def test_pydantic_ai_is_not_loaded_before_a_model_needs_it():
    code = (
        "import sys, branchline, branchline.models\n"
        "branchline.models.model_by_name()\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & {'pydantic', 'pydantic_ai', 'openai'}))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
