"""One conversion, from the first entry to the last: what is written, where it hangs, what became of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from branchline.entries import (
    SIDE,
    AssistantMessage,
    BranchSummary,
    Compaction,
    ContextEdit,
    Damaged,
    Entry,
    Header,
    Label,
    Leaf,
    Message,
    MessageEntry,
    ModelChange,
    ToolResult,
    Unknown,
    UsageEntry,
    encode_entry,
)
from branchline.formats.base import Format
from branchline.formats.conversion.comparing import not_kept
from branchline.formats.conversion.ending import finish, named_header
from branchline.formats.conversion.fidelity import Ledger
from branchline.formats.conversion.forms import (
    Form,
    as_words,
    forms_of,
    in_the_native_form,
    without_half_characters,
)
from branchline.formats.conversion.keeping import Keeper
from branchline.formats.conversion.origins import Origin, marked
from branchline.formats.conversion.pieces import (
    chained,
    message_of,
    one_by_one,
    places_of,
    result_forms,
    together,
    unanswered,
    with_edit,
    with_usage,
)
from branchline.formats.conversion.planning import kept_messages, make_plan
from branchline.formats.conversion.restoring import Restorer
from branchline.formats.conversion.writer import REFUSALS, Writer, names_models
from branchline.formats.pi import PI, PiFormat
from branchline.formats.transcript import Transcript
from branchline.tree import ROOT

__all__ = ["UNREADABLE", "Conversion"]

UNREADABLE = "its line cannot be read"

_CHUNK = 512  # entries that are decoded together
_RUN = 256  # plain messages that are written together
_PLAIN = frozenset({"user", "assistant", "toolResult"})
_EDITED = "with the content that a later edit gave it"
_NO_CALL = "as a message of the person: the call that it answers is not before it"


class Conversion:
    """Writes a session into a new file of another format.

    ``bare`` writes entries only: no origin, and neither moves nor labels nor a title at the end.
    """

    def __init__(
        self,
        source: Transcript,
        target: Format,
        header: Header,
        leaf: int | None,
        restorer: Restorer | None,
        *,
        bare: bool = False,
    ) -> None:
        self.source, self.target = source, target
        self.ledger = Ledger(source.tree)
        self.plan = make_plan(source, target, leaf, self.ledger, as_in_file=target is PI)
        self.keeper = None
        if target is PI and source.format.writable and not bare:
            carried = [position for position in self.plan.order if position not in source.tree.placeholders]
            self.keeper = Keeper(source, whole=leaf is None, carried=carried)
            header = self.keeper.header(header)
        self.header = named_header(header, self) if target is not PI else header
        head = target.encode_header(self.header)
        if restorer is not None and restorer.head is not None:
            head = restorer.head
        self.out = Writer(target, head, target.file_key(self.header) + target.suffix)
        self.written: dict[int, int] = {}
        """For each entry that is in the new file, its position there."""
        self._image: dict[int, int] = {}
        self._imaged = 0
        self._restorer = restorer
        self._misplaced = False
        self._held = b""  # lines that are given back and wait for their newline
        self._holding: list[int] = []
        self._given: set[int] = set()  # what is in the new file as its old line
        self._bound: set[int] = set()  # and among it what hangs there from something else than here
        self._bare = bare
        self._edited: set[int] = set()
        self._continued = frozenset(self.plan.pieces.values())
        self._answers: dict[int, AssistantMessage] = {}  # pieces that wait for the next one
        self._models_apart = target is not PI and not names_models(target, self.header)
        self._models: dict[int, tuple[str, str] | None] = {}
        self._under: dict[int, str] = {}  # entries that hang from one that the conversation added
        begun = self.out.transcript.leaf  # where the header is an entry itself, all others follow it
        self._keys: dict[int, str | None] = {ROOT: begun}
        self._previous = ROOT
        self._run: list[tuple[int, Entry]] = []
        self._go()
        if restorer is not None and restorer.head is not None and self.out.transcript.reading.header:
            self.header = self.out.transcript.reading.header
        if not bare and not self.out.tail:
            finish(self)

    def key_of(self, position: int) -> str | None:
        """The id in the new file under which what follows an entry hangs; None before the first one."""
        return self._keys.get(position)

    def stands_well(self) -> bool:
        """Whether every entry of the conversation hangs in the new file where it hung in the source."""
        tree, made = self.source.tree, self.out.transcript.tree
        for place, position in self._images().items():
            if position in self._bound:
                continue
            above = tree.conversation(tree.parents[position])
            while above != ROOT and above not in self.written:
                above = tree.conversation(tree.parents[above])
            if self.image_of(made.parents[place]) != above:
                return False
        return not self._misplaced

    def image_of(self, place: int) -> int:
        """The entry of the source's conversation for which this one or the nearest above it was written."""
        parents, images = self.out.transcript.tree.parents, self._images()
        while place != ROOT and place not in images:
            place = parents[place]
        return images.get(place, ROOT)

    def _images(self) -> dict[int, int]:
        if self._imaged != len(self.written):
            types = self.source.tree.types
            self._image = {p: position for position, p in self.written.items() if types[position] not in SIDE}
            self._imaged = len(self.written)
        return self._image

    # -- the way through ------------------------------------------------------------------------------

    def _go(self) -> None:
        order, source = self.plan.order, self.source
        for start in range(0, len(order), _CHUNK):
            positions = order[start : start + _CHUNK]
            for position, entry in zip(positions, source.entries(positions), strict=True):
                if self._restorer is None or not self._give_back(position):
                    self._take(position, entry)
        self._flush()
        self.out.tail, self._held = self._held, b""

    def _take(self, position: int, entry: Entry) -> None:
        """Write one entry, or put it to those that are written together."""
        self._release()
        if isinstance(entry, Damaged):
            self._drop(position, UNREADABLE)
            return
        if self._is_said_otherwise(entry, position):
            return
        is_pi = isinstance(self.target, PiFormat)
        entry = in_the_native_form(entry, self.source.format.name, for_pi=is_pi)
        if not self._bare and (position in self.plan.pieces or position in self._continued):
            whole = self._with_pieces(position, entry)
            if whole is None:
                return
            entry = whole
        edit = self.plan.edits.get(position)
        if edit is not None and edit.replacement is None:
            self._pass(position)
            self.ledger.approximated(position, "left out, as a later edit asks")
            return
        if edit is not None and (changed := with_edit(entry, edit)) != entry:
            entry = changed
            self._edited.add(position)
        if position in self.plan.spent and isinstance(entry, MessageEntry):
            entry = with_usage(entry, self.plan.spent[position])
        self._say_model(position, entry)
        if not self._may_join(position, entry):
            self._flush()
            self._write_alone(position, self._placed(position, entry), "")
            return
        if self._run and not self.plan.linear and self.source.tree.parents[position] != self._run[-1][0]:
            self._flush()
        self._run.append((position, self._placed(position, entry)))
        if len(self._run) >= _RUN and not isinstance(message_of(entry), ToolResult):
            self._flush()

    def _with_pieces(self, position: int, entry: Entry) -> Entry | None:
        """The answer with the pieces before it; None when the next piece will bring it along."""
        message = message_of(entry)
        above = self.plan.pieces.get(position)
        if above is not None and (before := self._answers.pop(above, None)) is not None:
            assert isinstance(message, AssistantMessage)
            message = self.source.format.joined(before, message) or message
        assert isinstance(message, AssistantMessage)
        if position in self._continued:
            self._answers[position] = message
            self._pass(position)
            self.ledger.approximated(position, "joined with what follows to one answer")
            return None
        return msgspec.structs.replace(entry, message=message)

    def _say_model(self, position: int, entry: Entry) -> None:
        """Where answers do not name their model, an entry before them does, if none on the path says it."""
        if not self._models_apart:
            return
        self._models[position] = self._models.get(self._above(position))
        message = message_of(entry)
        if isinstance(entry, ModelChange):
            self._models[position] = (entry.provider, entry.model_id)
        if not isinstance(message, AssistantMessage) or not message.model:
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

    def _is_said_otherwise(self, entry: Entry, position: int) -> bool:
        """Whether an entry is not written as one, because something else says the same."""
        match entry:
            case Leaf() if self.keeper is None and self._restorer is None:
                self._pass(position)
                if self._bare or self.plan.linear:
                    self.ledger.carried(position)
                else:
                    how = "where the session stands is written once, at the end"
                    self.ledger.approximated(position, how)
            case Label() if self._bare and self.plan.linear:
                self._pass(position)
                self.ledger.carried(position)
            case UsageEntry() if position in self.plan.folded:
                self._pass(position)
                self.ledger.approximated(position, "counted with the answer beside it")
            case ContextEdit() if self.source.tree.positions.get(entry.target, ROOT) in self.plan.edits:
                self._pass(position)
                self.ledger.approximated(position, "applied to the entry that it edits")
            case _:
                return False
        return True

    def _may_join(self, position: int, entry: Entry) -> bool:
        """Whether an entry is a plain message, of which many can be written at once."""
        is_plain = self.source.tree.roles[position] in _PLAIN and isinstance(entry, MessageEntry)
        return self.keeper is None and is_plain

    # -- where an entry hangs -------------------------------------------------------------------------

    def _above(self, position: int) -> int:
        return self._previous if self.plan.linear else self.source.tree.parents[position]

    def _parent_key(self, position: int) -> str | None:
        above = self._above(position)
        if position in self._under:
            return self._under[position]
        if self._run and (self.plan.linear or above == self._run[-1][0]):
            return self._run[-1][1].id
        if above not in self._keys and self.target is PI:
            return self._own_id(above)  # it stands later in the file
        return self._keys.get(above)

    def _placed(self, position: int, entry: Entry) -> Entry:
        """The entry with the ids that it and those it names have in the new file."""
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
        # With this sign a key means the second holder of an id, and some formats would look for the first.
        return key if self.target is PI else key.replace("#", ".")

    def _named(self, key: str) -> str | None:
        """How the new file names an entry that another one speaks of."""
        position = self.source.tree.positions.get(key)
        if position in self.written:
            return self._keys[position]
        return None if position is None or self.target is not PI else self._own_id(position)

    def _first_kept(self, position: int, first: str) -> str:
        """The first entry that is kept, or the next one on the path that is in the new file."""
        tree = self.source.tree
        start = tree.positions.get(first, ROOT)
        above, nearest = tree.parents[position], ROOT
        while ROOT not in (above, start):
            nearest = above if above in self.written else nearest
            if above == start:
                return self._own_id(position) if nearest == ROOT else self._keys[nearest] or first
            above = tree.parents[above]
        return first if self.target is PI else self._own_id(position)

    def _pass(self, position: int) -> None:
        """Let what hangs from this entry hang from what it hangs from."""
        self._flush()
        self._keys[position] = self._keys.get(self._above(position))
        self._previous = position
        self._begin_anew(position)

    def _begin_anew(self, position: int) -> None:
        """Let what follows hang from nothing, where a model sees nothing of what was before."""
        if position in self.plan.fresh and not self.plan.linear and self.target is not self.source.format:
            self._keys[position] = self._keys[ROOT]

    def _drop(self, position: int, why: str) -> None:
        self._pass(position)
        self.ledger.lost(position, why)

    # -- writing --------------------------------------------------------------------------------------

    def _flush(self) -> None:
        """Write the run; if the target refuses it, one after the other."""
        run, self._run = self._run, []
        if not run:
            return
        entries = [entry for _, entry in run]
        try:
            made = self.out.write(entries)
        except REFUSALS:
            for group in together(run):
                self._write_group(group)
            return
        self._settle([position for position, _ in run], entries, made, "")

    def _write_group(self, group: list[tuple[int, Entry]]) -> None:
        """Results that follow each other, or any one message."""
        positions = [position for position, _ in group]
        first = msgspec.structs.replace(group[0][1], parent=self._parent_key(positions[0]))
        entries = chained([first, *(entry for _, entry in group[1:])])
        if not isinstance(message_of(first), ToolResult):
            self._write_alone(positions[0], first, "")
            return
        missing = unanswered(self._asked_before(positions[0]), entries)
        for form in result_forms(entries):
            for more, rest in (("", ()), ("with a result for every call", missing)):
                if more and not rest:
                    continue
                try:
                    made = self.out.write(chained([*form.entries, *rest, *form.pictures]))
                except REFUSALS:
                    continue
                self._settle(positions, form.entries, made, ", ".join(filter(None, (form.how, more))))
                return
        for position, entry in zip(positions, entries, strict=True):
            placed = msgspec.structs.replace(entry, parent=self._parent_key(position))
            assert isinstance(placed, MessageEntry)
            self._write_alone(position, as_words(placed), _NO_CALL)

    def _asked_before(self, position: int) -> Message | None:
        """The message that stands before these results."""
        tree = self.source.tree
        above = tree.conversation(tree.parents[position])
        return None if above == ROOT else message_of(self.source.entry(above))

    def _write_alone(self, position: int, entry: Entry, how: str) -> None:
        """Write one entry as it is, or in the first simpler form that the target accepts."""
        if isinstance(entry, Label) and not entry.target:
            self._drop(position, "the entry that it names is not in the new file")
            return
        refusal = ""
        for form in self._forms(position, entry):
            try:
                made = self._write_form(position, form)
            except REFUSALS as reason:
                refusal = refusal or str(reason)
                continue
            made, more = self._with_words(entry, made)
            words = ", ".join(filter(None, (how, form.how, more)))
            self._settle([position], form.entries[:1], made, words)
            return
        self._drop(position, self._reason(refusal))

    def _with_words(self, entry: Entry, made: range) -> tuple[range, str]:
        """Behind the summary of a branch its words, where the program would not show them to a model."""
        if not isinstance(entry, BranchSummary) or not entry.summary or self.target is PI or not made:
            return made, ""
        found = self.out.transcript.entry(made[0])
        if (isinstance(found, BranchSummary) and found.summary) or isinstance(found, MessageEntry):
            return made, ""
        below = msgspec.structs.replace(
            entry, id=f"{entry.id}.words", parent=self.out.transcript.tree.keys[made[0]]
        )
        for form in forms_of(below, tuple):
            try:
                return range(
                    made.start, self.out.write(form.entries).stop
                ), "with its words in a message behind it"
            except REFUSALS:
                continue
        return made, ""

    def _write_form(self, position: int, form: Form) -> range:
        if self.keeper is not None:
            lines = [self.keeper.line(position, form.entries[0])]
            lines += [marked(encode_entry(entry), Origin(made=True)) for entry in chained(form.entries)[1:]]
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

    def _forms(self, position: int, entry: Entry) -> Iterator[Form]:
        source = self.source

        def kept() -> tuple[Message, ...]:
            stored = source.entry(position)
            if not isinstance(stored, Compaction):
                return ()
            return kept_messages(source, position, stored, self.plan.edits)

        offered: list[Form] = []
        simpler = forms_of(entry, kept)
        if self.target is PI and not self._bare and _holds_messages(entry):
            # The format has a place for them, but pi itself does not read it.
            offered.append(next(simpler))
            yield offered[0]
        else:
            offered.append(Form("", (entry,)))
            yield offered[0]
        for form in simpler:
            offered.append(form)
            yield form
        for form in offered:
            whole = [without_half_characters(one) for one in form.entries]
            if any(one is not None for one in whole):
                entries = tuple(new or old for new, old in zip(whole, form.entries, strict=True))
                yield Form(", ".join(filter(None, (form.how, "without half characters"))), entries)

    def _reason(self, refusal: str) -> str:
        """What a format said, without the way out that does not lead out of here."""
        reason = refusal.split(". Fork it", 1)[0]
        return reason.removeprefix(f"{self.target.name} sessions cannot hold this: ") or "it says nothing"

    # -- what became of it ----------------------------------------------------------------------------

    def _settle(self, positions: Sequence[int], entries: Sequence[Entry], made: range, how: str) -> None:
        """Find the entries in the new file, and note what became of them."""
        tree = self.out.transcript.tree
        start = made.start
        found = places_of(entries, made, tree.types, tree.positions)
        for position, entry, place in zip(positions, entries, found, strict=True):
            missing: tuple[str, ...] = ()
            if place is None:
                self._keys[position] = self._keys.get(self._above(position))
            else:
                last = made.stop - 1 if position == positions[-1] else place
                self.written[position] = place
                self._keys[position] = tree.keys[last] if self._hangs_well(entry, place) else entry.parent
                self._begin_anew(position)
                if self.target is not PI:
                    missing = self._not_kept(entry, place, range(start, place))
                start = place + 1
            self._previous = position
            words = [_EDITED] if position in self._edited else []
            words += [how] if how else []
            if missing:
                words.append("without " + ", ".join(missing))
            if self.target is PI and isinstance(entry, Unknown):
                words.append("kept, but only its own program reads it")
            if words:
                self.ledger.approximated(position, "; ".join(words))
            else:
                self.ledger.carried(position)

    def _hangs_well(self, entry: Entry, place: int) -> bool:
        """Whether a side record is where it should be; some formats hang them from wherever they stand."""
        tree = self.out.transcript.tree
        if tree.types[place] not in SIDE:
            return True
        above = ROOT if entry.parent is None else tree.positions.get(entry.parent, place)
        return tree.conversation(place) == tree.conversation(above)

    def _not_kept(self, entry: Entry, place: int, before: range) -> tuple[str, ...]:
        """What the new file does not say of an entry; what it spent may stand in front of it."""
        out = self.out.transcript
        beside = [out.entry(other) for other in before if out.tree.types[other] == "usage"]
        spent = next((other.usage for other in beside if isinstance(other, UsageEntry)), None)
        try:
            found = out.entry(place)
            if found.type != entry.type:
                return () if isinstance(entry, Compaction) else ("its kind of entry",)
            missing = not_kept(entry, found, spent)
            if isinstance(entry, BranchSummary):  # which has its words beside it
                missing = tuple(name for name in missing if name != "the summary for the model")
        except RecursionError:
            return ("what is nested too deeply to be compared",)
        if self._models_apart:  # what an answer does not say of its model, the entry before it does
            missing = tuple(name for name in missing if name not in ("the model", "the provider"))
        return missing

    # -- giving back ----------------------------------------------------------------------------------

    def _give_back(self, position: int) -> bool:
        """Take an entry as the line that it was; False when it has to be written."""
        assert self._restorer is not None
        if position in self.ledger:
            return True  # it stood in the same line as the one before
        given = self._restorer.given(position)
        if given is None:
            return False
        if given.made:
            above = self.source.tree.parents[position]
            if self.source.tree.types[position] == "message" and above not in self._given:
                return False  # what it belongs to was changed and is written anew
            self._flush()
            self._release()
            self._pass(position)
            self._given.add(position)
            self.ledger.carried(position)
            return True
        self._flush()
        self._given.update(given.positions)
        if given.bound:
            self._bound.add(position)
        for one in given.positions:
            self.ledger.carried(one)
            self.ledger.restored += 1
        self._held += given.data
        self._holding += given.positions
        self._previous = given.positions[-1]
        if self._held.endswith(b"\n"):
            self._release()
        return True

    def _release(self) -> None:
        """Write the lines that are given back, and find their entries in the new file."""
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


def _holds_messages(entry: Entry) -> bool:
    return isinstance(entry, Compaction) and bool(entry.retained_tail)
