"""Reads the rows of a zot session into an index: a chain in which each entry is a child of the previous one.

Rows have no ids. An entry's id is a hash of the end of its row, which includes the time. It is the same on
every load and in forks, which copy the bytes of their parent's rows. The id of a usage row derives from the
row before it; repeated rows are numbered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import chain, repeat
from typing import Any, TypeVar

import msgspec

from branchline.context import milliseconds
from branchline.entries import ACTIVITY_ROLES, Header, json_codec
from branchline.formats.go_json import utc_time
from branchline.formats.lines import LineReader, Lines
from branchline.formats.saved_attributes import SavedAttributes
from branchline.formats.zot.log_index import Meta, ZotLogIndex
from branchline.formats.zot.row_ids import RowLinker
from branchline.formats.zot.rows import (
    Answer,
    CumulativeUsage,
    RenameRow,
    Row,
    ToolResultsRow,
    UsageRow,
    calls_in,
    decode_rows,
    is_meta,
    row_from,
)

__all__ = ["ZotReader"]

_NAME = re.compile(r"(?:^|[/\\])(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)-([^/\\]{1,8})\.jsonl$")
_TAIL = 128  # how many bytes at the end of a row its id is a hash of
_DIGEST = blake2b(digest_size=8)
_T = TypeVar("_T")
_NO_META = "no row in it names the session"
_SAVED = SavedAttributes(_row_key=str, _usage_rows=int, _last_activity=str, _time=str)
_SAVED_FACTS = SavedAttributes(
    metas=list[Meta],
    totals=CumulativeUsage,
    numbers=dict[int, int],
    calls=dict[str, str],
    calls_open=bool,
    message_rows=int,
    own_from=int | None,
    started=str,
    _meta_fields=dict[str, Any],
)
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[bytes, bytes]).decode


class ZotReader(LineReader):
    """Reads the rows of one file. The path provides id and start time if no meta row does."""

    format_name = "zot"
    markers = (b'{"type":"', b'{"title":"')
    reading: ZotLogIndex

    def __init__(self, path: str = "") -> None:
        reading = ZotLogIndex()
        reading.linker = RowLinker(reading.tree)
        super().__init__(reading)
        self._path = path
        self._row_key = ""
        self._usage_rows = 0
        self._last_activity = ""
        self._time = ""  # of the last row that has one; rows without a time inherit it

    # -- rows -----------------------------------------------------------------------------------------

    def decode_rows(self, data: memoryview) -> Sequence[Row]:
        return decode_rows(data)

    def take_rows(self, rows: Sequence[Row], lines: Lines) -> bool:
        reading = self.reading
        first = len(reading.tree)
        messages: list[Any] = [row.message for row in rows]
        types = [row.type for row in rows]
        roles: list[str | None] = [message.role for message in messages]
        times: list[str | None] = [message.time for message in messages]
        ids = self._ids(types, lines)
        quiet: list[int] = []
        shared: dict[int, int] = {}  # row index -> number of results, for rows with more than one
        answer, position = None, first
        for number, message in enumerate(messages):
            kind = type(message)
            if kind is Answer:
                answer = message
                for block in answer.content or ():  # inlined: runs for every block of a session
                    if (block.name is None or block.id is None) and block.text and not block.text.isspace():
                        break
                else:
                    quiet.append(position)
            elif kind is ToolResultsRow and (results := message.content) and len(results) > 1:
                shared[number] = len(results)
                position += len(results) - 1
            position += 1
        if answer is not None:
            reading.calls = calls_in(answer)
        self._find_own(first, messages, shared)
        reading.message_rows += len(roles) - roles.count(None)
        self._note_last(rows, roles, times)
        if "session_info" in types:
            for row in rows:
                if isinstance(row, RenameRow):
                    reading.title = row.title.strip() or reading.title
        counts = None
        earlier, self._time = self._time, _last_time(times) or self._time
        if shared:
            counts = [shared.get(number, 1) for number in range(len(rows))]
            ids = self._spread_ids(first, ids, counts)
            types, roles, times = _spread(types, counts), _spread(roles, counts), _spread(times, counts)
        return self.link(
            lines,
            ids,
            [None] * len(ids),
            types=types,
            times=_utc_times(times, earlier),
            roles=roles,
            quiet=quiet,
            counts=counts,
        )

    def _ids(self, types: list[str], lines: Lines) -> list[str]:
        """Return the id of the first entry of each row."""
        ids = []
        copy = _DIGEST.copy
        key, usage_rows = self._row_key, self._usage_rows
        for kind, tail in zip(types, lines.tails(_TAIL), strict=True):
            if kind == "usage":
                usage_rows += 1
                ids.append(f"{key}u{usage_rows}")
            else:
                digest = copy()  # a third faster than constructing one
                digest.update(tail)
                key = digest.hexdigest()
                ids.append(key)
                usage_rows = 0
        self._row_key, self._usage_rows = key, usage_rows
        return ids

    def _spread_ids(self, first: int, ids: list[str], counts: list[int]) -> list[str]:
        """Return an id for each entry: a row with several results becomes several entries."""
        spread: list[str] = []
        for key, count in zip(ids, counts, strict=True):
            spread.append(key)
            for number in range(1, count):
                self.reading.numbers[first + len(spread)] = number
                spread.append(f"{key}.{number + 1}")
        return spread

    def _find_own(self, position: int, messages: Sequence[Any], shared: dict[int, int]) -> None:
        """Find the first message that was not copied by a fork."""
        reading = self.reading
        if reading.own_from is not None:
            return
        before = reading.message_rows
        for number, message in enumerate(messages):
            if message.role is not None:
                if reading.is_own(message, before):
                    reading.own_from = position
                    return
                before += 1
            position += shared.get(number, 1)

    def _note_last(
        self, rows: Sequence[Row], roles: Sequence[str | None], times: Sequence[str | None]
    ) -> None:
        """Remember the last usage, role and time among these rows."""
        reading = self.reading
        usage = next((row for row in reversed(rows) if type(row) is UsageRow), None)
        if usage is not None:
            reading.totals = usage.cumulative
        role = next((role for role in reversed(roles) if role is not None), None)
        if role is not None:
            reading.calls_open = role == "assistant"
        activity = zip(reversed(roles), reversed(times), strict=True)
        self._last_activity = next(
            (utc_time(time or "") for role, time in activity if role in ACTIVITY_ROLES), self._last_activity
        )

    # -- objects of any shape -------------------------------------------------------------------------

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        kind, meta = fields.get("type"), fields.get("meta")
        if not isinstance(kind, str):
            self.note_not_an_entry("an object without a type", line, offset)
            return
        if kind == "meta" and is_meta(meta) and not self._take_meta(meta, line, offset):
            return
        self.take_one(row_from(fields), line, offset)

    def _take_meta(self, fields: dict[str, Any], line: bytes, offset: int) -> bool:
        """Apply a meta row; return whether it is an entry too (a model change)."""
        reading = self.reading
        if not reading.metas:
            reading.header_line, reading.header_end = line, offset + len(line)
        reading.add_meta(fields)
        self._time = self._time or reading.started
        model = fields.get("model")
        return (isinstance(model, str) and bool(model)) or len(reading.metas) > 1

    # -- damage, and the end --------------------------------------------------------------------------

    def is_record(self, data: bytes) -> bool:
        """Return whether this is a row of a kind that zot writes; other objects may be part of one."""
        fields = json_codec.loads(data)
        match fields.get("type"):
            case "meta" | "message" | "usage" as kind:
                return isinstance(fields.get(kind), dict)
            case "rename":
                return isinstance(fields.get("title"), str)
            case _:
                return False

    def saved_state(self) -> bytes | None:
        return _encode((_SAVED.dump(self), _SAVED_FACTS.dump(self.reading)))

    def restore_state(self, state: bytes) -> None:
        own, known = _decode(state)
        _SAVED.load(self, own)
        _SAVED_FACTS.load(self.reading, known)

    def on_finish(self) -> None:
        reading = self.reading
        reading.last_message_time = milliseconds(self._last_activity)
        if reading.metas:
            reading.set_header()
            if reading.read_only == _NO_META:
                reading.read_only = None
        elif reading.lines:
            reading.read_only = _NO_META
            reading.add_tail_finding("no-header", "no readable meta row; opened read-only", line=1)
            reading.header = _header_from_name(self._path)


def _utc_times(times: Iterable[str | None], earlier: str) -> Iterator[str]:
    """Convert times to UTC lazily, when the tree needs them: eager conversion takes a fifth of opening.

    A row without a time inherits that of the nearest row before it, at first ``earlier``.
    """
    for time in times:
        if time is None:
            yield earlier
        else:
            written = utc_time(time)
            earlier = written or earlier
            yield written


def _spread(column: list[_T], counts: list[int]) -> list[_T]:
    """Repeat each row's value once per entry of that row."""
    return list(chain.from_iterable(map(repeat, column, counts)))


def _last_time(times: Sequence[str | None]) -> str:
    return next(filter(None, (utc_time(time) for time in reversed(times) if time)), "")


def _header_from_name(path: str) -> Header | None:
    found = _NAME.search(path)
    if found is None:
        return None
    year, month, day, hour, minute, second, session = found.groups()
    return Header(id=session, timestamp=f"{year}-{month}-{day}T{hour}:{minute}:{second}.000Z")
