"""Conversion of Copilot CLI events to entries."""

from __future__ import annotations

from typing import Any

from branchline.context import milliseconds
from branchline.entries import (
    Block,
    Compaction,
    Custom,
    CustomMessage,
    Damaged,
    Entry,
    Image,
    Message,
    MessageEntry,
    ModelChange,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UsageEntry,
    UserMessage,
    json_codec,
)
from branchline.formats.common.messages import completed_answer, text_or_json, usage_with_cache
from branchline.formats.json_values import dict_of, list_of, text_of, whole_number
from branchline.formats.log_index import LinkedLogIndex, entry_fields

__all__ = ["record_of"]


def record_of(line: bytes, reading: LinkedLogIndex, position: int) -> Entry:
    """Return the entry at a position, from the bytes of its line."""
    tree = reading.tree
    time = tree.times[position]
    common = entry_fields(tree, position)
    if position in tree.placeholders:
        return Damaged(**common, text=line.decode("utf-8", "replace"))
    fields = json_codec.loads(line)
    data = dict_of(fields.get("data"))
    match tree.types[position]:
        case "message":
            return MessageEntry(**common, message=_message(data, reading, position, milliseconds(time)))
        case "usage":
            spent = dict_of(data.get("usage"))
            return UsageEntry(
                **common,
                kind="turn",
                provider="",  # as its answers name none; "modelProvider" is "other" for keys of the user
                model=text_of(spent.get("model")),
                usage=_usage(spent),
            )
        case "compaction":
            return Compaction(
                **common,
                summary=text_of(data.get("summaryContent")),
                first_kept=common["id"],
                tokens_before=whole_number(data.get("preCompactionTokens")) or None,
            )
        case "model_change":
            return ModelChange(**common, provider="", model_id=text_of(data.get("newModel")))
        case "custom_message":
            return CustomMessage(
                **common,
                custom_type=text_of(fields.get("type")),
                content=text_of(data.get("message")),
                display=True,
            )
        case _:
            name = text_of(fields.get("type"))
            return Custom(**common, custom_type=name, data=fields.get("data", fields))


def _message(data: dict[str, Any], reading: LinkedLogIndex, position: int, time: int | None) -> Message:
    match reading.tree.roles[position]:
        case "user":
            return UserMessage(content=_prompt(data), timestamp=time)
        case "toolResult":
            return _result(data, reading.tool_names, time)
        case _:
            return completed_answer(
                tuple(_answer(data)),
                model=text_of(data.get("model")) or None,
                response_id=text_of(data.get("messageId")) or None,
                timestamp=time,
            )


def _prompt(data: dict[str, Any]) -> tuple[Block, ...]:
    """Return the user's text and attached images."""
    images = [
        Image(data=content, mime_type=text_of(one.get("mimeType")))
        for one in map(dict_of, list_of(data.get("attachments")))
        if one.get("type") in ("blob", "image") and isinstance(content := one.get("data"), str)
    ]
    return (Text(text=text_of(data.get("content"))), *images)


def _answer(data: dict[str, Any]) -> list[Block]:
    blocks: list[Block] = []
    thought, sealed = text_of(data.get("reasoningText")), text_of(data.get("reasoningOpaque"))
    if thought or sealed:
        blocks.append(Thinking(thinking=thought, thinking_signature=sealed or None))
    if text := text_of(data.get("content")):
        blocks.append(Text(text=text))
    for request in map(dict_of, list_of(data.get("toolRequests"))):
        given = request.get("arguments")
        arguments = given if isinstance(given, dict) else {} if given is None else {"input": given}
        blocks.append(
            ToolCall(
                id=text_of(request.get("toolCallId")),
                name=text_of(request.get("name")),
                arguments=arguments,
            )
        )
    return blocks


def _result(data: dict[str, Any], names: dict[str, str], time: int | None) -> ToolResult:
    result, error = dict_of(data.get("result")), dict_of(data.get("error"))
    content = result.get("content")
    if not isinstance(content, str):
        content = text_or_json(error.get("message", data.get("error")) if content is None else content)
    call = text_of(data.get("toolCallId"))
    return ToolResult(
        tool_call_id=call,
        tool_name=names.get(call, ""),
        content=(Text(text=content),),
        is_error=data.get("success") is False,
        timestamp=time,
    )


def _usage(spent: dict[str, Any]) -> Usage:
    """Return the tokens of one call."""
    return usage_with_cache(
        given=spent.get("inputTokens"),
        made=spent.get("outputTokens"),
        cached=spent.get("cacheReadTokens"),
        written=spent.get("cacheWriteTokens"),
    )
