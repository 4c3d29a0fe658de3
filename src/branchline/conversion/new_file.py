"""The new file: its bytes, and the position and id that each entry of the source got in it.

Entries keep their ids if the target stores them as they are. Otherwise an id comes from the new file (rows of
Codex and zot have none and are named by their place, Claude Code needs UUIDs), so a parent's id is known only
after the parent was written.
"""

from __future__ import annotations

import msgspec

from branchline.conversion.output_buffer import OutputBuffer, Trial, trial_of
from branchline.entries import SIDE_TYPES, Compaction, ContextEdit, Entry, Header, Label, Leaf
from branchline.formats.entry_log import EntryLog
from branchline.formats.pi import PI
from branchline.formats.protocol import Format
from branchline.tree import ROOT

__all__ = ["NewFile"]

_UNTIL_WRITTEN = " of the source"
"""Ends the ids of entries whose format names them anew: two files that number lines have the same ids."""


class NewFile:
    """A new file with its header, and the entries of the source that are in it.

    With ``linear``, each entry is a child of the one before it, whatever its parent in the source.
    """

    def __init__(
        self, source: EntryLog, target: Format, header: Header, head: bytes, *, linear: bool = False
    ) -> None:
        self._source, self.target, self._linear = source, target, linear
        self._name = target.home.file_key(header) + target.traits.suffix
        self.out = OutputBuffer(target, head, self._name)
        self.kept = Trial(names_models=True, keeps_ids=True) if target is PI else trial_of(target, header)
        self.written: dict[int, int] = {}
        """The position in the new file, by the position in the source."""
        self.previous = ROOT
        """The entry of the source that was written or left out last."""
        self.pending: tuple[int, str] | None = None
        """The last entry that waits to be written, and its id."""
        begun = self.out.transcript.leaf  # if the header is itself an entry, it is the parent of the others
        self._keys: dict[int, str | None] = {ROOT: begun}
        self._under: dict[int, str] = {}
        self._images: dict[int, int] = {}

    def adopt(self, data: bytes) -> None:
        """Use a finished file with the same ids as the new file."""
        self.out = OutputBuffer(self.target, data, self._name)
        positions = self.out.transcript.tree.positions
        for position, key in enumerate(self._source.tree.keys):
            if key in positions and position not in self._source.tree.placeholders:
                self.wrote(position, positions[key], key)

    # -- what is in it --------------------------------------------------------------------------------

    def wrote(self, position: int, place: int, key: str | None) -> None:
        """Note where an entry is. ``key`` is the id of the parent for entries after it."""
        self.written[position] = place
        self._keys[position] = key
        if self._source.tree.types[position] not in SIDE_TYPES:
            self._images[place] = position

    def follow(self, position: int, key: str | None) -> None:
        """Let entries after this one, which is not in the file itself, follow the entry with this id."""
        self._keys[position] = key

    def pass_over(self, position: int) -> None:
        """Leave an entry out: its children become children of its parent."""
        self._keys[position] = self._keys.get(self.above(position))

    def start_anew(self, position: int) -> None:
        """Make the next entry a root, so that a model sees nothing before it."""
        self._keys[position] = self._keys[ROOT]

    def hang_under(self, position: int, key: str) -> None:
        """Give an entry that is not written yet a parent that the conversion added."""
        self._under[position] = key

    def has_same_parents(self, bound: set[int]) -> bool:
        """Return whether conversation entries, except the ``bound`` ones, have the same parents as before."""
        tree, made = self._source.tree, self.out.transcript.tree
        for place, position in self._images.items():
            if position in bound:
                continue
            above = tree.nearest_conversation_entry(tree.parents[position])
            while above != ROOT and above not in self.written:
                above = tree.nearest_conversation_entry(tree.parents[above])
            if self.image_of(made.parents[place]) != above:
                return False
        return True

    def image_of(self, place: int) -> int:
        """Return the source's conversation entry that ``place``, or its nearest ancestor, was written for."""
        parents = self.out.transcript.tree.parents
        while place != ROOT and place not in self._images:
            place = parents[place]
        return self._images.get(place, ROOT)

    # -- ids ------------------------------------------------------------------------------------------

    def above(self, position: int) -> int:
        """Return the entry of the source that this one follows in the new file."""
        return self.previous if self._linear else self._source.tree.parents[position]

    def key_of(self, position: int) -> str | None:
        """Return the id of the parent for entries after this one; None before the first."""
        return self._keys.get(position)

    def parent_key(self, position: int) -> str | None:
        """Return the id of the parent that this entry gets."""
        if position in self._under:
            return self._under[position]
        above = self.above(position)
        if self.pending is not None and (self._linear or above == self.pending[0]):
            return self.pending[1]
        if above not in self._keys and self.target is PI:
            return self.own_id(above)  # it comes later in the file
        return self._keys.get(above)

    def own_id(self, position: int) -> str:
        """Return the id that an entry gets, or has until it is written."""
        key = self._source.tree.keys[position]
        if not self.kept.keeps_ids:
            return f"{key}{_UNTIL_WRITTEN}"
        # "#" marks the second use of an id, and some formats would find the first.
        return key if self.target is PI else key.replace("#", ".")

    def placed(self, position: int, entry: Entry) -> Entry:
        """Return the entry with the ids of the new file."""
        own = self.own_id(position)
        changes: dict[str, object] = {"id": own, "parent": self.parent_key(position)}
        match entry:
            case Compaction(first_kept=str(first), retained_tail=None):
                changes["first_kept"] = own if first == entry.id else self._first_kept(position, first)
            case Label() | ContextEdit():
                changes["target"] = self._named(entry.target) or ""
            case Leaf(target=str(target)):
                changes["target"] = self._named(target)
            case _:
                pass
        return msgspec.structs.replace(entry, **changes)

    def _named(self, key: str) -> str | None:
        """Return the id in the new file of an entry that another one refers to."""
        position = self._source.tree.positions.get(key)
        if position in self.written:
            return self._keys[position]
        return None if position is None or self.target is not PI else self.own_id(position)

    def _first_kept(self, position: int, first: str) -> str:
        """Return the first kept entry, or the next one on the path that is in the new file."""
        tree = self._source.tree
        start = tree.positions.get(first, ROOT)
        above, nearest = tree.parents[position], ROOT
        while ROOT not in (above, start):
            nearest = above if above in self.written else nearest
            if above == start:
                return self.own_id(position) if nearest == ROOT else self._keys[nearest] or first
            above = tree.parents[above]
        return first if self.target is PI else self.own_id(position)

    def has_right_parent(self, entry: Entry, place: int) -> bool:
        """Return whether a side record has the right parent; some formats attach them to the current leaf."""
        tree = self.out.transcript.tree
        if tree.types[place] not in SIDE_TYPES:
            return True
        above = ROOT if entry.parent is None else tree.positions.get(entry.parent, place)
        return tree.nearest_conversation_entry(place) == tree.nearest_conversation_entry(above)
