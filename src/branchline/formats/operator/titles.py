"""The title of a branch: the newest name at or above an entry, answered at once however long the path."""

from __future__ import annotations

from branchline.tree import ROOT, Tree

__all__ = ["Titles"]


class Titles:
    """Follows a tree whose parents always stand before their children."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._names: dict[int, str] = {}
        self._first = 0
        self._named_by: list[int] = []  # from the first name on: the nearest one at or above each entry

    def add(self, position: int, name: str) -> None:
        """The entry at this position gives a name; a blank one says nothing."""
        if name:
            if not self._names:
                self._first = position
            self._names[position] = name

    def at(self, position: int) -> str | None:
        """The name in force at an entry."""
        if not self._names:
            return None
        first, named_by, parents = self._first, self._named_by, self._tree.parents
        for new in range(first + len(named_by), len(parents)):
            parent = parents[new]
            above = named_by[parent - first] if parent >= first else ROOT
            named_by.append(new if new in self._names else above)
        giver = named_by[position - first] if position >= first else ROOT
        return None if giver == ROOT else self._names[giver]
