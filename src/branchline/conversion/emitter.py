"""Writes the rows of the target in the form that was decided, or in a simpler one if the target rejects it.

A format rejects an entry by raising an error, and then writes nothing. So every form is tried, the first
accepted one stays, and the rows are read back: the report describes the actual file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from branchline.context import ModelRef
from branchline.conversion.decisions import Write, forms_of
from branchline.conversion.entry_utils import (
    ToolResultForms,
    chained,
    message_of,
    missing_results,
    one_by_one,
    places_of,
    result_forms,
)
from branchline.conversion.fallbacks import Fallback, as_user_message, fallbacks_for, without_lone_surrogates
from branchline.conversion.fidelity import Ledger, Remark
from branchline.conversion.new_file import NewFile
from branchline.conversion.origin import Origin, with_origin
from branchline.conversion.origin_reader import RestoredRows
from branchline.conversion.origin_writer import OriginWriter
from branchline.conversion.output_buffer import REFUSALS
from branchline.conversion.plan import ConversionPlan, Skip
from branchline.conversion.verify import Verifier
from branchline.entries import (
    AssistantMessage,
    BranchSummary,
    Entry,
    Label,
    Message,
    MessageEntry,
    ModelChange,
    ToolResult,
    encode_entry,
    tool_calls,
)
from branchline.formats.entry_log import EntryLog
from branchline.formats.pi import PI
from branchline.tree import ROOT

__all__ = ["Emitter"]

_RUN = 256  # plain messages written together
_REPLACED = "a later result of the same call replaces it"
_NO_CALL = "as a user message: the call that it answers does not precede it"


class Emitter:
    """Writes entries, one by one or in runs, and enters in the ledger what became of each.

    At any time, either a run waits to be written, or restored lines wait for their newline, or nothing.
    """

    def __init__(
        self,
        source: EntryLog,
        plan: ConversionPlan,
        file: NewFile,
        ledger: Ledger,
        keeper: OriginWriter | None,
        *,
        bare: bool,
    ) -> None:
        self._source, self._plan, self._file, self._ledger = source, plan, file, ledger
        self._keeper = keeper
        self._bare = bare
        self._verifier = Verifier(source, file)
        self._models: dict[int, ModelRef | None] = {}  # in force after each entry
        self._run: list[Write] = []
        self._held = RestoredRows((), b"")
        self.bound: set[int] = set()
        """Entries with another parent in the new file."""
        self.misplaced = False
        """Whether restored lines hold other entries than before."""

    # -- one decision ---------------------------------------------------------------------------------

    def model_before(self, position: int) -> ModelRef | None:
        """Return the model that is in force where this entry will be written."""
        return self._models.get(self._file.above(position))

    def skip(self, skip: Skip, model: ModelRef | None) -> None:
        """Leave an entry out: its children become children of its parent."""
        self._release()
        self._models[skip.position] = model
        self._pass(skip.position)
        self._ledger.settle(*skip)

    def write(self, step: Write, model: ModelRef | None) -> None:
        """Write one entry, or add it to the pending run."""
        self._release()
        position, entry, *_ = step
        self._models[position] = model
        self._write_model(position, entry)
        if not step.joins:
            self._flush()
            self._write_alone(step._replace(entry=self._file.placed(position, entry)), "")
            return
        if self._run and not self._continues_run(position, entry):
            self._flush()
        placed = self._file.placed(position, entry)
        self._run.append(step._replace(entry=placed))
        self._file.pending = (position, placed.id)
        if len(self._run) >= _RUN and not isinstance(message_of(entry), ToolResult):
            self._flush()

    def restore(self, rows: RestoredRows) -> None:
        """Write original lines. Those without a newline wait for the next ones."""
        if not rows.positions:
            return
        self._flush()
        if rows.made:
            self._release()
            (position,) = rows.positions
            self._pass(position)
            self._ledger.settle(position)
            return
        if rows.bound:
            self.bound.add(rows.positions[0])
        for position in rows.positions:
            self._ledger.settle(position)
            self._ledger.restored += 1
        self._held = RestoredRows(self._held.positions + rows.positions, self._held.data + rows.data)
        self._file.previous = rows.positions[-1]
        if self._held.data.endswith(b"\n"):
            self._release()

    def end(self) -> None:
        """Write what is pending. The bytes after the last newline stay as they are."""
        self._flush()
        self._file.out.tail = self._held.data

    # -- what waits -----------------------------------------------------------------------------------

    def _pass(self, position: int) -> None:
        self._flush()
        self._file.pass_over(position)
        self._file.previous = position
        self._start_anew(position)

    def _start_anew(self, position: int) -> None:
        if position in self._plan.fresh and not self._bare:
            self._file.start_anew(position)

    def _release(self) -> None:
        """Write the restored lines, and find their entries in the new file."""
        positions, lines, *_ = self._held
        if not lines:
            return
        self._held = RestoredRows((), b"")
        made = self._file.out.add(lines if lines.endswith(b"\n") else lines + b"\n")
        tree = self._file.out.transcript.tree
        places = [place for place in made if place not in tree.placeholders]
        if len(places) != len(positions):
            self.misplaced = True
            return
        for position, place in zip(positions, places, strict=True):
            self._file.wrote(position, place, tree.keys[place])

    def _flush(self) -> None:
        """Write the pending run; if the target rejects it, one entry at a time."""
        run, self._run = self._run, []
        self._file.pending = None
        if not run:
            return
        try:
            made = self._file.out.write([step.entry for step in run])
        except REFUSALS:
            for group in _grouped(run):
                self._write_group(group)
            return
        self._settle(run, made, "")

    def _continues_run(self, position: int, entry: Entry) -> bool:
        """Return whether an entry can be added to the pending run."""
        last = self._run[-1]
        if self._file.target.traits.splits_answers and not (
            isinstance(message_of(entry), ToolResult) and _is_result(last)
        ):
            return False
        return self._plan.linear or self._source.tree.parents[position] == last.position

    def _write_model(self, position: int, entry: Entry) -> None:
        """Write a model change before an answer, in formats whose answers do not name their model.

        Codex 0.166.0 takes the model from the user's configuration; the row is for readers of the file.
        """
        message = message_of(entry)
        if self._file.kept.names_models or not isinstance(message, AssistantMessage) or not message.model:
            return
        model = ModelRef(provider=message.provider or "", id=message.model)
        if model == self._models[position]:
            return
        self._flush()
        change = ModelChange(
            id=f"{self._file.own_id(position)}.model",
            parent=self._file.parent_key(position),
            timestamp=entry.timestamp,
            provider=model.provider,
            model_id=model.id,
        )
        try:
            made = self._file.out.write([change])
        except REFUSALS:
            return
        self._models[position] = model
        if made:
            self._file.hang_under(position, self._file.out.transcript.tree.keys[made[-1]])

    # -- results of tools -----------------------------------------------------------------------------

    def _write_group(self, group: list[Write]) -> None:
        """Write consecutive tool results, or a single message."""
        first = group[0].position
        start = msgspec.structs.replace(group[0].entry, parent=self._file.parent_key(first))
        entries = chained([start, *(step.entry for step in group[1:])])
        if not isinstance(message_of(start), ToolResult):
            self._write_alone(group[0]._replace(entry=start), "")
            return
        missing = missing_results(self._asked_before(first), entries)
        for form in self._result_forms(entries):
            for more, rest in (("", ()), ("with a result for every call", missing)):
                if more and not rest:
                    continue
                try:
                    made = self._file.out.write(chained([*form.entries, *rest, *form.images]))
                except REFUSALS:
                    continue
                how = ", ".join(filter(None, (form.how, more)))
                self._settle(_with_entries(group, form.entries), made, how)
                return
        self._write_apart(_with_entries(group, entries))

    def _write_apart(self, group: Sequence[Write]) -> None:
        """Write results that the target rejects together: one for each call, the others as user messages.

        A model sees the last result of a call. An earlier one is left out, unless a branch begins there.
        """
        chosen, replaced = self._one_for_each_call(group)
        answers = [step for step in group if step.position in chosen]
        tip = self._file.parent_key(group[0].position)
        if answers and len(answers) < len(group):
            if tip is not None:
                self._file.hang_under(answers[0].position, tip)
            self._write_group(answers)
            tip = self._file.key_of(answers[-1].position)
        else:  # the target rejects even these
            chosen, replaced = set(), set()
        for step in group:
            if step.position in replaced:
                self._file.follow(step.position, tip)
                self._ledger.settle(step.position, lost=_REPLACED)
            elif step.position not in chosen:
                placed = msgspec.structs.replace(step.entry, parent=tip)
                assert isinstance(placed, MessageEntry)
                self._write_alone(step._replace(entry=as_user_message(placed)), _NO_CALL)
                tip = self._file.key_of(step.position)
        self._file.previous = group[-1].position
        self._file.follow(self._file.previous, tip)

    def _one_for_each_call(self, group: Sequence[Write]) -> tuple[set[int], set[int]]:
        """Return the results that stay, one for each earlier call, and those that a later one replaces."""
        called = self._called_before(group[0].position)
        last = {_call_of(step.entry): step.position for step in group}
        chosen: dict[str, int] = {}
        replaced: set[int] = set()
        for position, entry, *_ in group:
            call = _call_of(entry)
            if call not in called:
                continue
            alone = self._plan.linear or len(self._source.tree.child_positions(position)) == 1
            if position != last[call] and alone:
                replaced.add(position)
            else:
                chosen.setdefault(call, position)
        return set(chosen.values()), replaced

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
        tree = self._source.tree
        found: set[str] = set()
        above = tree.nearest_conversation_entry(tree.parents[position])
        while above != ROOT and tree.roles[above] in ("toolResult", "assistant"):
            message = message_of(self._source.entry(above))
            if isinstance(message, AssistantMessage):
                found |= {call.id for call in tool_calls(message.content)}
            elif found:
                break  # a result: what is above it is another answer
            above = tree.nearest_conversation_entry(tree.parents[above])
        return found

    def _asked_before(self, position: int) -> Message | None:
        """Return the message before these results, with all parts of an answer that is in several."""
        tree = self._source.tree
        above = tree.nearest_conversation_entry(tree.parents[position])
        found = None if above == ROOT else message_of(self._source.entry(above))
        while isinstance(found, AssistantMessage) and (above := self._plan.pieces.get(above, ROOT)) != ROOT:
            before = message_of(self._source.entry(above))
            if not isinstance(before, AssistantMessage):
                break
            found = self._source.format.reader.merge_answers(before, found) or found
        return found

    # -- one entry ------------------------------------------------------------------------------------

    def _write_alone(self, step: Write, how: str) -> None:
        """Write one entry unchanged, or in the first simpler form that the target accepts."""
        position, entry, *_ = step
        if isinstance(entry, Label) and not entry.target:
            self._pass(position)
            self._ledger.settle(position, lost="the entry that it names is not in the new file")
            return
        refusal = ""
        target = self._file.target
        for form in forms_of(self._source, target, self._plan, position, entry, bare=self._bare):
            if not form.entries:  # a compaction that kept nothing has no messages to replace it
                continue
            try:
                made = self._write_form(position, form)
            except REFUSALS as reason:
                refusal = refusal or str(reason)
                continue
            made, more = self._with_text(entry, made)
            notes = ", ".join(filter(None, (how, form.how, more)))
            self._settle([step._replace(entry=form.entries[0])], made, notes)
            return
        self._pass(position)
        self._ledger.settle(position, lost=self._reason(refusal))

    def _write_form(self, position: int, form: Fallback) -> range:
        out = self._file.out
        if self._keeper is not None:
            lines = [self._keeper.line(position, form.entries[0])]
            lines += [
                with_origin(encode_entry(entry), Origin(made=True)) for entry in chained(form.entries)[1:]
            ]
            return out.add(b"".join(lines))
        made = out.write(form.entries[:1])
        last = made.stop
        for entry in form.entries[1:]:
            below = msgspec.structs.replace(entry, parent=out.transcript.tree.keys[last - 1])
            for simpler in one_by_one(below):
                try:
                    last = out.write([simpler]).stop
                except REFUSALS:
                    continue
                break
        return range(made.start, last)

    def _with_text(self, entry: Entry, made: range) -> tuple[range, str]:
        """Write the text of a branch summary after it, if the agent would not show it to a model."""
        if not isinstance(entry, BranchSummary) or not entry.summary or self._file.target is PI or not made:
            return made, ""
        out = self._file.out
        silent = out.transcript.context_rules.excluded_types
        for found in map(out.transcript.entry, made):
            heard = isinstance(found, BranchSummary) and found.summary and found.type not in silent
            if heard or isinstance(found, MessageEntry):
                return made, ""
        parent = out.transcript.tree.keys[made[0]]
        below = msgspec.structs.replace(entry, id=f"{entry.id}.words", parent=parent)
        for form in fallbacks_for(below, tuple):
            try:
                last = out.write(form.entries).stop
            except REFUSALS:
                continue
            return range(made.start, last), "with its text in a following message"
        return made, ""

    def _reason(self, refusal: str) -> str:
        """Return the reason of a format, without its hint, which does not apply here."""
        reason = refusal.split(". Fork it", 1)[0]
        return reason.removeprefix(f"{self._file.target.name} sessions cannot hold this: ") or "it is empty"

    # -- what became of it ----------------------------------------------------------------------------

    def _settle(self, steps: Sequence[Write], made: range, how: str) -> None:
        """Find the entries in the new file, and enter the outcome of each."""
        file, start = self._file, made.start
        tree = file.out.transcript.tree
        found = places_of([step.entry for step in steps], made, tree)
        for (position, entry, decided, _), place in zip(steps, found, strict=True):
            last = made.stop - 1 if position == steps[-1].position or place is None else place
            verified = self._verifier.remarks(position, entry, place, range(start, last + 1))
            remarks = {**decided, **verified}
            if how:
                remarks[Remark.FORM] = how
            if place is None:
                file.pass_over(position)
            else:
                key = tree.keys[last] if file.has_right_parent(entry, place) else entry.parent
                file.wrote(position, place, key)
                self._start_anew(position)
                start = place + 1
            file.previous = position
            self._ledger.written(position, remarks)


def _grouped(run: Sequence[Write]) -> Iterator[list[Write]]:
    """Group consecutive tool results; every other entry is alone."""
    group: list[Write] = []
    for step in run:
        if group and not (_is_result(step) and _is_result(group[-1])):
            yield group
            group = []
        group.append(step)
    if group:
        yield group


def _is_result(step: Write) -> bool:
    return isinstance(message_of(step.entry), ToolResult)


def _with_entries(group: Sequence[Write], entries: Sequence[Entry]) -> list[Write]:
    return [step._replace(entry=entry) for step, entry in zip(group, entries, strict=True)]


def _call_of(entry: Entry) -> str:
    """Return the id of the call that a result answers."""
    message = message_of(entry)
    return message.tool_call_id if isinstance(message, ToolResult) else ""
