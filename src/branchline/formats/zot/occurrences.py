"""Where entries of one kind stand in a tree that grows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, count, repeat
from operator import eq

__all__ = ["Occurrences"]


class Occurrences:
    """Positions at which a column holds this name; each position is checked once, on first use."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._found: list[int] = []
        self._seen = 0

    def among(self, column: Sequence[str | None]) -> list[int]:
        """All of them, in order. Not to be changed."""
        if self._seen < len(column):
            self._found += compress(count(self._seen), map(eq, column[self._seen :], repeat(self._name)))
            self._seen = len(column)
        return self._found
