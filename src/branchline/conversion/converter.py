"""One conversion: the plan says what is written and in which order, the emitter writes it, the ledger counts.

source ─► plan ──────► decisions ─────► emitter ─────► new file
          which, in    what is written  rows of the    bytes, positions, ids
          which order  for each entry   target │
          └────────── omitted ─────────────────┴─────► ledger ─► fidelity report
"""

from __future__ import annotations

from typing import NamedTuple

from branchline.context import ModelRef
from branchline.conversion.decisions import Decisions
from branchline.conversion.emitter import Emitter
from branchline.conversion.entry_utils import says_something
from branchline.conversion.fidelity import Ledger
from branchline.conversion.finalize import finish, header_with_model
from branchline.conversion.new_file import NewFile
from branchline.conversion.origin_reader import OriginReader
from branchline.conversion.origin_writer import OriginWriter
from branchline.conversion.plan import NOT_ACTIVE, UNREADABLE, WITHHELD, Skip, make_plan
from branchline.entries import Header, ModelChange
from branchline.formats.entry_log import EntryLog
from branchline.formats.pi import PI
from branchline.formats.protocol import Format

__all__ = ["Conversion", "ConversionJob"]

_CHUNK = 512  # entries decoded together


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


class Conversion:
    """A finished conversion: the new file, and what became of each entry."""

    def __init__(self, job: ConversionJob) -> None:
        source, target, header, leaf, restorer, bare = job
        self._source, self._target = source, target
        exact = restorer is not None and restorer.head is not None  # restores the original file
        self.plan = make_plan(
            source,
            target,
            leaf,
            as_in_file=target is PI and source.format.is_appendable,
            adds_title=not bare and not exact,
        )
        self.ledger = Ledger(source.tree)
        for skip in self.plan.omitted:
            self.ledger.settle(*skip)
        keeper = None
        restorable = source.format.is_appendable and not source.reading.is_superseded
        if target is PI and restorable and not bare:
            carried = [position for position in self.plan.order if position not in source.tree.placeholders]
            keeper = OriginWriter(source, whole=leaf is None, carried=carried)
            header = keeper.header(header)
        self.header = header if target is PI else header_with_model(header, source, self.plan.order)
        head = None if restorer is None else restorer.head
        if head is None:
            head = target.required_writer().encode_header(self.header)
        self.file = NewFile(source, target, self.header, head, linear=self.plan.linear)
        self._emitter = Emitter(source, self.plan, self.file, self.ledger, keeper, bare=bare)
        self._run(
            Decisions(source, target, self.plan, bare=bare, restorer=restorer, keeps_lines=keeper is not None)
        )
        restored = self.file.out.transcript.reading.header
        if exact and restored is not None:
            self.header = restored
        if not bare and not self.file.out.tail:
            finish(source, self.file, self.header, self.plan.leaf, exact=exact, marks=keeper is not None)

    def _run(self, decisions: Decisions) -> None:
        """Carry out the plan."""
        order, source, emitter = self.plan.order, self._source, self._emitter
        for start in range(0, len(order), _CHUNK):
            positions = order[start : start + _CHUNK]
            decisions.look_ahead(positions)
            for position, entry in zip(positions, source.entries(positions), strict=True):
                original = decisions.original(position)
                if original is not None:
                    emitter.restore(original)
                    continue
                model = emitter.model_before(position)
                if isinstance(entry, ModelChange):
                    model = ModelRef(provider=entry.provider, id=entry.model_id)
                step = decisions.decide(position, entry, model)
                if isinstance(step, Skip):
                    emitter.skip(step, model)
                else:
                    emitter.write(step, model)
        emitter.end()

    def has_same_parents(self) -> bool:
        """Return whether parents are unchanged and all restored lines hold the same entries."""
        return not self._emitter.misplaced and self.file.has_same_parents(self._emitter.bound)

    def placed_everything(self) -> bool:
        """Return whether no entry was rejected because of its place."""
        refusal = self._target.traits.unsupported.get("elsewhere", "")
        return self.file.has_same_parents(self._emitter.bound) and not self.ledger.has_lost(refusal)

    def dropped(self) -> tuple[str, ...]:
        """Return the readable messages of the path that say something and are not in the new file."""
        tree = self._source.tree
        spoken = (place for place in tree.path_positions(self.plan.leaf) if tree.roles[place] is not None)
        lost = self.ledger.lost_among(spoken, other_than=(UNREADABLE, WITHHELD))
        return tuple(
            tree.keys[place]
            for place, entry in zip(lost, self._source.entries(lost), strict=True)
            if says_something(entry)
        )

    def drop_branches(self) -> None:
        """Report everything that is not on the path as lost."""
        for position in range(len(self._source.tree)):
            if position not in self.ledger:
                unreadable = position in self._source.tree.placeholders
                self.ledger.settle(position, lost=UNREADABLE if unreadable else NOT_ACTIVE)
