"""Links that only point backwards, as the newer formats of the family require.

A parent id means the nearest earlier entry that carries it. Where there is none (it was lost, comes only
later, or is the entry itself) the entry becomes a child of the one before it in the file: a guess, reported.
No cycle can arise, and nothing has to wait for the end of the file.
"""

from __future__ import annotations

from branchline.tree.index import ROOT, Tree
from branchline.tree.linker import Linker, LinkFinding

__all__ = ["BackwardLinker"]


class BackwardLinker(Linker):
    """A linker for formats in which the line of a parent always precedes those of its children."""

    def __init__(self, tree: Tree) -> None:
        super().__init__(tree)
        self._lost: list[LinkFinding] = []

    def _odd_parent(self, position: int, entry_id: str, parent_id: str, found: int) -> int:
        del found  # wherever it is, it is not above
        return self._missing_parent(position, entry_id, parent_id)

    def resolve(self) -> None:
        """Register pending keys; nothing else is deferred."""
        self._claim()

    @property
    def is_plain(self) -> bool:
        return super().is_plain and not self._lost

    def findings(self) -> list[LinkFinding]:
        return sorted([*self._oddities, *self._lost], key=lambda oddity: oddity.position)

    def _missing_parent(self, position: int, entry_id: str, parent_id: str) -> int:
        lost = "names itself" if parent_id == entry_id else f"names {parent_id}, which is not above it,"
        if position == 0:
            self._lost.append(
                LinkFinding(position, "orphan", f"{entry_id} {lost} as its parent; shown as a root")
            )
            return ROOT
        before = self.tree.keys[position - 1]
        message = f"{entry_id} {lost} as its parent; linked to {before}, the entry before it"
        self._lost.append(LinkFinding(position, "guessed-link", message))
        return position - 1
