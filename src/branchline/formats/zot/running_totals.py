"""The running totals of usage rows, read from the log on demand.

A file has a usage row for every answer; the cost of an answer is the difference between two of them.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from branchline.formats.log_index import LogIndex
from branchline.formats.zot.occurrences import Occurrences
from branchline.formats.zot.rows import CumulativeUsage, UsageRow, row_of
from branchline.tree import ROOT

__all__ = ["RunningTotals"]


class _Known(NamedTuple):
    position: int
    sums: CumulativeUsage


_NONE = _Known(ROOT, CumulativeUsage())


class RunningTotals:
    """Totals before each usage entry. The caller passes the index with each call."""

    def __init__(self) -> None:
        self.last = CumulativeUsage()
        """The totals at the end of the file, to which appended usage is added."""
        self._rows = Occurrences("usage")
        self._read = _NONE  # cache of the last one read: entries are usually read in order

    def before(self, position: int, reading: LogIndex) -> CumulativeUsage:
        """Return the totals before an entry: those of the last usage entry above it."""
        positions = self._rows.among(reading.tree.types)
        number = bisect_left(positions, position)
        if number == 0:
            return CumulativeUsage()
        if number == len(positions):
            return self.last
        above = positions[number - 1]
        if above != self._read.position:
            row = row_of(reading.read(*reading.span(above)))
            self.remember(above, row.cumulative if isinstance(row, UsageRow) else CumulativeUsage())
        return self._read.sums

    def remember(self, position: int, sums: CumulativeUsage) -> None:
        """Cache the totals of a usage entry for the next call."""
        self._read = _Known(position, sums)
