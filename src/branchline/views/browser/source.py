"""The protocol between a browser and its collection of sessions.

Rows come in batches, newest files first, so that a screen can show the first ones immediately.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Literal, NamedTuple, Protocol, TypeVar

from branchline.views.forest import Forest
from branchline.views.hits import Hits
from branchline.views.query import Query
from branchline.views.session_row import SessionRow, SkippedFile
from branchline.views.stats import Dimension, Group, StatsTotals

__all__ = ["Batch", "Scope", "Source", "SpendingSource"]

_Session_co = TypeVar("_Session_co", covariant=True)

Scope = Literal["here", "all"]


class SpendingSource(Protocol):
    """Messages and usage by any dimension."""

    notes: list[str]

    def total(self) -> StatsTotals:
        """Return the totals."""
        ...

    def groups(self, *by: Dimension) -> tuple[Group, ...]:
        """Return the figures by one or two dimensions."""
        ...


class Batch(NamedTuple):
    """New rows and hidden files, and the progress of reading."""

    rows: Sequence[SessionRow]
    hidden: Sequence[SkippedFile]
    loaded: int
    total: int
    is_provisional: bool = False
    """Whether the rows come from the index and may be out of date."""


class Source(Protocol[_Session_co]):
    """A collection of sessions for screens."""

    @property
    def cwd(self) -> str:
        """The working directory of the scope ``here``."""
        ...

    def rows(self, scope: Scope) -> Iterator[Batch]:
        """Yield every session of a scope, newest first; the last batch has ``loaded == total``."""
        ...

    def forest(self, scope: Scope) -> Forest:
        """Return the sessions of a scope below those that they were forked from."""
        ...

    def agent(self, row: SessionRow) -> str:
        """Return the agent that owns a session."""
        ...

    def open(self, row: SessionRow) -> _Session_co:
        """Open a session. Raises SessionNotFound if it no longer exists."""
        ...

    def reload_row(self, row: SessionRow) -> SessionRow | None:
        """Read a row again; None if the session no longer exists."""
        ...

    def is_changed(self, row: SessionRow) -> bool:
        """Return whether a session differs from its row. Cheap: called repeatedly."""
        ...

    def search(self, scope: Scope, query: Query, *, limit: int) -> Hits:
        """Return the best hits in the sessions of a scope."""
        ...

    def statistics(self, scope: Scope) -> AbstractContextManager[SpendingSource]:
        """Return statistics over the sessions of a scope; files missing from the index are read first."""
        ...

    def rename(self, row: SessionRow, title: str) -> None:
        """Set the title of a session; the file keeps its name."""
        ...
