"""Conversion of induscode lines to entries.

Its messages have the native shape. Extension messages, shell notes and branch summaries become entries of
their own. The summary of a compaction stays a message, because it does not cut anything off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from branchline.entries import (
    BranchSummary,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomContent,
    CustomMessage,
    Entry,
    Message,
    MessageEntry,
    UserMessage,
    json_codec,
    message_from_fields,
)
from branchline.entries.messages import StoredMessage
from branchline.formats.induscode.rows import finite
from branchline.formats.json_values import dict_of, optional_flag, text_of

__all__ = ["DETAILS", "FROM_HOOK", "NOTE", "to_entry"]

DETAILS, FROM_HOOK = "details", "fromHook"
"""Keys under which ``meta`` stores a summary's additional fields."""
NOTE = "shell-note"
"""Custom type of a user message in a node of another role: shell output, with ``meta`` as its details."""

if TYPE_CHECKING:
    _AnyMessage = Message
else:
    _AnyMessage = StoredMessage | BranchSummaryMessage | CompactionSummaryMessage


class _Line(msgspec.Struct, gc=False):
    message: _AnyMessage
    role: str
    at: str
    meta: Any = None


_decode: Callable[[bytes], _Line] = msgspec.json.Decoder(_Line).decode


def to_entry(line: bytes, key: str, parent: str | None) -> Entry:
    """Return the entry of a line."""
    try:
        found = _decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        fields = json_codec.loads(line)
        message, role, at = _lenient(fields.get("message")), text_of(fields.get("role")), fields.get("at")
        found = _Line(message, role, text_of(at), fields.get("meta"))
    common: dict[str, Any] = {"id": key, "parent": parent, "timestamp": found.at}
    message = found.message
    if isinstance(message, UserMessage) and found.role != "user":
        return CustomMessage(
            **common, custom_type=NOTE, content=message.content, display=True, details=found.meta
        )
    if isinstance(message, CustomContent):
        return CustomMessage(
            **common,
            custom_type=message.custom_type,
            content=message.content,
            display=message.display,
            details=message.details,
        )
    if isinstance(message, BranchSummaryMessage):
        meta = dict_of(found.meta)
        return BranchSummary(
            **common,
            from_id=message.from_id,
            summary=message.summary,
            details=meta.get(DETAILS),
            from_hook=optional_flag(meta.get(FROM_HOOK)),
        )
    return MessageEntry(**common, message=message)


def _lenient(fields: Any) -> Message:
    """Return a message without its invalid values."""
    if isinstance(fields, dict):
        fields = {name: value for name, value in fields.items() if not _is_infinite(value)}
        own = {
            name: value
            for name, value in fields.items()
            if name in ("summary", "fromId") and isinstance(value, str)
        }
        time = finite(fields.get("timestamp"))
        match fields.get("role"):
            case "branchSummary":
                return BranchSummaryMessage(
                    summary=own.get("summary", ""), from_id=own.get("fromId"), timestamp=time
                )
            case "compactionSummary":
                before = finite(fields.get("tokensBefore"))
                return CompactionSummaryMessage(
                    summary=own.get("summary", ""), tokens_before=before, timestamp=time
                )
            case "assistant" if isinstance(fields.get("usage"), dict):
                fields = {**fields, "usage": _finite(fields["usage"])}
    return message_from_fields(fields)


def _finite(usage: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _finite(value) if isinstance(value, dict) else value
        for name, value in usage.items()
        if not _is_infinite(value)
    }


def _is_infinite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and finite(value) is None
