"""What a browser asks of a collection of sessions: a small protocol.

Rows come in batches, newest files first, so that a screen has something to show at once.
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
    """What was said and spent, by any key."""

    notes: list[str]

    def total(self) -> StatsTotals:
        """Everything together."""
        ...

    def groups(self, *by: Dimension) -> tuple[Group, ...]:
        """By one or two keys."""
        ...


class Batch(NamedTuple):
    """Rows and hidden things that are new, and how far the reading is."""

    rows: Sequence[SessionRow]
    hidden: Sequence[SkippedFile]
    loaded: int
    total: int
    is_provisional: bool = False
    """Whether the rows come from an index and were not compared with the files yet."""


class Source(Protocol[_Session_co]):
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

    def open(self, row: SessionRow) -> _Session_co:
        """The session itself. SessionNotFound when it is gone."""
        ...

    def reload_row(self, row: SessionRow) -> SessionRow | None:
        """The row as it is now; None when the session is gone."""
        ...

    def is_changed(self, row: SessionRow) -> bool:
        """Whether a session is not as its row says any more. A quick question, asked again and again."""
        ...

    def search(self, scope: Scope, query: Query, *, limit: int) -> Hits:
        """The best places in the sessions of a scope."""
        ...

    def statistics(self, scope: Scope) -> AbstractContextManager[SpendingSource]:
        """Sums over the sessions of a scope; what the index lacks is read first."""
        ...

    def rename(self, row: SessionRow, title: str) -> None:
        """Give a session a title; the file keeps its name."""
        ...
