"""Positions of one kind of entry in a growing tree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, count, repeat
from operator import eq

__all__ = ["Occurrences"]


class Occurrences:
    """The positions at which a column holds ``name``, found incrementally on demand."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._found: list[int] = []
        self._seen = 0

    def among(self, column: Sequence[str | None]) -> list[int]:
        """Return all positions in order. The caller must not change the list."""
        if self._seen < len(column):
            self._found += compress(count(self._seen), map(eq, column[self._seen :], repeat(self._name)))
            self._seen = len(column)
        return self._found
