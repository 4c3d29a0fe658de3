"""The line reader of every line format: bulk decoding, lenient decoding and damage.

A format decodes many lines into typed rows in one call (:meth:`LineReader.decode_rows`), makes the same rows
from objects that its typed decoder rejects (:meth:`LineReader.take`), and interprets rows in one place
(:meth:`LineReader.take_rows`). All damage is handled here:

- A byte order mark, blank lines and carriage returns are accepted.
- An unreadable line is split: whole records at its start, then whole records from the first position from
  which they reach the end of the line. The bytes in between are the fragment, which is reported.
- A fragment with a readable id and parent becomes a placeholder, so the path stays connected.
- An unterminated last line is read if it is complete.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from branchline.entries import json_codec
from branchline.entries.skeleton import SalvagedIds
from branchline.formats.log_index import ByteRange, LineChunk, LogIndex
from branchline.tree import Kind

if TYPE_CHECKING:
    import json

__all__ = [
    "LinePart",
    "LineReader",
    "Lines",
    "each_line",
    "head_lines",
    "holders",
    "split_records",
]

_BOM = b"\xef\xbb\xbf"
_EMPTY = "it is empty"
_BLANK_LINES = re.compile(rb"[ \t\r\v\f\n]*\n")
_SAME = 14  # bytes that distinguish one kind of line from another: {"type":"meta"
_OPENING, _CLOSING = b"{}"
_REFUSED = (msgspec.MsgspecError, ValueError, RecursionError)  # what a typed decoder raises


class LinePart(NamedTuple):
    """A part of a line: a whole record, or a fragment."""

    start: int
    data: bytes
    whole: bool


class Lines:
    """Consecutive lines, each with one row."""

    __slots__ = ("_data", "_start", "_stops", "alone", "number", "offset")

    def __init__(
        self, data: bytes, start: int, stops: list[int], offset: int, number: int, *, alone: bool
    ) -> None:
        self._data = data
        self._start = start
        self._stops = stops
        self.offset = offset
        """The offset of the first line in the log."""
        self.number = number
        """The number of the first line."""
        self.alone = alone
        """Whether this is a single row that must be added, whatever it is."""

    def __getitem__(self, index: int) -> bytes:
        return self._data[self._stops[index - 1] + 1 if index else self._start : self._stops[index]]

    def span(self, index: int) -> ByteRange:
        """Return the byte range of a line in the log."""
        start = self._stops[index - 1] + 1 if index else self._start
        return ByteRange(self.offset + start - self._start, self._stops[index] - start)

    def tails(self, size: int) -> Iterator[bytes]:
        """Yield the last bytes of each line, at most ``size``, without surrounding whitespace."""
        if self.alone:
            yield self[0].strip()[-size:]
            return
        data, start = self._data, self._start
        for stop in self._stops:
            first = stop - size
            yield data[first if first > start else start : stop]  # noqa: FURB136  a call costs more
            start = stop + 1

    @property
    def ends(self) -> list[int]:
        """The end of each line, relative to ``offset``."""
        start = self._start
        return [stop - start for stop in self._stops] if start else self._stops


class LineReader:
    """Reads a log line by line into a :class:`LogIndex`. Subclasses interpret the lines."""

    format_name: str
    markers: tuple[bytes, ...] = (b'{"type":"',)
    """How a record begins."""

    begins_with_header: bool = True
    """Whether the first line of a file differs from the others, so that it is read separately."""
    headers: int = 3
    """The maximum number of such lines, if they begin alike."""

    def __init__(self, reading: LogIndex | None = None) -> None:
        """Create a reader that fills ``reading``, which a format may derive from :class:`LogIndex`."""
        self.reading = LogIndex(self.format_name) if reading is None else reading
        self.gap = False
        """Whether the previous line was unreadable and left no placeholder."""

    # -- what a format says ---------------------------------------------------------------------------

    def decode_rows(self, data: memoryview) -> Sequence[Any]:
        """Return the typed rows of many lines; raises msgspec's errors if one of them is unusual."""
        raise NotImplementedError

    def take_rows(self, rows: Sequence[Any], lines: Lines) -> bool:
        """Interpret rows, one on each of these lines; the only place that does.

        Returns False, with nothing done, if they must be added one at a time. A single row (``lines.alone``)
        is always added.
        """
        raise NotImplementedError

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        """Interpret an object that may be a header, a row of unusual shape, or not a row.

        A format makes its typed row from the fields and passes it to :meth:`take_one`.
        """
        raise NotImplementedError

    def takes_rows(self) -> bool:
        """Return whether rows can be added now, or the next line needs separate treatment, like a header."""
        return True

    def loads(self, line: bytes) -> Any:
        """Return the JSON value of a line. Raises ValueError if it is not JSON."""
        return json_codec.loads(line)

    def salvage(self, data: bytes) -> SalvagedIds | None:
        """Return the readable id and parent of a damaged fragment."""
        del data
        return None

    def is_record(self, data: bytes) -> bool:
        """Return whether a whole object found in a damaged line is a record, not a part of one."""
        del data
        return True

    def on_lost_line(self, data: bytes, offset: int) -> None:
        """Handle a damaged fragment without readable ids; its line is ``reading.lines``."""

    def find_leaf(self) -> int:
        """Return the position of the leaf; the last entry unless the format says otherwise."""
        tree = self.reading.tree
        position = len(tree) - 1
        while position in tree.placeholders:
            position -= 1
        return position

    def on_finish(self) -> None:
        """Fill in what is known only after everything was read."""

    def saved_state(self) -> bytes | None:
        """Return this reader's state beyond its index, for :meth:`restore_state`; None if it cannot be saved.

        Called after :meth:`finish`.
        """
        return None

    def restore_state(self, state: bytes) -> None:
        """Restore the state of the reader that saved it; the index is restored already."""
        raise NotImplementedError

    # -- what is the same for all ---------------------------------------------------------------------

    def feed(self, data: bytes, end: int) -> None:
        """Read complete lines: together if possible, else in halves, down to the unusual lines."""
        reading = self.reading
        first = 0
        if not reading.lines and (self.begins_with_header or data.startswith(_BOM)):
            opening = data[: min(_SAME, data.index(b"\n") + 1)]
            for _ in range(self.headers):
                if first == end or not data.startswith(opening, first):
                    break
                stop = data.index(b"\n", first)
                self._feed_line(data[first:stop], reading.consumed)
                reading.consumed += stop + 1 - first
                first = stop + 1
        waiting = [(first, end)]
        while waiting:
            start, stop = waiting.pop()
            if start == stop or self._take_chunk(data, start, stop):
                continue
            if blank := _BLANK_LINES.match(data, start, stop):
                reading.lines += data.count(b"\n", start, blank.end())
                reading.consumed += blank.end() - start
                waiting.append((blank.end(), stop))
                continue
            middle = data.rfind(b"\n", start, (start + stop) // 2) + 1 or data.index(b"\n", start) + 1
            if middle < stop:
                waiting += ((middle, stop), (start, middle))
                continue
            self._feed_line(data[start : stop - 1], reading.consumed)
            reading.consumed += stop - start

    def feed_line(self, line: bytes) -> None:
        """Read one line, given without its newline, that follows those fed before."""
        reading = self.reading
        if not self._take_whole(line):
            self._feed_line(line, reading.consumed)
        reading.consumed += len(line) + 1

    def _take_whole(self, line: bytes) -> bool:
        """Add a line as one row, without copying it."""
        reading = self.reading
        if not reading.lines or self.gap or not self.takes_rows():
            return False
        try:
            rows = self.decode_rows(memoryview(line))
        except _REFUSED:
            return False
        if len(rows) != 1 or line[:1] != b"{" or line[-1:] != b"}":
            return False
        lines = Lines(line, 0, [len(line)], reading.consumed, reading.lines + 1, alone=False)
        if not self.take_rows(rows, lines):
            return False
        reading.lines += 1
        return True

    def _take_chunk(self, data: bytes, start: int, end: int) -> bool:
        """Add the lines in ``data[start:end]`` together, if each of them holds exactly one row.

        A typed decoder splits by values, not by lines. If every line begins and ends with a brace, no value
        crosses a line end (inside a value ``}`` is never followed by ``{``), and as many values as lines
        means one per line.
        """
        reading = self.reading
        if self.gap or not self.takes_rows():
            return False
        try:  # first, because it stops at the first value that does not fit
            rows = self.decode_rows(memoryview(data)[start:end])
        except _REFUSED:
            return False
        stops = _stops_of_objects(data, start, end)
        if stops is None or len(rows) != len(stops):
            return False
        lines = Lines(data, start, stops, reading.consumed, reading.lines + 1, alone=False)
        if not self.take_rows(rows, lines):
            return False
        reading.lines += len(rows)
        reading.consumed += end - start
        return True

    def take_one(self, row: Any, line: bytes, offset: int) -> None:
        """Add a row made from the object on this line, or from a part of a damaged line."""
        taken = self.take_rows((row,), Lines(line, 0, [len(line)], offset, self.reading.lines, alone=True))
        assert taken, "a single row is always added"
        self.gap = False

    def finish(self, tail: bytes) -> None:
        reading = self.reading
        reading.end_notes.clear()
        if reading.read_only == _EMPTY:
            reading.read_only = None
        if tail:
            reading.unterminated = True
            self._feed_line(tail, reading.consumed)
            reading.add_finding(
                "no-final-newline",
                "the last line has no newline",
                line=reading.lines,
                offset=reading.consumed,
                size=len(tail),
            )
        elif not reading.consumed:
            reading.read_only = _EMPTY
            reading.add_tail_finding("empty", "the file is empty")
        reading.linker.resolve()
        self.on_finish()
        reading.leaf = self.find_leaf()

    def link(
        self,
        lines: Lines,
        ids: list[str],
        parents: list[str | None],
        *,
        types: list[str],
        times: Iterable[str],
        roles: list[str | None],
        quiet: Collection[int] = (),
        counts: Sequence[int] | None = None,
    ) -> bool:
        """Add the entries of these lines to the tree and record their byte ranges.

        ``quiet`` are the positions of textless answers. ``counts`` is the number of entries per line, if not
        one each. Returns False, with nothing done, if the entries must be linked one at a time.
        """
        reading = self.reading
        first = len(reading.tree.keys)
        if lines.alone:
            for position, (key, parent, kind, time, role) in enumerate(
                zip(ids, parents, types, times, roles, strict=True), first
            ):
                reading.linker.add(
                    key,
                    parent,
                    type=kind,
                    time=time,
                    role=role,
                    quiet=position in quiet,
                    after_gap=self.gap,
                )
                self.gap = False
        elif not reading.linker.extend(ids, parents, types, times, roles, quiet):
            return False
        self.locate(first, lines, None if counts is None else holders(counts))
        return True

    def locate(self, first: int, lines: Lines, held_by: Sequence[int] | None = None) -> None:
        """Record the byte ranges of the entries from ``first`` on.

        ``held_by`` is the line index of each entry, if lines do not hold one entry each.
        """
        reading = self.reading
        ends = lines.ends
        if lines.alone:
            for position in range(first, first + (1 if held_by is None else len(held_by))):
                reading.add_range(position, lines.offset, ends[0], lines.number)
        elif held_by is None:
            reading.blocks.append(LineChunk(first, lines.offset, lines.number, array("q", ends)))
        elif held_by:
            starts = [0, *map((1).__add__, ends)]
            chunk = LineChunk(
                first,
                lines.offset,
                lines.number,
                array("q", list(map(ends.__getitem__, held_by))),  # a list is copied faster than iterated
                array("q", list(map(starts.__getitem__, held_by))),
                array("q", held_by),
            )
            reading.blocks.append(chunk)

    def report(self, kind: Kind, message: str, line: bytes, offset: int) -> None:
        """Add a finding about the current line, or about a part of it."""
        self.reading.add_finding(kind, message, line=self.reading.lines, offset=offset, size=len(line))

    def note_not_an_entry(self, what: str, line: bytes, offset: int) -> None:
        self.gap = False
        self.report("not-an-entry", f"not an entry: {what}", line, offset)

    def _feed_line(self, line: bytes, offset: int) -> None:
        reading = self.reading
        reading.lines += 1
        if reading.lines == 1 and line.startswith(_BOM):
            reading.add_finding("bom", "the file begins with a byte order mark", line=1)
            offset += len(_BOM)
            line = line[len(_BOM) :]
        if not line or line.isspace():
            return
        try:
            value = self.loads(line)
        except ValueError as reason:
            self._feed_damaged(line, offset, str(reason))
            return
        self._take_value(value, line, offset)

    def _take_value(self, value: Any, line: bytes, offset: int) -> None:
        if isinstance(value, dict):
            self.take(value, line, offset)
        else:
            self.note_not_an_entry("no object", line, offset)

    def _feed_damaged(self, line: bytes, offset: int, reason: str) -> None:
        reading = self.reading
        found = split_records(line, self.markers, self.is_record)
        glued = any(piece.whole for piece in found)
        kind: Kind = "glued" if glued else "unreadable"
        for piece in found:
            if piece.whole:
                self._take_value(self.loads(piece.data), piece.data, offset + piece.start)
                continue
            place = offset + piece.start
            rest = self.salvage(piece.data)
            message = f"unreadable ({reason}), {len(piece.data)} bytes"
            if glued:
                message = (
                    f"a fragment of {len(piece.data)} bytes precedes or follows an entry in the same line"
                )
            if rest is None:
                self.gap = True
                self.on_lost_line(piece.data, place)
            else:
                message += f"; entry {rest.id} keeps its place in the tree"
                position = reading.linker.add(
                    rest.id, rest.parent, type="damaged", placeholder=True, after_gap=self.gap
                )
                self.gap = False
                reading.add_range(position, place, len(piece.data), reading.lines)
            reading.add_finding(kind, message, line=reading.lines, offset=place, size=len(piece.data))
        if glued and all(piece.whole for piece in found):
            message = f"{len(found)} entries are in one line"
            reading.add_finding("glued", message, line=reading.lines, offset=offset, size=len(line))


def holders(counts: Sequence[int]) -> list[int] | None:
    """Return the line index of each entry, for this many entries per line; None if each line holds one."""
    if counts.count(1) == len(counts):
        return None
    return list(chain.from_iterable(map(repeat, range(len(counts)), counts)))


# -- lines that hold something else than one record -------------------------------------------------------

_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)")
_TRIES = 16  # a torn record leaves two or three objects open; a line that needs more tries is malicious
_CAREFUL_TRIES = 4


