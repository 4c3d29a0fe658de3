"""What the nearest entry at or above says, answered at once however long the path: a title, a model."""

from __future__ import annotations

from typing import Generic, TypeVar

from branchline.tree import ROOT, Tree

__all__ = ["InheritedValue"]

_T = TypeVar("_T")


class InheritedValue(Generic[_T]):
    """Follows a tree whose parents always stand before their children."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._said: dict[int, _T] = {}
        self._first = 0
        self._said_by: list[int] = []  # from the first one on: the nearest one at or above each entry

    def add(self, position: int, value: _T) -> None:
        """The entry at this position, which stands behind all that were added before, says this."""
        if not self._said:
            self._first = position
        self._said[position] = value

    def at(self, position: int) -> _T | None:
        """What is in force at an entry."""
        if not self._said:
            return None
        first, said_by, parents = self._first, self._said_by, self._tree.parents
        for new in range(first + len(said_by), len(parents)):
            parent = parents[new]
            above = said_by[parent - first] if parent >= first else ROOT
            said_by.append(new if new in self._said else above)
        sayer = said_by[position - first] if position >= first else ROOT
        return None if sayer == ROOT else self._said[sayer]
