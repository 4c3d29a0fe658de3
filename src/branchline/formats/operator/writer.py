"""Encodes entries as Operator lines, appended to the last line of the file.

Operator's leaf is the last line; it looks for title, model and thinking level along the path from there. So
an entry that continues the conversation becomes a child of the last line of its branch, even if that is a
label or a title.

Characters at which Operator's reader would split a line are escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from branchline.context import ModelRef
from branchline.entries import (
    SIDE_TYPES,
    AssistantMessage,
    BranchSummary,
    Compaction,
    Custom,
    CustomContent,
    CustomMessage,
    Entry,
    Header,
    Image,
    Label,
    Leaf,
    Message,
    MessageEntry,
    ModelChange,
    SessionInfo,
    SystemMessage,
    Text,
    Thinking,
    ThinkingLevelChange,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
    UserMessage,
    blocks_text,
    json_codec,
)
from branchline.formats.derived_ids import uuid4_from
from branchline.formats.entry_refs import reference_id
from branchline.formats.extra_fields import typed_message
from branchline.formats.operator.log_index import OperatorLogIndex
from branchline.formats.operator.parts import Refuse, parts_of
from branchline.formats.operator.records import LEVELS, STOP_REASONS, TOKENS
from branchline.formats.operator.timestamps import seconds_of
from branchline.tree import ROOT

__all__ = ["OperatorWriter", "entry_line", "header_line"]

_CUTS = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"), (b"\xc2\x85", b"\\u0085"))
_REASONS = {ours: theirs for theirs, ours in STOP_REASONS.items() if theirs != "content_filter"}


def header_line(header: Header) -> bytes:
    """Return the first line of a file."""
    return _line(
        {
            "type": "session",
            "version": 3,
            "id": header.id,
            "timestamp": seconds_of(header.timestamp),
            "cwd": header.cwd,
        }
        | ({} if header.parent_session is None else {"parent_session": header.parent_session})
    )


def _line(fields: dict[str, Any]) -> bytes:
    data = json_codec.dumps(fields)
    if not data.isascii():
        for raw, escape in _CUTS:
            data = data.replace(raw, escape)
    return data + b"\n"


class OperatorWriter:
    """Encodes lines and tracks the end of the file."""

    def __init__(self, reading: OperatorLogIndex, refuse: Refuse) -> None:
        tree = reading.tree
        self._reading = reading
        self._refuse = refuse
        self._models: dict[str | None, ModelRef | None] = {}  # added entries, and the model in effect at each
        self._tip = self._key(reading.leaf)
        self._conversation_end = self._key(tree.nearest_conversation_entry(reading.leaf))

    def lines(self, entries: Iterable[Entry]) -> bytes:
        """Return the lines for these entries. Raises NotSupported if one of them cannot be stored."""
        return b"".join([self._add(entry) for entry in entries])

    def _add(self, entry: Entry) -> bytes:
        parent = (
            self._tip if isinstance(entry, Leaf) or entry.parent == self._conversation_end else entry.parent
        )
        change = self._change_before(entry, parent)
        lines = b""
        if change is not None:
            lines = self._line(change, parent)
            parent = change.id
        line = lines + self._line(entry, parent)
        self._tip = entry.id
        if isinstance(entry, Leaf):
            self._tip = self._conversation_end = entry.target
        else:
            self._conversation_end = entry.parent if entry.type in SIDE_TYPES else entry.id
        return line

    def _line(self, entry: Entry, parent: str | None) -> bytes:
        documented = self._reading.documented
        line = entry_line(
            entry, self._name(parent), name=self._name, refuse=self._refuse, documented=documented
        )
        model = self._model_at(parent)
        if isinstance(entry, ModelChange):
            model = ModelRef(provider=entry.provider, id=entry.model_id)
        self._models[entry.id] = model
        return line

    def _change_before(self, entry: Entry, parent: str | None) -> ModelChange | None:
        """Return the model change needed before an answer, which cannot name its model itself."""
        message = typed_message(entry.message) if isinstance(entry, MessageEntry) else None
        if not isinstance(message, AssistantMessage) or not message.model:
            return None
        model = ModelRef(provider=message.provider or "", id=message.model)
        if model == self._model_at(parent):
            return None
        return ModelChange(
            id=self._free_id(f"model {entry.id}"),
            timestamp=entry.timestamp,
            provider=model.provider,
            model_id=model.id,
        )

    def _model_at(self, key: str | None) -> ModelRef | None:
        """Return the model in effect at an entry."""
        if key is None or key in self._models:
            return self._models.get(key)
        return self._reading.models.at(self._reading.tree.position(key))

    def _free_id(self, seed: str) -> str:
        """Return an unused id."""
        while (found := uuid4_from(seed)[:8]) in self._reading.tree or found in self._models:
            seed += "+"
        return found

    def _key(self, position: int) -> str | None:
        return None if position == ROOT else self._reading.tree.keys[position]

    def _name(self, key: str | None) -> str | None:
        """Return the id of an entry in the file."""
        if key is None or key in self._models:
            return key
        reading = self._reading
        if reading.tree.position(key) in reading.inner:
            raise self._refuse("part")
        name = reference_id(reading, key)
        if name is None:
            raise self._refuse("repeated id")
        return name


def entry_line(
    entry: Entry,
    parent: str | None,
    *,
    name: Callable[[str | None], str | None],
    refuse: Refuse,
    documented: bool = False,
) -> bytes:
    """Return one entry as a child of ``parent``. ``name`` maps an entry to its id in the file.

    ``documented`` orders the fields as in Operator's documentation, where a missing parent is null.
    """
    fields: dict[str, Any] = {"id": entry.id, "timestamp": seconds_of(entry.timestamp)}
    if documented:
        fields = {"type": entry.type, "id": entry.id, "parent_id": parent, **fields}
    elif parent is not None:
        fields["parent_id"] = parent
    if isinstance(entry, MessageEntry):
        message = typed_message(entry.message)
        if isinstance(message, CustomContent):
            entry = CustomMessage(
                id=entry.id,
                custom_type=message.custom_type,
                content=message.content,
                display=message.display,
                details=message.details,
            )
        else:
            fields["type"] = "message"
            fields["message"] = _message(message, entry.id, fields["timestamp"], refuse)
            return _line(fields)
    fields["type"] = entry.type
    fields |= {key: value for key, value in _own(entry, parent, name, refuse).items() if value is not None}
    return _line(fields)


def _own(
    entry: Entry, parent: str | None, name: Callable[[str | None], str | None], refuse: Refuse
) -> dict[str, Any]:
    """Return the fields of a type in order; those that are None are omitted."""
    match entry:
        case ThinkingLevelChange():
            if entry.thinking_level not in LEVELS:
                raise refuse("thinking level")
            return {"thinking_level": entry.thinking_level}
        case ModelChange():
            return {"model_id": entry.model_id, "provider_id": entry.provider}
        case Compaction():
            if entry.retained_tail is not None:
                raise refuse("kept messages")
            first_kept = entry.first_kept
            return {
                "summary": entry.summary,
                "first_kept_entry_id": entry.id if first_kept in (None, entry.id) else name(first_kept),
                "tokens_before": round(entry.tokens_before or 0),
                "details": entry.details,
                "from_hook": bool(entry.from_hook),
            }
        case BranchSummary():
            return {
                "from_id": "root" if parent is None else parent,
                "summary": entry.summary,
                "details": entry.details,
                "from_hook": bool(entry.from_hook),
            }
        case Label():
            return {"label": entry.label or None, "target_id": name(entry.target)}
        case Leaf():
            return {"target_id": name(entry.target)}
        case SessionInfo():
            if not entry.name.strip():
                raise refuse("no title")
            return {"name": entry.name}
        case Custom():
            return {"custom_type": entry.custom_type, "data": entry.data}
        case CustomMessage():
            if entry.role != "user":
                raise refuse("custom role")
            return {
                "custom_type": entry.custom_type,
                "content": parts_of(entry.content, (Text, Image), refuse),
                "display": entry.display is not False,
                "details": entry.details,
            }
        case Unknown(type="channel"):
            return {key: entry.fields.get(key) for key in ("name", "chat_id", "user_id")}
        case _:
            raise refuse(entry.type)


def _message(message: Message, entry_id: str, time: float, refuse: Refuse) -> dict[str, Any]:
    contents: list[dict[str, Any]]
    more: dict[str, Any] = {}
    match message:
        case UserMessage():
            role, contents = "user", parts_of(message.content, (Text, Image), refuse)
        case SystemMessage():
            if message.sections or message.tools_added or message.tools_removed:
                raise refuse("system state")
            role, contents = "system", parts_of(message.content, (Text,), refuse)
        case AssistantMessage():
            role, contents = "assistant", parts_of(message.content, (Text, Thinking, ToolCall), refuse)
            more = {
                "usage": _usage(message.usage or Usage()),
                "stop_reason": _stop_reason(message, refuse),
                "error": message.error_message or "",
            }
        case ToolResult():
            role, contents = "tool", [_tool_result(message, refuse)]
        case _:
            raise refuse("message")
    written = message.timestamp
    return {
        "contents": contents,
        "id": uuid4_from(f"message {entry_id}"),
        "timestamp": time if written is None else seconds_of(written),
        "role": role,
        **more,
    }


def _tool_result(message: ToolResult, refuse: Refuse) -> dict[str, Any]:
    parts_of(message.content, (Text,), refuse)  # Operator's results are text only
    details = message.details
    if details is not None and not isinstance(details, dict):
        details = {"details": details}
    return {
        "type": "tool_result",
        "id": message.tool_call_id,
        "content": blocks_text(message.content),
        "is_error": message.is_error is True,
        "metadata": msgspec.to_builtins(details or {}),
        "terminate": False,
    }


def _stop_reason(message: AssistantMessage, refuse: Refuse) -> str:
    if message.raw_stop_reason == "content_filter":
        return "content_filter"
    reason = message.stop_reason or "stop"
    if reason not in _REASONS:
        raise refuse("stop reason")
    return _REASONS[reason]


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        **{f"{name}_tokens": round(getattr(usage, name)) for name in TOKENS},
        "cost": {name: float(getattr(usage.cost, name)) for name in (*TOKENS, "total")},
    }
