"""Resolves ids to positions: every entry gets a unique key and an existing parent; cycles are cut.

Files are written by many programs and sometimes by two at once, so a parent may be missing, come later in
the file, be the entry itself, or be named by an id that several entries carry. The rules:

- a ``parentId`` means the latest holder of that id before the entry, else the first one after it;
- later holders of an id get the keys ``id#2``, ``id#3``; the placeholder of an unreadable line holds its id
  only as long as no readable entry does;
- an entry that is its own parent is a root;
- a cycle is cut at its first entry in the file, which becomes a root;
- a missing parent makes a root, unless the lines just before it could not be read: then its parent is
  the nearest readable entry before that gap, a reported guess. A guess that closes a cycle is dropped.

Nothing is decided before the whole file was read (:meth:`Linker.resolve`), and later lines may still bring
a missing parent. Guesses and cuts are then decided again, so that the result does not depend on how the file
grew.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress, count
from operator import ne

import msgspec

from branchline.tree.findings import Kind
from branchline.tree.index import ROOT, Tree

__all__ = ["LinkFinding", "Linker", "cycles"]


UNRESOLVED = sys.maxsize  # greater than any position, so that one comparison finds all that is not regular


class LinkFinding(msgspec.Struct, frozen=True):
    """An irregularity in the links of the entry at this position."""

    position: int
    kind: Kind
    message: str


class Linker:
    """Adds entries to a tree while a file is read, and resolves links as their targets appear."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._latest: dict[str, int] = {}  # only ids that occur more than once
        self._counts: dict[str, int] = {}
        self._odd: dict[int, str | None] = {}  # whose key waits: entries, and the parents they name
        self._waiting: dict[str, list[int]] = {}
        self._forward: list[tuple[int, int]] = []
        self._gaps: dict[
            int, int
        ] = {}  # waiting entry directly after a gap -> nearest readable one before it
        self._guessed: set[int] = set()
        self._cut: dict[int, int] = {}  # entry at which a cycle was cut -> the parent that it names
        self._last_readable = ROOT
        self._settled = True
        self._oddities: list[LinkFinding] = []
        self._rings: list[list[int]] = []

    @property
    def is_regular(self) -> bool:
        """Whether every entry has the id and the parent that its line says."""
        return not (self._latest or self._waiting or self._oddities or self._cut)

    @property
    def is_plain(self) -> bool:
        """Whether nothing is known of the links beyond the tree and the last readable entry."""
        return self.is_regular and self._settled and not (self._counts or self._odd or self._gaps)

    @property
    def last_readable(self) -> int:
        """The last entry that is not a placeholder."""
        return self._last_readable

    def restore(self, last_readable: int) -> None:
        """Continue with a tree that was restored; what it was saved from was plain."""
        self._last_readable = last_readable

    def latest_with_id(self, entry_id: str) -> int | None:
        """The latest entry so far that carries this id."""
        self._claim()
        return self._holder(entry_id)

    def _holder(self, entry_id: str) -> int | None:
        """The latest one of those that have their keys."""
        found = self._latest.get(entry_id)
        return self.tree.positions.get(entry_id) if found is None else found

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
        tree = self.tree
        position, positions = len(tree.keys), tree.positions
        if len(positions) != position:
            self._claim()
            positions = tree.positions
        parent = ROOT
        if parent_id is not None:
            found = positions.get(parent_id) if not self._latest else self._holder(parent_id)
            parent = self._missing_parent(position, entry_id, parent_id) if found is None else found
            if (
                after_gap
                and self._last_readable != ROOT
                and self._waiting.get(parent_id, [ROOT])[-1] == position
            ):
                self._gaps[position] = self._last_readable
                self._settled = False
        key = entry_id
        if key in positions:
            key = self._key_for(entry_id, position, placeholder=placeholder)
        tree.add(key, parent, type, time, role)
        if quiet:
            tree.textless.add(position)
        if placeholder:
            tree.placeholders.add(position)
        else:
            self._last_readable = position
        if self._waiting:
            self._arrived(entry_id, position)
        return position

    def extend(
        self,
        ids: list[str],
        parent_ids: list[str | None],
        types: list[str],
        times: Iterable[str],
        roles: list[str | None],
        quiet: Iterable[int],
    ) -> bool:
        """Add many entries at once; False, and nothing done, if they must be added one by one."""
        tree = self.tree
        first = len(tree)
        if self._latest or (self._waiting and not self._waiting.keys().isdisjoint(ids)):
            return False
        before = [tree.keys[-1] if first else None, *ids[:-1]]
        if parent_ids != before:
            differs = list(map(ne, parent_ids, before))
            self._odd.update(zip(compress(count(first), differs), compress(parent_ids, differs), strict=True))
        # All others are children of the entry before them, whatever other entries have that id, so that
        # registering the keys can wait.
        tree.keys += ids
        tree.extend_columns(None, types, times, roles, quiet)
        self._last_readable = len(tree) - 1
        return True

    def _claim(self) -> None:
        """Register the pending keys, and link the entries that are not children of the one before them."""
        tree = self.tree
        if len(tree.positions) == len(tree.keys):
            return
        odd, self._odd = self._odd, {}
        if not tree.register_pending_keys():
            self._claim_each(odd)
        elif odd:
            keys, positions, found = tree.keys, tree.positions, {}
            for place, parent_id in odd.items():
                parent = ROOT if parent_id is None else positions.get(parent_id, UNRESOLVED)
                if parent >= place:
                    parent = self._odd_parent(place, keys[place], parent_id or "", parent)
                found[place] = parent
            tree.relink_all(found)

    def _claim_each(self, odd: dict[int, str | None]) -> None:
        """The same one by one, because an id was used before; ``odd`` has the parents that entries name."""
        tree, found = self.tree, {}
        keys, positions = tree.keys, tree.positions
        for position in range(len(positions), len(keys)):
            entry_id = keys[position]
            if position in odd:
                parent_id = odd[position]
                found[position] = (
                    ROOT if parent_id is None else self._parent_before(position, entry_id, parent_id)
                )
            keys[position] = key = self._key_for(entry_id, position)
            positions[key] = position
            self._arrived(entry_id, position)
        tree.relink_all(found)

    def _parent_before(self, position: int, entry_id: str, parent_id: str) -> int:
        """The latest holder so far of the parent id, or the provisional parent without one."""
        found = self._holder(parent_id)
        return self._missing_parent(position, entry_id, parent_id) if found is None else found

    def _missing_parent(self, position: int, entry_id: str, parent_id: str) -> int:
        """The provisional parent of an entry whose parent is missing so far, or is the entry itself."""
        if parent_id == entry_id:
            self._oddities.append(LinkFinding(position, "self-parent", f"{entry_id} is its own parent"))
        else:
            self._waiting.setdefault(parent_id, []).append(position)
        return ROOT

    def _arrived(self, entry_id: str, position: int) -> None:
        """Link the entries that waited for this id."""
        for child in self._waiting.pop(entry_id, ()):
            self._forward.append((child, position))
            self._settled = False

    def _odd_parent(self, position: int, entry_id: str, parent_id: str, found: int) -> int:
        """The provisional parent of an entry whose parent does not precede it."""
        if found in (UNRESOLVED, position):
            return self._missing_parent(position, entry_id, parent_id)
        self._forward.append((position, found))
        self._settled = False
        return ROOT

    def resolve(self) -> None:
        """Resolve forward links, guess links across gaps, cut cycles. Cheap if there are none."""
        if len(self.tree.positions) != len(self.tree.keys):
            self._claim()
        if self._settled:
            return
        relink = self.tree.relink
        for position, parent in self._cut.items():
            relink(position, parent)
        self._cut.clear()
        self._rings.clear()
        for child, parent in self._forward:
            relink(child, parent)
            self._gaps.pop(child, None)
        self._forward.clear()
        for position, parent in self._gaps.items():
            relink(position, parent)
        self._guessed = set(self._gaps)
        self._cut_rings()
        self._settled = True

    def findings(self) -> list[LinkFinding]:
        """Irregularities of the links so far."""
        found = list(self._oddities)
        keys = self.tree.keys
        for ring in self._rings:
            names = ", ".join(keys[member] for member in ring[:4])
            message = f"{len(ring)} entries are each other's ancestors ({names}); cut here"
            found.append(LinkFinding(ring[0], "cycle", message))
        for parent_id, group in self._waiting.items():
            for position in group:
                if position in self._guessed:
                    parent = keys[self.tree.parents[position]]
                    message = (
                        f"the parent {parent_id} was lost in unreadable lines; linked to {parent} instead"
                    )
                    found.append(LinkFinding(position, "guessed-link", message))
                else:
                    message = f"the parent {parent_id} is not in this file; shown as a root"
                    found.append(LinkFinding(position, "orphan", message))
        found.sort(key=lambda oddity: oddity.position)
        return found

    def _key_for(self, entry_id: str, position: int, *, placeholder: bool = False) -> str:
        """The id itself, or for a later holder of it ``id#2``, ``id#3``."""
        held_by = self.tree.positions.get(entry_id)
        if held_by is None:
            return entry_id
        key = self._next_key(entry_id)
        if placeholder:
            return key
        if held_by in self.tree.placeholders:
            self.tree.rename(held_by, key)
            return entry_id
        message = f"the id {entry_id} was used before; this entry is shown as {key}"
        self._oddities.append(LinkFinding(position, "duplicate-id", message))
        self._latest[entry_id] = position
        return key

    def _next_key(self, entry_id: str) -> str:
        count = self._counts.get(entry_id, 1)
        while True:
            count += 1
            if (key := f"{entry_id}#{count}") not in self.tree.positions:
                self._counts[entry_id] = count
                return key

    def _cut_rings(self) -> None:
        parents = self.tree.parents
        for ring in cycles(range(len(parents)), parents):
            if guesses := self._guessed.intersection(ring):
                self._guessed.discard(min(guesses))
                self.tree.relink(min(guesses), ROOT)
                continue
            ring.sort()
            self._cut[ring[0]] = parents[ring[0]]
            self.tree.relink(ring[0], ROOT)
            self._rings.append(ring)


def cycles(positions: Iterable[int], parents: Sequence[int] | Mapping[int, int]) -> Iterator[list[int]]:
    """Yield each cycle in one pass: walk up from each entry until one that was visited before.

    The caller may cut a cycle as soon as it is yielded.
    """
    walk_of: dict[int, int] = {}
    for start in positions:
        position = start
        while position != ROOT and position not in walk_of:
            walk_of[position] = start
            position = parents[position]
        if position != ROOT and walk_of[position] == start:
            ring = [position]
            while (position := parents[position]) != ring[0]:
                ring.append(position)
            yield ring
