"""OpenAI's Responses API over HTTP: reasoning, text and a tool call, errors, an interrupted stream."""

from __future__ import annotations

import json

import pytest

from branchline.entries import Text, Thinking, ToolCall, ToolResult, UserMessage
from branchline.errors import AuthMissing, ModelError, NetworkFailure, RateLimited
from branchline.models import COUNT_WORDS, ModelRegistry, ModelRequest, TextDelta, ThinkingDelta
from branchline.settings import ProviderSettings
from models.kit import answer_of, asks, broken, events_of
from models.server import refuses, serving, stream

MODEL = "gpt-5.2"
USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 0},
    "output_tokens": 30,
    "output_tokens_details": {"reasoning_tokens": 20},
    "total_tokens": 130,
}


def response(status, output=(), usage=None):
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_767_225_600,
        "status": status,
        "model": MODEL,
        "output": list(output),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
    }


def events(*bodies):
    """Server-sent events with the numbers that they have on the wire."""
    numbered = [{**body, "sequence_number": number} for number, body in enumerate(bodies)]
    return [f"event: {body['type']}\ndata: {json.dumps(body)}\n\n".encode() for body in numbered]


REASONING = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "sealed"}
MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
CALL = {
    "id": "fc_1",
    "type": "function_call",
    "call_id": "call_1",
    "name": "count_words",
    "arguments": "",
    "status": "in_progress",
}
DONE_CALL = {**CALL, "arguments": '{"text": "a b"}', "status": "completed"}
PART = {"type": "output_text", "text": "", "annotations": []}
SUMMARY = {"item_id": "rs_1", "output_index": 0, "summary_index": 0}
TEXT = {"item_id": "msg_1", "output_index": 1, "content_index": 0}
ARGUMENTS = {"item_id": "fc_1", "output_index": 2}
THOUGHT = {**REASONING, "summary": [{"type": "summary_text", "text": "Counting."}]}
SPOKEN = {**MESSAGE, "status": "completed", "content": [{**PART, "text": "Let me count."}]}
BEGUN = [
    {"type": "response.created", "response": response("in_progress")},
    {"type": "response.output_item.added", "output_index": 0, "item": REASONING},
    {
        "type": "response.reasoning_summary_part.added",
        **SUMMARY,
        "part": {"type": "summary_text", "text": ""},
    },
    {"type": "response.reasoning_summary_text.delta", **SUMMARY, "delta": "Counting."},
    {"type": "response.output_item.done", "output_index": 0, "item": THOUGHT},
    {"type": "response.output_item.added", "output_index": 1, "item": MESSAGE},
    {"type": "response.content_part.added", **TEXT, "part": PART},
    {"type": "response.output_text.delta", **TEXT, "delta": "Let me ", "logprobs": []},
    {"type": "response.output_text.delta", **TEXT, "delta": "count.", "logprobs": []},
]
ENDED = [
    {"type": "response.output_item.done", "output_index": 1, "item": SPOKEN},
    {"type": "response.output_item.added", "output_index": 2, "item": CALL},
    {"type": "response.function_call_arguments.delta", **ARGUMENTS, "delta": '{"text": '},
    {"type": "response.function_call_arguments.delta", **ARGUMENTS, "delta": '"a b"}'},
    {"type": "response.output_item.done", "output_index": 2, "item": DONE_CALL},
    {"type": "response.completed", "response": response("completed", (THOUGHT, SPOKEN, DONE_CALL), USAGE)},
]


@pytest.fixture
def server():
    with serving() as server:
        yield server


def model_of(server, monkeypatch):
    monkeypatch.setenv("GATEWAY_KEY", "key-for-tests")
    own = ProviderSettings(base_url=server.url, api_key_env="GATEWAY_KEY", api="openai-responses")
    return ModelRegistry(providers={"gateway": own}).find(f"gateway:{MODEL}")


def test_reasoning_text_and_a_call_come_with_usage_and_go_back_with_their_items(server, monkeypatch):
    server.will(stream(*events(*BEGUN, *ENDED)))
    model = model_of(server, monkeypatch)

    seen = events_of(model, asks("Count.", tools=(COUNT_WORDS,), thinking_level="high"))
    answer = answer_of(seen)

    assert "".join(event.text for event in seen if isinstance(event, ThinkingDelta)) == "Counting."
    assert "".join(event.text for event in seen if isinstance(event, TextDelta)) == "Let me count."
    thought, text, call = answer.content
    assert isinstance(thought, Thinking)
    assert json.loads(thought.thinking_signature)["encrypted_content"] == "sealed"
    assert isinstance(text, Text)
    assert isinstance(call, ToolCall)
    assert (call.id, call.arguments) == ("call_1|fc_1", {"text": "a b"})
    assert (answer.api, answer.stop_reason) == ("openai-responses", "toolUse")
    assert (answer.usage.input, answer.usage.cache_read, answer.usage.output) == (60, 40, 30)
    assert server.headers[0]["authorization"] == "Bearer key-for-tests"

    server.will(stream(*events(*BEGUN, *ENDED)))
    result = ToolResult(tool_call_id=call.id, tool_name=call.name, content=(Text(text="2"),))
    history = (UserMessage(content="Count."), answer, result)
    events_of(model, ModelRequest(messages=history, tools=(COUNT_WORDS,), thinking_level="high"))

    items = {item.get("type", "message"): item for item in server.requests[1]["input"]}
    assert items["reasoning"]["encrypted_content"] == "sealed"
    assert items["function_call"]["call_id"] == items["function_call_output"]["call_id"]


@pytest.mark.parametrize(("status", "error"), [(401, AuthMissing), (429, RateLimited), (500, NetworkFailure)])
def test_its_refusals_are_our_errors(server, monkeypatch, status, error):
    server.will(refuses(status, {"message": "because of this", "type": "x", "code": "y"}))

    seen, problem = broken(model_of(server, monkeypatch), asks("hi"))

    assert seen == []
    assert isinstance(problem, error)
    assert "because of this" in str(problem)
    assert (f"answered with error {status}" in str(problem)) == (status >= 500)


@pytest.mark.parametrize("end", [True, False])
def test_a_stream_that_is_cut_gives_what_came_and_then_an_error(server, monkeypatch, end):
    server.will(stream(*events(*BEGUN), end=end))

    seen, problem = broken(model_of(server, monkeypatch), asks("hi"))

    assert "".join(event.text for event in seen if isinstance(event, TextDelta)) == "Let me count."
    assert isinstance(problem, ModelError)
