"""Conversion between piglet and native messages. Blocks have no type field; their keys identify them.

Fields that piglet lacks are stored in an additional field, which piglet ignores.
"""

from __future__ import annotations

import json
from typing import Any

from branchline.context import milliseconds
from branchline.entries import (
    AssistantMessage,
    Block,
    Cost,
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownBlock,
    Usage,
    UserMessage,
    as_blocks,
)
from branchline.formats.extra_fields import FIELD, extra_fields, restore_extra_fields, typed_message
from branchline.formats.go_json import time_text, utc_time
from branchline.formats.json_values import number_of, text_of

__all__ = ["custom_message_text", "decode_message", "envelope", "plain", "sorted_keys"]

Fields = dict[str, Any]

_USAGE = (
    ("inputTokens", "input"),
    ("outputTokens", "output"),
    ("cacheReadTokens", "cache_read"),
    ("cacheWriteTokens", "cache_write"),
)


# -- reading ----------------------------------------------------------------------------------------------


def decode_message(kind: str, data: Any, written: str = "") -> Message | None:
    """Return the message in the payload of an entry; None if the payload does not fit."""
    if not isinstance(data, dict) or not _fits(kind, data):
        return None
    time = milliseconds(utc_time(text_of(data.get("timestamp")))) or milliseconds(written)
    match kind:
        case "user":
            text: tuple[Block, ...] = (Text(text=data["content"]),) if data.get("content") else ()
            blocks = text + tuple(map(_block, data.get("blocks") or ()))
            found: Message = UserMessage(content=blocks, timestamp=time)
        case "assistant":
            found = AssistantMessage(
                content=tuple(map(_answer_block, data.get("content") or ())),
                provider=text_of(data.get("provider")) or None,
                model=text_of(data.get("model")) or None,
                usage=_usage(data.get("usage")),
                stop_reason=text_of(data.get("stopReason")) or None,
                error_message=text_of(data.get("error")) or None,
                timestamp=time,
            )
        case "tool_result":
            found = ToolResult(
                tool_call_id=text_of(data.get("toolCallId")),
                tool_name=text_of(data.get("toolName")),
                content=tuple(map(_block, data.get("content") or ())),
                is_error=data.get("isError") is True,
                timestamp=time,
            )
        case _:
            return None
    return restore_extra_fields(found, data.get(FIELD))


def custom_message_text(data: Any) -> tuple[str, str] | None:
    """Return role and text of an extension's message; None if the payload does not fit."""
    if not isinstance(data, dict) or not _has_shape(data, {"role": str, "content": str}):
        return None
    return "assistant" if data.get("role") == "assistant" else "user", data.get("content") or ""


_SHAPES: dict[str, dict[str, type]] = {
    "user": {"content": str, "blocks": list},
    "assistant": {
        "content": list,
        "model": str,
        "provider": str,
        "usage": dict,
        "stopReason": str,
        "error": str,
    },
    "tool_result": {"toolCallId": str, "toolName": str, "content": list, "isError": bool},
}
_BLOCK_SHAPE: dict[str, type] = {
    "text": str,
    "thinking": str,
    "id": str,
    "name": str,
    "arguments": dict,
    "providerMeta": dict,
    "data": str,
    "mimeType": str,
}


def _fits(kind: str, data: Fields) -> bool:
    """Return whether every field has the type that piglet expects; null counts as absent."""
    blocks = data.get("blocks" if kind == "user" else "content")
    return _has_shape(data, _SHAPES.get(kind, {})) and all(
        isinstance(block, dict) and _has_shape(block, _BLOCK_SHAPE)
        for block in (blocks if isinstance(blocks, list) else ())
    )


def _has_shape(fields: Fields, shape: dict[str, type]) -> bool:
    return all(
        value is None or isinstance(value, shape[name]) for name, value in fields.items() if name in shape
    )


def _block(fields: Fields) -> Block:
    if fields.get("mimeType"):
        return Image(data=fields.get("data") or "", mime_type=fields["mimeType"])
    return Text(text=fields.get("text") or "")


