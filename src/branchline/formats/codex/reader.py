"""Reads the lines of a rollout into an index by replaying them: what the model saw, and what was rolled back.

The format has no ids and no parent links: an entry's id derives from its line, and its parent is the previous
entry. A rollback moves back before the turn where it cuts, so the turns it removes become a branch and later
entries its sibling.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from branchline.context import milliseconds
from branchline.entries import SIDE_TYPES, Header, json_codec
from branchline.formats.codex.log_index import CodexLogIndex, base_of
from branchline.formats.codex.replay import (
    NO_SUMMARY,
    TokenTotals,
    difference,
    keep_prompts,
    rollback_position,
    totals_from,
)
from branchline.formats.codex.rows import (
    ITEMS,
    OTHER,
    PROVENANCE,
    TURN,
    Payload,
    ResponseItem,
    Row,
    is_image_tag,
    item_class,
    item_text,
    item_type,
    prompt_text,
    row_from,
)
from branchline.formats.derived_ids import is_uuid, made_after
from branchline.formats.json_values import dict_of, text_of
from branchline.formats.lines import Lines
from branchline.formats.log_index import first_after_fork
from branchline.formats.saved_attributes import SavedAttributes
from branchline.formats.typed_rows import ReplayReader
from branchline.tree import ROOT

__all__ = ["CodexReader"]

READ_ONLY = "Codex rollouts are read-only; fork this one into a native session to continue"
COMPRESSED = "it is compressed (zstd); unpack it first"

ZSTD = b"\x28\xb5\x2f\xfd"
NAME = re.compile(
    r"(?:^|[/\\])rollout-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)-([0-9a-zA-Z-]+?)(?:_([0-9a-zA-Z-]+))?\.jsonl(?:\.zst)?$"
)
REVERT = "branchline_revert"
REVERT_BEGINS = b'{"type":"%s","payload":{"type":"begin"}}\n' % REVERT.encode()
REVERT_ENDS = b'{"type":"%s","payload":{"type":"end"}}\n' % REVERT.encode()
"""Lines around reverted turns when the rollouts of a thread are read together; no file contains them."""
_LINES = frozenset(
    {
        REVERT,
        "session_meta",
        "turn_context",
        "response_item",
        "event_msg",
        "compacted",
        "world_state",
        "inter_agent_communication",
        "inter_agent_communication_metadata",
        "security_risk_score",
        "token_usage_record",
        PROVENANCE,
    }
)
_REGULAR = _LINES - {"session_meta"}
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
_TURN_STARTS = frozenset({"task_started", "turn_started"})
_PROMPTING = frozenset({"user", "developer"})
_TICK = 5  # milliseconds between the last copy and the first own turn, at least
_PAUSE = 1000  # the same where turns have ids that do not tell
_NEIGHBOURS = 4  # number of consecutive prompts searched for the matching event or item
_MODES = frozenset({"legacy", "paginated", "default"})


_SAVED = SavedAttributes(
    tip=int,
    _history=list[int],
    _classes=list[int],
    _turn_places=list[int],
    _model=str,
    _effort=str,
    _copy_time=str,
    _copy_pause=int,
    _last_activity=str,
    _provider=str,
    _title=str,
    _written_settings=set[int],
    _answering=bool,
    _paginated=bool,
    _copying=bool,
    _awaits_totals=bool,
    _answered=bool,
    _continues_totals=bool,
    _heads=int,
    _missing=str,
)
_SAVED_FACTS = SavedAttributes(
    thread=str,
    rollout=str,
    copied=int,
    totals=TokenTotals,
    models=list[tuple[int, str]],
    providers=list[tuple[int, str]],
    open_turn=str,
    converted_from=str | None,
)
_SAVED_COLUMNS = SavedAttributes(
    turns=list[tuple[int, str]],
    spent=dict[int, TokenTotals],
    tool_names=dict[str, str],
    prompts=set[int],
)


class _SavedState(msgspec.Struct, array_like=True, frozen=True):
    """The state of a reader. It has no texts, only the entries that hold them, which are read again."""

    attributes: bytes
    facts: bytes
    columns: bytes
    user_texts: list[int]
    """The items in the history of which a text is kept."""
    unpaired: list[tuple[int, str, bool]]
    first_texts: dict[int, int]
    last_answer: int | None


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_SavedState).decode


class _Prompt(NamedTuple):
    """A user prompt, which files store twice: as an event and as an item."""

    text: str
    """In an item, this includes additions such as the names of images."""
    time: str
    from_event: bool


class _State(NamedTuple):
    """The model's history at a line that a thread was reverted to."""

    parent: int
    history: list[int]
    classes: list[int]
    turn_places: list[int]
    user_texts: list[str | None]
    totals: TokenTotals


