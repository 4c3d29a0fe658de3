"""Anthropic's Messages API over HTTP: a signed thinking block, a tool call and caching."""

import json

import pytest
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from branchline.entries import Text, Thinking, ToolCall, ToolResult, UserMessage
from branchline.errors import AuthMissing, ContextOverflow, MalformedStream, NetworkFailure
from branchline.models import COUNT_WORDS, ModelRequest, TextDelta, ThinkingDelta
from branchline.models.pydantic_ai.model import PydanticAIModel
from models.kit import answer_of, asks, broken, events_of
from models.server import refuses, serving, stream

MODEL = "claude-fable-5-1"


def said(*events):
    """A stream of these events."""
    return stream(*[f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events])


def block(index, start, *deltas):
    yield {"type": "content_block_start", "index": index, "content_block": start}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


USAGE = {
    "input_tokens": 10,
    "output_tokens": 1,
    "cache_read_input_tokens": 5,
    "cache_creation_input_tokens": 7,
}
START = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": USAGE,
    },
}
BLOCKS = [
    *block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "hmm"},
        {"type": "signature_delta", "signature": "signed"},
    ),
    *block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Let me count."}),
    *block(
        2,
        {"type": "tool_use", "id": "toolu_1", "name": "count_words", "input": {}},
        {"type": "input_json_delta", "partial_json": '{"text": "a'},
        {"type": "input_json_delta", "partial_json": ' b"}'},
    ),
]
END = [
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 20},
    },
    {"type": "message_stop"},
]
WHOLE = said(START, *BLOCKS, *END)


@pytest.fixture
def server():
    with serving() as server:
        yield server


def model_at(server):
    provider = AnthropicProvider(api_key="a-key", base_url=server.url.removesuffix("/v1"))
    return PydanticAIModel(AnthropicModel(MODEL, provider=provider), provider="anthropic", id=MODEL)


def test_a_thought_comes_with_its_signature_and_goes_back_with_it(server):
    server.will(WHOLE)
    model = model_at(server)
    asked = asks("count", system="be brief", tools=(COUNT_WORDS,), thinking_level="high")

    events = events_of(model, asked)
    message = answer_of(events)
    result = ToolResult(tool_call_id="toolu_1", tool_name="count_words", content="gone", is_error=True)
    events_of(model, ModelRequest(messages=(*asked.messages, message, result), tools=(COUNT_WORDS,)))

    assert [event.text for event in events if isinstance(event, TextDelta | ThinkingDelta)] == [
        "hmm",
        "Let me count.",
    ]
    assert message.content == (
        Thinking(thinking="hmm", thinking_signature="signed"),
        Text(text="Let me count."),
        ToolCall(id="toolu_1", name="count_words", arguments={"text": "a b"}),
    )
    assert (message.api, message.stop_reason) == ("anthropic-messages", "toolUse")
    usage = message.usage
    assert (usage.input, usage.cache_read, usage.cache_write, usage.output) == (10, 5, 7, 20)
    assert usage.cost.total > 0
    first, second = server.requests
    assert first["system"][0]["text"] == "be brief"
    assert first["output_config"] == {"effort": "high"}
    assert [part["type"] for part in second["messages"][1]["content"]] == ["thinking", "text", "tool_use"]
    assert second["messages"][1]["content"][0]["signature"] == "signed"
    assert second["messages"][2]["content"][0]["is_error"] is True


def test_a_conversation_that_goes_on_is_kept_in_the_cache_and_a_summary_is_not(server):
    server.will(WHOLE)

    events_of(model_at(server), asks("hello", system="be brief"))
    events_of(model_at(server), asks("hello", system="be brief", cacheable=False))

    kept, not_kept = (json.dumps(request) for request in server.requests)
    assert "cache_control" in kept
    assert "cache_control" not in not_kept


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (
            refuses(400, {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens"}),
            ContextOverflow,
        ),
        (refuses(401, {"type": "authentication_error", "message": "invalid x-api-key"}), AuthMissing),
        (refuses(529, {"type": "overloaded_error", "message": "Overloaded"}), NetworkFailure),
    ],
)
def test_its_refusals_are_our_errors(server, reply, error):
    server.will(reply)

    events, problem = broken(model_at(server), asks("hello"))

    assert events == []
    assert type(problem) is error
    assert ("answered with error 529" in str(problem)) == (error is NetworkFailure)
    assert len(server.requests) == 1


def test_an_error_in_the_middle_comes_after_what_was_said(server):
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    server.will(said(START, *BLOCKS[:4], BLOCKS[4], BLOCKS[5], overloaded))

    events, problem = broken(model_at(server), ModelRequest(messages=(UserMessage(content="hello"),)))

    assert [event.text for event in events] == ["hmm", "Let me count."]
    assert type(problem) is NetworkFailure
    assert problem.retryable


def test_a_stream_that_ends_before_its_last_event_is_not_taken_for_whole(server):
    server.will(said(START, *BLOCKS[:6]))

    events, problem = broken(model_at(server), ModelRequest(messages=(UserMessage(content="hello"),)))

    assert [event.text for event in events] == ["hmm", "Let me count."]
    assert type(problem) is MalformedStream
