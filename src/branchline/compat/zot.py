"""The session functions of zot's ``core`` package in Python spelling.

Sessions are zot files below ``root``, in a folder per working directory. As in zot, functions return an empty
string for missing values.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from branchline import library, session
from branchline.compat._facade import SessionFacade
from branchline.entries import Header, Message, Usage
from branchline.errors import BranchlineError, InvalidArgument, NotASession
from branchline.formats import EntryLog, peek
from branchline.formats.suffixes import JSONL
from branchline.formats.zot import ZOT
from branchline.stores import FilesStore, snapshot_of

__all__ = [
    "Session",
    "SessionMeta",
    "SessionSummary",
    "TreeNode",
    "branch_session",
    "build_session_tree",
    "describe_sessions",
    "find_session_by_id",
    "latest_session",
    "list_sessions",
    "new_session",
    "open_session",
    "prune_empty_sessions",
    "read_session_meta",
    "sessions_dir",
]

_Path = str | os.PathLike[str]
_SILENT = frozenset({"model_change", "session_info", "usage"})
"""Entry types of a file without messages."""
_HARMLESS = frozenset({"bom", "empty", "no-final-newline", "no-header"})
"""Findings of a file of which every line is read."""


@dataclass(frozen=True, slots=True)
class SessionMeta:
    """The meta row of a session; only forks have ``parent`` and ``fork_point``."""

    id: str
    cwd: str = ""
    model: str = ""
    provider: str = ""
    started: str = ""
    version: str = ""
    parent: str = ""
    fork_point: int = 0


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A session in a list."""

    path: str
    started: str
    model: str
    provider: str
    message_count: int
    first_user_text: str
    total_cost: float


@dataclass(slots=True)
class TreeNode:
    """A session and its forks."""

    meta: SessionMeta
    path: str
    children: list[TreeNode] = field(default_factory=list)


class Session(SessionFacade):
    """A live session; closing a new one without messages removes its file."""

    @property
    def id(self) -> str:
        return self.session.id

    @property
    def path(self) -> str:
        return self.session.file or ""

    @property
    def meta(self) -> SessionMeta:
        return _meta(self.session.header)

    def append_message(self, message: Message | dict[str, Any] | str) -> None:
        self.session.append_message(message)

    def append_messages(self, messages: Iterable[Message | dict[str, Any] | str]) -> None:
        """Append several messages at once; all tool results of one answer belong in one row."""
        self.session.append_messages(messages)

    def update_model(self, provider_name: str, model: str) -> None:
        """Record a model change; the session resumes with that model."""
        self.session.append_model_change(provider_name, model)

    def append_usage(self, usage: Usage, cumulative: Usage | None = None) -> None:
        """Record usage. ``cumulative`` is ignored: totals are computed from the rows."""
        del cumulative
        self.session.append_usage("usage", usage)


def sessions_dir(root: _Path, cwd: str) -> str:
    """Return the session folder of a working directory."""
    folder = ZOT.home.directory(cwd, {}, "")
    assert folder is not None
    return os.path.join(os.fspath(root), "sessions", os.path.basename(folder))


def new_session(root: _Path, cwd: str, provider_name: str, model: str, version: str = "") -> Session:
    """Create a session and its file. ``version`` is ignored: branchline writes the one it follows."""
    del version
    live = session.Session.create(
        cwd,
        directory=sessions_dir(root, cwd),
        format="zot",
        persist="at_once",
        metadata={"provider": provider_name, "model": model},
    )
    return Session(live)


def open_session(path: _Path) -> tuple[Session, list[Message]]:
    """Open a session for appending; return it and its messages."""
    live = session.Session.open(path)
    return Session(live), [item.message for item in live.context().messages]


def list_sessions(root: _Path, cwd: str) -> list[str]:
    """Return the session files of a working directory, newest first by name."""
    rows = library.SessionLibrary(sessions_dir(root, cwd)).list()
    return sorted(
        (row.path for row in rows if row.path is not None and row.path.endswith(JSONL)), reverse=True
    )


def latest_session(root: _Path, cwd: str) -> str:
    """Return the newest session file of a working directory, or an empty string."""
    return next(iter(list_sessions(root, cwd)), "")


def describe_sessions(root: _Path, cwd: str) -> list[SessionSummary]:
    """Return a summary of every session of a working directory, newest first.

    That of a file which cannot be read has its path alone.
    """
    return [_summary(path) for path in list_sessions(root, cwd)]


