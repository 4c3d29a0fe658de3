"""Operator's records: entry classes, tree nodes, context and list rows, and the conversion to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from branchline import entries
from branchline.context import milliseconds

__all__ = [
    "BranchEntry",
    "CompactionEntry",
    "CustomInfoEntry",
    "CustomMessageEntry",
    "LabelEntry",
    "LeafEntry",
    "MessageEntry",
    "ModelChangeEntry",
    "SessionContext",
    "SessionEntry",
    "SessionHeader",
    "SessionInfo",
    "SessionInfoEntry",
    "SessionTreeNode",
    "ThinkingLevelChangeEntry",
    "seconds",
    "to_operator_entry",
]


@dataclass(frozen=True, slots=True)
class SessionHeader:
    """The first line of a file."""

    id: str
    timestamp: float = 0.0
    cwd: str = ""
    parent_session: str | None = None
    type: str = "session_header"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEntry:
    """Base class of the entries; also used for entries of an unknown type."""

    id: str = ""
    parent_id: str | None = None
    timestamp: float = 0.0
    type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEntry(SessionEntry):
    """A user, assistant or tool-result message."""

    message: entries.Message
    type: str = "message"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionEntry(SessionEntry):
    """A summary of everything before the first kept entry."""

    summary: str
    first_kept_entry_id: str | None = None
    tokens_before: float = 0
    type: str = "compaction"


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchEntry(SessionEntry):
    """A summary of an abandoned branch."""

    summary: str
    from_id: str | None = None
    type: str = "branch_summary"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafEntry(SessionEntry):
    """A move: the target becomes the leaf."""

    target_id: str | None
    type: str = "leaf"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelEntry(SessionEntry):
    """A label on an entry, or (None) its removal."""

    target_id: str
    label: str | None = None
    type: str = "label"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingLevelChangeEntry(SessionEntry):
    thinking_level: str
    type: str = "thinking_level_change"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChangeEntry(SessionEntry):
    provider_id: str
    model_id: str
    type: str = "model_change"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfoEntry(SessionEntry):
    """The name of the session."""

    name: str
    type: str = "session_info"


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomInfoEntry(SessionEntry):
    """Extension data that the model does not see."""

    custom_type: str
    data: Any = None
    type: str = "custom"


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomMessageEntry(SessionEntry):
    """An extension message that the model sees."""

    custom_type: str
    content: entries.Content
    display: bool = True
    type: str = "custom_message"


@dataclass(frozen=True, slots=True)
class SessionContext:
    """The model context: messages, model and thinking level."""

    messages: list[entries.Message]
    model_id: str | None
    thinking_level: str


@dataclass(slots=True)
class SessionTreeNode:
    """An entry and its children."""

    entry: SessionEntry
    children: list[SessionTreeNode] = field(default_factory=list)
    label: str | None = None


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session in a list."""

    id: str
    path: str
    cwd: str
    name: str | None
    modified: float
    message_count: int
    parent_session: str | None


def seconds(timestamp: str) -> float:
    """Convert a timestamp to Operator's form: seconds since 1970, 0 if there is none."""
    return (milliseconds(timestamp) or 0) / 1000


def to_operator_entry(entry: entries.Entry) -> SessionEntry:
    """Convert an entry to Operator's class for it."""
    common: dict[str, Any] = {
        "id": entry.id,
        "parent_id": entry.parent,
        "timestamp": seconds(entry.timestamp),
    }
    match entry:
        case entries.MessageEntry():
            return MessageEntry(**common, message=entry.message)
        case entries.Compaction():
            kept = entry.first_kept
            size = entry.tokens_before or 0
            return CompactionEntry(
                **common, summary=entry.summary, first_kept_entry_id=kept, tokens_before=size
            )
        case entries.BranchSummary():
            return BranchEntry(**common, summary=entry.summary, from_id=entry.from_id)
        case entries.Leaf():
            return LeafEntry(**common, target_id=entry.target)
        case entries.Label():
            return LabelEntry(**common, target_id=entry.target, label=entry.label)
        case entries.ThinkingLevelChange():
            return ThinkingLevelChangeEntry(**common, thinking_level=entry.thinking_level)
        case entries.ModelChange():
            return ModelChangeEntry(**common, provider_id=entry.provider, model_id=entry.model_id)
        case entries.SessionInfo():
            return SessionInfoEntry(**common, name=entry.name)
        case entries.Custom():
            return CustomInfoEntry(**common, custom_type=entry.custom_type, data=entry.data)
        case entries.CustomMessage():
            shown = entry.display is not False
            return CustomMessageEntry(
                **common, custom_type=entry.custom_type, content=entry.content, display=shown
            )
        case _:
            return SessionEntry(**common, type=entry.type)
