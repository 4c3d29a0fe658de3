"""What is written for each entry: its original line, another form of it, or nothing.

Nothing here knows the new file: a decision depends on the source, the plan, the traits of the target and the
model that is in force at that place. The emitter carries it out, and may have to write a simpler form.

    original()   its bytes, if it was converted from the target's format and not changed since
    decide()     needless?          nothing: it cannot be read, or something else records the same
                 common words       as a type that means the same in every format
                 whole answer       joined with its other parts
                 as a model hears   after later edits, without what the source's agent does not send
                 records beside     with the model, time and usage that the source records elsewhere
                 thinking           left out, if the target's provider would refuse it
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import msgspec

from branchline.context import ModelRef
from branchline.context.builder import opening_messages, with_sent_summary
from branchline.conversion.entry_utils import (
    has_native_form,
    message_of,
    missing_parts,
    spoken_messages,
    with_edit,
    with_model,
    with_possible_time,
    with_unknown_cost,
    with_usage,
    without_thinking,
)
from branchline.conversion.fallbacks import Fallback, fallbacks_for, to_native, without_lone_surrogates
from branchline.conversion.fidelity import Remark
from branchline.conversion.origin_reader import OriginReader, RestoredRows
from branchline.conversion.plan import UNREADABLE, ConversionPlan, Skip, kept_messages, summary_follows
from branchline.entries import (
    AssistantMessage,
    Compaction,
    ContextEdit,
    Custom,
    Damaged,
    Entry,
    Label,
    Leaf,
    Message,
    MessageEntry,
    Unknown,
    UsageEntry,
)
from branchline.formats.entry_log import EntryLog
from branchline.formats.pi import PI
from branchline.formats.protocol import Format
from branchline.tree import ROOT

__all__ = ["Decisions", "Write", "forms_of"]

_PLAIN = frozenset({"user", "assistant", "toolResult"})
_NO_SUMMARY = "(no summary available)"


class Write(NamedTuple):
    """An entry to write, still with the ids of the source."""

    position: int
    entry: Entry
    remarks: dict[Remark, str]
    """What is changed already, for the report."""
    joins: bool
    """Whether it is a plain message, which can be written in a run."""


class Decisions:
    """Decides for one entry after the other, in the order of the plan."""

    def __init__(
        self,
        source: EntryLog,
        target: Format,
        plan: ConversionPlan,
        *,
        bare: bool,
        restorer: OriginReader | None,
        keeps_lines: bool,
    ) -> None:
        self._source, self._target, self._plan, self._bare = source, target, plan, bare
        self._restorer = restorer
        self._keeps_lines = keeps_lines
        self._continued = frozenset(plan.pieces.values())
        self._parts: dict[int, AssistantMessage] = {}  # parts of answers, waiting for the next one
        self._restored: set[int] = set()  # entries written as their original lines
        self._enveloped: set[int] = set()  # entries in a framework's form, which no other format keeps
        self._gone: dict[int, str] = {}  # what entries lack, because other files are missing

    def look_ahead(self, positions: Sequence[int]) -> None:
        """Find what only the lines of entries show, for many at once."""
        source = self._source
        if source.format.external_parts is None:
            return
        lines = source.raws(positions)
        self._gone.update(missing_parts(source, positions, lines))
        if source.format is PI:
            named = zip(positions, lines, strict=True)
            self._enveloped.update(position for position, line in named if has_native_form(line))

    def original(self, position: int) -> RestoredRows | None:
        """Return the original bytes of an entry, without any if it shares a line or was never in the file.

        None if the entry has to be encoded.
        """
        if self._restorer is None:
            return None
        if position in self._restored:
            return RestoredRows((), b"")  # it shares a line with the previous entry
        restored = self._restorer.restored(position)
        if restored is None:
            return None
        if restored.made:
            above = self._source.tree.parents[position]
            if self._source.tree.types[position] == "message" and above not in self._restored:
                return None  # the entry that it belongs to was changed and is encoded anew
        self._restored.update(restored.positions)
        return restored

    def decide(self, position: int, entry: Entry, model: ModelRef | None) -> Write | Skip:
        """Return what to write for an entry; ``model`` is the one in force there."""
        skip = self._needless(position, entry)
        if skip is not None:
            return skip
        remarks: dict[Remark, str] = {}
        if position in self._gone:
            remarks[Remark.INCOMPLETE] = f"with a note in place of {self._gone[position]}"
        if position in self._enveloped:
            remarks[Remark.FRAMEWORK] = "without the native form that its framework reads"
        if isinstance(entry, Unknown) and self._source.format is not PI:
            remarks[Remark.FOREIGN] = "kept as data that only its own agent reads"
        common = self._whole_answer(position, self._in_common_words(position, entry))
        if isinstance(common, Skip):
            return common
        heard = self._as_model_hears_it(position, common, remarks)
        if isinstance(heard, Skip):
            return heard
        known = self._with_records_beside(position, heard, model, remarks)
        spoken = self._without_thinking(position, known, remarks)
        if isinstance(spoken, Skip):
            return spoken
        is_plain = self._source.tree.roles[position] in _PLAIN and isinstance(spoken, MessageEntry)
        return Write(position, spoken, remarks, joins=is_plain and not self._keeps_lines)

    # -- one step each --------------------------------------------------------------------------------

    def _needless(self, position: int, entry: Entry) -> Skip | None:
        """Leave out what cannot be read, and what something else records too."""
        plan = self._plan
        match entry:
            case Damaged():
                return Skip(position, lost=UNREADABLE)
            case _ if position in self._source.reading.repeats:
                return Skip(position)
            case Leaf() if not self._keeps_lines and self._restorer is None:
                one_path = self._bare or plan.linear
                return Skip(position, "" if one_path else "the current position is written once, at the end")
            case Label() if self._bare and plan.linear:
                return Skip(position)
            case UsageEntry() if position in plan.folded:
                return Skip(position, "counted with the adjacent answer")
            case ContextEdit() if self._source.tree.positions.get(entry.target, ROOT) in plan.edits:
                return Skip(position, "applied to the entry that it edits")
            case _:
                return None

    def _in_common_words(self, position: int, entry: Entry) -> Entry:
        """Return the entry as a type that every format knows by the same meaning."""
        if self._bare and position in self._plan.fresh and not isinstance(entry, Custom):
            entry = _context_reset(entry)
        if isinstance(entry, Compaction):
            entry = with_sent_summary(self._source, entry)
        return to_native(
            entry,
            self._source.format.name,
            silent=self._source.context_rules.excluded_types,
            for_pi=self._target.traits.native_entries,
        )

    def _whole_answer(self, position: int, entry: Entry) -> Entry | Skip:
        """Return the answer joined with the parts before it; skip it if the next part will include it."""
        if self._bare or not (position in self._plan.pieces or position in self._continued):
            return entry
        message = message_of(entry)
        above = self._plan.pieces.get(position)
        if above is not None and (before := self._parts.pop(above, None)) is not None:
            assert isinstance(message, AssistantMessage)
            message = self._source.format.reader.merge_answers(before, message) or message
        assert isinstance(message, AssistantMessage)
        if position in self._continued:
            self._parts[position] = message
            return Skip(position, "joined with the following entries into one answer")
        return msgspec.structs.replace(entry, message=message)

    def _as_model_hears_it(self, position: int, entry: Entry, remarks: dict[Remark, str]) -> Entry | Skip:
        """Apply later edits, and what the source's agent changes when it sends a message to a model."""
        edit = self._plan.edits.get(position)
        if edit is not None and edit.replacement is None:
            return Skip(position, "removed by a later edit")
        if edit is not None and (changed := with_edit(entry, edit)) != entry:
            entry = changed
            remarks[Remark.EDITED] = "with the content that a later edit gave it"
        if position in self._plan.sent:
            sent, agent = self._plan.sent[position], self._source.format.name
            if sent is None:
                return Skip(position, lost=f"{agent} does not send it to the model")
            entry = msgspec.structs.replace(entry, message=sent)
            remarks[Remark.REDUCED] = f"without what {agent} does not send to the model"
        return entry

    def _with_records_beside(
        self, position: int, entry: Entry, model: ModelRef | None, remarks: dict[Remark, str]
    ) -> Entry:
        """Add to an entry what the source records elsewhere: its model, its time and its usage."""
        if not self._bare and model is not None:
            entry = with_model(entry, model.provider, model.id)
        if not self._target.traits.native_entries and (timed := with_possible_time(entry)) is not entry:
            entry = timed
            remarks[Remark.TIMED] = "with the time of its entry"
        if position in self._plan.spent and isinstance(entry, MessageEntry):
            entry = with_usage(entry, self._plan.spent[position])
        return entry if self._source.records_cost else with_unknown_cost(entry)

    def _without_thinking(self, position: int, entry: Entry, remarks: dict[Remark, str]) -> Entry | Skip:
        """Leave thinking out if the target's provider would refuse it.

        Claude Code 2.1.325 and Codex 0.166.0 send what the file holds, signed or not. A provider accepts
        only thinking that the same model signed or encrypted.
        """
        reason = self._target.traits.unsupported.get("thinking")
        if reason is None:
            return entry
        stripped = without_thinking(entry)
        if stripped is None:
            return Skip(position, lost=reason)
        if stripped is not entry:
            remarks[Remark.UNTHOUGHT] = "without its thinking"
        return stripped


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


