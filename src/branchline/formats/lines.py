"""What all line formats share: lines in order, damage contained, findings with line and offset.

A format says how one JSON object becomes an entry (:meth:`LinesReader.take`), how a record begins (to find
whole ones behind a fragment), what a damaged line still tells, and where the leaf is. Everything that can go
wrong with a line is handled here, once.

- A byte order mark, blank lines and carriage returns are accepted.
- An unreadable line is read piece by piece: whole records at its start, then from the first place on from
  which the rest of the line is whole records. What lies between is the fragment, reported.
- A fragment that still tells its id and parent becomes a placeholder, so that the path stays whole.
- An unterminated last line is read if it is whole.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from branchline.entries import jsontext
from branchline.entries.skeleton import Fragment
from branchline.formats.base import Block, Reading
from branchline.tree import Kind, Linker, Tree

__all__ = ["Bulk", "LinesReader", "Piece", "pieces"]

_BOM = b"\xef\xbb\xbf"
_T = TypeVar("_T")


class Piece(NamedTuple):
    """A part of a line: a whole record, or bytes that are none."""

    start: int
    data: bytes
    whole: bool


class Bulk(NamedTuple):
    """Lines of a chunk of which each holds exactly one value, and where each line ends."""

    values: Sequence[Any]
    ends: list[int]


class LinesReader:
    """Reads a log line by line into a :class:`Reading`. Subclasses say what the lines mean."""

    format_name: str
    markers: tuple[bytes, ...] = (b'{"type":"',)
    """How a record begins."""
    linker: Callable[[Tree], Linker] = Linker

    def __init__(self) -> None:
        self.reading = Reading(self.format_name)
        self.reading.linker = self.linker(self.reading.tree)
        self.gap = False
        """Whether the line before could not be read and left no placeholder."""

    # -- what a format says ---------------------------------------------------------------------------

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        """One JSON object; use :meth:`add` for an entry, ``reading.note`` for what is odd."""
        raise NotImplementedError

    def take_regular(self, data: bytes, end: int, offset: int) -> bool:
        """Many lines at once, if all are in good order; False, and nothing done, when one is not."""
        del data, end, offset
        return False

    def fragment(self, data: bytes) -> Fragment | None:
        """Id and parent that a damaged piece still tells."""
        del data
        return None

    def find_leaf(self) -> int:
        """The position where the file stands; the last entry unless the format says otherwise."""
        tree = self.reading.tree
        position = len(tree) - 1
        while position in tree.placeholders:
            position -= 1
        return position

    def settled(self) -> None:
        """Everything was read: fill in what could not be known before."""

    # -- what is the same for all ---------------------------------------------------------------------

    def feed(self, data: bytes, end: int) -> None:
        reading = self.reading
        offset = reading.consumed
        if self.gap or not reading.lines or not self.take_regular(data, end, offset):
            for line in data[: end - 1].split(b"\n"):
                self._feed_line(line, offset)
                offset += len(line) + 1
        reading.consumed += end

    def finish(self, tail: bytes) -> None:
        reading = self.reading
        if tail:
            reading.unterminated = True
            self._feed_line(tail, reading.consumed)
            reading.note(
                "no-final-newline",
                "the last line has no newline",
                line=reading.lines,
                offset=reading.consumed,
                size=len(tail),
            )
        if not reading.consumed and not tail:
            reading.read_only = "it is empty"
            reading.note("empty", "the file is empty")
        reading.linker.settle()
        self.settled()
        reading.leaf = self.find_leaf()

    def add(
        self,
        entry_id: str,
        parent_id: str | None,
        line: bytes,
        offset: int,
        *,
        type: str,  # noqa: A002
        time: str = "",
        role: str | None = None,
        quiet: bool = False,
    ) -> int:
        """Put one entry into the tree and return its position."""
        reading = self.reading
        position = reading.linker.add(
            entry_id, parent_id, type=type, time=time, role=role, quiet=quiet, after_gap=self.gap
        )
        self.gap = False
        reading.place(position, offset, len(line), reading.lines)
        return position

    def add_block(self, first: int, offset: int, ends: list[int]) -> None:
        """Say where the entries lie that were just linked together, one on each line."""
        reading = self.reading
        reading.blocks.append(Block(first, offset, reading.lines + 1, array("q", ends)))
        reading.lines += len(ends)

    def note_not_an_entry(self, what: str, line: bytes, offset: int) -> None:
        self.gap = False
        reading = self.reading
        reading.note(
            "not-an-entry", f"not an entry: {what}", line=reading.lines, offset=offset, size=len(line)
        )

    def _feed_line(self, line: bytes, offset: int) -> None:
        reading = self.reading
        reading.lines += 1
        if reading.lines == 1 and line.startswith(_BOM):
            reading.note("bom", "the file begins with a byte order mark", line=1)
            offset += len(_BOM)
            line = line[len(_BOM) :]
        if not line.strip():
            return
        try:
            value = jsontext.loads(line)
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
        found = pieces(line, self.markers)
        glued = any(piece.whole for piece in found)
        kind: Kind = "glued" if glued else "unreadable"
        for piece in found:
            if piece.whole:
                self._take_value(jsontext.loads(piece.data), piece.data, offset + piece.start)
                continue
            place = offset + piece.start
            rest = self.fragment(piece.data)
            message = f"unreadable ({reason}), {len(piece.data)} bytes"
            if glued:
                message = f"a fragment of {len(piece.data)} bytes stands beside an entry in the same line"
            if rest is None:
                self.gap = True
            else:
                message += f"; entry {rest.id} keeps its place in the tree"
                position = reading.linker.add(
                    rest.id, rest.parent, type="damaged", placeholder=True, after_gap=self.gap
                )
                self.gap = False
                reading.place(position, place, len(piece.data), reading.lines)
            reading.note(kind, message, line=reading.lines, offset=place, size=len(piece.data))
        if glued and all(piece.whole for piece in found):
            message = f"{len(found)} entries stand in one line"
            reading.note("glued", message, line=reading.lines, offset=offset, size=len(line))


# -- lines that hold something else than one record -------------------------------------------------------

_decoder = json.JSONDecoder()
_ATTEMPTS = 256  # places in one line from which the rest is tried: a hostile line must not cost its square


def pieces(line: bytes, markers: tuple[bytes, ...]) -> list[Piece]:
    """Whole records at the start of a line, then the fragment, then the whole records behind it."""
    text = line.decode("latin-1")  # one character per byte; JSON's own signs are ASCII
    size = len(text.rstrip(" \t\r"))
    start, found = _whole_records(line, text, 0)
    if start >= size:
        return found
    for place in _places(line, markers, start + 1):
        end, rest = _whole_records(line, text, place)
        if rest and end >= size:
            return [*found, Piece(start, line[start:place], whole=False), *rest]
    return [*found, Piece(start, line[start:], whole=False)]


def _whole_records(line: bytes, text: str, start: int) -> tuple[int, list[Piece]]:
    """The JSON objects that follow each other from here, and where the last one ends."""
    found = []
    place = start
    while place < len(text):
        if text[place] in " \t\r":
            place += 1
            continue
        try:
            value, end = _decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            break
        if not isinstance(value, dict):
            break
        found.append(Piece(place, line[place:end], whole=True))
        start = place = end
    return start, found


def _places(line: bytes, markers: tuple[bytes, ...], start: int) -> list[int]:
    """The first places where a record may begin."""
    found: set[int] = set()
    for marker in markers:
        place = line.find(marker, start)
        while place >= 0 and len(found) < _ATTEMPTS:
            found.add(place)
            place = line.find(marker, place + 1)
    return sorted(found)


# -- many lines at once -----------------------------------------------------------------------------------


def bulk(data: bytes, end: int, decode_lines: Callable[[memoryview], Sequence[_T]]) -> Bulk | None:
    """Decode the lines in ``data[:end]`` if each of them holds exactly one object; else None.

    ``decode_lines`` goes by values, not by lines. Where every line begins with a brace and ends with one, no
    value goes over the end of a line (inside a value ``}`` is never followed by ``{``), and as many values as
    lines means one on each.
    """
    ends = newlines(data, end)
    if not _each_in_braces(data, ends):
        return None
    try:
        values = decode_lines(memoryview(data)[:end])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return Bulk(values, ends) if len(values) == len(ends) else None


def newlines(data: bytes, end: int) -> list[int]:
    """Where the newlines are."""
    found = []
    find = data.find
    position = find(b"\n", 0, end)
    while position >= 0:
        found.append(position)
        position = find(b"\n", position + 1, end)
    return found


def _each_in_braces(data: bytes, ends: list[int]) -> bool:
    inner = ends[:-1]
    after = memoryview(data)[1:]
    return (
        data[:1] == b"{"
        and data[ends[-1] - 1 : ends[-1]] == b"}"
        and not set(map(data.__getitem__, [end - 1 for end in inner])) - {0x7D}
        and not set(map(after.__getitem__, inner)) - {0x7B}
    )
