"""Conversion of transcript records to entries.

A record that the model saw as user text but the user did not type (commands, wrappers, meta) becomes a custom
message; one that the model never saw becomes custom data. The bytes of the line are never changed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from branchline.context import milliseconds
from branchline.entries import (
    AssistantMessage,
    Block,
    Compaction,
    Content,
    ContextEdit,
    Custom,
    CustomMessage,
    Damaged,
    Entry,
    Image,
    Message,
    MessageEntry,
    Replacement,
    SessionInfo,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
    UnknownBlock,
    Usage,
    UserMessage,
    blocks_text,
    json_codec,
)
from branchline.formats.claude_code.kinds import (
    ANSWER,
    CLEARED,
    COMMAND,
    ERROR,
    INTERRUPT,
    META,
    QUEUED,
    RESULT,
    WRAPPER,
)
from branchline.formats.claude_code.rows import wrapper_name
from branchline.formats.json_values import dict_of, number_of, optional_text
from branchline.formats.log_index import entry_fields

if TYPE_CHECKING:
    from branchline.formats.claude_code.log_index import ClaudeCodeLogIndex

__all__ = ["NO_MODEL", "STOP_REASONS", "decode_record"]

REMOVED_RESULT = "[Old tool result content cleared]"
NO_MODEL = "unknown"
"""The model of an answer whose model is unknown: some versions of Claude Code hang without one."""

STOP_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "toolUse",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "error",
}
_HIDDEN = frozenset({"system-reminder", "caveat", "local-command-caveat"})
_PART = re.compile(r"<(command-name|command-args)>(.*?)</\1>", re.DOTALL)


def decode_record(line: bytes, reading: ClaudeCodeLogIndex, position: int) -> Entry:
    """Return the entry at a position, from the bytes of its line."""
    tree = reading.tree
    common = entry_fields(tree, position)
    if position in tree.placeholders or tree.types[position] == "damaged":
        return Damaged(**common, text=line.decode("utf-8", "replace"))
    if tree.types[position] == CLEARED:
        return Unknown(**common, type=CLEARED)
    if reading.linker.is_start_mark(position):
        return Custom(**common, custom_type="start")
    if position in reading.repeated:
        return Custom(**common, custom_type="repeat")
    fields = json_codec.loads(line)
    message = dict_of(fields.get("message"))
    kind = reading.kinds[position]
    match tree.types[position]:
        case "message":
            return MessageEntry(**common, message=_message(fields, message, reading, position))
        case "custom_message":
            return _custom_message(common, kind, message, fields, reading.numbers.get(position))
        case "compaction":
            from branchline.context.model_input import unlabelled_summary  # noqa: PLC0415

            kept = reading.kept.get(position)
            return Compaction(
                **common,
                summary=unlabelled_summary(blocks_text(_content(message.get("content")), "\n")),
                first_kept=None if kept is None else kept.first,
                tokens_before=None if kept is None else kept.tokens_before,
            )
        case "context_edit":
            return ContextEdit(
                **common, target=reading.edits[position], replacement=Replacement(content=REMOVED_RESULT)
            )
        case "session_info":
            title = fields.get("customTitle") or fields.get("aiTitle")
            return SessionInfo(**common, name=title if isinstance(title, str) else "")
        case "custom":
            data = None if position in reading.withheld else fields
            return Custom(**common, custom_type=_name(fields), data=data)
        case other:
            return Custom(**common, custom_type=other, data=fields)


def _name(fields: dict[str, Any]) -> str:
    """Return the name of a bookkeeping record, including its kind of hook, notice or attachment."""
    name = str(fields.get("type"))
    inner = fields.get("subtype") or dict_of(fields.get("attachment")).get("type")
    inner = inner or (dict_of(fields.get("data")).get("type") if name == "progress" else None)
    return f"{name}/{inner}" if isinstance(inner, str) and inner else name


# -- messages ---------------------------------------------------------------------------------------------


def _message(
    fields: dict[str, Any], message: dict[str, Any], reading: ClaudeCodeLogIndex, position: int
) -> Message:
    time = milliseconds(reading.tree.times[position])
    match reading.kinds[position]:
        case k if k in (ANSWER, ERROR):
            return _answer(fields, message, reading, position, failed=k == ERROR)
        case k if k == RESULT:
            return _result(fields, message, reading, reading.numbers.get(position, 0), time)
        case k if k == QUEUED:
            return UserMessage(
                content=_content(dict_of(fields.get("attachment")).get("prompt")), timestamp=time
            )
        case _:
            return UserMessage(content=_content(message.get("content")), timestamp=time)


def _answer(
    fields: dict[str, Any],
    message: dict[str, Any],
    reading: ClaudeCodeLogIndex,
    position: int,
    *,
    failed: bool,
) -> AssistantMessage:
    content = _content(message.get("content"))
    response, model, stop = (optional_text(message.get(name)) for name in ("id", "model", "stop_reason"))
    request = optional_text(fields.get("requestId"))
    spent = message.get("usage")
    counts = not failed and isinstance(spent, dict) and reading.spends(position, response, request)
    return AssistantMessage(
        content=(Text(text=content),) if isinstance(content, str) else content,
        api="anthropic-messages",
        provider="anthropic",
        model=None if model == NO_MODEL or (failed and model == "<synthetic>") else model,
        response_id=response,
        usage=_usage(dict_of(spent)) if counts else None,
        stop_reason="error" if failed else STOP_REASONS.get(stop or "", stop),
        raw_stop_reason=stop,
        error_message=blocks_text(content, "\n") if failed else None,
        timestamp=milliseconds(reading.tree.times[position]),
    )


def _result(
    fields: dict[str, Any],
    message: dict[str, Any],
    reading: ClaudeCodeLogIndex,
    number: int,
    time: int | None,
) -> ToolResult:
    content = message.get("content")
    results = [block for block in (content if isinstance(content, list) else ()) if _is_result(block)]
    block = results[number] if number < len(results) else {}
    call = optional_text(block.get("tool_use_id")) or ""
    inner = _content(block.get("content"))
    failed = block.get("is_error")
    return ToolResult(
        tool_call_id=call,
        tool_name=reading.tool_names.get(call, ""),
        content=(Text(text=inner),) if isinstance(inner, str) else inner,
        details=fields.get("toolUseResult") if len(results) == 1 else None,
        is_error=failed if isinstance(failed, bool) else False,
        timestamp=time,
    )


def _custom_message(
    common: dict[str, Any], kind: int, message: dict[str, Any], fields: dict[str, Any], number: int | None
) -> CustomMessage:
    source = message.get("content")
    if message.get("content") is None and "attachment" in fields:
        source = dict_of(fields.get("attachment")).get("prompt")
    if number is not None and isinstance(source, list):
        rest = [block for block in source if not _is_result(block)]
        return CustomMessage(**common, custom_type="beside-results", content=_content(rest), display=True)
    content = _content(source)
    text = blocks_text(content, "\n")
    if kind == COMMAND:
        return CustomMessage(
            **common, custom_type="command", content=_command(text), display=True, details={"text": text}
        )
    if kind == WRAPPER:
        name = wrapper_name(text)
        return CustomMessage(**common, custom_type=name, content=content, display=name not in _HIDDEN)
    if kind == INTERRUPT:
        return CustomMessage(**common, custom_type="interrupt", content=content, display=True)
    return CustomMessage(**common, custom_type="meta", content=content, display=kind != META)


def _command(text: str) -> str:
    """Return a slash command as it was typed."""
    parts = dict(found for found in _PART.findall(text))
    name = parts.get("command-name", "").strip()
    if not name:
        return text
    name = name if name.startswith("/") else "/" + name
    return f"{name} {parts.get('command-args', '').strip()}".strip()


# -- blocks -----------------------------------------------------------------------------------------------


def _content(value: Any) -> Content:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return tuple(_block(item) for item in value)
    return ""


def _block(value: Any) -> Block:
    if isinstance(value, str):
        return Text(text=value)
    if not isinstance(value, dict):
        return UnknownBlock(type="", fields={"value": value})
    match value:
        case {"type": "text", "text": str(text)}:
            return Text(text=text)
        case {"type": "thinking", "thinking": str(thinking)}:
            return Thinking(thinking=thinking, thinking_signature=optional_text(value.get("signature")))
        case {"type": "redacted_thinking", "data": str(data)}:
            return Thinking(thinking="", thinking_signature=data, redacted=True)
        case {"type": "tool_use" | "server_tool_use", "name": str(name)}:
            return ToolCall(
                id=optional_text(value.get("id")) or "", name=name, arguments=dict_of(value.get("input"))
            )
        case {"type": "image", "source": {"type": "base64", "data": str(data), **rest}}:
            return Image(data=data, mime_type=optional_text(rest.get("media_type")) or "")
        case _:
            return UnknownBlock(type=str(value.get("type") or ""), fields=value)


def _is_result(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_result"


def _usage(spent: dict[str, Any]) -> Usage:
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    read, written, cached, kept = (number_of(spent.get(name)) for name in names)
    split = spent.get("cache_creation")
    long = number_of(split.get("ephemeral_1h_input_tokens")) if isinstance(split, dict) else msgspec.UNSET
    return Usage(
        input=read,
        output=written,
        cache_read=cached,
        cache_write=kept,
        cache_write_1h=long,
        total_tokens=read + written + cached + kept,
    )
