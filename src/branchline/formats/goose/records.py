"""Conversion of Goose lines to entries."""

from __future__ import annotations

from typing import Any

from branchline.entries import (
    Block,
    ContextEdit,
    Cost,
    CustomMessage,
    Entry,
    Image,
    MessageEntry,
    SessionInfo,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UsageEntry,
    UserMessage,
)
from branchline.entries.blocks import UnknownBlock
from branchline.formats.common.messages import completed_answer
from branchline.formats.goose.log_index import GooseLogIndex
from branchline.formats.goose.rows import fields_of_line, instant_of
from branchline.formats.json_values import dict_of, iso_time, list_of, text_of
from branchline.formats.log_index import entry_fields

__all__ = ["record_of"]

_RESULT = "toolResponse"


def record_of(line: bytes, reading: GooseLogIndex, position: int) -> Entry:
    """Return the entry at a position, from the bytes of its line."""
    tree = reading.tree
    match tree.types[position]:
        case "usage":
            return _usage(reading, entry_fields(tree, position))
        case "session_info":
            return SessionInfo(**entry_fields(tree, position), name=reading.end.title)
        case "context_edit":
            target = tree.keys[_edited(reading, position)]
            return ContextEdit(**entry_fields(tree, position), target=target)
        case kind:
            fields = dict_of(fields_of_line(line))
    created = fields.get("created")
    time = instant_of(created if isinstance(created, int | float) else None)
    common = entry_fields(tree, position, iso_time(time))
    parts = [part for part in list_of(fields.get("content")) if isinstance(part, dict)]
    if kind == "custom_message":
        hidden = dict_of(fields.get("metadata")).get("userVisible") is False
        name = text_of(fields.get("role")) or "message"
        return CustomMessage(**common, custom_type=name, content=_content(parts), display=not hidden)
    match tree.roles[position]:
        case "toolResult":
            results = [part for part in parts if part.get("type") == _RESULT]
            place = reading.place_in_line(position) if len(results) > 1 else 0
            return MessageEntry(**common, message=_result(results[place], reading, time))
        case "assistant":
            model = _model(dict_of(dict_of(fields.get("metadata")).get("inference")), reading)
            answer = completed_answer(_content(parts), **model, timestamp=time)
            return MessageEntry(**common, message=answer)
        case _:
            return MessageEntry(**common, message=UserMessage(content=_content(parts), timestamp=time))


def _edited(reading: GooseLogIndex, position: int) -> int:
    """Return the position that a context edit removes: the edits follow the entries of their line."""
    first = position - reading.place_in_line(position)
    return position - (reading.tree.types.index("context_edit", first) - first)


def _model(inference: dict[str, Any], reading: GooseLogIndex) -> dict[str, str | None]:
    """Return the model of an answer: the session's, if the answer names none."""
    if named := text_of(inference.get("requestedModel")):
        return {"model": named, "provider": text_of(inference.get("provider")) or None}
    return {"model": reading.end.model, "provider": reading.end.provider}


def _usage(reading: GooseLogIndex, common: dict[str, Any]) -> UsageEntry:
    """Return the usage of the whole session: these totals include compactions."""
    end = reading.end
    usage = Usage(
        input=max(0, end.input - end.cached - end.written),
        output=end.output,
        cache_read=end.cached,
        cache_write=end.written,
        total_tokens=end.input + end.output,
        cost=Cost(total=end.cost or 0),
    )
    return UsageEntry(**common, kind="session", model=end.model, provider=end.provider, usage=usage)


def _content(parts: list[dict[str, Any]]) -> tuple[Block, ...]:
    return tuple(_block(part) for part in parts if part.get("type") != _RESULT)


def _block(part: dict[str, Any]) -> Block:
    match kind := text_of(part.get("type")):
        case "text":
            return Text(text=text_of(part.get("text")))
        case "image":
            return _image(part)
        case "thinking":
            signature = text_of(part.get("signature")) or None
            return Thinking(thinking=text_of(part.get("thinking")), thinking_signature=signature)
        case "redactedThinking":
            return Thinking(thinking="", thinking_signature=text_of(part.get("data")), redacted=True)
        case "toolRequest" | "frontendToolRequest":
            return _call(part)
        case _:
            kind = kind or "unknown"
            text = text_of(part.get("msg")) or text_of(part.get("text"))
            return UnknownBlock(type=kind, fields={"type": kind, "text": text})


def _call(part: dict[str, Any]) -> Block:
    call = dict_of(part.get("toolCall"))
    if call.get("status") == "error":
        return Text(text=f"[invalid tool call: {text_of(call.get('error'))}]")
    called = dict_of(call.get("value"))
    given = called.get("arguments")
    arguments = given if isinstance(given, dict) else {} if given in (None, "") else {"input": given}
    return ToolCall(id=text_of(part.get("id")), name=text_of(called.get("name")), arguments=arguments)


def _result(part: dict[str, Any], reading: GooseLogIndex, time: int | None) -> ToolResult:
    call, result = text_of(part.get("id")), dict_of(part.get("toolResult"))
    failed = result.get("status") == "error"
    content: tuple[Block, ...]
    if failed:
        content = (Text(text=text_of(result.get("error"))),)
    else:
        value = result.get("value")
        failed = dict_of(value).get("isError") is True
        items = value if isinstance(value, list) else list_of(dict_of(value).get("content"))
        content = tuple(_item(item) for item in items if isinstance(item, dict))
    return ToolResult(
        tool_call_id=call,
        tool_name=reading.tool_names.get(call, ""),
        content=content,
        is_error=failed,
        timestamp=time,
    )


def _item(item: dict[str, Any]) -> Block:
    kind = text_of(item.get("type"))
    if kind == "image":
        return _image(item)
    return Text(text=text_of(item.get("text")) or ("" if kind == "text" else f"[{kind}]"))


def _image(part: dict[str, Any]) -> Image:
    return Image(data=text_of(part.get("data")), mime_type=text_of(part.get("mimeType")))