class CodexReader(ReplayReader[Row]):
    """Reads one rollout. Its name provides thread and rollout id if no record does."""

    format_name = "codex"
    row_type = Row
    begins_with_header = True
    markers = (b'{"timestamp":"', b'{"type":"', b'{"record_type":"')
    headers = 1
    reading: CodexLogIndex

    def __init__(self, path: str = "") -> None:
        super().__init__(CodexLogIndex())
        self._path = path
        self._named = NAME.search(path)
        self._compressed = False
        self._history: list[int] = []  # the entry of every item that the model sees
        self._classes: list[int] = []
        self._turn_places: list[int] = []
        # user texts among them; None for one that is not read again yet
        self._user_texts: list[str | None] = []
        self._model = self._effort = self._copy_time = self._last_activity = self._provider = self._title = ""
        self._copy_pause = _TICK
        self._written_settings: set[int] = set()  # written by branchline; they do not start a turn
        self._unpaired: dict[int, _Prompt] = {}  # since the last answer
        self._answering = False  # the last item is the model's, and its usage is not counted yet
        self._first_texts: dict[int, tuple[int, str]] = {}  # with the entries that hold them
        self._paginated = False
        self._copying = False
        self._before_revert: _State | None = None
        self._reverted: list[range] = []
        self._awaits_totals = self._answered = False  # after the part stored in another rollout
        self._continues_totals = False  # token totals continue those of the copied part
        self._heads = 1
        # the missing rollout that this one begins with, according to the last of the first records
        self._missing = ""
        self._saved: bytes | None = None  # the state to continue from, until more is read

    # -- lines ----------------------------------------------------------------------------------------

    def feed(self, data: bytes, end: int) -> None:
        self._continue()
        if not self.reading.consumed and data.startswith(ZSTD):
            self._compressed = True
        if self._compressed:
            self.reading.consumed += end
            return
        super().feed(data, end)

    def finish(self, tail: bytes) -> None:
        self._continue()
        if self._compressed or (not self.reading.consumed and tail.startswith(ZSTD)):
            self._compressed = True
            self.reading.read_only = COMPRESSED
            self.reading.end_notes.clear()
            self.reading.add_tail_finding("unreadable", COMPRESSED)
            return
        super().finish(tail)

    def takes_rows(self) -> bool:
        return bool(self.reading.meta)

    def are_regular(self, rows: Sequence[Row]) -> bool:
        return _REGULAR.issuperset([row.type if row.payload else None for row in rows])

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        reading = self.reading
        self.gap = False
        payload = fields.get("payload")
        if fields.get("type") == "session_meta" and isinstance(payload, dict) and not reading.meta:
            self._take_meta(payload, line, offset)
            return
        if (
            not (reading.meta or len(reading.tree))
            and "id" in fields
            and "timestamp" in fields
            and "type" not in fields
        ):
            self._take_meta(fields, line, offset)
            return
        if self._missing and fields.get("type") == "session_meta" and isinstance(payload, dict):
            self._take_base(payload)
        row = row_from(fields)
        if row.type not in _LINES or row.payload is None:
            row = Row(timestamp=row.timestamp)
            if "record_type" not in fields:
                message = "a line in a form that Codex does not write; kept aside"
                self.report("unknown", message, line, offset)
        self.take_one(row, line, offset)

    def _take_meta(self, meta: dict[str, Any], line: bytes, offset: int) -> None:
        reading = self.reading
        reading.meta = meta
        reading.header_line, reading.header_end = line, offset + len(line)
        self._copying = isinstance(meta.get("forked_from_id"), str)
        reading.base = base_of(meta)
        if reading.base is not None:
            self._copying = True
            self._missing = reading.base.rollout
        mode = meta.get("history_mode")
        self._paginated = mode == "paginated"
        if mode is not None and not (isinstance(mode, str) and mode in _MODES):
            message = f"history mode {mode!r} is unknown; Codex refuses such a file"
            self.report("newer-version", message, line, offset)

    def _take_base(self, meta: dict[str, Any]) -> None:
        """Read the first record of the rollout that this one begins with, where both were joined."""
        self._heads += 1
        if self._heads == self.reading.lines:
            base = base_of(meta)
            self._missing = "" if base is None else base.rollout

    def replay(self, row: Row, lines: Lines, index: int) -> None:
        number = lines.number + index
        time = row.timestamp or ""
        key = f"line-{number}"
        payload = row.payload
        entry, role = "custom", None  # type: str, str | None
        if payload is not None:
            if self._copying and self._before_revert is None:
                self._follow_copy(payload, row, number)
            match row.type:
                case "response_item":
                    entry, role = self._note_item(payload, time)
                case "event_msg" if payload.type == "thread_rolled_back":
                    self._take_rollback(max(payload.num_turns or 0, 0), number, time)
                    return
                case "event_msg":
                    entry = self._note_event(payload, time)
                    role = "user" if entry == "message" else None
                case "turn_context":
                    if self._provider:  # Codex goes on where another agent stopped
                        self._note_provider("", text_of(self.reading.meta.get("model_provider")))
                    self._take_settings(payload, key, time)
                    return
                case "branchline":
                    self._take_provenance(payload, key, time)
                    return
                case "compacted":
                    entry = self._note_compaction(payload)
                case "branchline_revert":
                    self._take_revert(key, begins=payload.type == "begin")
                    return
                case "inter_agent_communication":
                    entry = "custom_message"
                    self._remember(len(self.tree.keys), TURN, "")
                case _:
                    pass
        self.add(key, entry, time, role)

    def _remember(self, position: int, kind: int, text: str) -> None:
        """Record an item that the model sees."""
        self._answering = False
        if kind == TURN:
            self._turn_places.append(len(self._history))
        self._history.append(position)
        self._classes.append(kind)
        self._user_texts.append(text if kind == TURN else "")

    def _note_item(self, item: ResponseItem, time: str) -> tuple[str, str | None]:
        """Apply an item of the model's history; return the type and role of its entry."""
        kind = item.type or item_type(item)
        position = len(self.tree.keys)
        if kind == "message" and item.role != "assistant":
            text = item_text(item)
            sort = item_class(item, text)
            self._remember(position, sort, text)
            if sort != TURN and not (item.role == "user" and self._was_typed(text)):
                return "custom_message", None
            self._note_user_text(text, time, 1)
            self._pair_item(text, time)
            return "message", "user"
        if kind == "agent_message":
            self._remember(position, TURN, "")
            return "custom_message", None
        if kind == "ghost_snapshot":
            return "custom", None
        self._history.append(position)
        self._classes.append(OTHER)
        self._user_texts.append("")
        if kind in _OUTPUTS:
            self._answering = False
            return "message", "toolResult"
        self._answered = True
        if self._answering:
            self.tree.continuations.add(position)
        self._answering = True
        if self._unpaired:
            self._unpaired.clear()
        if kind != "message" or not (text := item_text(item)) or text.isspace():
            self.tree.textless.add(position)
        else:
            self.reading.last_answer = (position, text)
        if item.call_id:
            self.reading.tool_names[item.call_id] = item.name or kind.removesuffix("_call")
        if time > self._last_activity:  # noqa: PLR1730  for nearly every line
            self._last_activity = time
        return "message", "assistant"

    def _note_user_text(self, text: str, time: str, source: int) -> None:
        """Note user text from an event (0) or an item (1); the first may become the title."""
        self._last_activity = max(self._last_activity, time)
        if text.strip():
            self._first_texts.setdefault(2 * self._copying + source, (len(self.tree.keys), text))

    def _note_event(self, event: Payload, time: str) -> str:
        """Apply an event; return the type of its entry."""
        reading, position = self.reading, len(self.tree.keys)
        match event.type:
            case "token_count":
                totals = totals_from(event.info)
                first = self._awaits_totals and self._answered
                if totals is not None and (totals != reading.totals or first):
                    spent = difference(totals, reading.totals)
                    if first:
                        self._awaits_totals = False
                        self._continues_totals = spent not in (totals, TokenTotals())
                        spent = spent if self._continues_totals else totals
                    reading.spent[position] = spent
                    reading.totals = totals
                    self._answering = False
                    return "usage"
            case "task_started" | "turn_started":
                reading.turns.append((position, event.turn_id or ""))
                reading.open_turn = event.turn_id or ""
                self._answering = False
            case "task_complete" | "turn_complete" | "turn_aborted":
                reading.open_turn = ""
            case "user_message" if event.message is not None:
                return self._take_prompt(prompt_text(event), time)
            case "item_completed" if self._paginated and event.item is not None:
                if event.item.type == "UserMessage":
                    return self._take_prompt(prompt_text(event), time)
            case _:
                pass
        return "custom"

    def _take_prompt(self, text: str, time: str) -> str:
        """Apply a prompt from an event; it becomes a message unless an item repeats it."""
        self.reading.prompts.add(len(self.tree.keys))
        self._note_user_text(text, time, 0)
        if not text.strip():
            return "custom"
        if self._partner(text, time, of_event=True) is not None:
            return "custom"
        self._leave_unpaired(_Prompt(text, time, from_event=True))
        self._answering = False
        return "message"

    def _pair_item(self, text: str, time: str) -> None:
        """Apply a user item; an event that it repeats is then not a prompt of its own."""
        place = self._partner(text, time, of_event=False)
        if place is None:
            self._leave_unpaired(_Prompt(text, time, from_event=False))
        else:
            self._retype(place)

    def _was_typed(self, text: str) -> bool:
        """Return whether an item that looks like context repeats the event of a prompt before it."""
        text = text.strip()
        return any(one.from_event and one.text.strip() == text for one in self._unpaired.values())

    def _retype(self, place: int) -> None:
        """Turn a message into data because something else repeats it."""
        tree = self.reading.tree
        tree.continuations.discard(place)
        tree.types[place], tree.roles[place] = "custom", None

    def _partner(self, text: str, time: str, *, of_event: bool) -> int | None:
        """Find and consume the item that repeats an event, or the event that an item repeats.

        The item may contain more than the event. Neighbours with the same time match whatever their text.
        """
        for place, prompt in self._unpaired.items():
            if prompt.from_event == of_event:
                continue
            typed, held = (text, prompt.text) if of_event else (prompt.text, text)
            if typed.strip() in held or (place == len(self.tree.keys) - 1 and time and time == prompt.time):
                del self._unpaired[place]
                return place
        return None

    def _leave_unpaired(self, prompt: _Prompt) -> None:
        self._unpaired[len(self.tree.keys)] = prompt
        if len(self._unpaired) > _NEIGHBOURS:
            del self._unpaired[next(iter(self._unpaired))]

    def _take_settings(self, settings: Payload, key: str, time: str) -> None:
        """Add entries for the model and effort of a turn where they change."""
        reading = self.reading
        model, effort = settings.model or self._model, settings.effort or self._effort
        kinds = []
        if model != self._model:
            kinds.append("model_change")
            reading.models.append((len(self.tree.keys), model))
        if effort != self._effort:
            kinds.append("thinking_level_change")
        self._model, self._effort = model, effort
        for number, kind in enumerate(kinds or ["custom"]):
            self.add(key if not number else f"{key}.{number + 1}", kind, time)

    def _note_provider(self, written: str, name: str) -> None:
        """Note the provider of the next models, and whether branchline's own record names it."""
        self._provider = written
        self.reading.providers.append((len(self.tree.keys), name))
        self._model = ""

    def _take_provenance(self, written: Payload, key: str, time: str) -> None:
        """Read branchline's own record: the thread's origin, title, models and thinking levels."""
        reading = self.reading
        if written.model is not None and written.provider is not None and written.provider != self._provider:
            self._note_provider(written.provider, written.provider)
        if written.model is not None or written.effort is not None:
            self._written_settings.add(len(reading.tree))
            self._take_settings(written, key, time)
            return
        if written.title is not None:
            self._title = written.title
        elif written.origin is not None and not reading.tree.keys:
            reading.converted_from = written.origin
        self.add(key, "custom" if written.title is None else "session_info")

    def _note_compaction(self, compacted: Payload) -> str:
        """Apply a compaction to the model's history; return the type of the entry."""
        reading = self.reading
        position = len(self.tree.keys)
        items = compacted.replacement_history
        kept = keep_prompts(self._prompts_in_history()) if items is None else []
        if reading.last_answer is not None and (compacted.message or "").rstrip().endswith(
            reading.last_answer[1].strip()
        ):
            self._retype(reading.last_answer[0])  # the summary, which this line contains
        reading.last_answer = None
        self._history, self._classes, self._turn_places, self._user_texts = [], [], [], []
        self._answering = False
        if items is None:
            reading.kept[position] = (*kept, compacted.message or NO_SUMMARY)
            for text in reading.kept[position]:
                self._remember(position, TURN, text)
        for item in items or ():
            text = item_text(item)
            self._remember(position, item_class(item, text), text)
        return "compaction"

    def _take_rollback(self, turns: int, number: int, time: str) -> None:
        self._answering = False
        reading = self.reading
        tree = reading.tree
        cut = rollback_position(self._turn_places, self._classes, turns)
        if cut is not None:
            start = self._turn_places[max(len(self._turn_places) - turns, 0)]
            if tree.types[self._history[start]] == "compaction":
                message = f"{turns} turns were rolled back over a compaction; Codex does not do this reliably"
                reading.add_finding("unknown", message, line=number)
                self.tip = self._history[start]
            else:
                own = (place for place in self._history[cut:] if tree.types[place] != "compaction")
                self.tip = self._before_turn(self.parent_of(next(own)))
            del self._history[cut:], self._classes[cut:], self._user_texts[cut:]
            while self._turn_places and self._turn_places[-1] >= cut:
                self._turn_places.pop()
        self.move_to(self.tip, f"line-{number}", time)

    def _take_revert(self, key: str, *, begins: bool) -> None:
        """Save the model's history before reverted turns, or restore it after them."""
        self._answering = False
        before = self._before_revert
        if begins:
            self.add(key, "custom")
            self._before_revert = _State(
                self.tip,
                list(self._history),
                list(self._classes),
                list(self._turn_places),
                list(self._user_texts),
                self.reading.totals,
            )
        elif before is not None:
            self._reverted.append(range(before.parent + 1, len(self.tree.keys)))
            tip, self._history, self._classes, self._turn_places, self._user_texts, totals = before
            self.reading.totals = totals
            self._before_revert = None
            self.move_to(tip, key)
        else:
            self.add(key, "custom")

    def _before_turn(self, position: int) -> int:
        """Return the parent of a turn: the entry before what was recorded at its start."""
        tree = self.reading.tree
        while position != ROOT and (
            tree.types[position] in SIDE_TYPES
            or (
                tree.types[position] in ("model_change", "thinking_level_change")
                and position not in self._written_settings
            )
        ):
            position = self.parent_of(position)
        return position

    def _follow_copy(self, payload: Payload, row: Row, line: int) -> None:
        """Detect where the records end that came from other rollouts.

        Those of a rollout that this one begins with have smaller numbers.
        """
        if (base := self.reading.base) is not None:
            if row.ordinal is None or row.ordinal < base.end_ordinal or line < 2:
                return
            self._awaits_totals, self._answered = True, False
        elif not self._is_after_copy(payload, row):
            return
        self._copying = False
        self.reading.copied = len(self.tree.keys)

    def _is_after_copy(self, payload: Payload, row: Row) -> bool:
        """Return whether a turn of a fork begins here, after the records that it copied from its parent.

        The id of a turn tells when it began, except in old releases and in converted sessions. Copies are
        stamped when they are written, so there is no pause between them.
        """
        before, self._copy_time = self._copy_time, row.timestamp or self._copy_time
        starts_turn = payload.type in _TURN_STARTS
        if starts_turn and is_uuid(turn := payload.turn_id or ""):
            self._copy_pause = _PAUSE
            if made_after(turn, text_of(self.reading.meta.get("id"))):
                return True
        prompts = payload.role in _PROMPTING or payload.type == "user_message" or row.type == "turn_context"
        if not (starts_turn or prompts):
            return False
        since, now = milliseconds(before), milliseconds(self._copy_time)
        return since is not None and now is not None and now - since >= self._copy_pause

    # -- continuing a reading that was saved ----------------------------------------------------------

    def saved_state(self) -> bytes | None:
        reading = self.reading
        if self._saved is not None:
            return self._saved
        if self._compressed or self._before_revert is not None or self._reverted or reading.kept:
            return None  # texts that one line does not hold, or several files
        last = reading.last_answer
        return _encode(
            _SavedState(
                _SAVED.dump(self),
                _SAVED_FACTS.dump(reading),
                _SAVED_COLUMNS.dump(reading),
                [place for place, text in enumerate(self._user_texts) if text != ""],
                [(place, prompt.time, prompt.from_event) for place, prompt in self._unpaired.items()],
                {source: place for source, (place, _text) in self._first_texts.items()},
                None if last is None else last[0],
            )
        )

    def restore_state(self, state: bytes) -> None:
        self._saved = state
        saved, reading = _decode(state), self.reading
        fields = json_codec.loads_object(reading.header_line) or {}
        payload = fields.get("payload")
        reading.meta = payload if isinstance(payload, dict) else fields
        reading.base = base_of(reading.meta)
        reading.last_answer = None if saved.last_answer is None else (saved.last_answer, None)
        _SAVED_FACTS.load(reading, saved.facts)
        _SAVED_COLUMNS.defer(reading, saved.columns)

    def _continue(self) -> None:
        """Restore the rest of a saved state, before more lines are read."""
        if self._saved is None:
            return
        saved = _decode(self._saved)
        self._saved = None
        _SAVED.load(self, saved.attributes)
        self._user_texts = [""] * len(self._history)
        for place in saved.user_texts:
            self._user_texts[place] = None
        for place, time, from_event in saved.unpaired:
            self._unpaired[place] = _Prompt(self._text_at(place), time, from_event)
        self._first_texts = {source: (at, self._text_at(at)) for source, at in saved.first_texts.items()}

    def _prompts_in_history(self) -> list[str]:
        """Return the user texts that the model sees; those of a saved state are read again."""
        held = range(0)  # the part of the history that one line holds
        texts: list[str] = []
        for place, text in enumerate(self._user_texts):
            if text is not None:
                continue
            if place not in held:
                position = self._history[place]
                texts = self._history_texts(position)
                start = place
                while start and self._history[start - 1] == position:
                    start -= 1
                held = range(start, start + len(texts))
            self._user_texts[place] = texts[place - held.start]
        return list(filter(None, self._user_texts))

    def _history_texts(self, position: int) -> list[str]:
        """Read the texts of an entry's items in the history again; a compaction holds several."""
        row = self.reading.row_at(position)
        if row.type != "compacted":
            return [self._text_of(row)]
        items = None if row.payload is None else row.payload.replacement_history
        return [item_text(item) for item in items or ()]

    def _text_at(self, position: int) -> str:
        return self._text_of(self.reading.row_at(position))

    @staticmethod
    def _text_of(row: Row) -> str:
        if row.payload is None:
            return ""
        return prompt_text(row.payload) if row.type == "event_msg" else item_text(row.payload)

    # -- the end --------------------------------------------------------------------------------------

    def is_record(self, data: bytes) -> bool:
        fields = json_codec.loads(data)
        kind = fields.get("type")
        if not isinstance(kind, str):
            return False
        return (kind in _LINES and isinstance(fields.get("payload"), dict)) or (
            kind in ITEMS and "timestamp" not in fields and ("role" in fields or "call_id" in fields)
        )

    def on_finish(self) -> None:
        reading = self.reading
        if self._copying:
            reading.copied = len(reading.tree)
        for position in reading.spent:
            reverted = any(position in part for part in self._reverted)
            if reverted or (position < reading.copied and not self._continues_totals):
                reading.spent[position] = TokenTotals()  # counted where it was spent
        if self._missing and reading.base is not None:
            message = f"it begins with a part of the rollout {self._missing}, which is missing"
            reading.add_tail_finding("below-head", message, line=1)
        reading.last_message_time = milliseconds(self._last_activity)
        # A fork is titled by its own first prompt, a reverted thread by its very first one.
        copied_first = -1 if reading.is_revert else 1
        order = sorted(self._first_texts, key=lambda source: (source // 2 * copied_first, source))
        lines = self._first_texts[order[0]][1].split("\n") if order else []
        reading.title = self._title or next(
            (line.strip() for line in lines if line.strip() and not is_image_tag(line)), None
        )
        if reading.lines:
            reading.header = self._header()
            if reading.converted_from is not None:
                rest = reading.tree.times[
                    reading.copied :
                ]  # only new entries: files are read while they are written
                reading.copied += first_after_fork(reading.header.timestamp, rest)
            if not reading.meta:
                reading.add_tail_finding("no-header", "no readable session_meta names the thread", line=1)
        if reading.read_only is None:
            reading.read_only = READ_ONLY

    def _header(self) -> Header:
        reading, meta = self.reading, self.reading.meta
        named = self._named
        reading.thread = text_of(meta.get("id")) or (named[2] if named else "")
        reading.rollout = (named[3] or named[2]) if named else reading.thread
        base = None if reading.base is None else reading.base.rollout
        names = (
            "cli_version",
            "originator",
            "model_provider",
            "history_mode",
            "agent_nickname",
            "agent_role",
        )
        about = {name: text for name in names if (text := text_of(meta.get(name)))}
        if reading.source:
            about["source"] = reading.source
        if branch := text_of(dict_of(meta.get("git")).get("branch")):
            about["gitBranch"] = branch
        return Header(
            id=reading.thread,
            timestamp=text_of(meta.get("timestamp")),
            cwd=text_of(meta.get("cwd")),
            # A prefix in another rollout names it exactly; a thread may have several.
            parent_session=reading.thread
            if reading.is_revert
            else base or reading.forked_from or reading.parent_thread or reading.converted_from,
            metadata=about or None,
        )
