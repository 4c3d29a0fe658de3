"""induscode's ``SessionLibrary``, its three records and its transcript store.

Listing, opening, renaming and removing are coroutines that run in a thread. ``tree`` and ``prior_turns`` take
an open store and do not read files.
"""

from __future__ import annotations

import asyncio
import builtins
import os
from dataclasses import dataclass
from typing import Any

from branchline import library
from branchline.compat._facade import SessionFacade
from branchline.entries import Entry
from branchline.formats.induscode import INDUSCODE
from branchline.formats.suffixes import NDJSON
from branchline.stores import FilesStore
from branchline.tree import Tree

__all__ = [
    "BranchNode",
    "Head",
    "PriorTurn",
    "SavedSession",
    "SessionLibrary",
    "TranscriptEntry",
    "TranscriptState",
    "TranscriptStore",
    "session_scope_dir",
]

_Path = str | os.PathLike[str]
_LABELS = {
    "assistant": "assistant",
    "compactionSummary": "condense",
    "compaction": "condense",
    "branch_summary": "condense",
    "bashExecution": "note",
    "custom_message": "note",
}
"""Labels of nodes by the role of their message or, without one, by their type."""


@dataclass(frozen=True, slots=True)
class SavedSession:
    """A saved session. Without a deep listing only id, path, time and size are known."""

    id: str
    path: str
    name: str | None = None
    lastModified: float | None = None  # noqa: N815  induscode's spelling, as below
    size: int | None = None
    messageCount: int | None = None  # noqa: N815
    preview: str | None = None


@dataclass(frozen=True, slots=True)
class BranchNode:
    """One node of the transcript tree, with a label that is indented by its depth."""

    id: str
    parent: str | None
    label: str
    depth: int
    isLeaf: bool  # noqa: N815
    isCurrent: bool  # noqa: N815


@dataclass(frozen=True, slots=True)
class PriorTurn:
    """A prompt on the active branch from which the conversation can be forked."""

    entryId: str  # noqa: N815
    text: str
    preview: str


@dataclass(frozen=True, slots=True)
class TranscriptEntry:
    """A node of the transcript: its id, its parent's id and its entry."""

    id: str
    parent: str | None
    entry: Entry


@dataclass(frozen=True, slots=True)
class TranscriptState:
    """All nodes of a transcript, in file order."""

    nodes: tuple[TranscriptEntry, ...]


@dataclass(frozen=True, slots=True)
class Head:
    """The node that the next append becomes a child of; None before the first node."""

    leaf: str | None


def session_scope_dir(sessions_dir: _Path, cwd: _Path) -> str:
    """Return the directory below ``sessions_dir`` for the sessions of one working directory."""
    folder = INDUSCODE.home.directory(os.fspath(cwd), {}, "")
    assert folder is not None
    return os.path.join(os.fspath(sessions_dir), os.path.basename(folder))


class TranscriptStore(SessionFacade):
    """A live transcript. Methods that write are coroutines."""

    @classmethod
    async def open(cls, id: str, *, sessions_dir: _Path) -> TranscriptStore | None:  # noqa: A002
        """Open the session with this id in a directory; None if there is none."""
        return await SessionLibrary(sessions_dir=sessions_dir).open(id)

    @property
    def head(self) -> Head:
        return Head(self.session.leaf)

    def state(self) -> TranscriptState:
        """Return all nodes."""
        return TranscriptState(tuple(map(_node, self.session.entries())))

    def path_to(self, id: str | None = None) -> builtins.list[TranscriptEntry]:  # noqa: A002
        """Return the nodes from the root to this one (default: the head); ValueError for an unknown id."""
        return [_node(entry) for entry in self.session.entries(self.session.path(id))]

    async def append(self, message: Any) -> str:
        """Append a message below the head and return the id of its node."""
        return await asyncio.to_thread(self.session.append_message, message)

    async def branch_at(self, id: str) -> None:  # noqa: A002
        """Move the head to a node; the next append becomes its child. Raises ValueError for an unknown id."""
        await asyncio.to_thread(self.session.branch, id)

    async def reset(self) -> None:
        """Move before the first node; the next append starts a new root."""
        await asyncio.to_thread(self.session.reset)

    async def start_new_session(self) -> TranscriptStore:
        """Start a new session in the same directory."""
        return TranscriptStore(await asyncio.to_thread(self.session.new_session))


class SessionLibrary:
    """The saved sessions of one directory."""

    __slots__ = ("_dir", "_library")

    def __init__(self, *, sessions_dir: _Path) -> None:
        self._dir = os.fspath(sessions_dir)
        self._library = library.SessionLibrary(FilesStore(sessions_dir, suffix=NDJSON))

    @property
    def directory(self) -> str:
        return self._dir

    def path_of(self, id: str) -> str:  # noqa: A002
        """Return the path of the session with this id, whether or not it exists."""
        return FilesStore(self._dir, suffix=NDJSON).path_of(id)

    async def list(self, deep: bool = False) -> builtins.list[SavedSession]:  # noqa: FBT001, FBT002
        """List the sessions, most recently changed first; ``deep`` reads each for its count and preview."""
        listing = await asyncio.to_thread(self._library.list, deep)
        rows = sorted(listing, key=lambda row: (-row.modified_ms, row.key))
        return [_saved(row) for row in rows if row.path is not None and row.path.endswith(NDJSON)]

    async def open(self, id: str) -> TranscriptStore | None:  # noqa: A002
        """Open the session with this id; None if there is none."""
        live = await asyncio.to_thread(self._library.open, id)
        return None if live is None else TranscriptStore(live)

    async def rename(self, from_id: str, to_id: str) -> str:
        """Rename a session and return its path. Raises ValueError if it is missing or the new id is taken."""
        return await asyncio.to_thread(self._library.rename, from_id, to_id)

    async def remove(self, id: str) -> bool:  # noqa: A002
        """Move a session to the trash; False if there is none."""
        return await asyncio.to_thread(self._library.remove, id)

    def tree(self, store: TranscriptStore) -> builtins.list[BranchNode]:
        """Return all nodes, depth first."""
        index = store.session.index
        return [
            BranchNode(
                node.id,
                node.parent,
                "  " * node.depth + _label(node, index),
                node.depth,
                node.is_leaf,
                node.is_current,
            )
            for node in self._library.tree(store.session)
        ]

    def prior_turns(self, store: TranscriptStore) -> builtins.list[PriorTurn]:
        """Return the prompts with text on the active branch."""
        return [
            PriorTurn(turn.id, turn.text, turn.preview) for turn in self._library.prior_turns(store.session)
        ]


def _node(entry: Entry) -> TranscriptEntry:
    return TranscriptEntry(entry.id, entry.parent, entry)


def _saved(row: library.SessionRow) -> SavedSession:
    assert row.path is not None
    return SavedSession(
        id=row.key,
        path=row.path,
        name=row.first_prompt,
        lastModified=float(row.modified_ms),
        size=row.size,
        messageCount=row.messages,
        preview=row.first_prompt,
    )


def _label(node: library.BranchNode, index: Tree) -> str:
    """Return induscode's label of a node, which omits the text of answers, summaries and notes."""
    position = index.position(node.id)
    return _LABELS.get(index.roles[position] or index.types[position], node.label)
