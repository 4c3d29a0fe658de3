"""The value set by the nearest ancestor, such as a title or a model, looked up in constant time."""

from __future__ import annotations

from typing import Generic, TypeVar

from branchline.tree import ROOT, Tree

__all__ = ["InheritedValue"]

_T = TypeVar("_T")


class InheritedValue(Generic[_T]):
    """Tracks a value along a tree whose parents precede their children."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._values: dict[int, _T] = {}
        self._first = 0
        # from the first setting entry on: the nearest entry at or above each one that sets a value
        self._nearest: list[int] = []

    def add(self, position: int, value: _T) -> None:
        """Record that the entry at ``position`` sets a value. Positions must increase."""
        if not self._values:
            self._first = position
        self._values[position] = value

    @property
    def values(self) -> dict[int, _T]:
        """The values, by the entry that sets them."""
        return self._values

    @values.setter
    def values(self, values: dict[int, _T]) -> None:
        self._values = values
        self._first = min(values, default=0)
        self._nearest = []

    def at(self, position: int) -> _T | None:
        """Return the value in effect at an entry."""
        if not self._values:
            return None
        first, nearest, parents = self._first, self._nearest, self._tree.parents
        for new in range(first + len(nearest), len(parents)):
            parent = parents[new]
            above = nearest[parent - first] if parent >= first else ROOT
            nearest.append(new if new in self._values else above)
        setter = nearest[position - first] if position >= first else ROOT
        return None if setter == ROOT else self._values[setter]
