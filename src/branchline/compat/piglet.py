"""piglet's ``session`` package in Python spelling: ``create``, ``open``, ``list`` and ``Session``.

A session is one piglet file that holds a tree. As in Go, properties are calls (``s.leaf_id()``), and a
missing id, parent or label is an empty string.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from branchline import library, session
from branchline.compat._facade import SessionFacade
from branchline.entries import Message

__all__ = ["EntryInfo", "Meta", "Session", "Summary", "TreeNode", "create", "list", "open"]

_Path = str | os.PathLike[str]
_ROLES = {"user": "user", "assistant": "assistant", "toolResult": "tool_result"}
_TYPES = {"compaction": "compact", "leaf": "branch_summary"}


@dataclass(frozen=True, slots=True)
class Meta:
    """Session metadata."""

    id: str
    cwd: str
    model: str
    created_at: str
    title: str
    parent_id: str
    fork_point: int


@dataclass(frozen=True, slots=True)
class Summary:
    """A session in a list."""

    id: str
    path: str
    title: str
    model: str
    cwd: str
    created_at: str
    messages: int
    parent_id: str


@dataclass(frozen=True, slots=True)
class EntryInfo:
    """An entry of the current branch."""

    id: str
    parent_id: str
    type: str
    timestamp: str
    children: int
    label: str


@dataclass(frozen=True, slots=True)
class TreeNode:
    """An entry of the tree. ``preview`` is the start of a prompt."""

    id: str
    parent_id: str
    type: str
    timestamp: str
    children: int
    on_active_path: bool
    depth: int
    preview: str
    label: str
    tokens_before: int


def create(directory: _Path, cwd: _Path, model: str = "") -> Session:
    """Create a session in a directory."""
    made = Session(session.Session.create(cwd, directory=directory, format="piglet", persist="at_once"))
    if model:
        made.set_model(model)
    return made


def open(path: _Path) -> Session:  # noqa: A001
    """Open a session file. A file without ids is upgraded in memory."""
    return Session(session.Session.open(path))


def list(directory: _Path) -> builtins.list[Summary]:  # noqa: A001
    """List the sessions of a directory, most recently changed first."""
    return [
        Summary(
            id=row.id,
            path=row.path or "",
            title=row.title or "",
            model=row.model or "",
            cwd=row.cwd or "",
            created_at=row.created or "",
            messages=row.messages or 0,
            parent_id=row.parent_session or "",
        )
        for row in sorted(
            library.SessionLibrary(directory).list(deep=True).readable,
            key=lambda row: (-row.modified_ms, row.key),
        )
    ]


class Session(SessionFacade):
    """A conversation as a tree in one file."""

    # -- reading --------------------------------------------------------------------------------------

    def id(self) -> str:
        return self.session.id

    def path(self) -> str:
        return self.session.file or ""

    def leaf_id(self) -> str:
        """Return the parent of the next append; empty in a new session and after a reset."""
        return self.session.leaf or ""

    def meta(self) -> Meta:
        header, model = self.session.header, self.session.context().model
        metadata = header.metadata or {}
        return Meta(
            id=header.id,
            cwd=header.cwd,
            model="" if model is None else model.id,
            created_at=header.timestamp,
            title=self.session.title or "",
            parent_id=header.parent_session or "",
            fork_point=metadata.get("fork_point", 0),
        )

    def messages(self) -> builtins.list[Message]:
        """Return the messages of the active branch since its last checkpoint."""
        return [item.message for item in self.session.context().messages]

    def label(self, entry_id: str) -> str:
        """Return the label of an entry, or an empty string."""
        return self.session.labels.get(entry_id, "")

    def entry_infos(self) -> builtins.list[EntryInfo]:
        """Return the entries of the current branch, root to leaf."""
        nodes = {node.id: node for node in self.session.nodes()}
        return [
            EntryInfo(
                node.id, node.parent or "", _type(node), node.timestamp, node.children, node.label or ""
            )
            for node in map(nodes.__getitem__, self.session.path())
        ]

    def full_tree(self) -> builtins.list[TreeNode]:
        """Return all entries, depth first: the active subtree first, then oldest first."""
        return [
            TreeNode(
                id=node.id,
                parent_id=node.parent or "",
                type=_type(node),
                timestamp=node.timestamp,
                children=node.children,
                on_active_path=node.on_active_path,
                depth=node.depth,
                preview=node.preview if node.role == "user" else "",
                label=node.label or "",
                tokens_before=round(node.tokens_before or 0),
            )
            for node in self.session.nodes()
        ]

    # -- appending ------------------------------------------------------------------------------------

    def append(self, msg: Message | dict[str, Any] | str) -> None:
        self.session.append_message(msg)

    def append_compact(self, msgs: Iterable[Message | dict[str, Any] | str], tokens_before: int = 0) -> None:
        """Append a checkpoint: these messages replace everything before it on the path."""
        self.session.append_compaction(messages=msgs, tokens_before=tokens_before or None)

    def append_custom(self, kind: str, data: Any = None) -> None:
        """Append extension data under a namespaced kind; it is not a message."""
        self.session.append_custom(kind, data)

    def append_custom_message(self, role: str, content: str) -> None:
        """Append an extension message. Raises ValueError unless the role is ``user`` or ``assistant``."""
        self.session.append_custom_message("extension", content, role=role)

    def append_label(self, target_id: str, label: str) -> None:
        """Label an entry; an empty label removes it."""
        self.session.append_label(target_id, label or None)

    def set_model(self, model: str) -> None:
        self.session.append_model_change(None, model)

    def set_title(self, title: str) -> None:
        self.session.set_title(title)

    # -- moving ---------------------------------------------------------------------------------------

    def branch(self, entry_id: str) -> None:
        """Move the leaf to an earlier entry. Raises ValueError for an unknown id."""
        self.session.branch(entry_id)

    def branch_with_summary(self, entry_id: str, summary: str) -> None:
        """Move the leaf and append a summary of the abandoned branch, which becomes the leaf."""
        self.session.branch_with_summary(entry_id, summary)

    def reset_leaf(self) -> None:
        """Move before the first entry; the next append starts a new trunk."""
        self.session.reset()

    def fork(self, keep_messages: int = 0) -> Session:
        """Create a session with the first messages of the branch; 0 keeps all."""
        return Session(self.session.fork_first(keep_messages))


def _type(node: session.NodeRow) -> str:
    """Return piglet's name for the type of an entry."""
    return _ROLES.get(node.role or "", _TYPES.get(node.type, node.type))
