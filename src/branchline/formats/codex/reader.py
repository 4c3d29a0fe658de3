"""Lines of a rollout into a reading, by replaying them: what the model saw, and what was rolled back.

The format has no ids and no parents: an entry is named after its line and hangs from the one before it. A
rollback moves back to before the turn where it cuts, so that the turns it takes away are a branch of their
own and what follows is its sibling.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from branchline.context import milliseconds
from branchline.entries import SIDE, Header, jsontext
from branchline.formats.base import Reading
from branchline.formats.codex.rows import (
    CONTEXT,
    ITEMS,
    OTHER,
    TURN,
    Item,
    Row,
    decode_rows,
    item_class,
    item_text,
    item_type,
    row_from,
)
from branchline.formats.lines import LinesReader, bulk
from branchline.tree import ROOT

__all__ = ["CodexReader", "CodexReading", "HistoryBase", "keep_prompts", "cut_place"]

READ_ONLY = "rollouts of Codex are read here, not written; fork it into a native session to go on"
COMPRESSED = "it is compressed (zstd); unpack it first"
NO_SUMMARY = "(no summary available)"

ZSTD = b"\x28\xb5\x2f\xfd"
NAME = re.compile(
    r"(?:^|[/\\])rollout-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)-([0-9a-zA-Z-]+?)(?:_([0-9a-zA-Z-]+))?\.jsonl(?:\.zst)?$"
)
_LINES = frozenset(
    {
        "session_meta",
        "turn_context",
        "response_item",
        "event_msg",
        "compacted",
        "world_state",
        "inter_agent_communication",
        "inter_agent_communication_metadata",
        "security_risk_score",
    }
)
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
_KEPT = 80_000  # characters of prompts that an old compaction keeps: about 20 000 tokens
_MODES = frozenset({"legacy", "paginated", "default"})


class HistoryBase(NamedTuple):
    """The part of another rollout that this one begins with."""

    rollout: str
    end_ordinal: int
    end_offset: int


class Totals(NamedTuple):
    """Running totals of tokens."""

    input: int | float = 0
    cached: int | float = 0
    cache_write: int | float = 0
    output: int | float = 0
    reasoning: int | float = 0
    total: int | float = 0


class CodexReading(Reading):
    """A rollout: beside the tree, what its first record says and what the replay found."""

    def __init__(self) -> None:
        super().__init__("codex")
        self.thread = ""
        self.rollout = ""
        """The id that other rollouts name this one by."""
        self.meta: dict[str, Any] = {}
        self.base: HistoryBase | None = None
        self.copied = 0
        """How many entries were copied from the parent, as far as this file tells."""
        self.turns: list[tuple[int, str]] = []
        """Where turns start, and their ids."""
        self.turn_contexts: set[str] = set()
        self.aborted = 0
        self.rollbacks: dict[int, int] = {}
        """How many turns an entry took back."""
        self.prompts: dict[int, str] = {}
        """What people typed, as events tell it."""
        self.kept: dict[int, tuple[str, ...]] = {}
        """The prompts that a compaction without a history of its own keeps."""
        self.spent: dict[int, Totals] = {}
        self.totals = Totals()
        self.tool_names: dict[str, str] = {}
        self.numbers: dict[int, int] = {}
        self.foreign = 0
        self.models: dict[int, str] = {}

    @property
    def source(self) -> str | None:
        """How the thread was started, in one word."""
        source = self.meta.get("source")
        if isinstance(source, dict):
            return next(iter(source), None)
        return source if isinstance(source, str) else None

    @property
    def forked_from(self) -> str | None:
        found = self.meta.get("forked_from_id")
        return found if isinstance(found, str) else None

    @property
    def parent_thread(self) -> str | None:
        """The thread that started this one as a sub-agent."""
        source = self.meta.get("source")
        spawn: Any = source.get("subagent") if isinstance(source, dict) else None
        spawn = spawn.get("thread_spawn") if isinstance(spawn, dict) else None
        named = spawn.get("parent_thread_id") if isinstance(spawn, dict) else None
        named = named or self.meta.get("parent_thread_id")
        return named if isinstance(named, str) else None

    @property
    def inherited(self) -> int:
        return self.copied


class CodexReader(LinesReader):
    """Reads one rollout; its name tells thread and rollout where no record does."""

    format_name = "codex"
    markers = (b'{"timestamp":"', b'{"type":"', b'{"record_type":"')
    reading: CodexReading

    def __init__(self, path: str = "") -> None:
        super().__init__()
        self.reading = CodexReading()
        self._path = path
        self._named = NAME.search(path)
        self._compressed = False
        self._parent = ROOT
        self._history: list[int] = []  # the entry of every item that the model sees
        self._classes: list[int] = []
        self._turn_places: list[int] = []
        self._words: dict[int, str] = {}
        self._model = self._effort = self._second_time = self._spoken = self._prompt = ""
        self._copying = False
        self._in_first_lines = True
        self._cwd = ""

    # -- lines ----------------------------------------------------------------------------------------

    def feed(self, data: bytes, end: int) -> None:
        if not self.reading.consumed and data.startswith(ZSTD):
            self._compressed = True
        if self._compressed:
            self.reading.consumed += end
            return
        super().feed(data, end)

    def finish(self, tail: bytes) -> None:
        if self._compressed or (not self.reading.consumed and tail.startswith(ZSTD)):
            self._compressed = True
            self.reading.read_only = COMPRESSED
            self.reading.end_notes.clear()
            self.reading.note_end("unreadable", COMPRESSED)
            return
        super().finish(tail)

    def take_regular(self, data: bytes, end: int, offset: int) -> bool:
        if not self.reading.meta:
            return False
        found = bulk(data, end, decode_rows)
        if found is None or any(row.type not in _LINES or row.payload is None for row in found.values):
            return False
        if any(row.type == "session_meta" for row in found.values):
            return False
        self._take_rows(found.values, found.ends, offset)
        return True

    def _take_rows(self, rows: Sequence[Row], ends: list[int], offset: int) -> None:
        reading = self.reading
        first = len(reading.tree)
        sizes = [self._take_row(row, number) for number, row in enumerate(rows, reading.lines + 1)]
        if len(reading.tree) - first == len(ends):
            self.add_block(first, offset, ends)
            return
        start = 0
        for size, stop in zip(sizes, ends, strict=True):
            reading.lines += 1
            for _ in range(size):
                reading.place(first, offset + start, stop - start, reading.lines)
                first += 1
            start = stop + 1

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        reading = self.reading
        self.gap = False
        first = not reading.meta and self._in_first_lines
        payload = fields.get("payload")
        if fields.get("type") == "session_meta" and isinstance(payload, dict) and not reading.meta:
            self._take_meta(payload, fields, line, offset)
            return
        if first and "id" in fields and "timestamp" in fields and "type" not in fields:
            self._take_meta(fields, fields, line, offset)
            return
        position = len(reading.tree)
        row = row_from(fields)
        if row.type in _LINES and row.payload is not None:
            size = self._take_row(row, reading.lines)
        else:
            if "record_type" not in fields:
                reading.foreign += 1
                message = "a line of a shape that Codex does not write; kept aside"
                reading.note("unknown", message, line=reading.lines, offset=offset, size=len(line))
            self._add(f"line-{reading.lines}", "custom", row.timestamp or "")
            size = 1
        for place in range(position, position + size):
            reading.place(place, offset, len(line), reading.lines)

    def _take_meta(self, meta: dict[str, Any], fields: dict[str, Any], line: bytes, offset: int) -> None:
        reading = self.reading
        reading.meta = meta
        reading.header_line, reading.header_end = line, offset + len(line)
        self._copying = isinstance(meta.get("forked_from_id"), str)
        base = meta.get("history_base")
        if isinstance(base, dict) and isinstance(rollout := base.get("thread_id"), str):
            self._copying = False
            reading.base = HistoryBase(
                rollout, _whole(base.get("end_ordinal_exclusive")), _whole(base.get("end_byte_offset"))
            )
            message = f"it begins with a part of the rollout {rollout}, which is another file"
            reading.note("below-head", message, line=reading.lines, offset=offset, size=len(line))
        mode = meta.get("history_mode")
        if mode is not None and mode not in _MODES:
            message = f"history mode {mode!r} is not known; Codex refuses such a file"
            reading.note("newer-version", message, line=reading.lines, offset=offset, size=len(line))
        time = fields.get("timestamp")
        self._first_time = time if isinstance(time, str) else ""

    def _take_row(self, row: Row, number: int) -> int:
        """One line; returns how many entries it is."""
        time = row.timestamp or ""
        if self._copying:
            self._follow_copy(time)
        key = f"line-{number}"
        payload = row.payload
        assert payload is not None
        match row.type:
            case "response_item":
                return self._take_item(payload, key, time)
            case "event_msg":
                return self._take_event(payload, key, time)
            case "turn_context":
                return self._take_settings(payload, key, time)
            case "compacted":
                return self._take_compaction(payload, key, time)
            case "inter_agent_communication":
                self._remember(self._add(key, "custom_message", time), TURN, "")
            case _:
                self._add(key, "custom", time)
        return 1

    def _add(self, key: str, type: str, time: str, role: str | None = None, *, quiet: bool = False) -> int:  # noqa: A002
        tree = self.reading.tree
        if key in tree.positions:  # two records in one line
            count = 2
            while f"{key}#{count}" in tree.positions:
                count += 1
            key = f"{key}#{count}"
        self._parent = tree.add(key, self._parent, type=type, time=time, role=role, quiet=quiet)
        return self._parent

    def _remember(self, position: int, kind: int, words: str) -> None:
        """An item that the model sees."""
        if kind == TURN:
            self._turn_places.append(len(self._history))
            if words:
                self._words[position] = words
        self._history.append(position)
        self._classes.append(kind)

    def _take_item(self, item: Item, key: str, time: str) -> int:
        reading = self.reading
        kind = item_type(item)
        if kind == "ghost_snapshot":
            self._add(key, "custom", time)
            return 1
        if kind == "message" and item.role != "assistant":
            text = item_text(item)
            sort = item_class(item, text)
            human = sort == TURN
            position = self._add(key, "message" if human else "custom_message", time, "user" if human else None)
            self._remember(position, sort, text)
            if human:
                self._hear(text, time)
            return 1
        if kind == "agent_message":
            self._remember(self._add(key, "custom_message", time), TURN, "")
            return 1
        if kind in _OUTPUTS:
            position = self._add(key, "message", time, "toolResult")
        else:
            silent = kind != "message" or not item_text(item).strip()
            position = self._add(key, "message", time, "assistant", quiet=silent)
            reading.models[position] = self._model
            self._spoken = max(self._spoken, time)
            if item.call_id:
                reading.tool_names[item.call_id] = item.name or kind.removesuffix("_call")
        self._remember(position, OTHER, "")
        return 1

    def _hear(self, text: str, time: str) -> None:
        self._spoken = max(self._spoken, time)
        if not (self._prompt or self._copying) and text.strip():
            self._prompt = text

    def _take_event(self, event: Item, key: str, time: str) -> int:
        reading = self.reading
        match event.type:
            case "thread_rolled_back":
                return self._take_rollback(max(event.num_turns or 0, 0), key, time)
            case "token_count":
                totals = totals_from(event.info)
                if totals is None or totals == reading.totals:
                    self._add(key, "custom", time)
                else:
                    position = self._add(key, "usage", time)
                    reading.spent[position] = _difference(totals, reading.totals)
                    reading.models[position] = self._model
                    reading.totals = totals
                return 1
            case "task_started" | "turn_started":
                position = self._add(key, "custom", time)
                reading.turns.append((position, event.turn_id or ""))
                return 1
            case "turn_aborted":
                reading.aborted += 1
            case "user_message" if event.message is not None:
                reading.prompts[len(reading.tree)] = event.message
                self._hear(event.message, time)
            case "item_completed" if event.item is not None and event.item.type == "UserMessage":
                text = item_text(event.item)
                reading.prompts[len(reading.tree)] = text
                self._hear(text, time)
            case _:
                pass
        self._add(key, "custom", time)
        return 1

    def _take_settings(self, settings: Item, key: str, time: str) -> int:
        """Model and effort of a turn: entries where they change."""
        reading = self.reading
        if settings.turn_id:
            reading.turn_contexts.add(settings.turn_id)
        model, effort = settings.model or self._model, settings.effort or self._effort
        kinds = []
        if model != self._model:
            kinds.append("model_change")
        if effort != self._effort:
            kinds.append("thinking_level_change")
        self._model, self._effort = model, effort
        for number, kind in enumerate(kinds or ["custom"]):
            self._add(key if not number else f"{key}.{number + 1}", kind, time)
        return len(kinds) or 1

    def _take_compaction(self, compacted: Item, key: str, time: str) -> int:
        reading = self.reading
        words = [self._words[place] for place in self._history if place in self._words]
        position = self._add(key, "compaction", time)
        items = compacted.replacement_history
        self._history, self._classes, self._turn_places, self._words = [], [], [], {}
        if items is None:
            kept = keep_prompts(words)
            reading.kept[position] = (*kept, compacted.message or NO_SUMMARY)
            for text in reading.kept[position]:
                self._remember(position, TURN, text)
            return 1
        for item in items:
            text = item_text(item)
            self._remember(position, item_class(item, text), text)
        return 1

    def _take_rollback(self, turns: int, key: str, time: str) -> int:
        reading = self.reading
        tree = reading.tree
        cut = cut_place(self._turn_places, self._classes, turns)
        reading.rollbacks[len(tree)] = turns
        if cut is not None:
            first = self._history[cut]
            inside = tree.types[first] == "compaction"
            if inside:
                message = f"{turns} turns were rolled back over a compaction; Codex does not do this reliably"
                reading.note("unknown", message, line=int(key[5:].split("#")[0]))
            self._parent = first if inside else self._before_turn(tree.parents[first])
            for place in self._history[cut:]:
                self._words.pop(place, None)
            del self._history[cut:], self._classes[cut:]
            while self._turn_places and self._turn_places[-1] >= cut:
                self._turn_places.pop()
        target = self._parent
        self._add(key, "leaf", time)
        self._parent = target
        return 1

    def _before_turn(self, position: int) -> int:
        """Where a turn hangs from: before what was noted when it started."""
        tree = self.reading.tree
        while position != ROOT and (
            tree.types[position] in SIDE
            or tree.types[position] in ("model_change", "thinking_level_change")
        ):
            position = tree.parents[position]
        return position

    def _follow_copy(self, time: str) -> None:
        """Tell where the records end that a fork copied: they all have the time of the fork."""
        if not self._second_time:
            self._second_time = time
        if time and time == self._second_time:
            return
        self._copying = False
        self.reading.copied = len(self.reading.tree)

    # -- the end --------------------------------------------------------------------------------------

    def is_record(self, data: bytes) -> bool:
        fields = jsontext.loads(data)
        kind = fields.get("type")
        return (kind in _LINES and isinstance(fields.get("payload"), dict)) or (
            kind in ITEMS and "timestamp" not in fields and ("role" in fields or "call_id" in fields)
        )

    def find_leaf(self) -> int:
        return self._parent

    def settled(self) -> None:
        reading = self.reading
        if self._copying:
            reading.copied = len(reading.tree)
        reading.last_message_time = milliseconds(self._spoken)
        reading.title = next((line.strip() for line in self._prompt.split("\n") if line.strip()), None)
        if reading.lines:
            reading.header = self._header()
            if not reading.meta:
                reading.note_end("no-header", "no readable session_meta tells which thread this is", line=1)
        if reading.read_only is None:
            reading.read_only = READ_ONLY

    def _header(self) -> Header:
        reading, meta = self.reading, self.reading.meta
        named = self._named

        def text(key: str) -> str:
            value = meta.get(key)
            return value if isinstance(value, str) else ""

        reading.thread = text("id") or (named[2] if named else "")
        reading.rollout = (named[3] or named[2]) if named else reading.thread
        base = None if reading.base is None else reading.base.rollout
        names = ("cli_version", "originator", "model_provider", "history_mode", "agent_nickname", "agent_role")
        about = {name: text(name) for name in names if text(name)}
        return Header(
            id=reading.thread,
            timestamp=text("timestamp"),
            cwd=text("cwd"),
            parent_session=reading.forked_from or reading.parent_thread or base,
            metadata=about or None,
        )


def keep_prompts(prompts: Sequence[str]) -> list[str]:
    """The newest prompts that fit, in their order; the oldest of them is cut."""
    left = _KEPT
    kept: list[str] = []
    for prompt in reversed(prompts):
        if left <= 0:
            break
        kept.append(prompt[:left])
        left -= len(prompt)
    return kept[::-1]


def cut_place(turn_places: Sequence[int], classes: Sequence[int], turns: int) -> int | None:
    """Where in the history a rollback cuts; None when it takes nothing."""
    if not turns or not turn_places:
        return None
    cut = turn_places[max(len(turn_places) - turns, 0)]
    while cut > turn_places[0] and classes[cut - 1] == CONTEXT:
        cut -= 1
    return cut


def totals_from(info: dict[str, Any] | None) -> Totals | None:
    """The running totals in a count of tokens; None when it tells none."""
    found = None if info is None else info.get("total_token_usage")
    if not isinstance(found, dict):
        return None

    def number(name: str) -> int | float:
        value = found.get(name)
        return value if isinstance(value, int | float) and not isinstance(value, bool) else 0

    return Totals(
        number("input_tokens"),
        number("cached_input_tokens"),
        number("cache_write_input_tokens"),
        number("output_tokens"),
        number("reasoning_output_tokens"),
        number("total_tokens"),
    )


def _difference(totals: Totals, before: Totals) -> Totals:
    """What was spent since; totals that went down have begun anew."""
    if totals.input < before.input or totals.output < before.output:
        return totals
    return Totals(*(max(one - other, 0) for one, other in zip(totals, before, strict=True)))


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
