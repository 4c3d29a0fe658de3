"""The messages of a thread: paths in a tree that threads share."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import count
from operator import sub
from typing import Any

from branchline.formats.common.tables import text_of
from branchline.formats.protocol import Query

__all__ = ["Chain", "MessageTree", "Stretch"]

_ROW = "SELECT rowid FROM messages WHERE hash = ?"
_BACKWARD = """
SELECT rowid, hash, parent_hash, role FROM messages WHERE rowid <= ? ORDER BY rowid DESC LIMIT ?
"""
_TOGETHER = """
SELECT count(*), sum(parent_hash IS NULL),
    group_concat(hash), group_concat(ifnull(parent_hash, '')), group_concat(role)
FROM messages WHERE rowid BETWEEN ? AND ?
"""  # one row instead of many, which takes half of the time; the order is checked
_FIRST, _MOST = 16, 256  # rows that are compared at once, at first and at most: most threads are short
_SKIPPED = 16
"""Messages of other threads that are read before it is cheaper to look up the next one of this thread."""


class Chain:
    """Messages in consecutive rows, each of them the parent of the next."""

    __slots__ = ("above", "names", "roles", "row", "taken")

    def __init__(self, row: int) -> None:
        self.row = row
        """The row of the first message."""
        self.above: object = None
        """The parent of the first message."""
        self.names: list[Any] = []
        self.roles: list[Any] = []
        self.taken = 0
        """How many of them were taken; always the first ones."""


Stretch = tuple[Chain, int, int]
"""A part of a chain: from where on, and where it ends. A plain tuple, because there is one for each turn."""


class MessageTree:
    """The messages at or above some tips.

    llm inserts a message after its parent, and the messages of a turn together, so reading the table backward
    meets most of a path in its order. That takes a third of the time of a lookup for each hash.
    """

    def __init__(self, query: Query, tips: Iterable[object]) -> None:
        self._query = query
        self._places: dict[object, int] = {}  # in all chains together
        self._chains: list[Chain] = []
        self._starts: list[int] = []  # the places of their first messages
        for tip in tips:
            wanted = tip
            while wanted is not None and wanted not in self._places:
                before = len(self._places)
                wanted = self._read_backward(wanted)
                if len(self._places) == before:
                    break  # not in the table

    def names(self) -> Iterable[Any]:
        return self._places

    def name_of(self, name: object) -> str | None:
        """Return the id of a message; None if it was not taken."""
        place = self._places.get(name)
        if place is None:
            return None
        chain, number = self._in_chain(place)
        return text_of(name) if number < chain.taken else None

    def take_path(self, tip: object) -> tuple[list[Stretch], object]:
        """Take the messages up to this one that were not taken before; return them, and what is above them.

        The last stretch is the first of the path.
        """
        found: list[Stretch] = []
        above = tip
        while (place := self._places.get(above)) is not None:
            chain, number = self._in_chain(place)
            start = chain.taken
            if number < start:
                break
            chain.taken = number + 1
            found.append((chain, start, number + 1))
            if start:
                return found, chain.names[start - 1]
            above = chain.above
        return found, above

    def take_ascending(self, tips: Sequence[object]) -> tuple[Chain, list[int]] | None:
        """Take the paths to these messages, if all are in one chain in this order, and none was taken before.

        Returns the chain, and how many messages each path adds; None, with nothing taken, for anything else.
        """
        if len(self._chains) != 1 or self._chains[0].taken or not tips:
            return None
        places = [self._places.get(tip, -1) for tip in tips]
        sizes = list(map(sub, places, [-1, *places]))
        if min(sizes) < 1:
            return None
        self._chains[0].taken = sum(sizes)
        return self._chains[0], sizes

    def _in_chain(self, place: int) -> tuple[Chain, int]:
        number = bisect_right(self._starts, place) - 1
        return self._chains[number], place - self._starts[number]

    def _read_backward(self, wanted: object) -> object:
        """Read messages from this one upward; return the first that was not met."""
        size, skipped = _FIRST, 0
        chain: Chain | None = None
        known = self._places
        top = next((row for (row,) in self._query(_ROW, text_of(wanted))), None)
        while top is not None and wanted is not None and wanted not in known:
            if chain is not None and chain.row == top + 1:  # the chunk before ended with this thread
                stretch = self._consecutive(top, size)
                if (
                    stretch is not None
                    and stretch.names[-1] == wanted
                    and known.keys().isdisjoint(stretch.names)
                ):
                    chain.names += reversed(stretch.names)
                    chain.roles += reversed(stretch.roles)
                    chain.row, chain.above = stretch.row, stretch.above
                    top, wanted, size = stretch.row - 1, stretch.above, min(2 * size, _MOST)
                    continue
            chunk = list(self._query(_BACKWARD, top, size))
            top, size = chunk[-1][0] - 1 if chunk else None, min(2 * size, _MOST)
            for number, name, parent, role in chunk:
                if name != wanted:
                    if (skipped := skipped + 1) > _SKIPPED:
                        self._add(chain)
                        return wanted
                    continue
                if chain is None or chain.row != number + 1:
                    self._add(chain)
                    chain = Chain(number)
                chain.names.append(name)
                chain.roles.append(role)
                chain.row, chain.above = number, parent
                wanted, skipped = parent, 0
                if parent is None or parent in known:
                    break
        self._add(chain)
        return wanted

    def _consecutive(self, top: int, size: int) -> Chain | None:
        """Return this many messages up to a row, if they form a chain."""
        found = Chain(max(top - size + 1, 1))
        ((count, roots, names, parents, roles),) = self._query(_TOGETHER, found.row, top)
        if not count or count != top - found.row + 1 or roots > 1:
            return None
        found.names, above, found.roles = ((joined or b"").split(b",") for joined in (names, parents, roles))
        if not len(found.names) == len(above) == len(found.roles) == count or found.names[:-1] != above[1:]:
            return None  # out of order, or values with commas
        if roots == (above[0] == b""):
            found.above = above[0] or None
            return found
        return None

    def _add(self, chain: Chain | None) -> None:
        """Add a chain whose messages were read backward."""
        if chain is not None:
            chain.names.reverse()
            chain.roles.reverse()
            self._chains.append(chain)
            self._starts.append(len(self._places))
            self._places.update(zip(chain.names, count(len(self._places)), strict=False))
