"""OpenAI's chat completions over HTTP: requests, streamed answers and errors."""

import asyncio

import pytest

from branchline.entries import AssistantMessage, Image, Text, Thinking, ToolCall, ToolResult, UserMessage
from branchline.errors import (
    AuthMissing,
    ContextOverflow,
    MalformedStream,
    ModelRefused,
    NetworkFailure,
    RateLimited,
    UnknownModel,
)
from branchline.models import (
    COUNT_WORDS,
    ModelRequest,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    complete,
    model_by_name,
)
from models.kit import answer_of, asks, broken, events_of
from models.server import DONE, USAGE, calls, chunk, refuses, says, serving, stream


@pytest.fixture
def server():
    with serving() as server:
        yield server


def model_at(server, name="test-model", **more):
    return model_by_name(name, base_url=server.url, **more)


def test_an_answer_comes_in_pieces_with_its_usage(server):
    server.will(says("Hel", "lo"))

    events = events_of(model_at(server), asks("hi", system="be brief"))
    message = answer_of(events)

    assert events[:-1] == [TextDelta(block=0, text="Hel"), TextDelta(block=0, text="lo")]
    assert message.content == (Text(text="Hello"),)
    assert (message.api, message.provider, message.model) == (
        "openai-completions",
        "openai-compatible",
        "test-model",
    )
    assert (message.response_model, message.response_id) == ("test-model-2026", "chatcmpl-1")
    assert message.stop_reason == "stop"
    usage = message.usage
    assert (usage.input, usage.cache_read, usage.output, usage.reasoning) == (60, 40, 7, 3)
    assert usage.total_tokens == 107
    (sent,) = server.requests
    assert sent["messages"] == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "hi"},
    ]
    assert sent["stream"] is True


def test_a_tool_call_is_put_together_from_its_pieces(server):
    server.will(calls("count_words", '{"te', 'xt": "a b"}'))

    events = events_of(model_at(server), asks("count", tools=(COUNT_WORDS,)))
    message = answer_of(events)

    assert message.content == (ToolCall(id="call_abc", name="count_words", arguments={"text": "a b"}),)
    assert message.stop_reason == "toolUse"
    pieces = [event for event in events if isinstance(event, ToolCallDelta)]
    assert "".join(piece.arguments for piece in pieces) == '{"text": "a b"}'
    (declared,) = server.requests[0]["tools"]
    assert declared["function"]["name"] == "count_words"
    assert declared["function"]["parameters"]["required"] == ["text"]


def test_calls_results_and_pictures_go_back_in_the_provider_s_shape(server):
    server.will(says("ok"))
    request = ModelRequest(
        messages=(
            UserMessage(content=(Text(text="look"), Image(data="aGk=", mime_type="image/png"))),
            AssistantMessage(
                content=(
                    Text(text="Reading."),
                    ToolCall(id="c|item", name="read it", arguments={"path": "x"}),
                )
            ),
            ToolResult(tool_call_id="c|item", tool_name="read it", content="gone", is_error=True),
            UserMessage(content="and now?"),
        )
    )

    events_of(model_at(server), request)

    look, answer, result, now = server.requests[0]["messages"]
    assert look["content"][0] == {"type": "text", "text": "look"}
    assert look["content"][1]["image_url"]["url"] == "data:image/png;base64,aGk="
    assert answer["content"] == "Reading."
    assert answer["tool_calls"][0]["id"] == result["tool_call_id"] == "c"
    assert answer["tool_calls"][0]["function"] == {"name": "read_it", "arguments": '{"path":"x"}'}
    assert result["role"] == "tool"
    assert "gone" in result["content"]
    assert now == {"role": "user", "content": "and now?"}


def test_a_thought_comes_as_a_thought_and_goes_back_to_the_model_that_had_it(server):
    thinks = stream(
        chunk({"role": "assistant", "reasoning_content": "hm "}),
        chunk({"reasoning_content": "so"}),
        chunk({"content": "yes"}),
        chunk({}, finish="stop"),
        chunk(usage=USAGE),
        DONE,
    )
    server.will(thinks, says("ok"))
    model = model_at(server, "deepseek-reasoner")

    events = events_of(model, asks("why?", thinking_level="high"))
    message = answer_of(events)
    again = ModelRequest(messages=(UserMessage(content="why?"), message, UserMessage(content="sure?")))
    events_of(model, again)

    assert [event.text for event in events if isinstance(event, ThinkingDelta)] == ["hm ", "so"]
    assert message.content == (
        Thinking(thinking="hm so", thinking_signature="reasoning_content"),
        Text(text="yes"),
    )
    assert server.requests[1]["messages"][1]["reasoning_content"] == "hm so"


