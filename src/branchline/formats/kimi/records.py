"""Conversion of Kimi Code events to entries."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from branchline.context import milliseconds
from branchline.entries import (
    Block,
    Compaction,
    Custom,
    CustomMessage,
    Entry,
    Image,
    Leaf,
    Message,
    MessageEntry,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UsageEntry,
    UserMessage,
    json_codec,
)
from branchline.formats.common.messages import completed_answer, content_blocks, text_or_json, unknown_block
from branchline.formats.json_values import dict_of, list_of, text_of, whole_number
from branchline.formats.kimi.log_index import KimiLogIndex
from branchline.formats.log_index import entry_fields

__all__ = ["record_of"]

_DATA_URL = re.compile(r"data:([^;,]*);base64,")


def record_of(line: bytes, index: KimiLogIndex, position: int) -> Entry:
    """Return the entry at a position, from the bytes of its line and of the lines that continue it."""
    tree = index.tree
    time = tree.times[position]
    common = entry_fields(tree, position)
    fields = json_codec.loads(line)
    match tree.types[position]:
        case "message":
            return MessageEntry(**common, message=_message(fields, index, position, milliseconds(time)))
        case "usage":
            return UsageEntry(
                **common,
                kind=text_of(fields.get("usageScope")) or "turn",
                model=text_of(fields.get("model")) or None,
                usage=_usage(dict_of(fields.get("usage"))),
            )
        case "compaction":
            summary = text_of(fields.get("contextSummary")) or text_of(fields.get("summary"))
            before = whole_number(fields.get("tokensBefore"))
            return Compaction(
                **common,
                summary=summary,
                first_kept=common["id"],
                tokens_before=before or None,
                retained_tail=tuple(_prompt(index, place) for place in index.kept.get(position, ())),
            )
        case "custom_message":
            message = dict_of(fields.get("message"))
            origin = text_of(dict_of(message.get("origin")).get("kind"))
            return CustomMessage(
                **common,
                custom_type=origin or text_of(message.get("role")),
                content=_blocks(message.get("content")),
                display=origin != "injection",
            )
        case "leaf":
            return Leaf(**common, target=common["parent"])
        case _:
            return Custom(**common, custom_type=text_of(fields.get("type")), data=fields)


def _prompt(reading: KimiLogIndex, position: int) -> Message:
    """Return a prompt that a compaction keeps."""
    fields = json_codec.loads_object(reading.read(*reading.span(position))) or {}
    return _message(fields, reading, position, milliseconds(reading.tree.times[position]))


def _message(fields: dict[str, Any], reading: KimiLogIndex, position: int, time: int | None) -> Message:
    role, message = reading.tree.roles[position], dict_of(fields.get("message"))
    if role == "user":
        return UserMessage(content=_blocks(fields.get("input", message.get("content"))), timestamp=time)
    if role == "toolResult":
        if message:
            return _result(
                text_of(message.get("toolCallId")), {"output": message.get("content")}, reading, time
            )
        event = dict_of(fields.get("event"))
        return _result(text_of(event.get("toolCallId")), dict_of(event.get("result")), reading, time)
    blocks: tuple[Block, ...]
    if message:
        blocks = (
            *_blocks(message.get("content")),
            *map(_call, map(dict_of, list_of(message.get("toolCalls")))),
        )
    else:
        pieces = iter(reading.pieces.get(position, ()))
        lines = (json_codec.bounded(reading.read(*span)) for span in zip(pieces, pieces, strict=True))
        events = [fields, *map(json_codec.loads_object, lines)]
        blocks = tuple(_answer(dict_of(dict_of(event).get("event")) for event in events))
    model = reading.models.get(position)
    return completed_answer(
        blocks,
        provider=None if model is None else model.provider or None,
        model=None if model is None else model.id or None,
        timestamp=time,
    )


def _answer(events: Iterable[dict[str, Any]]) -> Iterable[Block]:
    for event in events:
        if event.get("type") == "tool.call":
            yield _call(event)
        else:
            yield _block(event.get("part"))


def _call(call: dict[str, Any]) -> ToolCall:
    function = dict_of(call.get("function"))
    given = call.get("args", call.get("arguments", function.get("arguments")))
    if isinstance(given, str):
        given = json_codec.loads_object(given.encode("utf-8", "surrogatepass")) or {"input": given}
    return ToolCall(
        id=text_of(call.get("toolCallId")) or text_of(call.get("id")),
        name=text_of(call.get("name")) or text_of(function.get("name")),
        arguments=dict_of(given),
    )


def _result(call: str, result: dict[str, Any], reading: KimiLogIndex, time: int | None) -> ToolResult:
    output = result.get("output")
    if not isinstance(output, list):
        output = "" if output is None else text_or_json(output)
    return ToolResult(
        tool_call_id=call,
        tool_name=reading.tool_names.get(call, ""),
        content=_blocks(output),
        is_error=result.get("isError") is True,
        timestamp=time,
    )


def _blocks(value: Any) -> tuple[Block, ...]:
    return content_blocks(value, _block)


def _block(part: Any) -> Block:
    fields = dict_of(part)
    kind = text_of(fields.get("type"))
    if kind == "text" and isinstance(text := fields.get("text"), str):
        return Text(text=text)
    if kind == "think" and isinstance(thought := fields.get("think"), str):
        return Thinking(thinking=thought, thinking_signature=text_of(fields.get("encrypted")) or None)
    url = dict_of(fields.get("imageUrl", fields.get("image_url"))).get("url")
    if isinstance(url, str) and (found := _DATA_URL.match(url)):
        return Image(data=url[found.end() :], mime_type=found[1])
    return unknown_block(part, kind)


def _usage(spent: dict[str, Any]) -> Usage:
    return Usage(
        input=whole_number(spent.get("inputOther")),
        output=whole_number(spent.get("output")),
        cache_read=whole_number(spent.get("inputCacheRead")),
        cache_write=whole_number(spent.get("inputCacheCreation")),
    )
