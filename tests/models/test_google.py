"""Google's API over HTTP: thought signatures, a tool call, usage, errors, an interrupted stream."""

from __future__ import annotations

import json

import pytest

from branchline.entries import Text, Thinking, ToolCall, ToolResult, UserMessage
from branchline.errors import AuthMissing, MalformedStream, ModelError, NetworkFailure, RateLimited
from branchline.models import COUNT_WORDS, ModelRegistry, ModelRequest, TextDelta, ThinkingDelta
from branchline.settings import ProviderSettings
from models.kit import answer_of, asks, broken, events_of
from models.server import refuses, serving, stream

MODEL = "gemini-3-pro"
SIGNATURE = "c2lnbmVk"


def chunk(*parts, finish=None, usage=None):
    """One event, as `:streamGenerateContent?alt=sse` sends them."""
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    body = {"candidates": [candidate], "modelVersion": MODEL, "responseId": "resp-1"}
    if usage:
        body["usageMetadata"] = usage
    return f"data: {json.dumps(body)}\r\n\r\n".encode()


USAGE = {
    "promptTokenCount": 100,
    "cachedContentTokenCount": 40,
    "candidatesTokenCount": 7,
    "thoughtsTokenCount": 5,
    "totalTokenCount": 112,
}
THOUGHT = chunk({"text": "Words are counted.", "thought": True})
SAID = [chunk({"text": "Let me "}), chunk({"text": "count."})]
CALL = {"functionCall": {"name": "count_words", "args": {"text": "a b"}}, "thoughtSignature": SIGNATURE}


@pytest.fixture
def server():
    with serving() as server:
        yield server


def model_of(server, monkeypatch):
    """The model of a provider of the settings, with its key in a variable."""
    monkeypatch.setenv("GATEWAY_KEY", "key-for-tests")
    own = ProviderSettings(
        base_url=server.url.removesuffix("/v1"), api_key_env="GATEWAY_KEY", api="google-generative-ai"
    )
    return ModelRegistry(providers={"gateway": own}).find(f"gateway:{MODEL}")


def test_a_thought_a_text_and_a_call_come_with_usage_and_go_back_with_the_signature(server, monkeypatch):
    server.will(stream(THOUGHT, *SAID, chunk(CALL, finish="STOP", usage=USAGE)))
    model = model_of(server, monkeypatch)

    events = events_of(model, asks("Count.", tools=(COUNT_WORDS,), thinking_level="high"))
    answer = answer_of(events)

    assert "".join(event.text for event in events if isinstance(event, ThinkingDelta)) == "Words are counted."
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Let me count."
    thought, text, call = answer.content
    assert isinstance(thought, Thinking)
    assert isinstance(text, Text)
    assert isinstance(call, ToolCall)
    assert (call.name, call.arguments, call.thought_signature) == ("count_words", {"text": "a b"}, SIGNATURE)
    assert (answer.api, answer.stop_reason) == ("google-generative-ai", "toolUse")
    assert (answer.usage.input, answer.usage.cache_read, answer.usage.output) == (60, 40, 12)
    assert server.headers[0]["x-goog-api-key"] == "key-for-tests"
    assert server.requests[0]["tools"][0]["functionDeclarations"][0]["name"] == "count_words"

    server.will(stream(chunk({"text": "Two."}, finish="STOP", usage=USAGE)))
    result = ToolResult(tool_call_id=call.id, tool_name=call.name, content=(Text(text="2"),))
    history = (UserMessage(content="Count."), answer, result)
    events_of(model, ModelRequest(messages=history, tools=(COUNT_WORDS,)))

    _, model_turn, reply = server.requests[1]["contents"]
    assert model_turn["parts"][-1]["thoughtSignature"] == SIGNATURE
    assert reply["parts"][0]["functionResponse"]["name"] == "count_words"


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (401, AuthMissing),
        (403, AuthMissing),
        (429, RateLimited),
        (500, NetworkFailure),
        (503, NetworkFailure),
    ],
)
def test_its_refusals_are_our_errors(server, monkeypatch, status, error):
    server.will(refuses(status, {"code": status, "message": "because of this", "status": "X"}))

    events, problem = broken(model_of(server, monkeypatch), asks("hi"))

    assert events == []
    assert isinstance(problem, error)
    assert "because of this" in str(problem)
    assert (f"answered with error {status}" in str(problem)) == (status >= 500)
    assert "key-for-tests" not in str(problem)
    assert len(server.requests) == 1  # tried once; trying again is left to the conductor


def test_a_stream_that_is_cut_gives_what_came_and_then_an_error(server, monkeypatch):
    server.will(stream(THOUGHT, *SAID, end=False))

    events, problem = broken(model_of(server, monkeypatch), asks("hi"))

    assert "".join(event.text for event in events if isinstance(event, TextDelta)).startswith("Let me")
    assert isinstance(problem, MalformedStream | NetworkFailure)


def test_a_stream_that_ends_without_a_reason_is_not_taken_for_whole(server, monkeypatch):
    server.will(stream(*SAID))

    _, problem = broken(model_of(server, monkeypatch), asks("hi"))

    assert isinstance(problem, ModelError)
