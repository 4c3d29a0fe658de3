"""The one line reader: bulk decoding, lenient decoding and damage, the same for every line format.

A format decodes many lines into typed rows in one call (:meth:`LineReader.decode_rows`), makes the same rows
from objects that its typed decoder refuses (:meth:`LineReader.take`), and interprets rows in one place
(:meth:`LineReader.take_rows`). Everything that can go wrong with a line is handled here, once:

- A byte order mark, blank lines and carriage returns are accepted.
- An unreadable line is read piece by piece: whole records at its start, then from the first place on from
  which the rest of the line is whole records. The bytes in between are the fragment, reported.
- A fragment with a readable id and parent becomes a placeholder, so that the path stays whole.
- An unterminated last line is read if it is whole.
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
    """A part of a line: a whole record, or bytes that are none."""

    start: int
    data: bytes
    whole: bool


class Lines:
    """Consecutive lines of some data, each with one row on it."""

    __slots__ = ("_data", "_start", "_stops", "alone", "number", "offset")

    def __init__(
        self, data: bytes, start: int, stops: list[int], offset: int, number: int, *, alone: bool
    ) -> None:
        self._data = data
        self._start = start
        self._stops = stops
        self.offset = offset
        """Where the first line starts in the log."""
        self.number = number
        """The number of the first line."""
        self.alone = alone
        """Whether this is one row that has to be taken, whatever it is."""

    def __getitem__(self, index: int) -> bytes:
        return self._data[self._stops[index - 1] + 1 if index else self._start : self._stops[index]]

    def span(self, index: int) -> ByteRange:
        """The byte range of a line in the log."""
        start = self._stops[index - 1] + 1 if index else self._start
        return ByteRange(self.offset + start - self._start, self._stops[index] - start)

    def tails(self, size: int) -> Iterator[bytes]:
        """The last bytes of each line, this many at most, without blanks around the row."""
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
        """Where each line ends, counted from ``offset``."""
        start = self._start
        return [stop - start for stop in self._stops] if start else self._stops


class LineReader:
    """Reads a log line by line into a :class:`LogIndex`. Subclasses say what the lines mean."""

    format_name: str
    markers: tuple[bytes, ...] = (b'{"type":"',)
    """How a record begins."""

    begins_with_header: bool = True
    """Whether the first line of a file differs from the others, so that it is read by itself."""
    headers: int = 3
    """How many such lines there may be, where they begin alike."""

    def __init__(self, reading: LogIndex | None = None) -> None:
        """``reading`` is what is filled, where a format keeps more than others do."""
        self.reading = LogIndex(self.format_name) if reading is None else reading
        self.gap = False
        """Whether the line before could not be read and left no placeholder."""

    # -- what a format says ---------------------------------------------------------------------------

    def decode_rows(self, data: memoryview) -> Sequence[Any]:
        """The typed rows of many lines; raises what msgspec raises where one of them is unusual."""
        raise NotImplementedError

    def take_rows(self, rows: Sequence[Any], lines: Lines) -> bool:
        """Interpret rows, one on each of these lines; the only place that does.

        False, and nothing done, if they have to be taken one at a time. A row that stands alone
        (``lines.alone``) is always taken.
        """
        raise NotImplementedError

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        """An object that may be a header, a row of another shape, or no row.

        A format makes its typed row of the fields and hands it to :meth:`take_one`.
        """
        raise NotImplementedError

    def takes_rows(self) -> bool:
        """Whether rows may be taken now, or the next line needs a look of its own, as a header does."""
        return True

    def loads(self, line: bytes) -> Any:
        """The JSON value of a line; ValueError where it is none."""
        return json_codec.loads(line)

    def salvage(self, data: bytes) -> SalvagedIds | None:
        """The readable id and parent of a damaged fragment."""
        del data
        return None

    def is_record(self, data: bytes) -> bool:
        """Whether a whole object found in a damaged line is a record, and not a part of one."""
        del data
        return True

    def on_lost_line(self, data: bytes, offset: int) -> None:
        """A damaged fragment has no readable ids; its line is ``reading.lines``."""

    def find_leaf(self) -> int:
        """The position of the leaf; the last entry unless the format says otherwise."""
        tree = self.reading.tree
        position = len(tree) - 1
        while position in tree.placeholders:
            position -= 1
        return position

    def on_finish(self) -> None:
        """Everything was read: fill in what could not be known before."""

    def saved_state(self) -> bytes | None:
        """What this reader knows beside its index, for :meth:`restore_state`; None if it cannot be saved.

        Called after :meth:`finish`.
        """
        return None

    def restore_state(self, state: bytes) -> None:
        """Continue where the reader stood that saved this state; the index is restored already."""
        raise NotImplementedError

    # -- what is the same for all ---------------------------------------------------------------------

    def feed(self, data: bytes, end: int) -> None:
        """Take whole lines: together if possible, else in halves, down to the unusual lines."""
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
        """Take one line, given without its newline, that follows what was fed before."""
        reading = self.reading
        if not self._take_whole(line):
            self._feed_line(line, reading.consumed)
        reading.consumed += len(line) + 1

    def _take_whole(self, line: bytes) -> bool:
        """Take a line as one row, without a copy of it."""
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
        """Take the lines in ``data[start:end]`` together, if each of them holds exactly one row.

        A typed decoder goes by values, not by lines. Where every line begins with a brace and ends with one,
        no value goes over the end of a line (inside a value ``}`` is never followed by ``{``), and as many
        values as lines means one on each.
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
        """Take a row that was made of the object on this line, or of a part of a damaged line."""
        taken = self.take_rows((row,), Lines(line, 0, [len(line)], offset, self.reading.lines, alone=True))
        assert taken, "a row that stands alone is always taken"
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

        ``quiet`` are the positions of answers without text. ``counts`` says how many entries each line is,
        where that is not one. False, and nothing done, if the entries have to be linked one at a time.
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

        ``held_by`` says for each entry which of these lines it is in, where each line is not one entry.
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
                array("q", map(ends.__getitem__, held_by)),
                array("q", map(starts.__getitem__, held_by)),
                array("q", held_by),
            )
            reading.blocks.append(chunk)

    def note_not_an_entry(self, what: str, line: bytes, offset: int) -> None:
        self.gap = False
        reading = self.reading
        reading.add_finding(
            "not-an-entry", f"not an entry: {what}", line=reading.lines, offset=offset, size=len(line)
        )

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
    """For each entry the line that it is in, if lines hold so many entries; None if each holds one."""
    if counts.count(1) == len(counts):
        return None
    return list(chain.from_iterable(map(repeat, range(len(counts)), counts)))


