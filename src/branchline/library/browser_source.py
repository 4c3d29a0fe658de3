"""The sessions that a browser shows, from one library for each scope that the user can choose.

Rows come in batches, newest files first, so that a screen can show the first ones immediately. All methods
may wait for the disk: screens call them from a worker thread.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import cached_property

from branchline import places
from branchline.errors import BranchlineError, SessionNotFound
from branchline.library.library import SessionLibrary
from branchline.session import Session
from branchline.stores import stored_at
from branchline.views.browser.source import Batch, Scope, SpendingSource
from branchline.views.forest import Forest
from branchline.views.hits import Hits
from branchline.views.query import Query
from branchline.views.session_row import SessionRow

__all__ = ["LibrarySource"]

_FIRST = 50
"""Rows in the first batch: about one screen."""
_SNIPPET = 110
"""Length of the text that a hit shows, in characters."""
_PAUSE = 0.1
"""Seconds between later batches: a compromise between visible progress and responsive keys."""


class LibrarySource:
    """The sessions of two libraries; ``everything`` is the one for all directories (default: ``here``)."""

    def __init__(self, here: SessionLibrary, everything: SessionLibrary | None = None) -> None:
        self.cwd = places.resolve_cwd(None)
        self._libraries: dict[Scope, SessionLibrary] = {"here": here, "all": everything or here}
        self._agents: dict[tuple[str, str], str] = {}

    @classmethod
    def everywhere(cls) -> LibrarySource:
        """The sessions of all agents, for this working directory and for all projects."""
        return cls(SessionLibrary.everywhere(os.getcwd()), SessionLibrary.everywhere())

    # -- many -----------------------------------------------------------------------------------------

    def rows(self, scope: Scope) -> Iterator[Batch]:
        """Yield every session of a scope, newest first; the last batch has ``loaded == total``."""
        if known := self._libraries[scope].known_rows(_FIRST):
            yield Batch(known, (), 0, len(known), is_provisional=True)
        listing = self._libraries[scope].iter_rows(deep=True)
        shown = hidden = 0
        due = time.monotonic() + _PAUSE
        for number, _row in enumerate(listing, 1):
            if number == _FIRST or time.monotonic() > due:
                yield Batch(listing.rows[shown:], listing.hidden[hidden:], listing.loaded, listing.total)
                shown, hidden = len(listing.rows), len(listing.hidden)
                due = time.monotonic() + _PAUSE
        yield Batch(listing.rows[shown:], listing.hidden[hidden:], listing.total, listing.total)

    def forest(self, scope: Scope) -> Forest:
        """Return the sessions of a scope below those that they were forked from."""
        return self._libraries[scope].forest(deep=True)

    def search(self, scope: Scope, query: Query, *, limit: int) -> Hits:
        return self._libraries[scope].search(query, limit=limit, context=_SNIPPET)

    def statistics(self, scope: Scope) -> AbstractContextManager[SpendingSource]:
        """Return statistics over the sessions of a scope; files missing from the index are read first."""
        return self._libraries[scope].statistics()

    # -- one ------------------------------------------------------------------------------------------

    @cached_property
    def _library(self) -> SessionLibrary:
        """A library that opens any file, also files that neither scope lists."""
        return SessionLibrary.everywhere()

    def agent(self, row: SessionRow) -> str:
        if row.agent is not None or row.path is None or row.format is None:
            return row.agent or row.format or "?"
        place = (os.path.dirname(row.path), row.format)
        if place not in self._agents:
            self._agents[place] = places.program_of(row.path, row.format)
        return self._agents[place]

    def open(self, row: SessionRow) -> Session:
        """Open a session. Raises SessionNotFound if it no longer exists."""
        session = self._library.open(row)
        if session is None:
            raise SessionNotFound(f"{row.path or row.key} no longer exists")
        return session

    def reload_row(self, row: SessionRow) -> SessionRow | None:
        """Read a row again; None if the session no longer exists."""
        return self._library.reload(row)

    def is_changed(self, row: SessionRow) -> bool:
        """Return whether a session differs from its row. Cheap: called repeatedly."""
        try:
            stored = stored_at(row.path or "")
        except (BranchlineError, OSError):
            return True
        return stored is None or (stored.size, round(stored.modified * 1000)) != (row.size, row.modified_ms)

    def rename(self, row: SessionRow, title: str) -> None:
        """Set the title of a session; the file keeps its name."""
        with self.open(row) as session:
            session.set_title(title)
