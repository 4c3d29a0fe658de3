"""Rows that give later ones their meaning, read from the log on demand.

A result does not contain the name of its tool: the answer before it does. A usage row has running totals: the
cost of an answer is the difference between two of them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import compress, count, repeat
from operator import eq

from branchline.formats.log_index import LogIndex
from branchline.formats.zot.rows import Row, row_of
from branchline.tree import ROOT

__all__ = ["EarlierRows"]


class EarlierRows:
    """The rows of a growing file at whose positions a column of the tree holds ``name``."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._found: list[int] = []
        self._seen = 0
        # Cache of the last row: entries are usually read in order.
        self._position = ROOT
        self._row: Row | None = None

    def before(self, position: int, column: Sequence[str | None], reading: LogIndex) -> Row | None:
        """Return the last such row before an entry."""
        if self._seen < len(column):
            self._found += compress(count(self._seen), map(eq, column[self._seen :], repeat(self._name)))
            self._seen = len(column)
        number = bisect_left(self._found, position)
        if not number:
            return None
        above = self._found[number - 1]
        if above != self._position:
            self.remember(above, row_of(reading.read(*reading.span(above))))
        return self._row

    def remember(self, position: int, row: Row) -> None:
        """Cache a row for the next call."""
        self._position, self._row = position, row
