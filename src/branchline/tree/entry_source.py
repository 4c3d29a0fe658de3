"""Access to the entries of a tree, for context, views and flows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from branchline.entries import Entry
from branchline.tree.index import Tree

__all__ = ["EntrySource"]


class EntrySource(Protocol):
    """A tree and its entries, decoded on demand."""

    @property
    def tree(self) -> Tree: ...

    def raw(self, position: int) -> bytes:
        """The line of one entry."""
        ...

    def entry(self, position: int) -> Entry:
        """The record at one position."""
        ...

    def entries(self, positions: Sequence[int]) -> list[Entry]:
        """The records at many positions, neighbouring lines in one read."""
        ...

    def iter_entries(self, positions: Sequence[int]) -> Iterator[Entry]:
        """The same records one after the other, not all of them in memory at once."""
        ...
