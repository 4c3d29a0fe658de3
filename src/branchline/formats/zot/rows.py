"""Typed zot rows, decoded only as far as the tree needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeGuard

import msgspec

from branchline.entries import json_codec
from branchline.formats.json_values import text_of

__all__ = [
    "Answer",
    "AnswerBlock",
    "CumulativeUsage",
    "RenameRow",
    "Row",
    "ToolResultsRow",
    "UsageRow",
    "User",
    "calls_in",
    "decode_rows",
    "is_meta",
    "is_summary",
    "row_from",
    "row_of",
]


class AnswerBlock(msgspec.Struct, gc=False):
    """A block of an answer: text or a tool call."""

    text: str = ""
    id: str | None = None
    name: str | None = None


class _Result(msgspec.Struct, gc=False):
    """One tool result; only their number matters here."""


class User(msgspec.Struct, tag_field="role", tag="user", gc=False):
    role: ClassVar[str] = "user"
    time: str = ""
    meta: Any = None


class Answer(msgspec.Struct, tag_field="role", tag="assistant", gc=False):
    role: ClassVar[str] = "assistant"
    content: list[AnswerBlock] | None = None
    time: str = ""


class ToolResultsRow(msgspec.Struct, tag_field="role", tag="tool", gc=False):
    role: ClassVar[str] = "toolResult"
    content: list[_Result] | None = None
    time: str = ""


class _OtherMessage(msgspec.Struct, gc=False):
    """A message with a role that zot does not have."""

    role: str
    time: str = ""


class _NoMessage(msgspec.Struct, frozen=True, gc=False):
    """Placeholder for the message of a row without one."""

    role: ClassVar[None] = None
    time: ClassVar[None] = None


_NO_MESSAGE = _NoMessage()


class CumulativeUsage(msgspec.Struct, frozen=True, gc=False):
    """The running totals of a usage row."""

    input_tokens: int | float = 0
    output_tokens: int | float = 0
    cache_read_tokens: int | float = 0
    cache_write_tokens: int | float = 0
    cost_usd: int | float = 0


class _MessageRow(msgspec.Struct, tag_field="type", tag="message", gc=False):
    type: ClassVar[str] = "message"
    message: User | Answer | ToolResultsRow


class UsageRow(msgspec.Struct, tag_field="type", tag="usage", gc=False):
    type: ClassVar[str] = "usage"
    message: ClassVar[_NoMessage] = _NO_MESSAGE
    cumulative: CumulativeUsage


class RenameRow(msgspec.Struct, tag_field="type", tag="rename", gc=False):
    type: ClassVar[str] = "session_info"
    message: ClassVar[_NoMessage] = _NO_MESSAGE
    title: str


class _OtherRow(msgspec.Struct, gc=False):
    """A row of any other kind, a message of another role, or a meta row that is an entry."""

    type: str
    message: _OtherMessage | _NoMessage = _NO_MESSAGE


Row = _MessageRow | UsageRow | RenameRow | _OtherRow

_decoder = msgspec.json.Decoder(_MessageRow | UsageRow | RenameRow)
decode_rows: Callable[[memoryview], Sequence[Row]] = _decoder.decode_lines
"""Decode message, usage and rename rows as zot writes them; raises an error for any other line."""


def row_of(line: bytes) -> Row:
    """Return the row on a line that was read before."""
    try:
        row: Row = _decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        row = row_from(json_codec.loads(line))
    return row


def row_from(fields: dict[str, Any]) -> Row:
    """Return the row for a JSON object, whatever its values are."""
    match fields.get("type"):
        case "message" if isinstance(message := fields.get("message"), dict):
            return _message_row(message)
        case "usage" if (totals := _totals(fields)) is not None:
            return UsageRow(totals)
        case "rename" if isinstance(title := fields.get("title"), str):
            return RenameRow(title)
        case "meta" if is_meta(fields.get("meta")):
            return _OtherRow("model_change")
        case _:
            return _OtherRow("custom")


def calls_in(message: object) -> dict[str, str]:
    """Return the tool calls of an answer: id to tool name; nothing for other messages."""
    blocks = message.content or () if isinstance(message, Answer) else ()
    return {block.id: block.name for block in blocks if block.name is not None and block.id is not None}


def is_meta(fields: Any) -> TypeGuard[dict[str, Any]]:
    """Return whether these are the fields of a meta row: they name a session."""
    return isinstance(fields, dict) and bool(text_of(fields.get("id")))


def is_summary(meta: Any) -> TypeGuard[dict[str, Any]]:
    """Return whether a message with this meta is a compaction summary."""
    return isinstance(meta, dict) and meta.get("compaction") == "true"


def _message_row(message: dict[str, Any]) -> Row:
    role, time, content = text_of(message.get("role")), text_of(message.get("time")), message.get("content")
    match role:
        case "user":
            return _MessageRow(User(time, message.get("meta")))
        case "assistant":
            return _MessageRow(Answer(_answer_blocks(content), time))
        case "tool":
            results = [_Result() for _ in content] if isinstance(content, list) else None
            return _MessageRow(ToolResultsRow(results, time))
        case _:
            return _OtherRow("message", _OtherMessage(role, time))


def _answer_blocks(content: Any) -> list[AnswerBlock]:
    if isinstance(content, str):
        return [AnswerBlock(content)]
    found = []
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict):
            call, name = block.get("id"), block.get("name")
            found.append(
                AnswerBlock(
                    text_of(block.get("text")),
                    call if isinstance(call, str) else None,
                    name if isinstance(name, str) else None,
                )
            )
    return found


def _totals(fields: dict[str, Any]) -> CumulativeUsage | None:
    found = next((one for name in ("cumulative", "usage") if isinstance(one := fields.get(name), dict)), None)
    if found is None:
        return None
    numbers = {
        name: value
        for name in CumulativeUsage.__struct_fields__
        if isinstance(value := found.get(name), int | float) and not isinstance(value, bool)
    }
    return CumulativeUsage(**numbers)
