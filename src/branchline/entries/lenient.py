"""Plain JSON objects into records, when a line is not exactly what its type promises.

One wrong field costs that field: known fields of the right type are kept, a block or role that we do not
know becomes its Unknown twin with everything in it. Only an entry whose required parts cannot be read at
all becomes :class:`Unknown`.
"""

from __future__ import annotations

from functools import cache
from typing import Any, cast

import msgspec

from branchline.entries import blocks, json_codec, messages, records

__all__ = ["block_from_fields", "content_from", "entry_from_fields", "message_from_fields"]

Fields = dict[str, Any]

_fields_of = cache(msgspec.structs.fields)  # evaluates annotations on every call

_BLOCKS: dict[str, type[blocks.KnownBlock]] = {
    "text": blocks.Text,
    "image": blocks.Image,
    "thinking": blocks.Thinking,
    "toolCall": blocks.ToolCall,
}
_MESSAGES: dict[str, Any] = {
    "user": messages.UserMessage,
    "assistant": messages.AssistantMessage,
    "toolResult": messages.ToolResult,
    "system": messages.SystemMessage,
    "bashExecution": messages.BashExecution,
    "custom": messages.CustomContent,
}
_ENTRIES: dict[str, Any] = {
    str(record.type): record
    for record in (
        records.MessageEntry,
        records.ThinkingLevelChange,
        records.ModelChange,
        records.Compaction,
        records.BranchSummary,
        records.Custom,
        records.CustomMessage,
        records.Label,
        records.SessionInfo,
        records.ContextEdit,
        records.UsageEntry,
        records.Leaf,
    )
}


def block_from_fields(fields: Any) -> blocks.Block:
    """One content block; a plain string counts as text."""
    if isinstance(fields, str):
        return blocks.Text(text=fields)
    if not isinstance(fields, dict):
        return blocks.UnknownBlock(type="", fields={"value": fields})
    kind = fields.get("type")
    known = _BLOCKS.get(kind) if isinstance(kind, str) else None
    if known is not None:
        try:
            return json_codec.convert(fields, known)
        except ValueError:
            pass
    return blocks.UnknownBlock(type=str(kind or ""), fields=fields)


def content_from(value: Any, empty: messages.Content = ()) -> messages.Content:
    """Content of any shape; ``null`` and what is neither text nor a list counts as empty."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return tuple(block_from_fields(item) for item in value)
    return empty


def message_from_fields(fields: Any) -> messages.Message:
    """A message of any role, from the JSON object that holds it."""
    if not isinstance(fields, dict):
        return messages.UnknownMessage(role="", fields={"value": fields})
    role = fields.get("role")
    known = _MESSAGES.get(role) if isinstance(role, str) else None
    if known is None:
        return messages.UnknownMessage(role=str(role or ""), fields=fields)
    message = _keep_what_fits(known, fields, {"role"})
    if message is None:
        return messages.UnknownMessage(role=str(role), fields=fields)
    return cast("messages.Message", message)


def entry_from_fields(fields: Fields) -> records.Entry:
    """An entry of any type, from the JSON object that holds it."""
    kind = fields.get("type")
    known = _ENTRIES.get(kind) if isinstance(kind, str) else None
    entry = None if known is None else _keep_what_fits(known, fields, {"type"})
    if entry is not None:
        return cast("records.Entry", entry)
    parent, timestamp = fields.get("parentId"), fields.get("timestamp")
    return records.Unknown(
        type=str(kind or ""),
        id=str(fields.get("id") or ""),
        parent=parent if isinstance(parent, str) else None,
        timestamp=timestamp if isinstance(timestamp, str) else "",
        fields=fields,
    )


def _keep_what_fits(record: Any, fields: Fields, skip: set[str]) -> Any | None:
    """Build the record from the fields that fit their types.

    A required text that is missing becomes empty; None when what is missing cannot be empty.
    """
    values: Fields = {}
    for field in _fields_of(record):
        wire = field.encode_name
        if wire in skip or wire not in fields:
            value: Any = msgspec.UNSET
        else:
            value = _fit(field, fields[wire])
        if value is not msgspec.UNSET:
            values[field.name] = value
        elif wire == "content":
            values[field.name] = "" if record is messages.SystemMessage else ()
        elif field.required and (field.type is not str or field.name in ("id", "target")):
            return None
        elif field.required:
            values[field.name] = ""
    return record(**values)


def _fit(field: msgspec.structs.FieldInfo, value: Any) -> Any:
    if field.name == "content":
        return msgspec.UNSET if value is None else content_from(value)
    if field.name == "message":
        return message_from_fields(value)
    if field.name == "replacement":
        if value is None:
            return None
        if not isinstance(value, dict) or "content" not in value:
            return msgspec.UNSET  # says neither what to show nor to show nothing: no edit
        return records.Replacement(content=content_from(value["content"]))
    if field.name == "retained_tail":
        return tuple(map(message_from_fields, value)) if isinstance(value, list) else None
    if field.name == "system_message":
        message = message_from_fields(value)
        return message if isinstance(message, messages.SystemMessage) else None
    if field.name in ("usage", "cost") and isinstance(value, dict):
        return _usage_from(value)
    try:
        return json_codec.convert(value, field.type)
    except ValueError:
        return msgspec.UNSET


def _usage_from(fields: Fields) -> messages.Usage:
    cost = fields.get("cost")
    numbers = {k: v for k, v in fields.items() if _is_number(v) and k.isascii()}
    costs: Fields = {}
    if isinstance(cost, dict):
        costs = {k: v for k, v in cost.items() if _is_number(v) and k.isascii()}
        if isinstance(cost.get("known"), bool):
            costs["known"] = cost["known"]
    return json_codec.convert({**numbers, "cost": costs}, messages.Usage)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
