"""The session functions of zot's ``core`` package, in Python spelling.

Sessions are files of zot below ``root``, in the folder of a working directory. Where zot returns an empty
string for what is not there, so do these functions.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from branchline import library, session
from branchline.compat._zot_records import SessionMeta, SessionSummary, TreeNode
from branchline.entries import Header, Message, Usage
from branchline.errors import NotASession
from branchline.formats import peek
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


class Session:
    """A live session."""

    def __init__(self, live: session.Session) -> None:
        self.session = live

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
        """Append several messages at once; the results of all calls of an answer belong in one row."""
        self.session.append_messages(messages)

    def update_model(self, provider_name: str, model: str) -> None:
        """Record a switch of the model, with which the session resumes."""
        self.session.append_model_change(provider_name, model)

    def append_usage(self, usage: Usage, cumulative: Usage | None = None) -> None:
        """Record what was spent. The running total is added up from the rows; ``cumulative`` is ignored."""
        del cumulative
        self.session.append_usage("usage", usage)

    def close(self) -> None:
        """Close the file; a new one in which nothing was said is deleted."""
        self.session.close()


def sessions_dir(root: _Path, cwd: str) -> str:
    """The folder of the sessions of a working directory."""
    folder = ZOT.home.directory(cwd, {}, "")
    assert folder is not None
    return os.path.join(os.fspath(root), "sessions", os.path.basename(folder))


def new_session(root: _Path, cwd: str, provider_name: str, model: str, version: str = "") -> Session:
    """A new session, which is a file at once. branchline writes the version of zot whose form it writes."""
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
    """An existing session for appending, and its messages."""
    live = session.Session.open(path)
    return Session(live), [item.message for item in live.context().messages]


def list_sessions(root: _Path, cwd: str) -> list[str]:
    """The files of a working directory, newest first by name."""
    rows = library.SessionLibrary(sessions_dir(root, cwd)).list()
    return sorted((row.path for row in rows if row.path is not None), reverse=True)


def latest_session(root: _Path, cwd: str) -> str:
    """The newest file of a working directory, or an empty string."""
    return next(iter(list_sessions(root, cwd)), "")


def describe_sessions(root: _Path, cwd: str) -> list[SessionSummary]:
    """Every session of a working directory at a glance, newest first."""
    return [_summary(path) for path in list_sessions(root, cwd)]


def find_session_by_id(root: _Path, cwd: str, id: str) -> str:  # noqa: A002
    """The file of the session with this id, or an empty string. Reads headers only."""
    row = library.SessionLibrary(sessions_dir(root, cwd)).find_by_id(id) if id else None
    return "" if row is None or row.id != id or row.path is None else row.path


def read_session_meta(path: _Path) -> SessionMeta:
    """The meta of a session. Reads no more than its beginning."""
    with snapshot_of(os.fspath(path)) as read:
        header = peek(read, os.fspath(path)).header
    if header is None:
        raise NotASession(f"{path} has no meta row")
    return _meta(header)


def branch_session(parent_path: _Path, root: _Path, cwd: str, version: str, up_to_idx: int) -> Session:
    """A new session with the first ``up_to_idx`` message rows of another, linked to it, with their usage."""
    del version
    with session.Session.open(parent_path) as parent:
        rows = _message_rows(parent)
        if not 0 <= up_to_idx <= len(rows):
            raise ValueError(f"cannot branch at {up_to_idx}: {parent_path} has {len(rows)} messages")
        target = FilesStore(sessions_dir(root, cwd))
        if up_to_idx:
            return Session(parent.fork(rows[up_to_idx - 1], cwd=cwd, store=target))
        return Session(
            session.Session.create(
                cwd, store=target, format="zot", parent_session=parent.id, persist="at_once"
            )
        )


def build_session_tree(root: _Path, cwd: str) -> list[TreeNode]:
    """The sessions of a working directory by parent; one whose parent is missing is a root."""
    roots: list[TreeNode] = []
    above: list[TreeNode] = []
    for item in library.SessionLibrary(sessions_dir(root, cwd)).forest():
        assert item.row.path is not None
        node = TreeNode(read_session_meta(item.row.path), item.row.path)
        del above[item.depth :]
        (above[-1].children if above else roots).append(node)
        above.append(node)
    return roots


def prune_empty_sessions(root: _Path, cwd: str) -> None:
    """Move the sessions of a working directory in which nothing was said to the trash."""
    library.SessionLibrary(sessions_dir(root, cwd)).prune(dry_run=False)


def _message_rows(live: session.Session) -> list[str]:
    """The last entry of each row that holds messages; the results of several calls share a row."""
    reading, index = live.transcript.reading, live.index
    rows = {
        reading.span(position).offset: index.keys[position]
        for position, kind in enumerate(index.types)
        if kind == "message"
    }
    return list(rows.values())


def _meta(header: Header) -> SessionMeta:
    said = header.metadata or {}
    return SessionMeta(
        id=header.id,
        cwd=header.cwd,
        model=said.get("model", ""),
        provider=said.get("provider", ""),
        started=header.timestamp,
        version=said.get("version", ""),
        parent=header.parent_session or "",
        fork_point=said.get("fork_point", 0),
    )


def _summary(path: str) -> SessionSummary:
    with session.Session.open(path) as live:
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
