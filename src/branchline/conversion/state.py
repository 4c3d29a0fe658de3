"""The mapping from entries of the source to entries of the new file."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from branchline.conversion.fidelity import FidelityRecorder
from branchline.conversion.finalize import header_with_model
from branchline.conversion.origin_reader import OriginReader
from branchline.conversion.origin_writer import OriginWriter
from branchline.conversion.output_buffer import OutputBuffer, Trial, trial_of
from branchline.conversion.plan import make_plan
from branchline.entries import (
    SIDE_TYPES,
    Compaction,
    ContextEdit,
    Entry,
    Header,
    Label,
    Leaf,
)
from branchline.formats.entry_log import EntryLog
from branchline.formats.pi import PI
from branchline.formats.protocol import Format
from branchline.tree import ROOT

__all__ = ["ConversionState"]


_UNTIL_WRITTEN = " of the source"
"""Ends the ids of entries whose format names them anew: two files that number lines have the same ids."""


class ConversionJob(NamedTuple):
    """What to convert: a whole session or, with ``leaf``, the path to one of its entries."""

    source: EntryLog
    target: Format
    header: Header
    """The header of the new file."""
    leaf: int | None = None
    restorer: OriginReader | None = None
    bare: bool = False
    """Write entries only: no origins, moves, labels or title."""


class ConversionState:
    """A source, a new file with its header, and the position of each source entry in the new file."""

    def __init__(self, job: ConversionJob) -> None:
        source, target, header, leaf, restorer, bare = job
        self.source, self.target, self.bare = source, target, bare
        self.ledger = FidelityRecorder(source.tree)
        self.exact = restorer is not None and restorer.head is not None
        """Whether the original file is restored."""
        self.plan = make_plan(
            source,
            target,
            leaf,
            self.ledger,
            as_in_file=target is PI and source.format.is_appendable,
            adds_title=not bare and not self.exact,
        )
        self.keeper = None
        restorable = source.format.is_appendable and not source.reading.is_superseded
        if target is PI and restorable and not bare:
            carried = [position for position in self.plan.order if position not in source.tree.placeholders]
            self.keeper = OriginWriter(source, whole=leaf is None, carried=carried)
            header = self.keeper.header(header)
        self.header = header if target is PI else header_with_model(header, source, self.plan.order)
        head = target.required_writer().encode_header(self.header)
        if restorer is not None and restorer.head is not None:
            head = restorer.head
        self._file_name = target.home.file_key(self.header) + target.traits.suffix
        self.out = OutputBuffer(target, head, self._file_name)
        native = target is PI
        self.kept = Trial(names_models=True, keeps_ids=True) if native else trial_of(target, self.header)
        self.written: dict[int, int] = {}
        """The position in the new file, by the position in the source."""
        self.bound: set[int] = set()
        """Entries with another parent in the new file."""
        self._image: dict[int, int] = {}
        self._imaged = 0
        begun = self.out.transcript.leaf  # if the header is itself an entry, it is the parent of the others
        self._keys: dict[int, str | None] = {ROOT: begun}
        self._under: dict[int, str] = {}  # children of entries that the conversion added
        self._previous = ROOT
        self._run: list[tuple[int, Entry]] = []

    def adopt(self, data: bytes) -> None:
        """Use a finished file with the same ids as the new file."""
        self.out = OutputBuffer(self.target, data, self._file_name)
        made = self.out.transcript.tree
        for position, key in enumerate(self.source.tree.keys):
            if key in made.positions and position not in self.source.tree.placeholders:
                self.written[position] = made.positions[key]
                self._keys[position] = key

    def key_of(self, position: int) -> str | None:
        """Return the id of the parent in the new file for entries after this one; None before the first."""
        return self._keys.get(position)

    def has_same_parents(self) -> bool:
        """Return whether every conversation entry has the same parent as in the source."""
        tree, made = self.source.tree, self.out.transcript.tree
        for place, position in self._images().items():
            if position in self.bound:
                continue
            above = tree.nearest_conversation_entry(tree.parents[position])
            while above != ROOT and above not in self.written:
                above = tree.nearest_conversation_entry(tree.parents[above])
            if self.image_of(made.parents[place]) != above:
                return False
        return True

    def image_of(self, place: int) -> int:
        """Return the source's conversation entry that ``place``, or its nearest ancestor, was written for."""
        parents, images = self.out.transcript.tree.parents, self._images()
        while place != ROOT and place not in images:
            place = parents[place]
        return images.get(place, ROOT)

    def _images(self) -> dict[int, int]:
        if self._imaged != len(self.written):
            types = self.source.tree.types
            self._image = {
                p: position for position, p in self.written.items() if types[position] not in SIDE_TYPES
            }
            self._imaged = len(self.written)
        return self._image

    # -- names ----------------------------------------------------------------------------------------

    def _above(self, position: int) -> int:
        return self._previous if self.plan.linear else self.source.tree.parents[position]

    def _parent_key(self, position: int) -> str | None:
        above = self._above(position)
        if position in self._under:
            return self._under[position]
        if self._run and (self.plan.linear or above == self._run[-1][0]):
            return self._run[-1][1].id
        if above not in self._keys and self.target is PI:
            return self._own_id(above)  # it comes later in the file
        return self._keys.get(above)

    def _placed(self, position: int, entry: Entry) -> Entry:
        """Return the entry with the ids of the new file."""
        own = self._own_id(position)
        changes: dict[str, object] = {"id": own, "parent": self._parent_key(position)}
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

    def _own_id(self, position: int) -> str:
        key = self.source.tree.keys[position]
        if not self.kept.keeps_ids:
            return f"{key}{_UNTIL_WRITTEN}"
        # "#" marks the second use of an id, and some formats would find the first.
        return key if self.target is PI else key.replace("#", ".")

    def _named(self, key: str) -> str | None:
        """Return the id in the new file of an entry that another one refers to."""
        position = self.source.tree.positions.get(key)
        if position in self.written:
            return self._keys[position]
        return None if position is None or self.target is not PI else self._own_id(position)

    def _first_kept(self, position: int, first: str) -> str:
        """Return the first kept entry, or the next one on the path that is in the new file."""
        tree = self.source.tree
        start = tree.positions.get(first, ROOT)
        above, nearest = tree.parents[position], ROOT
        while ROOT not in (above, start):
            nearest = above if above in self.written else nearest
            if above == start:
                return self._own_id(position) if nearest == ROOT else self._keys[nearest] or first
            above = tree.parents[above]
        return first if self.target is PI else self._own_id(position)

    def _start_new_root(self, position: int) -> None:
        """Make the next entry a root, so that a model sees nothing before it."""
        if position in self.plan.fresh and not self.bare:
            self._keys[position] = self._keys[ROOT]

    def _has_right_parent(self, entry: Entry, place: int) -> bool:
        """Return whether a side record has the right parent; some formats attach them to the current leaf."""
        tree = self.out.transcript.tree
        if tree.types[place] not in SIDE_TYPES:
            return True
        above = ROOT if entry.parent is None else tree.positions.get(entry.parent, place)
        return tree.nearest_conversation_entry(place) == tree.nearest_conversation_entry(above)