class _Anything(msgspec.Struct, gc=False):
    """Accepts every object and keeps nothing."""


_skip = msgspec.json.Decoder(_Anything).decode


def head_lines(head: bytes, count: int = -1) -> Iterator[bytes]:
    """Yield the first lines of a file, at most ``count``; the last one may be truncated.

    Lazy, because most formats recognize a file by its first line.
    """
    start = 3 if head.startswith(_BOM) else 0
    while count and (stop := head.find(b"\n", start)) >= 0:
        yield head[start:stop]
        start = stop + 1
        count -= 1
    if count:
        yield head[start:]


def begins_as(
    head: bytes,
    most: int,
    *,
    cut: re.Pattern[bytes],
    matches: Callable[[dict[str, Any]], bool],
    may_match: Callable[[dict[str, Any]], bool],
) -> bool:
    """Return whether a file begins with records of an agent, within its first ``most`` lines.

    The first object decides that ``matches`` accepts or that ``may_match`` rejects. A line that is not
    JSON, such as a truncated last one, decides if ``cut`` matches it.
    """
    for line in head_lines(head, most):
        if not line.strip():
            continue
        try:
            fields = json_codec.loads(line)
        except ValueError:
            if cut.match(line):
                return True
            continue
        if isinstance(fields, dict):
            if matches(fields):
                return True
            if not may_match(fields):
                return False
    return False


