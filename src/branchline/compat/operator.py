"""Operator's ``SessionManager`` and its eleven entry classes.

A manager owns one session in Operator's format: the file, the index of entries, the leaf and the tree.
"""

from __future__ import annotations

import builtins
import os
from dataclasses import dataclass, field
from typing import Any, Self

from branchline import entries, library, places, session
from branchline.compat._facade import ManagerFacade
from branchline.context import milliseconds
from branchline.formats.operator import OPERATOR

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
    "SessionManager",
    "SessionTreeNode",
    "ThinkingLevelChangeEntry",
    "get_default_session_dir",
    "list_sessions_from_dir",
]

_Path = str | os.PathLike[str]


# -- records ----------------------------------------------------------------------------------------------


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


# -- functions and the manager ----------------------------------------------------------------------------


def get_default_session_dir() -> str:
    """Return the directory with the sessions of all projects: the profile's, if there is one."""
    found = places.profile_directory(OPERATOR)
    return found or str(places.directory_in(OPERATOR.home.directory, ""))


def list_sessions_from_dir(session_dir: _Path, cwd: _Path | None = None) -> builtins.list[SessionInfo]:
    """List the sessions of a directory, most recently changed first; ``cwd`` selects one project."""
    return [
        SessionInfo(
            id=row.id,
            path=row.path or "",
            cwd=row.cwd or "",
            name=row.title,
            modified=row.modified_ms / 1000,
            message_count=row.messages or 0,
            parent_session=row.parent_session,
        )
        for row in library.SessionLibrary(session_dir, cwd=cwd).list(deep=True).readable
    ]


class SessionManager(ManagerFacade):
    """All persistent state of one session."""

    _format = "operator"

    @classmethod
    def fork_from(cls, source: _Path, target_cwd: _Path, session_dir: _Path | None = None) -> Self:
        """Copy a session file to another project, under a new id."""
        return cls(session.Session.fork_from(source, target_cwd, directory=session_dir, to="operator"))

    @staticmethod
    def list(session_dir: _Path | None = None, cwd: _Path | None = None) -> builtins.list[SessionInfo]:
        """List the sessions of a directory (default: that of all projects)."""
        return list_sessions_from_dir(session_dir or get_default_session_dir(), cwd)

    # -- reading --------------------------------------------------------------------------------------

    @property
    def session_id(self) -> str:
        return self.session.id

    @property
    def session_file(self) -> str | None:
        """The path of the file, which appears with the first assistant message."""
        return self.session.file

    @property
    def session_name(self) -> str | None:
        return self.session.title

    @property
    def header(self) -> SessionHeader:
        header = self.session.header
        return SessionHeader(header.id, _seconds(header.timestamp), header.cwd, header.parent_session)

    @property
    def flushed(self) -> bool:
        """Whether the file has been written."""
        return self.session.file is not None and not self.session.is_draft

    @property
    def entries(self) -> builtins.list[SessionEntry]:
        return [_entry(entry) for entry in self.session.entries()]

    @property
    def by_id(self) -> dict[str, SessionEntry]:
        return {entry.id: entry for entry in self.entries}

    @property
    def leaf_id(self) -> str | None:
        return self.session.leaf

    @property
    def labels_by_id(self) -> dict[str, str]:
        return self.session.labels

    # -- the tree -------------------------------------------------------------------------------------

    def get_branch(self, from_id: str | None = None) -> builtins.list[SessionEntry]:
        """Return the entries from the root to this one (default: the leaf); none for an unknown id."""
        if from_id is not None and from_id not in self.session:
            return []
        return [_entry(entry) for entry in self.session.entries(self.session.path(from_id))]

    def get_tree(self) -> builtins.list[SessionTreeNode]:
        """Return the roots, each with its children, oldest first."""
        labels = self.session.labels
        nodes = {entry.id: SessionTreeNode(entry, label=labels.get(entry.id)) for entry in self.entries}
        for node in self.session.nodes():
            nodes[node.id].children = [nodes[key] for key in self.session.index.children(node.id)]
        return [nodes[node.id] for node in self.session.tree()]

    def branch(self, from_id: str) -> None:
        """Move the leaf and record the move as a leaf entry. Raises ValueError for an unknown id."""
        self.session.branch(from_id)

    def branch_with_summary(self, summary: str, from_id: str | None) -> str:
        """Move the leaf to ``from_id`` and append a summary of the abandoned branch there."""
        return self.session.branch_with_summary(from_id, summary)

    def create_branched_session(self, leaf_id: str) -> SessionManager:
        """Create a session with only the path to this entry, linked to this session."""
        return type(self)(self.session.fork(leaf_id))

    def build_session_context(self) -> SessionContext:
        """Return the model context at the leaf."""
        context = self.session.context()
        return SessionContext(
            [item.message for item in context.messages],
            None if context.model is None else context.model.id,
            context.thinking_level,
        )

    # -- appending ------------------------------------------------------------------------------------

    def append_compaction(self, summary: str, first_kept_entry_id: str | None, tokens_before: int = 0) -> str:
        return self.session.append_compaction(summary, first_kept_entry_id, tokens_before)

    def append_label(self, target_id: str, label: str | None) -> str:
        """Label an entry; None removes the label."""
        return self.session.append_label(target_id, label)

    def append_thinking_level_change(self, thinking_level: str) -> str:
        return self.session.append_thinking_level_change(thinking_level)

    def append_model_change(self, provider_id: str, model_id: str) -> str:
        return self.session.append_model_change(provider_id, model_id)

    def append_session_info(self, name: str) -> str:
        return self.session.set_title(name)

    def append_custom_info(self, custom_type: str, data: Any = None) -> str:
        return self.session.append_custom(custom_type, data)

    def append_custom_message(self, custom_type: str, content: Any, *, display: bool = True) -> str:
        return self.session.append_custom_message(custom_type, content, display=display)


def _seconds(timestamp: str) -> float:
    """Convert a timestamp to Operator's form: seconds since 1970, 0 if there is none."""
    return (milliseconds(timestamp) or 0) / 1000


def _entry(entry: entries.Entry) -> SessionEntry:
    """Convert an entry to Operator's class for it."""
    common: dict[str, Any] = {
        "id": entry.id,
        "parent_id": entry.parent,
        "timestamp": _seconds(entry.timestamp),
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
