"""Rows of a zot session into a reading: one line of entries, each hanging from the one before it.

Rows have no ids. An entry gets one from the end of its row, where its time stands: the same on every load,
and the same in a fork, which copies the bytes of its parent's rows. A usage row is named after the row before
it, and a row that occurs again is told apart by a number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b
from itertools import compress
from typing import Any

from branchline.context import milliseconds
from branchline.entries import ACTIVITY_ROLES, Header, json_codec
from branchline.formats.go_json import utc_time, utc_times
from branchline.formats.lines import LineReader, decode_chunk
from branchline.formats.zot.log_index import ZotReading, is_meta
from branchline.formats.zot.row_ids import RowLinker
from branchline.formats.zot.rows import (
    NO_MESSAGE,
    Answer,
    AnswerBlock,
    RowColumns,
    ToolResultsRow,
    User,
    decode_rows,
    decode_shapes,
    is_summary,
)
from branchline.formats.zot.running_totals import CumulativeUsage, sums_of
from branchline.formats.zot.times import LazyTimestamps
from branchline.formats.zot.tool_names import calls_in, words_of

__all__ = ["ZotReader"]

_NAME = re.compile(r"(?:^|[/\\])(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)-([^/\\]{1,8})\.jsonl$")
_ROLES = {"user": "user", "assistant": "assistant", "tool": "toolResult"}
_TAIL = 128  # the part of a row that its id is made of
_DIGEST = blake2b(digest_size=8)
_NO_META = "no row in it tells which session it is"


class ZotReader(LineReader):
    """Reads the rows of one file; the path tells id and start where no row does.

    ``shape_only`` is for lists of sessions: it leaves out what answers call for, which of them are quiet, and
    ids, which are numbers then.
    """

    format_name = "zot"
    markers = (b'{"type":"', b'{"title":"')

    def __init__(self, path: str = "", *, shape_only: bool = False) -> None:
        self._known = ZotReading()
        self._rows = RowLinker(self._known.tree)
        self._known.linker = self._rows
        super().__init__(self._known)
        self._path = path
        self._shape_only = shape_only
        self._row_key = ""
        self._usage_rows = 0
        self._spoken = ""
        self._time = ""  # of the last row that has one; rows without are as old
        self._waiting = LazyTimestamps(self._known.tree.types)

    # -- many rows at once ----------------------------------------------------------------------------

    def take_regular(self, data: bytes, start: int, end: int) -> bool:
        """Messages and usage as zot writes them; False, and nothing done, when there is anything else."""
        found = decode_chunk(data, end, decode_shapes if self._shape_only else decode_rows, start=start)
        if found is None:
            return False
        reading, tree = self._known, self.reading.tree
        first = len(tree)
        columns = RowColumns(found.values)
        if self._shape_only:
            quiet = self._count_results(columns)
            tree.keys += map(str, range(first, first + columns.entries))
        else:
            lines = data[start:] if start else data
            quiet = self._listen(first, columns)
            self._name(lines, found.ends, columns.messages)
            self._note_totals(lines, found.ends, columns.types)
        self._look_for_own(first, columns)
        if columns.shared:
            self.add_lines(first, reading.consumed, columns.sizes, found.ends)
            if not self._shape_only:
                self._name_further_results(first, columns.shared)
            columns.spread()
        else:
            self.add_block(first, reading.consumed, found.ends)
        self._put_off_times(first, columns)
        tree.run_starts()  # those of the few rows before, so that the rest of the file is known to have none
        tree.extend_columns(None, columns.types, columns.times, columns.roles, quiet)
        return True

    def _note_totals(self, lines: bytes, ends: list[int], types: list[str]) -> None:
        """Look at the last usage row only; the log has the others."""
        if "usage" in types:
            row = len(types) - 1 - types[::-1].index("usage")
            line = lines[ends[row - 1] + 1 if row else 0 : ends[row]]
            self._known.totals.last = sums_of(json_codec.loads(line)) or CumulativeUsage()

    def _put_off_times(self, first: int, columns: RowColumns) -> None:
        """Look at the last times only; the others wait until somebody asks for one."""
        self._waiting.add(first, len(self.reading.tree), self._time)
        self.reading.tree.ask_times = self._waiting
        self._time = next(filter(None, map(utc_time, reversed(columns.times))), self._time)
        spoken = compress(reversed(columns.times), map(ACTIVITY_ROLES.__contains__, reversed(columns.roles)))
        self._spoken = next(map(utc_time, spoken), self._spoken)

    @staticmethod
    def _count_results(columns: RowColumns) -> list[int]:
        """Notice which rows have several results; gives answers without words, which lists do not ask for."""
        columns.shared = {
            number: len(message.content)
            for number, message in enumerate(columns.messages)
            if type(message) is ToolResultsRow and message.content and len(message.content) > 1
        }
        return []

    def _listen(self, first: int, columns: RowColumns) -> list[int]:
        """The same, with answers without words, and remember what the last answer asks for."""
        reading = self._known
        quiet, last = [], None
        more = 0  # entries than rows so far
        for row, message in enumerate(columns.messages):
            kind = type(message)
            if kind is Answer:
                last = message
                for block in message.content or ():  # without calls, because there are so many of them
                    if (block.name is None or block.id is None) and block.text and not block.text.isspace():
                        break
                else:
                    quiet.append(first + row + more)
            elif kind is ToolResultsRow and (results := message.content) and len(results) > 1:
                columns.shared[row] = len(results)
                more += len(results) - 1
        if last is not None:
            reading.calls.last = calls_in(last.content or ())
        if role := next(filter(None, reversed(columns.roles)), None):
            reading.calls_open = role == "assistant"
        return quiet

    def _name(self, data: bytes, ends: list[int], messages: list[Any]) -> None:
        """Give each of these rows the key of its first entry."""
        name, copy = self.reading.tree.keys.append, _DIGEST.copy
        key, usage_rows, begin = self._row_key, self._usage_rows, 0
        for message, end in zip(messages, ends, strict=True):
            if message is NO_MESSAGE:
                usage_rows += 1
                name(key + "u1" if usage_rows == 1 else f"{key}u{usage_rows}")
            else:
                digest = copy()  # a third quicker than making one anew
                tail = end - _TAIL
                digest.update(data[tail if tail > begin else begin : end])  # noqa: FURB136  a call costs more
                key = digest.hexdigest()
                name(key)
                usage_rows = 0
            begin = end + 1
        self._row_key, self._usage_rows = key, usage_rows

    def _name_further_results(self, first: int, shared: dict[int, int]) -> None:
        """Give keys to the entries that are not the first of their row, in rows from ``first`` on."""
        reading = self._known
        keys = reading.tree.keys
        rows = keys[first:]
        del keys[first:]
        done = 0
        for row, count in shared.items():
            keys += rows[done : row + 1]
            done = row + 1
            reading.numbers.update(zip(range(len(keys), len(keys) + count), range(1, count), strict=False))
            keys += [f"{rows[row]}.{number}" for number in range(2, count + 1)]
        keys += rows[done:]

    def _look_for_own(self, position: int, columns: RowColumns) -> None:
        """Count messages, and find the first one that did not come with the fork."""
        reading = self._known
        messages = columns.messages
        times = columns.times
        if reading.own_from is None and reading.message_rows < reading.fork_point:
            times = utc_times(times)  # only what a fork asked for is told by its age
        for number, message in enumerate(messages):
            if reading.own_from is not None:
                reading.message_rows += len(messages) - number - messages[number:].count(NO_MESSAGE)
                break
            if message is not NO_MESSAGE:
                summary = type(message) is User and is_summary(message.meta)
                reading.count_message(position, times[number], summary=summary)
            position += columns.shared.get(number, 1)

    def _answered(self, content: Sequence[AnswerBlock]) -> bool:
        """Remember what an answer asks for; whether it has no words for a person."""
        self._known.calls.last = calls_in(content)
        return all(map(_is_silent, content))

    # -- one row at a time ----------------------------------------------------------------------------

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        reading = self._known
        kind = fields.get("type")
        if not isinstance(kind, str):
            self.note_not_an_entry("an object without a type", line, offset)
        elif kind == "meta" and is_meta(fields.get("meta")):
            self._take_meta(fields["meta"], line, offset)
        elif kind == "message" and isinstance(fields.get("message"), dict):
            self._take_message(fields["message"], line, offset)
        elif kind == "usage" and (sums := sums_of(fields)) is not None:
            reading.totals.last = sums
            self._usage_rows += 1
            self._add(f"{self._row_key}u{self._usage_rows}", line, offset, type="usage")
        elif kind == "rename" and isinstance(title := fields.get("title"), str):
            self._add(self._key(line), line, offset, type="session_info")
            reading.title = title.strip() or reading.title
        else:
            self._add(self._key(line), line, offset, type="custom")

    def _take_meta(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        reading = self._known
        if not reading.metas:
            reading.header_line, reading.header_end = line, offset + len(line)
        reading.add_meta(fields)
        self._time = self._time or reading.started
        model = fields.get("model")
        if (isinstance(model, str) and model) or len(reading.metas) > 1:
            self._add(self._key(line), line, offset, type="model_change")

    def _take_message(self, message: dict[str, Any], line: bytes, offset: int) -> None:
        reading = self._known
        role, time, content = message.get("role"), message.get("time"), message.get("content")
        role = role if isinstance(role, str) else ""
        time = time if isinstance(time, str) else ""
        written = utc_time(time)
        quiet = role == "assistant" and self._answered(words_of(content))
        reading.calls_open = role == "assistant"
        if role in ACTIVITY_ROLES:
            self._spoken = written
        key = self._key(line)
        reading.count_message(len(reading.tree), written, summary=is_summary(message.get("meta")))
        for number in range(_result_count(message)):
            position = self._add(
                f"{key}.{number + 1}" if number else key,
                line,
                offset,
                type="message",
                time=written,
                role=_ROLES.get(role, role),
                quiet=quiet,
            )
            if number:
                reading.numbers[position] = number

    def _add(
        self,
        key: str,
        line: bytes,
        offset: int,
        *,
        type: str,  # noqa: A002
        time: str = "",
        role: str | None = None,
        quiet: bool = False,
    ) -> int:
        key = self._rows.key_of(key)
        keys = self.reading.tree.keys
        parent = keys[-1] if keys else None
        self._time = time or self._time
        written = time if type == "message" else self._time
        return self.add(key, parent, line, offset, type=type, time=written, role=role, quiet=quiet)

    def _key(self, line: bytes) -> str:
        row = line.strip()[-_TAIL:]
        self._row_key = blake2b(row, digest_size=8).hexdigest()
        self._usage_rows = 0
        return self._row_key

    # -- damage, and the end --------------------------------------------------------------------------

    def is_record(self, data: bytes) -> bool:
        """A row of one of the kinds that zot writes; other objects may be a part of one."""
        fields = json_codec.loads(data)
        match fields.get("type"):
            case "meta" | "message" | "usage" as kind:
                return isinstance(fields.get(kind), dict)
            case "rename":
                return isinstance(fields.get("title"), str)
            case _:
                return False

    def on_finish(self) -> None:
        reading = self._known
        reading.last_message_time = milliseconds(self._spoken)
        if reading.metas:
            reading.set_header()
            if reading.read_only == _NO_META:
                reading.read_only = None
        elif reading.lines:
            reading.read_only = _NO_META
            reading.add_tail_finding("no-header", "no readable meta row; opened read-only", line=1)
            reading.header = _header_from_name(self._path)


# -- what rows say ----------------------------------------------------------------------------------------


def _is_silent(block: AnswerBlock) -> bool:
    """A call, or a text without words."""
    is_call = block.name is not None and block.id is not None
    return is_call or not block.text or block.text.isspace()


def _result_count(message: dict[str, Any]) -> int:
    """How many entries a message row is: one, or in a row of tool results one for each."""
    content = message.get("content")
    if message.get("role") != "tool" or not isinstance(content, list):
        return 1
    return max(1, len(content))


def _header_from_name(path: str) -> Header | None:
    found = _NAME.search(path)
    if found is None:
        return None
    year, month, day, hour, minute, second, session = found.groups()
    return Header(id=session, timestamp=f"{year}-{month}-{day}T{hour}:{minute}:{second}.000Z")