def each_line(data: bytes, end: int, start: int = 0) -> Iterator[bytes]:
    """Yield the lines in ``data[start:end]``, without their newlines."""
    while start < end:
        stop = data.index(b"\n", start)
        yield data[start:stop]
        start = stop + 1


def split_records(
    line: bytes, markers: tuple[bytes, ...], is_record: Callable[[bytes], bool] | None = None
) -> list[LinePart]:
    """Return the whole records at the start of a line, then the fragment, then the whole records after it.

    After a fragment, records count only if they reach the end of the line without a gap: anything else may be
    part of the fragment. ``is_record`` decides whether an object is a record, if not every object is.
    """
    text = cache(lambda: line.decode("latin-1"))  # one character per byte; JSON syntax is ASCII
    found, start = _whole_records(line, text, 0, with_care=True, is_record=is_record)
    if start == len(line):
        return found
    places = _any_of(markers)
    place = places.search(line, start + 1)
    tries = 0
    while place is not None and tries < _TRIES:
        first = place.start()
        rest, end = _whole_records(line, text, first, with_care=tries < _CAREFUL_TRIES, is_record=is_record)
        if end == len(line):
            return [*found, LinePart(start, line[start:first], whole=False), *rest]
        tries += end == first
        # Any object that begins inside a whole object, or a chain of them, also ends there.
        place = places.search(line, max(end, first + 1))
    return [*found, LinePart(start, line[start:], whole=False)]


