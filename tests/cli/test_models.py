"""``branchline models``, and which server ``branchline chat`` asks with which key."""

from __future__ import annotations

import pytest

from branchline.models.providers import KNOWN_PROVIDERS
from models.server import refuses, says, serving
from models.test_anthropic import WHOLE


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for known in KNOWN_PROVIDERS:
        for variable in known.variables:
            monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def server():
    with serving() as server:
        server.will(says("hello"))
        yield server


@pytest.fixture
def settings(world):
    """Write the file of settings."""

    def write(text: str) -> None:
        file = world.parent / "home" / "config.toml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)

    return write


def test_a_provider_is_asked_at_its_own_address_whatever_the_base_url_is(run, server, settings):
    settings(f'base_url = "{server.url}"\n')

    done = run("chat", "-p", "hi", "--model", "anthropic:claude-sonnet-5", code=1)

    assert "set ANTHROPIC_API_KEY" in done.stderr
    assert server.requests == []


def test_a_base_url_beside_the_model_of_another_provider_is_a_usage_error(run, server, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-for-you")

    done = run("chat", "-p", "hi", "--model", "anthropic:claude-sonnet-5", "--base-url", server.url, code=2)

    assert "has a server of its own" in done.stderr
    assert "use openai-compatible:anthropic:claude-sonnet-5" in done.stderr
    assert server.requests == []


@pytest.mark.parametrize("way", ["option", "setting", "variable"])
def test_the_key_of_a_server_that_is_given_by_its_address(run, server, settings, monkeypatch, way):
    monkeypatch.setenv("GPU_KEY", "k1")
    options = ["--api-key-env", "GPU_KEY"] if way == "option" else []
    if way == "setting":
        settings(f'base_url = "{server.url}"\napi_key_env = "GPU_KEY"\n')
    if way == "variable":
        monkeypatch.setenv("BRANCHLINE_API_KEY", "k1")

    done = run("chat", "-p", "hi", "--model", "qwen2.5:7b", "--base-url", server.url, *options)

    assert done.stdout == "hello\n"
    assert server.headers[0]["authorization"] == "Bearer k1"
    assert server.requests[0]["model"] == "qwen2.5:7b"


def test_a_server_that_wants_a_key_and_got_none_says_what_to_set(run, server):
    server.will(refuses(401, {"message": "who are you?"}))

    done = run("chat", "-p", "hi", "--model", "m", "--base-url", server.url, code=1)

    assert "who are you?; it was sent no API key: set BRANCHLINE_API_KEY" in done.stderr


def test_a_variable_that_is_not_set_is_named_before_anything_is_sent(run, server):
    done = run(
        "chat", "-p", "hi", "--model", "m", "--base-url", server.url, "--api-key-env", "NOT_SET", code=1
    )

    assert f"the server at {server.url} needs an API key: set NOT_SET" in done.stderr
    assert server.requests == []


def test_a_named_provider_is_used_and_found_again_when_the_session_goes_on(
    run, server, settings, monkeypatch
):
    settings(
        f'[providers.gateway]\nbase_url = "{server.url}"\napi_key_env = "GATEWAY_KEY"\n'
        'models = ["qwen3"]\nheaders = { "X-Team" = "tree" }\n'
    )
    assert (
        "gateway:qwen3 needs an API key: set GATEWAY_KEY"
        in run("chat", "-p", "hi", "--model", "gateway:qwen3", code=1).stderr
    )
    monkeypatch.setenv("GATEWAY_KEY", "k")

    run("chat", "-p", "hi", "--model", "gateway:qwen3")
    again = run("chat", "--continue", "-p", "and again")

    assert again.stdout == "hello\n"
    assert [sent["model"] for sent in server.requests] == ["qwen3", "qwen3"]
    assert {sent["authorization"] for sent in server.headers} == {"Bearer k"}
    assert {sent["x-team"] for sent in server.headers} == {"tree"}


def test_a_named_provider_that_speaks_the_protocol_of_anthropic(run, server, settings, monkeypatch):
    server.will(WHOLE)
    monkeypatch.setenv("PROXY_KEY", "k")
    settings(
        f'[providers.proxy]\nbase_url = "{server.url.removesuffix("/v1")}"\napi = "anthropic-messages"\n'
        'api_key_env = "PROXY_KEY"\n'
    )

    done = run("chat", "-p", "hi", "--model", "proxy:claude-sonnet-5", "--json")

    assert '"model": "proxy:claude-sonnet-5"' in done.stdout
    assert server.requests[0]["model"] == "claude-sonnet-5"


def test_the_list_says_what_can_be_used_first_and_what_the_others_need(run, data, settings, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    settings(
        'model = "gateway:a"\n[providers.gateway]\nbase_url = "http://localhost:1/v1"\n'
        'api_key_env = "GATEWAY_KEY"\nmodels = ["a", "b", "c", "d"]\nheaders = { "X-Secret" = "hidden" }\n'
    )

    listed = run("models")
    found = {one["name"]: one for one in data("models")["providers"]}

    names = [line.split()[0] for line in listed.stdout.splitlines()]
    assert names[:2] == ["offline", "openai"]
    assert "set GATEWAY_KEY" in listed.stdout
    assert "the model of new chats: gateway:a" in listed.stderr
    assert found["gateway"]["needs"] == "set GATEWAY_KEY"
    assert found["gateway"]["models"] == ["a", "b", "c", "d"]
    assert found["openai"] | {"models": []} == {
        "name": "openai",
        "ready": True,
        "needs": None,
        "base_url": None,
        "api_key_env": "OPENAI_API_KEY",
        "models": [],
    }
    assert "hidden" not in listed.output
    monkeypatch.setenv("GATEWAY_KEY", "k")
    assert run("models", "gateway").stdout.split() == ["gateway:a", "gateway:b", "gateway:c", "gateway:d"]
    assert "unknown provider 'nobody'" in run("models", "nobody", code=2).stderr
