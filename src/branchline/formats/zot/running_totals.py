"""The running totals of usage rows: read from the log when they are asked for, because few ever are.

A file has a usage row for every answer, and what an answer cost is the difference between two of them.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, NamedTuple

import msgspec

from branchline.entries import json_codec
from branchline.formats.protocol import LogIndex
from branchline.formats.zot.occurrences import Occurrences
from branchline.tree import ROOT

__all__ = ["CumulativeUsage", "RunningTotals", "sums_of"]


class CumulativeUsage(msgspec.Struct, frozen=True, gc=False):
    """The running totals of a usage row."""

    input_tokens: int | float = 0
    output_tokens: int | float = 0
    cache_read_tokens: int | float = 0
    cache_write_tokens: int | float = 0
    cost_usd: int | float = 0


class _Known(NamedTuple):
    position: int
    sums: CumulativeUsage


_NONE = _Known(ROOT, CumulativeUsage())


class RunningTotals:
    """What the usage entries of a reading tell; the reading is given with each question."""

    def __init__(self) -> None:
        self.last = CumulativeUsage()
        """The totals at the end of the file, which whoever appends goes on from."""
        self._rows = Occurrences("usage")
        self._read = _NONE  # what was read last: entries are mostly asked for one after the other

    def before(self, position: int, reading: LogIndex) -> CumulativeUsage:
        """The totals before an entry: those of the last usage entry above it."""
        positions = self._rows.among(reading.tree.types)
        number = bisect_left(positions, position)
        if number == 0:
            return CumulativeUsage()
        if number == len(positions):
            return self.last
        above = positions[number - 1]
        if above != self._read.position:
            line = reading.read(*reading.span(above))
            self.remember(above, sums_of(json_codec.loads(line)) or CumulativeUsage())
        return self._read.sums

    def remember(self, position: int, sums: CumulativeUsage) -> None:
        """Keep what a usage entry tells, for who asks for the next one."""
        self._read = _Known(position, sums)


def sums_of(fields: dict[str, Any]) -> CumulativeUsage | None:
    """The running totals in a usage row."""
    found = next((one for name in ("cumulative", "usage") if isinstance(one := fields.get(name), dict)), None)
    if found is None:
        return None
    numbers = {
        name: value
        for name in CumulativeUsage.__struct_fields__
        if isinstance(value := found.get(name), int | float) and not isinstance(value, bool)
    }
    return CumulativeUsage(**numbers)