@pytest.mark.parametrize(
    ("reply", "error", "words"),
    [
        (refuses(429, {"message": "slow down"}, retry_after="3"), RateLimited, "slow down"),
        (
            refuses(400, {"message": "maximum context length is 8", "code": "context_length_exceeded"}),
            ContextOverflow,
            "maximum context length is 8",
        ),
        (refuses(400, {"message": "exceeds the available context size"}), ContextOverflow, "too long"),
        (refuses(401, {"message": "bad key"}), AuthMissing, "set BRANCHLINE_API_KEY"),
        (refuses(404, {"message": "no such model"}), UnknownModel, "no such model"),
        (refuses(422, {"message": "weird"}), ModelRefused, "weird"),
        (refuses(402, {"message": "pay first"}), ModelRefused, "pay first"),
        (refuses(500, {"message": "oops"}), NetworkFailure, "answered with error 500: oops"),
        (refuses(503, {"message": "busy"}), NetworkFailure, "answered with error 503: busy"),
        (stream(b"<html>hello</html>"), MalformedStream, "invalid response"),
        (stream(), MalformedStream, "invalid response"),
    ],
)
def test_what_the_server_refuses_is_one_of_our_errors_with_its_words(server, reply, error, words):
    server.will(reply)

    events, problem = broken(model_at(server), asks("hi"))

    assert events == []
    assert type(problem) is error
    assert words in str(problem)
    assert "test-model" in str(problem)
    assert len(server.requests) == 1, "nobody tries again behind our back"


def test_how_long_to_wait_is_what_the_server_said(server):
    server.will(refuses(429, {"message": "slow down"}, retry_after="3"))

    assert broken(model_at(server), asks("hi"))[1].retry_after == 3


@pytest.mark.parametrize(
    ("more", "error"),
    [
        (stream(chunk({"content": "Hal"}), end=False), NetworkFailure),
        (stream(chunk({"content": "Hal"})), MalformedStream),
        (stream(chunk({"content": "Hal"}), b"data: {not json\n\n"), MalformedStream),
        (stream(chunk({"content": "Hal"}), b'data: {"choices": 5}\n\n'), MalformedStream),
        (stream(chunk({"content": "Hal"}), b'data: {"error": {"message": "exploded"}}\n\n'), MalformedStream),
        (stream(chunk({"content": "Hal"}), chunk({}, finish="content_filter"), DONE), ModelRefused),
    ],
    ids=["dropped", "ended without a reason", "no json", "wrong types", "error in the stream", "filtered"],
)
def test_a_stream_that_breaks_off_gives_what_came_and_then_the_error(server, more, error):
    server.will(more)

    events, problem = broken(model_at(server), asks("hi"))

    assert events == [TextDelta(block=0, text="Hal")]
    assert type(problem) is error


def test_nobody_there_is_a_network_failure():
    with serving() as server:
        url = server.url

    _events, problem = broken(model_by_name("x", base_url=url), asks("hi"))

    assert isinstance(problem, NetworkFailure)
    assert "could not be reached" in str(problem)


def test_a_stream_can_be_closed_in_the_middle_and_the_model_used_again(server):
    pieces = [chunk({"content": f"{number} "}) for number in range(50)]
    server.will(stream(*pieces, chunk({}, finish="stop"), DONE), says("fine"))

    async def talk():
        model = model_at(server)
        events = model.stream(asks("count"))
        first = await anext(events)
        await events.aclose()
        texts = [event.text async for event in model.stream(asks("again")) if isinstance(event, TextDelta)]
        await model.aclose()
        return first, texts

    first, texts = asyncio.run(talk())

    assert first == TextDelta(block=0, text="0 ")
    assert texts == ["fine"]


def test_a_model_works_in_one_loop_after_another(server):
    server.will(says("one"), says("two"))
    model = model_at(server)

    assert complete(model, asks("a")).content == (Text(text="one"),)
    assert complete(model, asks("b")).content == (Text(text="two"),)


def test_a_key_for_somebody_else_is_never_sent_to_an_address(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-for-somebody-else")
    server.will(says("ok"))

    complete(model_at(server), asks("hi"))
    complete(model_at(server, api_key="its-own"), asks("hi"))

    assert [sent["authorization"] for sent in server.headers] == ["Bearer none", "Bearer its-own"]


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [
        ("llama3.2", "openai-compatible", "llama3.2"),
        ("qwen2.5:7b", "openai-compatible", "qwen2.5:7b"),
        ("ollama:qwen2.5:7b", "ollama", "qwen2.5:7b"),
        ("openai-compatible:qwen2.5:7b", "openai-compatible", "qwen2.5:7b"),
    ],
)
def test_behind_an_address_the_provider_may_be_left_out(server, name, provider, model):
    server.will(says("ok"))

    message = complete(model_at(server, name), asks("hi"))

    assert (message.provider, message.model) == (provider, model)
    assert server.requests[0]["model"] == model