def _answer_block(fields: Fields) -> Block:
    if fields.get("id") or fields.get("name"):
        meta = fields.get("providerMeta") or {}
        return ToolCall(
            id=fields.get("id") or "",
            name=fields.get("name") or "",
            arguments=fields.get("arguments") or {},
            thought_signature=text_of(meta.get("thoughtSignature")) or None,
        )
    if "thinking" in fields:
        return Thinking(thinking=fields["thinking"] or "")
    return Text(text=fields.get("text") or "")


def _usage(fields: Any) -> Usage | None:
    if not isinstance(fields, dict):
        return None
    tokens = {name: number_of(fields.get(wire)) for wire, name in _USAGE}
    return Usage(**tokens, total_tokens=sum(tokens.values()), cost=Cost(total=number_of(fields.get("cost"))))


# -- writing ----------------------------------------------------------------------------------------------


def envelope(message: Message) -> tuple[str, Fields] | None:
    """Return kind and payload of the entry for a message; None if piglet has no such message or block."""
    typed = typed_message(message)
    match typed:
        case UserMessage():
            kind, data = "user", _user_data(typed)
        case AssistantMessage():
            kind, data = "assistant", _answer_data(typed)
        case ToolResult():
            kind, data = "tool_result", _result_data(typed)
        case _:
            return None
    if data is None:
        return None
    found = decode_message(kind, data)
    assert found is not None
    if rest := extra_fields(message, found):
        data[FIELD] = rest
    return kind, data


def plain(role: str, text: str, time: float | None) -> tuple[str, Fields]:
    """Return the entry for a plain text of the user or the model."""
    message: Message = UserMessage(content=(Text(text=text),), timestamp=time)
    if role == "assistant":
        message = AssistantMessage(content=(Text(text=text),), timestamp=time)
    found = envelope(message)
    assert found is not None
    return found


def _user_data(message: UserMessage) -> Fields | None:
    content = as_blocks(message.content)
    data: Fields = {}
    if content and isinstance(content[0], Text) and content[0].text:
        data["content"] = content[0].text
        content = content[1:]
    blocks = _written(content)
    if blocks is None:
        return None
    if blocks:
        data["blocks"] = blocks
    return data | {"timestamp": time_text(message.timestamp)}


def _answer_data(message: AssistantMessage) -> Fields | None:
    blocks: list[Fields] = []
    for block in as_blocks(message.content):
        match block:
            case Text():
                blocks.append({"text": block.text})
            case Thinking():
                blocks.append({"thinking": block.thinking})
            case ToolCall():
                call: Fields = {"id": block.id, "name": block.name, "arguments": sorted_keys(block.arguments)}
                if block.thought_signature:
                    call["providerMeta"] = {"thoughtSignature": block.thought_signature}
                blocks.append(call)
            case Image() | UnknownBlock():
                return None
    usage = message.usage or Usage()
    data: Fields = {
        "content": blocks or None,
        "model": message.model or "",
        "provider": message.provider or "",
        "usage": {wire: getattr(usage, name) for wire, name in _USAGE} | {"cost": usage.cost.total},
        "stopReason": message.stop_reason or "",
    }
    if message.error_message:
        data["error"] = message.error_message
    return data | {"timestamp": time_text(message.timestamp)}


def _result_data(message: ToolResult) -> Fields | None:
    blocks = _written(as_blocks(message.content))
    if blocks is None:
        return None
    return {
        "toolCallId": message.tool_call_id,
        "toolName": message.tool_name,
        "content": blocks or None,
        "isError": message.is_error is True,
        "timestamp": time_text(message.timestamp),
    }


def _written(content: tuple[Block, ...]) -> list[Fields] | None:
    blocks: list[Fields] = []
    for block in content:
        match block:
            case Text():
                blocks.append({"text": block.text})
            case Image():
                blocks.append({"data": block.data, "mimeType": block.mime_type})
            case _:
                return None
    return blocks


def sorted_keys(value: Any) -> Any:
    """Return the same value with sorted object keys, as Go encodes maps."""
    return json.loads(json.dumps(value, sort_keys=True))
