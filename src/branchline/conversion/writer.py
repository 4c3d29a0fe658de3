"""Writes entries to a new file, unchanged or in the first simpler form that its format accepts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain

import msgspec

from branchline.context.builder import opening_messages
from branchline.conversion.entry_utils import (
    ToolResultForms,
    calls_with_long_numbers,
    chained,
    group_tool_results,
    message_of,
    missing_results,
    one_by_one,
    places_of,
    result_forms,
    spoken_messages,
)
from branchline.conversion.fallbacks import (
    Fallback,
    as_user_message,
    fallbacks_for,
    replace_lone_surrogates,
    without_lone_surrogates,
)
from branchline.conversion.origin import Origin, with_origin
from branchline.conversion.output_buffer import REFUSALS
from branchline.conversion.plan import kept_messages, summary_follows
from branchline.conversion.state import ConversionJob, ConversionState
from branchline.conversion.verify import missing_fields
from branchline.entries import (
    AssistantMessage,
    BranchSummary,
    Compaction,
    Entry,
    Label,
    Message,
    MessageEntry,
    ToolResult,
    UsageEntry,
    encode_entry,
    tool_calls,
)
from branchline.formats.pi import PI
from branchline.tree import ROOT

__all__ = ["EntryWriter"]

_LONG_NUMBER = re.compile(rb"\d{16}")
_SURROGATE = b"\\ud"
_EDITED = "with the content that a later edit gave it"
_REPLACED = "a later result of the same call replaces it"
_NO_CALL = "as a user message: the call that it answers does not precede it"


class EntryWriter(ConversionState):
    """Writes entries, one by one or in runs, and records the outcome."""

    def __init__(self, job: ConversionJob) -> None:
        super().__init__(job)
        self._edited: set[int] = set()
        self._reduced: set[int] = set()  # answers of which the source's agent sends a part
        self._unthought: set[int] = set()
        self._untimed: set[int] = set()
        self._foreign: set[int] = set()  # entries that only the source's agent understands
        self._enveloped: set[int] = set()  # entries in a framework's form, which no other format keeps
        self._gone: dict[int, str] = {}  # what entries lack, because other files are missing
        self._models_apart = not self.kept.names_models

    def _pass(self, position: int) -> None:
        """Skip this entry: its children become children of its parent."""
        self._flush()
        self._keys[position] = self._keys.get(self._above(position))
        self._previous = position
        self._start_new_root(position)

    def _drop(self, position: int, why: str) -> None:
        self._pass(position)
        self.ledger.lost(position, why)

    # -- writing --------------------------------------------------------------------------------------

    def _flush(self) -> None:
        """Write the pending run; if the target rejects it, one entry at a time."""
        run, self._run = self._run, []
        if not run:
            return
        entries = [entry for _, entry in run]
        try:
            made = self.out.write(entries)
        except REFUSALS:
            for group in group_tool_results(run):
                self._write_group(group)
            return
        self._settle([position for position, _ in run], entries, made, "")

    def _write_group(self, group: list[tuple[int, Entry]]) -> None:
        """Write consecutive tool results, or a single message."""
        positions = [position for position, _ in group]
        first = msgspec.structs.replace(group[0][1], parent=self._parent_key(positions[0]))
        entries = chained([first, *(entry for _, entry in group[1:])])
        if not isinstance(message_of(first), ToolResult):
            self._write_alone(positions[0], first, "")
            return
        missing = missing_results(self._asked_before(positions[0]), entries)
        for form in self._result_forms(entries):
            for more, rest in (("", ()), ("with a result for every call", missing)):
                if more and not rest:
                    continue
                try:
                    made = self.out.write(chained([*form.entries, *rest, *form.images]))
                except REFUSALS:
                    continue
                self._settle(positions, form.entries, made, ", ".join(filter(None, (form.how, more))))
                return
        self._write_apart(list(zip(positions, entries, strict=True)))

    def _write_apart(self, group: Sequence[tuple[int, Entry]]) -> None:
        """Write results that the target rejects together: one for each call, the others as user messages.

        A model sees the last result of a call. An earlier one is left out, unless a branch begins there.
        """
        called = self._called_before(group[0][0])
        last = {_call_of(entry): position for position, entry in group}
        replaced: set[int] = set()
        chosen: dict[str, int] = {}
        for position, entry in group:
            call = _call_of(entry)
            if call not in called:
                continue
            alone = self.plan.linear or len(self.source.tree.child_positions(position)) == 1
            if position != last[call] and alone:
                replaced.add(position)
            else:
                chosen.setdefault(call, position)
        answers = [(position, entry) for position, entry in group if chosen.get(_call_of(entry)) == position]
        tip = self._parent_key(group[0][0])
        if answers and len(answers) < len(group):
            if tip is not None:
                self._under[answers[0][0]] = tip
            self._write_group(answers)
            tip = self._keys[answers[-1][0]]
        else:  # the target rejects even these
            chosen, replaced = {}, set()
        for position, entry in group:
            if position in replaced:
                self._keys[position] = tip
                self.ledger.lost(position, _REPLACED)
            elif chosen.get(_call_of(entry)) != position:
                placed = msgspec.structs.replace(entry, parent=tip)
                assert isinstance(placed, MessageEntry)
                self._write_alone(position, as_user_message(placed), _NO_CALL)
                tip = self._keys[position]
        self._previous = group[-1][0]
        self._keys[self._previous] = tip

    def _result_forms(self, entries: Sequence[Entry]) -> Iterator[ToolResultForms]:
        """Yield the forms of consecutive tool results; after the first, those without lone surrogates."""
        forms = iter(result_forms(entries))
        yield next(forms)
        whole = without_lone_surrogates(Fallback("", tuple(entries)))
        if whole is not None:
            for form in result_forms(list(whole.entries)):
                yield form._replace(how=", ".join(filter(None, (whole.how, form.how))))
        yield from forms

    def _called_before(self, position: int) -> set[str]:
        """Return the calls of the answer that these results follow, which may be in several parts."""
        tree = self.source.tree
        found: set[str] = set()
        above = tree.nearest_conversation_entry(tree.parents[position])
        while above != ROOT and tree.roles[above] in ("toolResult", "assistant"):
            message = message_of(self.source.entry(above))
            if isinstance(message, AssistantMessage):
                found |= {call.id for call in tool_calls(message.content)}
            elif found:
                break  # a result: what is above it is another answer
            above = tree.nearest_conversation_entry(tree.parents[above])
        return found

    def _asked_before(self, position: int) -> Message | None:
        """Return the message before these results, with all parts of an answer that is in several."""
        tree = self.source.tree
        above = tree.nearest_conversation_entry(tree.parents[position])
        found = None if above == ROOT else message_of(self.source.entry(above))
        while isinstance(found, AssistantMessage) and (above := self.plan.pieces.get(above, ROOT)) != ROOT:
            before = message_of(self.source.entry(above))
            if not isinstance(before, AssistantMessage):
                break
            found = self.source.format.reader.merge_answers(before, found) or found
        return found

    def _write_alone(self, position: int, entry: Entry, how: str) -> None:
        """Write one entry unchanged, or in the first simpler form that the target accepts."""
        if isinstance(entry, Label) and not entry.target:
            self._drop(position, "the entry that it names is not in the new file")
            return
        refusal = ""
        for form in self._forms(position, entry):
            if not form.entries:  # a compaction that kept nothing has no messages to replace it
                continue
            try:
                made = self._write_form(position, form)
            except REFUSALS as reason:
                refusal = refusal or str(reason)
                continue
            made, more = self._with_text(entry, made)
            notes = ", ".join(filter(None, (how, form.how, more)))
            self._settle([position], form.entries[:1], made, notes)
            return
        self._drop(position, self._reason(refusal))

    def _with_text(self, entry: Entry, made: range) -> tuple[range, str]:
        """Write the text of a branch summary after it, if the agent would not show it to a model."""
        if not isinstance(entry, BranchSummary) or not entry.summary or self.target is PI or not made:
            return made, ""
        silent = self.out.transcript.context_rules.excluded_types
        for found in map(self.out.transcript.entry, made):
            heard = isinstance(found, BranchSummary) and found.summary and found.type not in silent
            if heard or isinstance(found, MessageEntry):
                return made, ""
        below = msgspec.structs.replace(
            entry, id=f"{entry.id}.words", parent=self.out.transcript.tree.keys[made[0]]
        )
        for form in fallbacks_for(below, tuple):
            try:
                return range(
                    made.start, self.out.write(form.entries).stop
                ), "with its text in a following message"
            except REFUSALS:
                continue
        return made, ""

    def _write_form(self, position: int, form: Fallback) -> range:
        if self.keeper is not None:
            lines = [self.keeper.line(position, form.entries[0])]
            lines += [
                with_origin(encode_entry(entry), Origin(made=True)) for entry in chained(form.entries)[1:]
            ]
            return self.out.add(b"".join(lines))
        made = self.out.write(form.entries[:1])
        last = made.stop
        for entry in form.entries[1:]:
            below = msgspec.structs.replace(entry, parent=self.out.transcript.tree.keys[last - 1])
            for simpler in one_by_one(below):
                try:
                    last = self.out.write([simpler]).stop
                except REFUSALS:
                    continue
                break
        return range(made.start, last)

    def _forms(self, position: int, entry: Entry) -> Iterator[Fallback]:
        source = self.source

        def kept() -> tuple[Message, ...]:
            stored = source.entry(position)
            if not isinstance(stored, Compaction):
                return ()
            found = kept_messages(source, position, stored, self.plan.edits)
            return spoken_messages(found) if "thinking" in self.target.traits.unsupported else found

        how = ""
        if isinstance(entry, Compaction) and summary_follows(source, entry):
            how = "its summary precedes the messages that it keeps"
            if not self.target.traits.appendable:
                how = "its summary is the last of the messages that it keeps"
                kept_and_summary = opening_messages(source, entry)
                entry = msgspec.structs.replace(entry, summary="", retained_tail=kept_and_summary)
        if self.target is PI and not self.bare and isinstance(entry, Compaction) and not entry.summary:
            entry = msgspec.structs.replace(entry, summary=_NO_SUMMARY)  # pi shows an empty one to the model
        forms = fallbacks_for(entry, kept)
        # pi's format can store messages inside a compaction, but pi itself does not read them.
        holds_messages = isinstance(entry, Compaction) and bool(entry.retained_tail)
        if self.target is not PI or self.bare or not holds_messages:
            forms = chain([Fallback("", (entry,))], forms)
        for form in forms:
            form = form._replace(how=", ".join(filter(None, (how, form.how))))  # noqa: PLW2901
            yield form
            # Tried before simpler forms: a lone surrogate must not cost more than itself.
            if (whole := without_lone_surrogates(form)) is not None:
                yield whole

    def _reason(self, refusal: str) -> str:
        """Return the reason of a format, without its hint, which does not apply here."""
        reason = refusal.split(". Fork it", 1)[0]
        return reason.removeprefix(f"{self.target.name} sessions cannot hold this: ") or "it is empty"

    # -- what became of it ----------------------------------------------------------------------------

    def _settle(self, positions: Sequence[int], entries: Sequence[Entry], made: range, how: str) -> None:
        """Find the entries in the new file, and record the outcome."""
        tree = self.out.transcript.tree
        start = made.start
        found = places_of(entries, made, tree)
        for position, entry, place in zip(positions, entries, found, strict=True):
            missing: tuple[str, ...] = ()
            unread = self._unread(entry, place)
            if place is None:
                self._keys[position] = self._keys.get(self._above(position))
            else:
                last = made.stop - 1 if position == positions[-1] else place
                self.written[position] = place
                self._keys[position] = (
                    tree.keys[last] if self._has_right_parent(entry, place) else entry.parent
                )
                self._start_new_root(position)
                if self.target is not PI:
                    missing = self._not_kept(entry, place, range(start, place), range(place + 1, last + 1))
                start = place + 1
            self._previous = position
            notes = [_EDITED] if position in self._edited else []
            notes += [how] if how else []
            if position in self._reduced:
                notes.append(f"without what {self.source.format.name} does not send to the model")
            if position in self._unthought:
                notes.append("without its thinking")
            if position in self._untimed:
                notes.append("with the time of its entry")
            if place is not None and self._is_joined(position, place):
                notes.append("joined with the answer before it")
            if missing:
                notes.append("without " + ", ".join(missing))
            if position in self._enveloped:
                notes.append("without the native form that its framework reads")
            notes += unread
            if (gone := self._gone.get(position)) is not None:
                notes.append(f"with a note in place of {gone}")
            if position in self._foreign:
                notes.append("kept as data that only its own agent reads")
            if notes:
                self.ledger.approximated(position, "; ".join(notes))
            else:
                self.ledger.carried(position)

    def _unread(self, entry: Entry, place: int | None) -> tuple[str, ...]:
        """Return what the target's agent does not see of an entry in the new file.

        A row about the session, such as a title, has no position in its tree.
        """
        limits, traits, line = self.target.limits, self.target.traits, b""
        if place is not None:
            entry, line = self.out.transcript.entry(place), self.out.transcript.raw(place)
        found = [] if limits is None else list(limits.unread(entry))
        if traits.rounds_integers and _LONG_NUMBER.search(line) and calls_with_long_numbers(entry):
            found.append(f"with whole numbers that {traits.name} rounds")
        if (
            not traits.keeps_lone_surrogates
            and (place is None or _SURROGATE in line)
            and replace_lone_surrogates(entry) is not None
        ):
            found.append(f"with lone surrogates that {traits.name} does not keep")
        if limits is not None and (problem := limits.line_problem(len(line) + 1)) is not None:
            found.append(f"with a long line: {problem}")
        return tuple(found)

    def _is_joined(self, position: int, place: int) -> bool:
        """Return whether the target's agent treats an answer as part of the previous one."""
        continues = place in self.out.transcript.tree.continuations
        return continues and position not in self.source.tree.continuations

    def _not_kept(self, entry: Entry, place: int, before: range, after: range) -> tuple[str, ...]:
        """Return what the new file lacks of an entry.

        Its usage may be written before it, and further parts of an answer after it.
        """
        out = self.out.transcript
        beside = [out.entry(other) for other in before if out.tree.types[other] == "usage"]
        spent = next((other.usage for other in beside if isinstance(other, UsageEntry)), None)
        found = out.entry(place)
        if self.target.traits.splits_answers:
            found = self._whole_answer(found, after)
        if found.type != entry.type:
            return () if isinstance(entry, Compaction) else ("its kind of entry",)
        missing = missing_fields(entry, found, spent)
        if isinstance(entry, BranchSummary):  # its text is written beside it
            missing = tuple(name for name in missing if name != "the summary for the model")
        if self._models_apart:  # the entry before an answer names its model
            missing = tuple(name for name in missing if name not in ("the model", "the provider"))
        return missing

    def _whole_answer(self, found: Entry, after: range) -> Entry:
        """Return an answer with the parts written after it."""
        message = message_of(found)
        for part in map(self.out.transcript.entry, after):
            more = message_of(part)
            if isinstance(message, AssistantMessage) and isinstance(more, AssistantMessage):
                message = self.target.reader.merge_answers(message, more) or message
        return found if message is None else msgspec.structs.replace(found, message=message)


_NO_SUMMARY = "(no summary available)"


def _call_of(entry: Entry) -> str:
    """Return the id of the call that a result answers."""
    message = message_of(entry)
    return message.tool_call_id if isinstance(message, ToolResult) else ""
