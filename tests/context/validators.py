"""What providers demand of a conversation, as assertions. Each quotes the rule it checks."""

from __future__ import annotations

import json
import re
from typing import Any

Item = dict[str, Any]
_ID = re.compile(r"[A-Za-z0-9_-]+")


def check_anthropic(messages: list[Item]) -> None:
    """Messages API: roles alternate, every ``tool_use`` is answered in the very next message."""
    waiting: list[str] = []
    seen: set[str] = set()
    for number, message in enumerate(messages):
        role, content = message["role"], message["content"]
        assert role == ("user", "assistant")[number % 2], "user begins, and roles alternate"
        assert content, "all messages must have non-empty content"
        kinds = [block["type"] for block in content]
        results = [block for block in content if block["type"] == "tool_result"]
        assert kinds[: len(results)] == ["tool_result"] * len(results), "results come first"
        assert sorted(block["tool_use_id"] for block in results) == sorted(waiting), (
            "each tool_use must have exactly one tool_result in the next message"
        )
        calls = [block["id"] for block in content if block["type"] == "tool_use"]
        assert len(set(calls)) == len(calls), "tool_use ids must be unique"
        assert seen.isdisjoint(calls), "tool_use ids must be unique"
        seen.update(calls)
        waiting = calls
        if role == "assistant":
            assert kinds[-1] not in ("thinking", "redacted_thinking"), "the last block cannot be thinking"
        for block in content:
            _check_block(block, role)
    assert not waiting, "no call is left open"
    _check_json(messages)


def _check_block(block: Item, role: str) -> None:
    match block["type"]:
        case "text":
            assert block["text"].strip(), "text content blocks must contain non-whitespace text"
        case "tool_use":
            assert role == "assistant"
            assert _ID.fullmatch(block["id"])
            assert isinstance(block["input"], dict)
        case "tool_result":
            assert role == "user"
            assert block["content"], "content cannot be empty if is_error is true"
        case "thinking":
            assert block["signature"]
        case "redacted_thinking":
            assert block["data"]
        case "image":
            assert block["source"]["data"]
            assert block["source"]["media_type"]
        case other:
            raise AssertionError(f"no block of type {other}")


def check_openai_chat(messages: list[Item]) -> None:
    """Chat Completions: ``tool_calls`` must be followed by tool messages for each ``tool_call_id``."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting, "a tool message must answer a preceding call"
            waiting.remove(message["tool_call_id"])
            assert isinstance(message["content"], str)
            assert message["content"]
            continue
        assert not waiting, "every call is answered before anything else is said"
        assert message.get("content") or message.get("tool_calls"), "no empty message"
        for call in message.get("tool_calls", ()):
            assert message["role"] == "assistant"
            assert 0 < len(call["id"]) <= 40
            json.loads(call["function"]["arguments"])
            waiting.append(call["id"])
        assert len(set(waiting)) == len(waiting)
    assert not waiting
    _check_json(messages)


def check_openai_responses(items: list[Item]) -> None:
    """Responses: «No tool output found for function call» must never be the answer."""
    waiting: list[str] = []
    answering = False
    for item in items:
        match item["type"]:
            case "function_call":
                assert not (answering and waiting), "no call between the outputs of another"
                assert item["call_id"] not in waiting
                json.loads(item["arguments"])
                waiting.append(item["call_id"])
                answering = False
            case "function_call_output":
                assert item["call_id"] in waiting, "an output must answer a preceding call"
                waiting.remove(item["call_id"])
                assert item["output"]
                answering = True
            case "message":
                assert not waiting, "every call is answered before anything else is said"
                assert item["content"]
    assert not waiting
    _check_json(items)


def _check_json(value: Any) -> None:
    """Valid UTF-8, so no half characters anywhere."""
    json.dumps(value, ensure_ascii=False).encode("utf-8")
