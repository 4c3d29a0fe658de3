"""Operator's ``SessionManager`` and its eleven entry classes.

A manager owns one session in Operator's format: the file, the index of entries, the leaf and the tree.
"""

from __future__ import annotations

import builtins
import os
from typing import Any, Self

from branchline import library, places, session
from branchline.compat._operator_records import (
    BranchEntry,
    CompactionEntry,
    CustomInfoEntry,
    CustomMessageEntry,
    LabelEntry,
    LeafEntry,
    MessageEntry,
    ModelChangeEntry,
    SessionContext,
    SessionEntry,
    SessionHeader,
    SessionInfo,
    SessionInfoEntry,
    SessionTreeNode,
    ThinkingLevelChangeEntry,
    entry_of,
    seconds,
)
from branchline.entries import Message
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


def get_default_session_dir() -> str:
    """The directory that holds the sessions of all projects: that of a profile, if there is one."""
    found = places.existing_directory(OPERATOR.home.profile_patterns)
    return found or str(places.directory_in(OPERATOR.home.directory, ""))


def list_sessions_from_dir(session_dir: _Path, cwd: _Path | None = None) -> builtins.list[SessionInfo]:
    """The sessions of a directory, the one that changed last first; with ``cwd`` those of one project."""
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


class SessionManager:
    """All persistent state of one session."""

    def __init__(self, live: session.Session) -> None:
        self.session = live

    # -- factories ------------------------------------------------------------------------------------

    @classmethod
    def create(cls, cwd: _Path, session_dir: _Path | None = None) -> Self:
        """A new session. No file is written before the first assistant message."""
        return cls(session.Session.create(cwd, directory=session_dir, format="operator"))

    @classmethod
    def open(cls, path: _Path) -> Self:
        """The session in a file."""
        return cls(session.Session.open(path))

    @classmethod
    def continue_recent(cls, cwd: _Path, session_dir: _Path | None = None) -> Self:
        """The session of a project that changed last, or a new one."""
        return cls(session.Session.continue_recent(cwd, directory=session_dir, format="operator"))

    @classmethod
    def in_memory(cls, cwd: _Path = "") -> Self:
        """A session without a file."""
        return cls(session.Session.in_memory(cwd or None, format="operator"))

    @classmethod
    def fork_from(cls, source: _Path, target_cwd: _Path, session_dir: _Path | None = None) -> Self:
        """A copy of a session file for another project, under a new id."""
        return cls(session.Session.fork_from(source, target_cwd, directory=session_dir, to="operator"))

    @staticmethod
    def list(session_dir: _Path | None = None, cwd: _Path | None = None) -> builtins.list[SessionInfo]:
        """The sessions of the directory of all projects, or of another one."""
        return list_sessions_from_dir(session_dir or get_default_session_dir(), cwd)

    # -- what it is -----------------------------------------------------------------------------------

    @property
    def session_id(self) -> str:
        return self.session.id

    @property
    def session_file(self) -> str | None:
        """Where the file is, or will be with the first assistant message."""
        return self.session.file

    @property
    def session_name(self) -> str | None:
        return self.session.title

    @property
    def header(self) -> SessionHeader:
        header = self.session.header
        return SessionHeader(header.id, seconds(header.timestamp), header.cwd, header.parent_session)

    @property
    def flushed(self) -> bool:
        """Whether the session is in its file."""
        return self.session.file is not None and not self.session.is_draft

    @property
    def entries(self) -> builtins.list[SessionEntry]:
        return [entry_of(entry) for entry in self.session.entries()]

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
        """The entries from the root to this one (default: the leaf); none for an unknown id."""
        if from_id is not None and from_id not in self.session:
            return []
        return [entry_of(entry) for entry in self.session.entries(self.session.path(from_id))]

    def get_tree(self) -> builtins.list[SessionTreeNode]:
        """The roots, each with its children, oldest first."""
        labels = self.session.labels
        nodes = {entry.id: SessionTreeNode(entry, label=labels.get(entry.id)) for entry in self.entries}
        for node in self.session.nodes():
            nodes[node.id].children = [nodes[key] for key in self.session.index.children(node.id)]
        return [nodes[node.id] for node in self.session.tree()]

    def branch(self, from_id: str) -> None:
        """Move the leaf; ValueError for an unknown id. Recorded in the file by a leaf entry."""
        self.session.branch(from_id)

    def branch_with_summary(self, summary: str, from_id: str | None) -> str:
        """Append a summary of the branch that is left at another entry, which becomes the leaf."""
        return self.session.branch_with_summary(from_id, summary)

    def create_branched_session(self, leaf_id: str) -> SessionManager:
        """A new session with only the path to this entry, linked to this one."""
        return type(self)(self.session.fork(leaf_id))

    def build_session_context(self) -> SessionContext:
        """What the model receives at the leaf."""
        context = self.session.context()
        return SessionContext(
            [item.message for item in context.messages],
            None if context.model is None else context.model.id,
            context.thinking_level,
        )

    # -- appending ------------------------------------------------------------------------------------

    def append_message(self, message: Message | dict[str, Any] | str) -> str:
        return self.session.append_message(message)

    def append_compaction(self, summary: str, first_kept_entry_id: str | None, tokens_before: int = 0) -> str:
        return self.session.append_compaction(summary, first_kept_entry_id, tokens_before)

    def append_label(self, target_id: str, label: str | None) -> str:
        """Attach a label to an entry, or remove it."""
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

    def close(self) -> None:
        self.session.close()
