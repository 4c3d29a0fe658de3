"""The header and the entries of a session, one frozen record per type.

These are views: the bytes of a line are the truth, and a record that was read is never written back.
``id`` and ``parent`` of a record that comes from a session are the keys of its tree, which differ from
what the line says only where the line is damaged, repeated or older than version 2.
"""

# Without `from __future__ import annotations`: msgspec would evaluate each of them from its text.

from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from branchline.entries.messages import Content, Message, Number, StoredMessage, SystemMessage, Usage

if TYPE_CHECKING:
    AnyMessage = Message
else:
    AnyMessage = StoredMessage

__all__ = [
    "ACTIVITY_ROLES",
    "CONVERSATION_TYPES",
    "COUNTED_ROLES",
    "SIDE_TYPES",
    "BranchSummary",
    "Compaction",
    "ContextEdit",
    "Custom",
    "CustomMessage",
    "Damaged",
    "Entry",
    "Header",
    "Label",
    "Leaf",
    "MessageEntry",
    "ModelChange",
    "Replacement",
    "SessionInfo",
    "ThinkingLevelChange",
    "Unknown",
    "UsageEntry",
]


class Header(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The first line of a session. It is not part of the tree."""

    id: str
    version: int = 1
    timestamp: str = ""
    cwd: str = ""
    parent_session: str | None = None
    metadata: dict[str, Any] | None = None


class _Entry(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    tag_field="type",
    gc=False,
    rename={
        "parent": "parentId",
        "thinking_level": "thinkingLevel",
        "model_id": "modelId",
        "first_kept": "firstKeptEntryId",
        "tokens_before": "tokensBefore",
        "from_hook": "fromHook",
        "system_message": "systemMessage",
        "retained_tail": "retainedTail",
        "from_id": "fromId",
        "custom_type": "customType",
        "target": "targetId",
    },
):
    """What all entries share."""

    type: ClassVar[str]
    id: str
    parent: str | None = None
    timestamp: str = ""


class MessageEntry(_Entry, frozen=True, kw_only=True, tag="message"):
    type: ClassVar[str] = "message"
    message: AnyMessage


class ThinkingLevelChange(_Entry, frozen=True, kw_only=True, tag="thinking_level_change"):
    type: ClassVar[str] = "thinking_level_change"
    thinking_level: str


class ModelChange(_Entry, frozen=True, kw_only=True, tag="model_change"):
    type: ClassVar[str] = "model_change"
    provider: str
    model_id: str


class Compaction(_Entry, frozen=True, kw_only=True, tag="compaction"):
    """Stands for everything before ``first_kept``; its own id there means that nothing is kept.

    ``retained_tail`` is an older way to say what is kept: messages that follow the summary.
    """

    type: ClassVar[str] = "compaction"
    summary: str
    first_kept: str | None = None
    tokens_before: Number | None = None
    details: Any = None
    usage: Usage | None = None
    from_hook: bool | None = None
    system_message: SystemMessage | None = None
    retained_tail: tuple[AnyMessage, ...] | None = None


class BranchSummary(_Entry, frozen=True, kw_only=True, tag="branch_summary"):
    """Summary of an abandoned branch; its parent is where the new branch continues.

    Never use ``from_id`` for structure: some agents store the abandoned branch, others the destination.
    """

    type: ClassVar[str] = "branch_summary"
    from_id: str | None = None
    summary: str
    details: Any = None
    usage: Usage | None = None
    from_hook: bool | None = None


class Custom(_Entry, frozen=True, kw_only=True, tag="custom"):
    """Data of an extension; the model never sees it."""

    type: ClassVar[str] = "custom"
    custom_type: str
    data: Any = None


class CustomMessage(_Entry, frozen=True, kw_only=True, tag="custom_message"):
    """A message of an extension; ``display`` false hides it from the user only.

    ``role`` is ``user`` or ``assistant``: the role in which the model sees it.
    """

    type: ClassVar[str] = "custom_message"
    custom_type: str
    content: Content
    role: str = "user"
    display: bool | msgspec.UnsetType = msgspec.UNSET
    details: Any = None


class Label(_Entry, frozen=True, kw_only=True, tag="label"):
    """Label of one entry; absent or empty removes it."""

    type: ClassVar[str] = "label"
    target: str
    label: str | None = None


class SessionInfo(_Entry, frozen=True, kw_only=True, tag="session_info"):
    """The title of the session; empty removes it."""

    type: ClassVar[str] = "session_info"
    name: str


class Replacement(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    content: Content


class ContextEdit(_Entry, frozen=True, kw_only=True, tag="context_edit"):
    """Replaces what the model sees of the target, or (``None``) removes it. History is unchanged."""

    type: ClassVar[str] = "context_edit"
    target: str
    replacement: Replacement | None = None


class UsageEntry(_Entry, frozen=True, kw_only=True, tag="usage"):
    """Tokens spent outside an answer, for example to keep a cache warm."""

    type: ClassVar[str] = "usage"
    kind: str
    provider: str | None = None
    model: str | None = None
    usage: Usage | None = None
    note: str | None = None


class Leaf(_Entry, frozen=True, kw_only=True, tag="leaf"):
    """The position moved to ``target`` (``None``: before the first entry)."""

    type: ClassVar[str] = "leaf"
    target: str | None = None


class Unknown(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a type that we do not know, or whose fields are not what that type has."""

    type: str
    id: str
    parent: str | None = None
    timestamp: str = ""
    fields: dict[str, Any] = {}


class Damaged(msgspec.Struct, frozen=True, kw_only=True):
    """Placeholder for an unreadable line whose id and parent are known."""

    type: ClassVar[str] = "damaged"
    id: str
    parent: str | None = None
    timestamp: str = ""
    text: str = ""


KnownEntry = (
    MessageEntry
    | ThinkingLevelChange
    | ModelChange
    | Compaction
    | BranchSummary
    | Custom
    | CustomMessage
    | Label
    | SessionInfo
    | ContextEdit
    | UsageEntry
    | Leaf
)
Entry = KnownEntry | Unknown | Damaged

SIDE_TYPES = frozenset({"label", "session_info", "usage", "custom", "leaf"})
"""Types of side records, which are never the leaf of the conversation."""

ACTIVITY_ROLES = frozenset({"user", "assistant"})
"""The roles whose latest message dates the activity of a session."""

COUNTED_ROLES = ACTIVITY_ROLES | {"toolResult"}
"""The roles whose messages a list counts."""

CONVERSATION_TYPES = frozenset(
    {
        "message",
        "compaction",
        "branch_summary",
        "custom_message",
        "model_change",
        "thinking_level_change",
        "context_edit",
    }
)
"""Types that can be on a path and shape the context. A type in neither set is kept on the path, unread."""
