"""Operator's ``SessionManager`` and its eleven entry classes.

A manager owns one session in Operator's format: the file, the index of entries, the leaf and the tree.
"""

from __future__ import annotations

import builtins
import os
from typing import Any, Self

from branchline import library, places, session
from branchline.compat._facade import ManagerFacade
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
    seconds,
    to_operator_entry,
)
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
    """Return the directory with the sessions of all projects: the profile's, if there is one."""
    found = places.existing_directory(OPERATOR.home.profile_patterns)
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
        return SessionHeader(header.id, seconds(header.timestamp), header.cwd, header.parent_session)

    @property
    def flushed(self) -> bool:
        """Whether the file has been written."""
        return self.session.file is not None and not self.session.is_draft

    @property
    def entries(self) -> builtins.list[SessionEntry]:
        return [to_operator_entry(entry) for entry in self.session.entries()]

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
        return [to_operator_entry(entry) for entry in self.session.entries(self.session.path(from_id))]

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
