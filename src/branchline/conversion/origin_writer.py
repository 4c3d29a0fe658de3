"""Stores the original bytes with native lines that could not reproduce them."""

from __future__ import annotations

from itertools import pairwise

from branchline.conversion.fallbacks import to_native
from branchline.conversion.origin import HeaderOrigin, Origin, with_head_origin, with_origin
from branchline.conversion.output_buffer import REFUSALS, OutputBuffer
from branchline.entries import Entry, Header, decode_entry, encode_entry
from branchline.formats.entry_log import EntryLog
from branchline.tree import ROOT

__all__ = ["OriginWriter"]


class OriginWriter:
    """Writes the native lines of another agent's session, in the order of its file.

    With ``whole``, all entries are converted: text between lines is kept too, and a line is not kept if its
    format writes the same bytes for the native entry. A part of a file may be restored into another file, so
    every line is kept.
    """

    def __init__(self, source: EntryLog, *, whole: bool, carried: list[int]) -> None:
        self._source = source
        self._whole = whole
        self._carried = set(carried)
        self._parts: set[int] = set()
        self._following = dict(pairwise(carried))
        reading = source.reading
        end = reading.span(carried[0]).offset if carried else None
        self._head = source.bytes_between(0, end)
        self._twin: OutputBuffer | None = None
        if whole and carried and (not self._head or self._head.endswith(b"\n")):
            self._twin = OutputBuffer(source.format, self._head, source.name)

    def header(self, header: Header) -> Header:
        """Return the native header, with the bytes before the first entry."""
        reading = self._source.reading
        origin = HeaderOrigin(
            format=self._source.format.name,
            current=reading.version >= reading.current_version,
            head=self._head if self._whole else None,
        )
        return with_head_origin(header, origin)

    def line(self, position: int, entry: Entry) -> bytes:
        """Return the native line of an entry."""
        line = encode_entry(entry)
        if position in self._parts:
            return with_origin(line, Origin(part=True))
        tree = self._source.tree
        above = tree.parents[position]
        moved = entry.parent != (None if above == ROOT else tree.keys[above])
        together = self._in_line_of(position)
        if not together or (moved and not self._whole):
            return line
        raw = self._source.raw(position)
        after = self._after(together[-1]) if self._whole else b"\n"
        if self._writes_the_same(decode_entry(line), together, raw, after) and not moved:
            return line
        self._parts.update(together[1:])
        return with_origin(line, Origin(line=raw, after=after, parts=len(together), bound=moved))

    def _in_line_of(self, position: int) -> list[int]:
        """Return the entries on the line of this one, itself first; none if not all are converted."""
        reading = self._source.reading
        place, size = reading.span(position), len(reading.tree)
        last = position + 1
        while last < size and reading.span(last) == place:
            last += 1
        together = list(range(position, last))
        is_first = position == 0 or reading.span(position - 1) != place
        return together if is_first and self._carried.issuperset(together) else []

    def _after(self, position: int) -> bytes:
        """Return the bytes between the line of an entry and the next converted entry."""
        reading = self._source.reading
        span = reading.span(position)
        following = self._following.get(position)
        end = None if following is None else reading.span(following).offset
        return self._source.bytes_between(span.offset + span.size, end)

    def _writes_the_same(self, first: Entry, positions: list[int], raw: bytes, after: bytes) -> bool:
        """Return whether the format encodes the native entries as these bytes."""
        twin = self._twin
        if twin is None:
            return False
        lines = raw + after
        if not lines.endswith(b"\n"):
            self._twin = None
            return False
        same = False
        if after == b"\n" and not any("#" in self._source.tree.keys[position] for position in positions):
            entries = [first, *map(self._as_read_again, positions[1:])]
            try:
                same = self._source.format.required_writer().encode(entries, twin.transcript.reading) == lines
            except REFUSALS:
                same = False
        twin.add(lines)
        return same

    def _as_read_again(self, position: int) -> Entry:
        source = self._source
        entry = to_native(
            source.entry(position), source.format.name, silent=source.context_rules.excluded_types
        )
        return decode_entry(encode_entry(entry))
