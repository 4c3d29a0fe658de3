"""Where the app gets sessions from: a small protocol, and its implementation over session files.

Rows come in batches, newest files first, so that a screen has something to show at once. Everything here may
wait for the disk: screens call it from a worker thread.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from branchline import places
from branchline.actions.remove import RemovedSession, remove, undo
from branchline.errors import SessionNotFound
from branchline.formats import EntryLog
from branchline.library import Description, Discovery, Forest, SessionLibrary, SessionRow
from branchline.library.description import describe
from branchline.library.listing import LazyListing
from branchline.library.row_reader import deep_row, read_log
from branchline.library.search_text import contents_of, may_match
from branchline.library.shelf import StoreScanner
from branchline.session import Session
from branchline.stores import SkippedFile, StoredLog, snapshot_of
from branchline.views.query import Query, SearchText

__all__ = ["Batch", "FileSource", "Scope", "Source", "row_name"]

Scope = Literal["here", "all"]
_FIRST = 50
"""Rows in the first batch: a screenful, so that it is there at once."""
_PAUSE = 0.1
"""Seconds between later batches: often enough to look alive, rarely enough to leave time for keys."""


class Batch(NamedTuple):
    """Rows and hidden things that are new, and how far the reading is."""

    rows: Sequence[SessionRow]
    hidden: Sequence[SkippedFile]
    loaded: int
    total: int


class Source(Protocol):
    """What the screens ask of a collection of sessions."""

    @property
    def cwd(self) -> str:
        """The working directory that the scope ``here`` means."""
        ...

    def rows(self, scope: Scope) -> Iterator[Batch]:
        """Every session of a scope, newest first; the last batch has ``loaded == total``."""
        ...

    def forest(self, scope: Scope) -> Forest:
        """The sessions of a scope below those that they were forked from."""
        ...

    def agent(self, row: SessionRow) -> str:
        """The program that owns a session."""
        ...

    def open(self, row: SessionRow) -> Session:
        """The session itself. SessionNotFound when it is gone."""
        ...

    def reload_row(self, row: SessionRow) -> SessionRow | None:
        """The row as it is now; None when the session is gone."""
        ...

    def is_changed(self, row: SessionRow) -> bool:
        """Whether a session is not as its row says any more. A quick question, asked again and again."""
        ...

    def contents(self, row: SessionRow, query: Query) -> SearchText | None:
        """What is said inside; None when a quick look shows that the query cannot match."""
        ...

    def describe(self, row: SessionRow) -> Description:
        """Cost, tokens and branches of a session."""
        ...

    def rename(self, row: SessionRow, title: str) -> None:
        """Give a session a title; the file keeps its name."""
        ...

    def remove(self, row: SessionRow) -> str:
        """Move a session to the trash and return what brings it back."""
        ...

    def restore(self, row: SessionRow, token: str) -> None:
        """Bring a removed session back."""
        ...


class FileSource:
    """Sessions that lie in files: of all programs, or those of one directory."""

    def __init__(
        self,
        look: Callable[[Scope], LazyListing[Any]],
        forest: Callable[[Scope], Forest],
        *,
        cwd: str | None = None,
    ) -> None:
        self.cwd = places.resolve_cwd(cwd)
        self._look = look
        self._forest = forest
        self._programs: dict[tuple[str, str], str] = {}

    @classmethod
    def everywhere(cls) -> FileSource:
        """The sessions of all programs: of this working directory, or of every project."""

        def discovery(scope: Scope) -> Discovery:
            return Discovery(all_projects=scope == "all")

        return cls(lambda scope: discovery(scope).iter_rows(), lambda scope: discovery(scope).forest())

    @classmethod
    def of_directory(cls, directory: str) -> FileSource:
        """The files of one directory, whatever scope is asked for."""
        library = SessionLibrary(directory)

        def look(scope: Scope) -> LazyListing[StoredLog]:
            del scope
            scan = library.store.scan()
            return LazyListing(scan.found, StoreScanner(library.store, None).deep, scan.hidden)

        return cls(look, lambda _scope: library.forest())

    # -- many -----------------------------------------------------------------------------------------

    def rows(self, scope: Scope) -> Iterator[Batch]:
        look = self._look(scope)
        told = hidden = 0
        due = time.monotonic() + _PAUSE
        for number, _row in enumerate(look, 1):
            if number == _FIRST or time.monotonic() > due:
                yield Batch(look.rows[told:], look.hidden[hidden:], look.loaded, look.total)
                told, hidden = len(look.rows), len(look.hidden)
                due = time.monotonic() + _PAUSE
        yield Batch(look.rows[told:], look.hidden[hidden:], look.total, look.total)

    def forest(self, scope: Scope) -> Forest:
        return self._forest(scope)

    # -- one ------------------------------------------------------------------------------------------

    def agent(self, row: SessionRow) -> str:
        if row.agent is not None or row.path is None or row.format is None:
            return row.agent or row.format or "?"
        place = (os.path.dirname(row.path), row.format)
        if place not in self._programs:
            self._programs[place] = places.program_of(row.path, row.format)
        return self._programs[place]

    def open(self, row: SessionRow) -> Session:
        try:
            return Session.open(_path(row))
        except FileNotFoundError:
            raise SessionNotFound(f"{row.path} is not there any more") from None

    def reload_row(self, row: SessionRow) -> SessionRow | None:
        try:
            with self._read(row) as (stored, transcript):
                now = deep_row(stored, transcript)
        except SessionNotFound:
            return None
        # What only its place tells is as it was: the program, and a title that is kept elsewhere.
        kept_elsewhere = row.title if row.agent in _TITLES_ELSEWHERE else None
        return msgspec.structs.replace(
            now,
            agent=row.agent,
            subagent=row.subagent,
            title=now.title or kept_elsewhere,
            parent_session=now.parent_session or row.parent_session,
        )

    def is_changed(self, row: SessionRow) -> bool:
        try:
            status = os.stat(_path(row))
        except OSError:
            return True
        return (status.st_size, round(status.st_mtime * 1000)) != (row.size, row.modified_ms)

    def contents(self, row: SessionRow, query: Query) -> SearchText | None:
        with open(_path(row), "rb") as file:
            # A compressed file tells nothing before it is unpacked.
            if not _path(row).endswith(".zst") and not may_match(query, file.read()):
                return None
        with self.open(row) as session:
            return contents_of(session.transcript)

    def describe(self, row: SessionRow) -> Description:
        with self._read(row) as (stored, transcript):
            return describe(stored, transcript)

    def rename(self, row: SessionRow, title: str) -> None:
        with self.open(row) as session:
            session.set_title(title)

    def remove(self, row: SessionRow) -> str:
        (removed,) = remove([_path(row)])
        return removed.token

    def restore(self, row: SessionRow, token: str) -> None:
        undo(RemovedSession(path=_path(row), key=row.key, token=token))

    @contextmanager
    def _read(self, row: SessionRow) -> Iterator[tuple[StoredLog, EntryLog]]:
        """The file of a row as it is now, for the length of a ``with`` block."""
        path = _path(row)
        try:
            status = os.stat(path)
        except FileNotFoundError:
            raise SessionNotFound(f"{path} is not there any more") from None
        stored = StoredLog(row.key, status.st_size, status.st_mtime, path)
        with snapshot_of(path) as read:
            yield stored, read_log(read, stored)


_TITLES_ELSEWHERE = frozenset({"codex"})


def row_name(row: SessionRow) -> str:
    """What tells a row from every other, in all libraries together."""
    return row.path or row.key


def _path(row: SessionRow) -> str:
    if row.path is None:
        raise SessionNotFound(f"session {row.id} has no file")
    return row.path
