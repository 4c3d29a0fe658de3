"""Where the app gets sessions from: a small protocol, and its implementation over session libraries.

Rows come in batches, newest files first, so that a screen has something to show at once. Everything here may
wait for the disk: screens call it from a worker thread.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, Protocol

from branchline import places
from branchline.errors import SessionNotFound
from branchline.library import Description, SessionLibrary, SessionRow
from branchline.library.contents import contents_of, worth_reading
from branchline.library.shelf import Shelf
from branchline.session import Session
from branchline.stores import Hidden, Stored
from branchline.views.query import Contents, Query

__all__ = ["Batch", "LibrarySource", "Scope", "Source", "name_of"]

Scope = Literal["here", "all"]
_FIRST = 50
"""Rows in the first batch: a screenful, so that it is there at once."""
_PAUSE = 0.1
"""Seconds between later batches: often enough to look alive, rarely enough to leave time for keys."""


class Batch(NamedTuple):
    """Rows and hidden things that are new, and how far the reading is."""

    rows: Sequence[SessionRow]
    hidden: Sequence[Hidden]
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

    def agent(self, row: SessionRow) -> str:
        """The program that owns a session."""
        ...

    def open(self, row: SessionRow) -> Session:
        """The session itself. SessionNotFound when it is gone."""
        ...

    def again(self, row: SessionRow) -> SessionRow | None:
        """The row as it is now; None when the session is gone."""
        ...

    def contents(self, row: SessionRow, query: Query) -> Contents | None:
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


class LibrarySource:
    """Sessions of one working directory or of all, from libraries of files."""

    def __init__(
        self,
        here: Callable[[], Sequence[SessionLibrary]] | None = None,
        everything: Callable[[], Sequence[SessionLibrary]] = SessionLibrary.everything,
        *,
        cwd: str | None = None,
    ) -> None:
        self.cwd = places.resolve_cwd(cwd)
        self._here = here or (lambda: [SessionLibrary.for_cwd(self.cwd)])
        self._everything = everything
        self._own = places.sessions_root() + os.sep

    @classmethod
    def of_directory(cls, directory: str) -> LibrarySource:
        """The files of one directory, whatever scope is asked for."""
        return cls(lambda: [SessionLibrary(directory)], lambda: [SessionLibrary(directory)])

    def rows(self, scope: Scope) -> Iterator[Batch]:
        libraries = self._here() if scope == "here" else self._everything()
        found: list[tuple[Stored, Shelf]] = []
        hidden: list[Hidden] = []
        for library in libraries:
            scan = library.store.scan()
            shelf = Shelf(library.store, library.cwd)
            found += [(stored, shelf) for stored in scan.found]
            hidden += scan.hidden
        found.sort(key=lambda item: (-item[0].modified, item[0].key))
        rows: list[SessionRow] = []
        due = time.monotonic() + _PAUSE
        for loaded, (stored, shelf) in enumerate(found, 1):
            row = shelf.deep(stored)
            if isinstance(row, Hidden):
                hidden.append(row)
            else:
                rows.append(row)
            if loaded == _FIRST or time.monotonic() > due:
                yield Batch(rows, hidden, loaded, len(found))
                rows, hidden = [], []
                due = time.monotonic() + _PAUSE
        yield Batch(rows, hidden, len(found), len(found))

    def agent(self, row: SessionRow) -> str:
        if row.path is None or row.path.startswith(self._own):
            return "branchline"
        return row.format or "?"

    def open(self, row: SessionRow) -> Session:
        try:
            return Session.open(_path(row))
        except FileNotFoundError:
            raise SessionNotFound(f"{row.path} is not there any more") from None

    def again(self, row: SessionRow) -> SessionRow | None:
        library = self._library(row)
        stored = library.store.stat(row.key)
        if stored is None:
            return None
        found = Shelf(library.store, None).deep(stored)
        return None if isinstance(found, Hidden) else found

    def contents(self, row: SessionRow, query: Query) -> Contents | None:
        with open(_path(row), "rb") as file:
            if not worth_reading(query, file.read()):
                return None
        with self.open(row) as session:
            return contents_of(session.transcript)

    def describe(self, row: SessionRow) -> Description:
        return self._library(row).describe(row.key)

    def rename(self, row: SessionRow, title: str) -> None:
        self._library(row).rename(row.key, title)

    def remove(self, row: SessionRow) -> str:
        trashed = self._library(row).store.remove(row.key)
        if trashed is None:
            raise SessionNotFound(f"{row.path} is not there any more")
        return trashed.token

    def restore(self, row: SessionRow, token: str) -> None:
        self._library(row).restore(token)

    @staticmethod
    def _library(row: SessionRow) -> SessionLibrary:
        return SessionLibrary(os.path.dirname(_path(row)))


def name_of(row: SessionRow) -> str:
    """What tells a row from every other, in all libraries together."""
    return row.path or row.key


def _path(row: SessionRow) -> str:
    if row.path is None:
        raise SessionNotFound(f"session {row.id} has no file")
    return row.path
