"""Ids for rows that have none: a row that occurs again is told apart by a number.

A key is what the row itself gives, 16 hex digits, with a suffix where the entry is not the first of its row:
``.2`` for a further result, ``u1`` for the usage row behind it. Where a row was there before, all of these
carry its number: ``…-2``, ``…-2.2``, ``…-2u1``.
"""

from __future__ import annotations

from collections.abc import Iterable

from branchline.tree import Linker, Tree

__all__ = ["ROW_KEY", "RowLinker"]

ROW_KEY = 16
"""The length of what a row itself gives."""


class RowLinker(Linker):
    """Each entry hangs from the one before it; keys wait until the file is read, as in other formats."""

    def __init__(self, tree: Tree) -> None:
        super().__init__(tree)
        self._repeats: dict[str, int] = {}
        self._row = self._named = ""  # what the last row gave, and the key that it got

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
        """Add the next entry, whose row gives this id."""
        del parent_id, after_gap
        self._claim()
        tree = self.tree
        key = self._named_key(entry_id)
        return tree.add(
            key, len(tree) - 1, type=type, time=time, role=role, quiet=quiet, placeholder=placeholder
        )

    def extend(
        self,
        ids: list[str],
        parent_ids: list[str | None],
        types: list[str],
        times: Iterable[str],
        roles: list[str | None],
        quiet: Iterable[int],
    ) -> bool:
        """Add many entries at once."""
        del parent_ids
        self.tree.keys += ids
        self.tree.extend_columns(None, types, times, roles, quiet)
        return True

    def _claim(self) -> None:
        tree = self.tree
        if len(tree.positions) == len(tree.keys) or (not self._repeats and tree.register_pending_keys()):
            return
        keys, positions = tree.keys, tree.positions
        for position in range(len(positions), len(keys)):
            keys[position] = key = self._named_key(keys[position])
            positions[key] = position

    def _named_key(self, given: str) -> str:
        if len(given) == ROW_KEY:
            self._row = self._named = given
            if given in self.tree.positions:
                count = self._repeats[given] = self._repeats.get(given, 1) + 1
                self._named = f"{given}-{count}"
        return self._named + given[len(self._row) :] if given.startswith(self._row) else given
