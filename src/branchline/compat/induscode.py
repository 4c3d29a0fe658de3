"""The session library of induscode: ``SessionLibrary``, its three records and the transcript store.

Listing, opening, renaming and removing are coroutines that do their work in a thread. ``tree`` and
``prior_turns`` read nothing: they take a store that was opened before.
"""

from __future__ import annotations

import asyncio
import builtins
import os
from dataclasses import dataclass
from typing import Any

from branchline import library, session
from branchline.entries import Entry
from branchline.formats.induscode import INDUSCODE
from branchline.formats.suffixes import NDJSON
from branchline.stores import FilesStore

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
    """A node of the transcript: its id, the node above it, and what it holds."""

    id: str
    parent: str | None
    entry: Entry


@dataclass(frozen=True, slots=True)
class TranscriptState:
    """All nodes of a transcript, in file order."""

    nodes: tuple[TranscriptEntry, ...]


@dataclass(frozen=True, slots=True)
class Head:
    """Where the next append hangs: the id of a node, None before the first one."""

    leaf: str | None


def session_scope_dir(sessions_dir: _Path, cwd: _Path) -> str:
    """The directory below ``sessions_dir`` that holds the sessions of one working directory."""
    folder = INDUSCODE.home.directory(os.fspath(cwd), {}, "")
    assert folder is not None
    return os.path.join(os.fspath(sessions_dir), os.path.basename(folder))


class TranscriptStore:
    """A live transcript. The verbs that write are coroutines."""

    def __init__(self, live: session.Session) -> None:
        self.session = live

    @classmethod
    async def open(cls, id: str, *, sessions_dir: _Path) -> TranscriptStore | None:  # noqa: A002
        """The session with this id in a directory; None if there is none."""
        return await SessionLibrary(sessions_dir=sessions_dir).open(id)

    @property
    def head(self) -> Head:
        return Head(self.session.leaf)

    def state(self) -> TranscriptState:
        """Every node."""
        return TranscriptState(tuple(map(_node, self.session.entries())))

    def path_to(self, id: str | None = None) -> builtins.list[TranscriptEntry]:  # noqa: A002
        """The nodes from a root to this one (default: the head leaf). ValueError for an unknown id."""
        return [_node(entry) for entry in self.session.entries(self.session.path(id))]

    async def append(self, message: Any) -> str:
        """Append a message below the head and return the id of its node."""
        return await asyncio.to_thread(self.session.append_message, message)

    async def branch_at(self, id: str) -> None:  # noqa: A002
        """Move the head to a node; the next append becomes its child. ValueError for an unknown id."""
        await asyncio.to_thread(self.session.branch, id)

    async def reset(self) -> None:
        """Move before the first node; the next append starts a new root."""
        await asyncio.to_thread(self.session.reset)

    async def start_new_session(self) -> TranscriptStore:
        """A fresh session beside this one."""
        return TranscriptStore(await asyncio.to_thread(self.session.new_session))

    def close(self) -> None:
        self.session.close()


class SessionLibrary:
    """The saved sessions of one directory, which belongs to one working directory already."""

    __slots__ = ("_dir", "_library")

    def __init__(self, *, sessions_dir: _Path) -> None:
        self._dir = os.fspath(sessions_dir)
        self._library = library.SessionLibrary(FilesStore(sessions_dir, suffix=NDJSON))

    @property
    def directory(self) -> str:
        return self._dir

    def path_of(self, id: str) -> str:  # noqa: A002
        """Where the session with this id is, or would be."""
        return FilesStore(self._dir, suffix=NDJSON).path_of(id)

    async def list(self, deep: bool = False) -> builtins.list[SavedSession]:  # noqa: FBT001, FBT002
        """The sessions, the file that changed last first; ``deep`` reads each for its count and preview."""
        rows = await asyncio.to_thread(self._library.list, deep)
        return [_saved(row) for row in rows if row.path is not None and row.path.endswith(NDJSON)]

    async def open(self, id: str) -> TranscriptStore | None:  # noqa: A002
        """The live transcript of a session; None if there is none with this id."""
        live = await asyncio.to_thread(self._library.open, id)
        return None if live is None else TranscriptStore(live)

    async def rename(self, from_id: str, to_id: str) -> str:
        """Move a session to another id and return its path; ValueError if it is missing or the id taken."""
        return await asyncio.to_thread(self._library.rename, from_id, to_id)

    async def remove(self, id: str) -> bool:  # noqa: A002
        """Remove a session (into the trash); False if there is none."""
        return await asyncio.to_thread(self._library.remove, id)

    def tree(self, store: TranscriptStore) -> builtins.list[BranchNode]:
        """Every node of every root, depth first."""
        return [
            BranchNode(
                node.id,
                node.parent,
                "  " * node.depth + _label(node.label),
                node.depth,
                node.is_leaf,
                node.is_current,
            )
            for node in self._library.tree(store.session)
        ]

    def prior_turns(self, store: TranscriptStore) -> builtins.list[PriorTurn]:
        """The prompts with words on the active branch."""
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


def _label(label: str) -> str:
    """What induscode calls a node: of answers and compactions it shows no text."""
    kind = label.partition(":")[0]
    return {"assistant": "assistant", "compaction": "condense"}.get(kind, label)
