"""Which server a model name resolves to, with which key, and the errors for missing ones."""

from __future__ import annotations

import importlib.util

import pytest

from branchline.context import ModelRef
from branchline.errors import AuthMissing, UnknownModel
from branchline.models import ModelRegistry, model_by_name, model_name
from branchline.models.providers import KNOWN_PROVIDERS
from branchline.settings import ProviderSettings, Settings
from models.kit import answer_of, asks, broken, events_of
from models.server import refuses, says, serving
from models.test_anthropic import WHOLE


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    """Keys that no test may send anywhere but to their own provider."""
    for known in KNOWN_PROVIDERS:
        for variable in known.variables:
            monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "not-for-you")
    monkeypatch.setenv("OPENAI_API_KEY", "not-for-you")


@pytest.fixture
def server():
    with serving() as server:
        server.will(says("hello"))
        yield server


def own(server, **more):
    return {"gateway": ProviderSettings(base_url=server.url, **more)}


@pytest.mark.parametrize("name", ["anthropic:claude-sonnet-5", "groq:llama", "openrouter:x/y", "google:g"])
def test_a_name_with_a_provider_never_goes_to_the_base_url(server, name):
    models = ModelRegistry(base_url=server.url, environment={"BRANCHLINE_API_KEY": "secret"})

    with pytest.raises((AuthMissing, UnknownModel)):
        models.find(name)  # what that provider itself lacks

    assert models.has_own_server(name)
    assert server.requests == []


@pytest.mark.parametrize("name", ["anthropic:claude-sonnet-5", "openai:gpt-5", "mistral:7b", "offline:echo"])
def test_a_base_url_beside_a_provider_with_its_own_server_is_refused(name):
    with pytest.raises(ValueError, match=f"write openai-compatible:{name}"):
        model_by_name(name, base_url="http://localhost:1/v1")


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("qwen2.5:7b", "qwen2.5:7b"),
        ("openai/gpt-oss-20b", "openai/gpt-oss-20b"),
        ("plain", "plain"),
        ("openai-compatible:mistral:7b", "mistral:7b"),
        ("ollama:qwen3:8b", "qwen3:8b"),
    ],
)
def test_other_names_are_models_of_the_base_url(server, name, model):
    found = ModelRegistry(base_url=server.url, environment={}).find(name)
    events_of(found, asks("hi"))

    assert model_name(found) == (name if name.startswith("ollama") else f"openai-compatible:{model}")
    assert server.requests[0]["model"] == model
    assert "not-for-you" not in str(server.headers)


@pytest.mark.parametrize(
    ("api_key_env", "environment", "sent"),
    [
        (None, {}, "Bearer none"),
        (None, {"BRANCHLINE_API_KEY": "k1"}, "Bearer k1"),
        ("GPU_KEY", {"BRANCHLINE_API_KEY": "k1", "GPU_KEY": "k2"}, "Bearer k2"),
    ],
)
def test_the_key_of_the_base_url_comes_from_the_named_variable_or_from_ours(
    server, api_key_env, environment, sent
):
    models = ModelRegistry(base_url=server.url, api_key_env=api_key_env, environment=environment)

    events_of(models.find("m"), asks("hi"))

    assert server.headers[0]["authorization"] == sent


def test_the_variable_of_one_server_is_not_used_for_another(server):
    settings = Settings(base_url="https://elsewhere.example/v1", api_key_env="ELSEWHERE_KEY")

    model = ModelRegistry.from_settings(settings, base_url=server.url).find("m")
    events_of(model, asks("hi"))

    assert server.headers[0]["authorization"] == "Bearer none"
    with pytest.raises(AuthMissing, match="set ELSEWHERE_KEY"):
        ModelRegistry.from_settings(settings).find("m")


def test_a_provider_of_the_settings_is_asked_with_its_key_and_headers(server):
    providers = own(server, api_key_env="GATEWAY_KEY", headers={"X-Team": "tree"})
    models = ModelRegistry(providers=providers, environment={"GATEWAY_KEY": "k"})

    answer = answer_of(events_of(models.find("gateway:big/model"), asks("hi")))
    events_of(models.find_reference(ModelRef(provider="gateway", id="big/model")), asks("again"))

    assert (answer.provider, answer.model, answer.api) == ("gateway", "big/model", "openai-completions")
    assert [sent["model"] for sent in server.requests] == ["big/model", "big/model"]
    assert server.headers[0]["authorization"] == "Bearer k"
    assert server.headers[0]["x-team"] == "tree"


