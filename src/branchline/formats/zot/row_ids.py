"""Ids for rows that have none; repeated rows are numbered.

An id is the row's key, 16 hex digits, plus a suffix if the entry is not the first of its row: ``.2`` for the
second result, ``u1`` for the usage row that follows. If the same row occurred before, its number comes after
the key: ``…-2``, ``…-2.2``, ``…-2u1``.
"""

from __future__ import annotations

from collections.abc import Iterable

from branchline.tree import Linker, Tree

__all__ = ["ROW_KEY", "RowLinker"]

ROW_KEY = 16
"""The length of a row's key."""


class RowLinker(Linker):
    """Links each entry to the previous one. Ids are registered lazily, as in other formats."""

    def __init__(self, tree: Tree) -> None:
        super().__init__(tree)
        self._repeats: dict[str, int] = {}
        self._row = self._numbered = ""  # key of the last row, without and with its number

    @property
    def is_plain(self) -> bool:
        self._claim()
        return super().is_plain and not self._repeats

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
        """Add the next entry; ``entry_id`` is its id before numbering."""
        del parent_id, after_gap
        self._claim()
        tree = self.tree
        key = self._numbered_key(entry_id)
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
            keys[position] = key = self._numbered_key(keys[position])
            positions[key] = position

    def _numbered_key(self, given: str) -> str:
        if len(given) == ROW_KEY:
            self._row = self._numbered = given
            if given in self.tree.positions:
                count = self._repeats[given] = self._repeats.get(given, 1) + 1
                self._numbered = f"{given}-{count}"
        return self._numbered + given[len(self._row) :] if given.startswith(self._row) else given
