"""The running totals of usage rows: kept as the text that tells them, because few are ever asked for.

A file has a usage row for every answer, and what an answer cost is the difference between two of them. Their
text takes half the memory that their numbers take as objects, and no time to make.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

import msgspec

from branchline.entries import jsontext

__all__ = ["Sums", "Totals", "sums_of"]


class Sums(msgspec.Struct, frozen=True, gc=False):
    """The running totals of a usage row."""

    input_tokens: int | float = 0
    output_tokens: int | float = 0
    cache_read_tokens: int | float = 0
    cache_write_tokens: int | float = 0
    cost_usd: int | float = 0


_decode_lines = msgspec.json.Decoder(Sums).decode_lines


class Totals:
    """What the usage entries of a file tell, by position."""

    def __init__(self) -> None:
        self._positions = array("q")
        self._told: list[bytes | Sequence[Sums]] = []
        self._firsts: list[int] = []  # for each of these the number of its first total
        self._read = -1
        self._sums: Sequence[Sums] = ()  # what stands in the one that was read last

    def add(self, positions: Sequence[int], told: bytes | Sequence[Sums]) -> None:
        """Take in usage entries, with their totals as objects or as lines of JSON, one object in each."""
        self._firsts.append(len(self._positions))
        self._told.append(told)
        self._positions.extend(positions)

    @property
    def last(self) -> Sums:
        """The totals at the end of the file."""
        return self._total(len(self._positions) - 1)

    def before(self, position: int) -> Sums:
        """The totals before a usage entry."""
        return self._total(bisect_left(self._positions, position) - 1)

    def _total(self, number: int) -> Sums:
        if number < 0:
            return Sums()
        place = bisect_right(self._firsts, number) - 1
        if place != self._read:
            told = self._told[place]
            self._sums = _decoded(told) if isinstance(told, bytes) else told
            self._read = place
        return self._sums[number - self._firsts[place]]


def sums_of(fields: dict[str, Any]) -> Sums | None:
    """The running totals in a usage row."""
    found = next((one for name in ("cumulative", "usage") if isinstance(one := fields.get(name), dict)), None)
    return None if found is None else _sums(found)


def _sums(fields: dict[str, Any]) -> Sums:
    """What of these are numbers."""
    numbers = {
        name: value
        for name in Sums.__struct_fields__
        if isinstance(value := fields.get(name), int | float) and not isinstance(value, bool)
    }
    return Sums(**numbers)


def _decoded(told: bytes) -> list[Sums]:
    try:
        return _decode_lines(told)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return [_sums(jsontext.object_in(line) or {}) for line in told.split(b"\n")]