@cache
def _any_of(markers: tuple[bytes, ...]) -> re.Pattern[bytes]:
    return re.compile(b"|".join(map(re.escape, markers)))


def _whole_records(
    line: bytes,
    text: Callable[[], str],
    start: int,
    *,
    with_care: bool,
    is_record: Callable[[bytes], bool] | None,
) -> tuple[list[LinePart], int]:
    """Return the consecutive JSON objects from ``start`` on, and the offset of the first incomplete one."""
    found: list[LinePart] = []
    while start < len(line):
        end = _object_end(line, text, start, with_care=with_care)
        if end is None:
            break
        whole = line[start:end]
        if is_record is not None and not is_record(whole):
            break
        spaces = len(whole) - len(whole.lstrip())
        found.append(LinePart(start + spaces, whole.strip(), whole=True))
        start = end
    return found, start


@cache
def _lenient() -> json.JSONDecoder:
    import json  # noqa: PLC0415  hardly ever

    return json.JSONDecoder(parse_int=len, parse_float=len)  # avoids converting long numbers


def _object_end(line: bytes, text: Callable[[], str], start: int, *, with_care: bool) -> int | None:
    """Return where the object at ``start`` ends, including whitespace after it, or None."""
    try:
        _skip(memoryview(line)[start:])
    except msgspec.ValidationError:
        return None  # JSON, but not an object
    except msgspec.DecodeError as reason:
        if trailing := _TRAILING.search(str(reason)):
            return start + int(trailing[1]) - 1
        if json_codec.is_hopeless(line, str(reason)):
            return None
    except RecursionError:
        return None
    else:
        return len(line)
    if not with_care or line[start : start + 1] != b"{":
        return None
    try:  # the standard library accepts some objects that the fast parser rejects
        value, end = _lenient().raw_decode(text(), start)
    except (ValueError, RecursionError):
        return None
    return len(line) - len(line[end:].lstrip()) if isinstance(value, dict) else None


# -- many lines at once -----------------------------------------------------------------------------------


def _stops_of_objects(data: bytes, start: int, end: int) -> list[int] | None:
    """Return the line ends, if each line begins and ends with a brace; else None."""
    stops = []
    find, at = data.find, start
    while at < end:
        stop = find(b"\n", at)
        if data[at] != _OPENING or data[stop - 1] != _CLOSING:
            return None
        stops.append(stop)
        at = stop + 1
    return stops