# -- lines that hold something else than one record -------------------------------------------------------

_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)")
_TRIES = 16  # a torn record leaves two or three objects open; a line that needs more tries was made to hurt
_CAREFUL_TRIES = 4


class _Anything(msgspec.Struct, gc=False):
    """Every object fits; nothing of it is kept."""


_skip = msgspec.json.Decoder(_Anything).decode


def head_lines(head: bytes, count: int = -1) -> Iterator[bytes]:
    """The lines at the beginning of a file, as many as asked for, the last one perhaps cut off.

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
    is_ours: Callable[[dict[str, Any]], bool],
    may_be_ours: Callable[[dict[str, Any]], bool],
) -> bool:
    """Whether a file begins with records of a program, among its first ``most`` lines.

    The first object decides that ``is_ours`` accepts, or that not even ``may_be_ours`` does. A line that is
    no JSON, such as the last one, which may be cut off, decides if it begins as ``cut`` says.
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
            if is_ours(fields):
                return True
            if not may_be_ours(fields):
                return False
    return False


def each_line(data: bytes, end: int, start: int = 0) -> Iterator[bytes]:
    """The lines in ``data[start:end]``, one after the other and without their newlines."""
    while start < end:
        stop = data.index(b"\n", start)
        yield data[start:stop]
        start = stop + 1


def split_records(
    line: bytes, markers: tuple[bytes, ...], is_record: Callable[[bytes], bool] | None = None
) -> list[LinePart]:
    """Whole records at the start of a line, then the fragment, then the whole records behind it.

    Behind a fragment only what goes on in whole records to the end of the line counts: anything else may be a
    part of the fragment itself. ``is_record`` says whether an object is a record, where not every one is.
    """
    text = cache(lambda: line.decode("latin-1"))  # one character per byte; JSON's own signs are ASCII
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
        # What begins inside a whole object, or inside a chain of them, ends where these end.
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
    """The JSON objects that follow each other from here, and where the next one is not whole."""
    found: list[LinePart] = []
    while start < len(line):
        end = _object_end(line, text, start, with_care=with_care)
        if end is None:
            break
        whole = line[start:end]
        if is_record is not None and not is_record(whole):
            break
        blanks = len(whole) - len(whole.lstrip())
        found.append(LinePart(start + blanks, whole.strip(), whole=True))
        start = end
    return found, start


@cache
def _lenient() -> json.JSONDecoder:
    import json  # noqa: PLC0415  hardly ever

    return json.JSONDecoder(parse_int=len, parse_float=len)  # numbers of any length cost nothing


def _object_end(line: bytes, text: Callable[[], str], start: int, *, with_care: bool) -> int | None:
    """Where the object that starts here ends (blanks behind it count as part of it), or None."""
    try:
        _skip(memoryview(line)[start:])
    except msgspec.ValidationError:
        return None  # JSON, but no object
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
    try:  # the standard library reads some objects that the fast parser refuses
        value, end = _lenient().raw_decode(text(), start)
    except (ValueError, RecursionError):
        return None
    return len(line) - len(line[end:].lstrip()) if isinstance(value, dict) else None


# -- many lines at once -----------------------------------------------------------------------------------


def _stops_of_objects(data: bytes, start: int, end: int) -> list[int] | None:
    """Where the lines end, if each begins and ends with a brace; else None."""
    stops = []
    find, at = data.find, start
    while at < end:
        stop = find(b"\n", at)
        if data[at] != _OPENING or data[stop - 1] != _CLOSING:
            return None
        stops.append(stop)
        at = stop + 1
    return stops