def find_session_by_id(root: _Path, cwd: str, id: str) -> str:  # noqa: A002
    """Return the file of the session with this id, or an empty string. Reads headers only."""
    row = library.SessionLibrary(sessions_dir(root, cwd)).find_by_id(id) if id else None
    return "" if row is None or row.id != id or row.path is None else row.path


def read_session_meta(path: _Path) -> SessionMeta:
    """Return the meta row of a session. Reads only the start of the file."""
    with snapshot_of(os.fspath(path)) as read:
        header = peek(read, os.fspath(path)).header
    if header is None:
        raise NotASession(f"{path} has no meta row")
    return _meta(header)


def branch_session(parent_path: _Path, root: _Path, cwd: str, version: str, up_to_idx: int) -> Session:
    """Create a session with the first ``up_to_idx`` message rows of another and their usage, linked to it."""
    del version
    with session.Session.open(parent_path) as parent:
        rows = _message_rows(parent)
        if not 0 <= up_to_idx <= len(rows):
            raise InvalidArgument(f"cannot branch at {up_to_idx}: {parent_path} has {len(rows)} messages")
        target = FilesStore(sessions_dir(root, cwd))
        if up_to_idx:
            return Session(parent.fork(rows[up_to_idx - 1], cwd=cwd, store=target))
        return Session(
            session.Session.create(
                cwd, store=target, format="zot", parent_session=parent.id, persist="at_once"
            )
        )


def build_session_tree(root: _Path, cwd: str) -> list[TreeNode]:
    """Return the sessions of a working directory as trees; one whose parent is missing is a root.

    A file without a meta row is left out.
    """
    roots: list[TreeNode] = []
    above: list[TreeNode | None] = []
    for item in library.SessionLibrary(sessions_dir(root, cwd)).forest():
        assert item.row.path is not None
        del above[item.depth :]
        parent = above[-1] if above else None
        try:
            if not item.row.path.endswith(JSONL):
                raise NotASession(f"{item.row.path} has another suffix than zot's files")
            node = TreeNode(read_session_meta(item.row.path), item.row.path)
        except (BranchlineError, OSError):
            above.append(None)
            continue
        (roots if parent is None else parent.children).append(node)
        above.append(node)
    return roots


def prune_empty_sessions(root: _Path, cwd: str) -> None:
    """Move the sessions of a working directory without messages to the trash: empty files, and usage alone.

    A file with a line that cannot be read stays, and so does one that a process has open.
    """
    store = FilesStore(sessions_dir(root, cwd))
    files = [(found.key, False) for found in store.scan().found if str(found.path).endswith(JSONL)]
    files += [(draft.key, True) for draft in store.drafts()]
    unused = [(key, draft) for key, draft in files if _has_no_text(store, key)]
    used = store.in_use([key for key, _draft in unused])
    for key, draft in unused:
        if key not in used:
            store.remove(key, draft=draft)


def _has_no_text(store: FilesStore, key: str) -> bool:
    """Return whether each line of a file is a row of zot's other than a message."""
    try:
        with store.snapshot(key) as read:
            found = EntryLog(ZOT, read, key)
    except (BranchlineError, OSError):
        return False
    return _SILENT.issuperset(found.tree.types) and _HARMLESS.issuperset(
        finding.kind for finding in found.reading.findings
    )


def _message_rows(live: session.Session) -> list[str]:
    """Return the last entry of each message row; the results of several tool calls share a row."""
    reading, index = live.transcript.reading, live.index
    rows = {
        reading.span(position).offset: index.keys[position]
        for position, kind in enumerate(index.types)
        if kind == "message"
    }
    return list(rows.values())


def _meta(header: Header) -> SessionMeta:
    metadata = header.metadata or {}
    return SessionMeta(
        id=header.id,
        cwd=header.cwd,
        model=metadata.get("model", ""),
        provider=metadata.get("provider", ""),
        started=header.timestamp,
        version=metadata.get("version", ""),
        parent=header.parent_session or "",
        fork_point=metadata.get("fork_point", 0),
    )


def _summary(path: str) -> SessionSummary:
    try:
        live = session.Session.open(path)
    except (BranchlineError, OSError):
        return SessionSummary(path, "", "", "", 0, "", 0.0)
    with live:
        meta = _meta(live.header)
        turns = library.SessionLibrary(os.path.dirname(path)).prior_turns(live)
        return SessionSummary(
            path=path,
            started=meta.started,
            model=meta.model,
            provider=meta.provider,
            message_count=len(_message_rows(live)),
            first_user_text=turns[0].text if turns else "",
            total_cost=live.usage().all.total.cost,
        )