def test_a_provider_of_the_settings_can_speak_the_protocol_of_anthropic(server):
    server.will(WHOLE)
    providers = {
        "proxy": ProviderSettings(
            base_url=server.url.removesuffix("/v1"), api_key_env="PROXY_KEY", api="anthropic-messages"
        )
    }
    models = ModelRegistry(providers=providers, environment={"PROXY_KEY": "k"})

    answer = answer_of(events_of(models.find("proxy:claude-sonnet-5"), asks("hi")))

    assert (answer.provider, answer.api) == ("proxy", "anthropic-messages")
    assert server.headers[0]["authorization"] == "Bearer k"
    assert "not-for-you" not in str(server.headers)


def test_a_provider_of_the_settings_takes_the_place_of_a_known_one(server):
    """A proxy for a known provider is asked at its own address, and only there."""
    providers = {"openai": ProviderSettings(base_url=server.url, api_key_env="PROXY_KEY")}

    model = ModelRegistry(providers=providers, environment={"PROXY_KEY": "k"}).find("openai:gpt-5")
    events_of(model, asks("hi"))

    assert server.headers[0]["authorization"] == "Bearer k"


def test_what_is_missing_is_named(server):
    models = ModelRegistry(providers=own(server, api_key_env="GATEWAY_KEY"), environment={})

    with pytest.raises(AuthMissing, match="gateway:m needs an API key: set GATEWAY_KEY"):
        models.find("gateway:m")
    with pytest.raises(UnknownModel, match="--base-url or the setting base_url"):
        models.find("openai-compatible:m")
    with pytest.raises(UnknownModel, match="set OLLAMA_BASE_URL"):
        models.find("ollama:qwen3")


def test_a_key_in_the_place_of_a_variable_is_refused_and_not_repeated(server):
    models = ModelRegistry(base_url=server.url, api_key_env="sk-fake-" + "q" * 20, environment={})

    with pytest.raises(AuthMissing, match="the name of an environment variable") as caught:
        models.find("m")

    assert "qqqq" not in str(caught.value)
    assert "qqqq" not in str(models.statuses())


@pytest.mark.parametrize(
    ("name", "environment", "words"),
    [
        ("gateway:m", {"GATEWAY_KEY": "wrong"}, "check GATEWAY_KEY"),
        ("open:m", {}, "api_key_env under [providers.open] names its variable"),
        ("m", {}, "set BRANCHLINE_API_KEY, or name its variable with --api-key-env"),
        ("m", {"BRANCHLINE_API_KEY": "wrong"}, "check BRANCHLINE_API_KEY"),
    ],
)
def test_a_refused_key_says_which_variable_to_look_at(server, name, environment, words):
    server.will(refuses(401, {"message": "no such key"}))
    providers = own(server, api_key_env="GATEWAY_KEY") | {"open": ProviderSettings(base_url=server.url)}
    models = ModelRegistry(providers=providers, base_url=server.url, environment=environment)

    _events, problem = broken(models.find(name), asks("hi"))

    assert isinstance(problem, AuthMissing)
    assert words in str(problem)


def test_the_list_says_what_is_ready_and_what_the_others_need(server):
    providers = own(server, api_key_env="GATEWAY_KEY", models=("qwen3",)) | {
        "open": ProviderSettings(base_url=server.url)
    }
    environment = {"ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}

    found = {
        one.name: one
        for one in ModelRegistry(
            providers=providers, base_url="http://localhost:1/v1", environment=environment
        ).statuses()
    }

    assert [name for name, one in found.items() if one.ready] == [
        "offline",
        "open",
        "openai-compatible",
        "anthropic",
        "google",
    ]
    assert (found["gateway"].needs, found["gateway"].models) == ("set GATEWAY_KEY", ("qwen3",))
    assert found["openai"].needs == "set OPENAI_API_KEY"
    assert "claude-sonnet-5" in found["anthropic"].models
    assert server.requests == []


def test_without_the_extra_every_provider_but_the_offline_one_needs_it(monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "pydantic_ai" else real(name)
    )

    offline, *others = ModelRegistry(environment={}).statuses()

    assert offline.ready
    assert all(
        (one.needs or "").startswith("in a checkout of branchline: pip install '.[chat]', then")
        for one in others
    )


@pytest.mark.parametrize("known", KNOWN_PROVIDERS, ids=lambda known: known.name)
def test_the_table_of_known_providers_says_what_pydantic_ai_wants(known, monkeypatch):
    """Without its variable each is refused for it (or for its library); with it, it can be made."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    installed = importlib.util.find_spec(known.library.partition(".")[0]) is not None
    wanted = f"set {known.variables[0]}" if installed else f"pydantic-ai-slim\\[{known.extra}\\]"

    with pytest.raises((AuthMissing, UnknownModel), match=wanted):
        model_by_name(f"{known.name}:a/model")

    for variable in known.variables if installed else ():
        monkeypatch.setenv(variable, "http://localhost:1/v1")
        assert model_name(model_by_name(f"{known.name}:a/model")) == f"{known.name}:a/model"
        monkeypatch.delenv(variable)
