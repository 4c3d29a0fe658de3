"""Links that only point back: what the younger formats of the family ask of a reader.

A parent id means the nearest earlier entry that carries it. Where there is none (it was lost, comes only
later, or is the entry itself) the entry hangs from the entry before it in the file: a guess, reported. No
ring can arise, and nothing has to wait for the end of the file.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import compress, repeat

from branchline.tree.index import ROOT, Tree
from branchline.tree.links import NOWHERE, Linker, Oddity, is_irregular

__all__ = ["BackwardLinker"]


class BackwardLinker(Linker):
    """A linker for formats in which a healthy parent always stands on an earlier line."""

    def __init__(self, tree: Tree) -> None:
        super().__init__(tree)
        self._lost: list[Oddity] = []

    def add(
        self,
        entry_id: str,
        parent_id: str | None,
        *,
        type: str,  # noqa: A002
        time: str = "",
        role: str | None = None,
        quiet: bool = False,
        placeholder: bool = False,
        after_gap: bool = False,
    ) -> int:
        """Add one entry and return its position."""
        del after_gap  # every missing parent is guessed, with or without a gap before it
        position = len(self.tree)
        parent = ROOT
        if parent_id is not None:
            found = self.holder(parent_id)
            parent = self._guess(position, entry_id, parent_id) if found is None else found
        key = self._key_for(entry_id, position, placeholder=placeholder)
        self.tree.add(key, parent, type=type, time=time, role=role, quiet=quiet, placeholder=placeholder)
        return position

    def extend(
        self,
        ids: list[str],
        parent_ids: list[str | None],
        types: list[str],
        times: list[str],
        roles: list[str | None],
        quiet: Iterable[int],
    ) -> bool:
        """Add many entries at once; False (and nothing done) when they must be looked at one by one."""
        tree = self.tree
        first = len(tree)
        if self._latest or not tree.claim(ids):
            return False
        places = range(first, first + len(ids))
        if parent_ids[1:] == ids[:-1] and parent_ids[0] == (tree.keys[first - 1] if first else None):
            # A piece of a plain chain, as most are.
            tree.fill(list(range(first - 1, places[-1])), types, times, roles, quiet)
            return True
        parents: list[int] = list(map(tree.positions.get, parent_ids, repeat(NOWHERE)))  # type: ignore[arg-type]
        for number in compress(range(len(ids)), map(is_irregular, parents, places)):
            parent_id = parent_ids[number]
            parents[number] = (
                ROOT if parent_id is None else self._guess(places[number], ids[number], parent_id)
            )
        tree.fill(parents, types, times, roles, quiet)
        return True

    def settle(self) -> None:
        """Nothing waits."""

    def oddities(self) -> list[Oddity]:
        return sorted([*self._oddities, *self._lost], key=lambda oddity: oddity.position)

    def _guess(self, position: int, entry_id: str, parent_id: str) -> int:
        lost = "is its own parent" if parent_id == entry_id else f"names {parent_id}, which is not above it,"
        if position == 0:
            self._lost.append(Oddity(position, "orphan", f"{entry_id} {lost} as its parent; shown as a root"))
            return ROOT
        before = self.tree.keys[position - 1]
        message = f"{entry_id} {lost} as its parent; linked to {before}, the entry before it"
        self._lost.append(Oddity(position, "guessed-link", message))
        return position - 1
