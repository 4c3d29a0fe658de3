"""One conversion, from the first entry to the last."""

from __future__ import annotations

import msgspec

from branchline.context.builder import with_sent_summary
from branchline.conversion.entry_utils import (
    has_native_form,
    message_of,
    missing_parts,
    says_something,
    with_edit,
    with_model,
    with_possible_time,
    with_unknown_cost,
    with_usage,
    without_thinking,
)
from branchline.conversion.fallbacks import to_native
from branchline.conversion.finalize import finish
from branchline.conversion.output_buffer import REFUSALS
from branchline.conversion.plan import NOT_ACTIVE, UNREADABLE, WITHHELD
from branchline.conversion.state import ConversionJob
from branchline.conversion.writer import EntryWriter
from branchline.entries import (
    AssistantMessage,
    Compaction,
    ContextEdit,
    Custom,
    Damaged,
    Entry,
    Label,
    Leaf,
    MessageEntry,
    ModelChange,
    ToolResult,
    Unknown,
    UsageEntry,
)
from branchline.formats.pi import PI
from branchline.tree import ROOT

__all__ = ["Converter"]


_CHUNK = 512  # entries decoded together
_RUN = 256  # plain messages written together
_PLAIN = frozenset({"user", "assistant", "toolResult"})


class Converter(EntryWriter):
    """Writes a session to a new file of another format."""

    def __init__(self, job: ConversionJob) -> None:
        super().__init__(job)
        self._continued = frozenset(self.plan.pieces.values())
        self._answers: dict[int, AssistantMessage] = {}  # parts waiting for the next one
        self._models: dict[int, tuple[str, str] | None] = {}
        self._restorer = job.restorer
        self._misplaced = False
        self._held = b""  # restored lines waiting for their newline
        self._holding: list[int] = []
        self._restored: set[int] = set()  # entries written as their original lines
        self._go()
        if self.exact and self.out.transcript.reading.header is not None:
            self.header = self.out.transcript.reading.header
        if not self.bare and not self.out.tail:
            finish(self)

    def has_same_parents(self) -> bool:
        """Return whether parents are unchanged and all restored lines hold the same entries."""
        return not self._misplaced and super().has_same_parents()

    def placed_everything(self) -> bool:
        """Return whether no entry was rejected because of its place."""
        refusal = self.target.traits.unsupported.get("elsewhere", "")
        return super().has_same_parents() and not self.ledger.has_lost(refusal)

    def dropped(self) -> tuple[str, ...]:
        """Return the readable messages of the path that say something and are not in the new file."""
        tree = self.source.tree
        spoken = (place for place in tree.path_positions(self.plan.leaf) if tree.roles[place] is not None)
        lost = self.ledger.lost_among(spoken, other_than=(UNREADABLE, WITHHELD))
        return tuple(
            tree.keys[place]
            for place, entry in zip(lost, self.source.entries(lost), strict=True)
            if says_something(entry)
        )

    def drop_branches(self) -> None:
        """Report everything that is not on the path as lost."""
        for position in range(len(self.source.tree)):
            if position not in self.ledger:
                unreadable = position in self.source.tree.placeholders
                self.ledger.lost(position, UNREADABLE if unreadable else NOT_ACTIVE)

    # -- the way through ------------------------------------------------------------------------------

    def _go(self) -> None:
        order, source = self.plan.order, self.source
        for start in range(0, len(order), _CHUNK):
            positions = order[start : start + _CHUNK]
            if source.format.external_parts is not None:
                lines = source.raws(positions)
                self._gone.update(missing_parts(source, positions, lines))
                if source.format is PI:
                    named = zip(positions, lines, strict=True)
                    self._enveloped.update(position for position, line in named if has_native_form(line))
            for position, entry in zip(positions, source.entries(positions), strict=True):
                if self._restorer is None or not self._restore(position):
                    self._take(position, entry)
        self._flush()
        self.out.tail, self._held = self._held, b""

    def _take(self, position: int, entry: Entry) -> None:
        """Write one entry, or add it to the pending run."""
        self._release()
        self._models[position] = self._models.get(self._above(position))
        if isinstance(entry, ModelChange):
            self._models[position] = (entry.provider, entry.model_id)
        if isinstance(entry, Damaged):
            self._drop(position, UNREADABLE)
            return
        if position in self.source.reading.repeats:
            self._pass(position)
            self.ledger.carried(position)
            return
        if self._is_redundant(entry, position):
            return
        if isinstance(entry, Unknown) and self.source.format is not PI:
            self._foreign.add(position)
        if self.bare and position in self.plan.fresh and not isinstance(entry, Custom):
            entry = _context_reset(entry)
        if isinstance(entry, Compaction):
            entry = with_sent_summary(self.source, entry)
        is_pi = self.target.traits.native_entries
        silent = self.source.context_rules.excluded_types
        entry = to_native(entry, self.source.format.name, silent=silent, for_pi=is_pi)
        if not self.bare and (position in self.plan.pieces or position in self._continued):
            whole = self._joined_answer(position, entry)
            if whole is None:
                return
            entry = whole
        edit = self.plan.edits.get(position)
        if edit is not None and edit.replacement is None:
            self._pass(position)
            self.ledger.approximated(position, "removed by a later edit")
            return
        if edit is not None and (changed := with_edit(entry, edit)) != entry:
            entry = changed
            self._edited.add(position)
        if position in self.plan.sent:
            sent = self.plan.sent[position]
            if sent is None:
                self._drop(position, f"{self.source.format.name} does not send it to the model")
                return
            entry = msgspec.structs.replace(entry, message=sent)
            self._reduced.add(position)
        if not self.bare and (model := self._models[position]) is not None:
            entry = with_model(entry, *model)
        if not is_pi and (timed := with_possible_time(entry)) is not entry:
            entry = timed
            self._untimed.add(position)
        if position in self.plan.spent and isinstance(entry, MessageEntry):
            entry = with_usage(entry, self.plan.spent[position])
        if not self.source.records_cost:
            entry = with_unknown_cost(entry)
        if (reason := self.target.traits.unsupported.get("thinking")) is not None:
            stripped = without_thinking(entry)
            if stripped is None:
                self._drop(position, reason)
                return
            if stripped is not entry:
                self._unthought.add(position)
                entry = stripped
        self._write_model(position, entry)
        if not self._may_join(position, entry):
            self._flush()
            self._write_alone(position, self._placed(position, entry), "")
            return
        if self._run and not self._continues_run(position, entry):
            self._flush()
        self._run.append((position, self._placed(position, entry)))
        if len(self._run) >= _RUN and not isinstance(message_of(entry), ToolResult):
            self._flush()

    def _continues_run(self, position: int, entry: Entry) -> bool:
        """Return whether an entry can be added to the pending run."""
        if self.target.traits.splits_answers and not (
            isinstance(message_of(entry), ToolResult) and isinstance(message_of(self._run[-1][1]), ToolResult)
        ):
            return False
        return self.plan.linear or self.source.tree.parents[position] == self._run[-1][0]

    def _joined_answer(self, position: int, entry: Entry) -> Entry | None:
        """Return the answer joined with the parts before it; None if the next part will include it."""
        message = message_of(entry)
        above = self.plan.pieces.get(position)
        if above is not None and (before := self._answers.pop(above, None)) is not None:
            assert isinstance(message, AssistantMessage)
            message = self.source.format.reader.merge_answers(before, message) or message
        assert isinstance(message, AssistantMessage)
        if position in self._continued:
            self._answers[position] = message
            self._pass(position)
            self.ledger.approximated(position, "joined with the following entries into one answer")
            return None
        return msgspec.structs.replace(entry, message=message)

    def _write_model(self, position: int, entry: Entry) -> None:
        """Write a model change before an answer, in formats whose answers do not name their model."""
        message = message_of(entry)
        if not self._models_apart or not isinstance(message, AssistantMessage) or not message.model:
            return
        model = (message.provider or "", message.model)
        if model == self._models[position]:
            return
        self._flush()
        change = ModelChange(
            id=f"{self._own_id(position)}.model",
            parent=self._parent_key(position),
            timestamp=entry.timestamp,
            provider=model[0],
            model_id=model[1],
        )
        try:
            made = self.out.write([change])
        except REFUSALS:
            return
        self._models[position] = model
        if made:
            self._under[position] = self.out.transcript.tree.keys[made[-1]]

    def _is_redundant(self, entry: Entry, position: int) -> bool:
        """Return whether an entry is omitted because something else records the same."""
        match entry:
            case Leaf() if self.keeper is None and self._restorer is None:
                self._pass(position)
                if self.bare or self.plan.linear:
                    self.ledger.carried(position)
                else:
                    how = "the current position is written once, at the end"
                    self.ledger.approximated(position, how)
            case Label() if self.bare and self.plan.linear:
                self._pass(position)
                self.ledger.carried(position)
            case UsageEntry() if position in self.plan.folded:
                self._pass(position)
                self.ledger.approximated(position, "counted with the adjacent answer")
            case ContextEdit() if self.source.tree.positions.get(entry.target, ROOT) in self.plan.edits:
                self._pass(position)
                self.ledger.approximated(position, "applied to the entry that it edits")
            case _:
                return False
        return True

    def _may_join(self, position: int, entry: Entry) -> bool:
        """Return whether an entry is a plain message, which can be written in a run."""
        is_plain = self.source.tree.roles[position] in _PLAIN and isinstance(entry, MessageEntry)
        return self.keeper is None and is_plain

    # -- giving back ----------------------------------------------------------------------------------

    def _restore(self, position: int) -> bool:
        """Restore the original line of an entry; return False if it has to be encoded."""
        assert self._restorer is not None
        if position in self.ledger:
            return True  # it shares a line with the previous entry
        restored = self._restorer.restored(position)
        if restored is None:
            return False
        if restored.made:
            above = self.source.tree.parents[position]
            if self.source.tree.types[position] == "message" and above not in self._restored:
                return False  # the entry that it belongs to was changed and is encoded anew
            self._flush()
            self._release()
            self._pass(position)
            self._restored.add(position)
            self.ledger.carried(position)
            return True
        self._flush()
        self._restored.update(restored.positions)
        if restored.bound:
            self.bound.add(position)
        for one in restored.positions:
            self.ledger.carried(one)
            self.ledger.restored += 1
        self._held += restored.data
        self._holding += restored.positions
        self._previous = restored.positions[-1]
        if self._held.endswith(b"\n"):
            self._release()
        return True

    def _release(self) -> None:
        """Write the restored lines, and find their entries in the new file."""
        if not self._held:
            return
        lines, positions = self._held, self._holding
        self._held, self._holding = b"", []
        made = self.out.add(lines if lines.endswith(b"\n") else lines + b"\n")
        tree = self.out.transcript.tree
        places = [place for place in made if place not in tree.placeholders]
        if len(places) != len(positions):
            self._misplaced = True
            return
        for position, place in zip(positions, places, strict=True):
            self.written[position] = place
            self._keys[position] = tree.keys[place]


def _context_reset(entry: Entry) -> Entry:
    """Return the entry that makes the context start anew without splitting the path."""
    return Compaction(
        id=entry.id,
        parent=entry.parent,
        timestamp=entry.timestamp,
        summary="",
        first_kept=entry.id,
        retained_tail=(),
    )
