"""The protocols between a browser and its collection of sessions.

Rows come in batches, newest files first, so that a screen can show the first ones immediately.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

from branchline.views.figures import CostFigure
from branchline.views.session_row import SessionRow, SkippedFile
from branchline.views.stats import Dimension, Group, StatsTotals

__all__ = ["Batch", "Scope", "SessionRowSource", "SpendingSource"]

Scope = Literal["here", "all"]


class SpendingSource(Protocol):
    """Messages and usage by any dimension."""

    notes: list[str]
    subagents: int
    """How many of the sessions are of sub-agents."""

    def total(self) -> StatsTotals: ...

    def groups(self, *by: Dimension) -> tuple[Group, ...]:
        """Return the figures by one or two dimensions."""
        ...

    def sessions_beside(self, dimension: Dimension, names: Sequence[str]) -> int:
        """Return the number of sessions in the groups of a dimension other than these."""
        ...

    def costs(self) -> Mapping[str, CostFigure]:
        """Return the cost of each session, by the path of its file."""
        ...


class Batch(NamedTuple):
    """New rows and hidden files, and the progress of reading."""

    rows: Sequence[SessionRow]
    hidden: Sequence[SkippedFile]
    loaded: int
    total: int
    is_provisional: bool = False
    """Whether the rows come from the index and may be out of date."""


class SessionRowSource(Protocol):
    """The rows of a browser; ``cwd`` is the working directory of the scope ``here``."""

    @property
    def cwd(self) -> str: ...

    def rows(self, scope: Scope) -> Iterator[Batch]:
        """Yield every session of a scope, newest first; the last batch has ``loaded == total``."""
        ...

    def agent(self, row: SessionRow) -> str:
        """Return the agent that owns a session."""
        ...