def forms_of(
    source: EntryLog, target: Format, plan: ConversionPlan, position: int, entry: Entry, *, bare: bool
) -> Iterator[Fallback]:
    """Yield an entry unchanged and in its simpler forms, in the order in which they are tried."""

    def kept() -> tuple[Message, ...]:
        stored = source.entry(position)
        if not isinstance(stored, Compaction):
            return ()
        found = kept_messages(source, position, stored, plan.edits)
        return spoken_messages(found) if "thinking" in target.traits.unsupported else found

    how = ""
    if isinstance(entry, Compaction) and summary_follows(source, entry):
        how = "its summary precedes the messages that it keeps"
        if not target.traits.appendable:
            how = "its summary is the last of the messages that it keeps"
            kept_and_summary = opening_messages(source, entry)
            entry = msgspec.structs.replace(entry, summary="", retained_tail=kept_and_summary)
    if target is PI and not bare and isinstance(entry, Compaction) and not entry.summary:
        entry = msgspec.structs.replace(entry, summary=_NO_SUMMARY)  # pi shows an empty one to the model
    forms = fallbacks_for(entry, kept)
    # pi's format can store messages inside a compaction (its library did, 0.75 to 0.83), but pi 1.5.0 itself
    # does not read them.
    holds_messages = isinstance(entry, Compaction) and bool(entry.retained_tail)
    if target is not PI or bare or not holds_messages:
        forms = chain([Fallback("", (entry,))], forms)
    for form in forms:
        noted = form._replace(how=", ".join(filter(None, (how, form.how))))
        yield noted
        # Tried before simpler forms: a lone surrogate must not cost more than itself.
        if (whole := without_lone_surrogates(noted)) is not None:
            yield whole
