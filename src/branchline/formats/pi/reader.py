"""Reads lines of versions 1, 2 and 3: regular ones many at once, odd ones with care."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from branchline.entries import (
    ACTIVITY_ROLES,
    CONVERSATION_TYPES,
    SIDE_TYPES,
    Entry,
    Label,
    Leaf,
    MessageEntry,
    SessionInfo,
    UnknownMessage,
    codec,
    json_codec,
    skeleton,
)
from branchline.formats.lines import decode_chunk, each_line, split_records
from branchline.formats.pi.records import side_record
from branchline.formats.pi.rows import (
    LAST_INSTANT,
    instant,
    latest_time,
    line_at,
    places_of,
    said_by,
    skeleton_columns,
    spoken_columns,
)
from branchline.formats.pi.upgrade import CURRENT_VERSION, FIRST_TYPES, assign_position_id
from branchline.formats.protocol import LabelState, LineChunk, LogIndex
from branchline.tree import ROOT, Kind

__all__ = ["PiReader"]

_BOM = b"\xef\xbb\xbf"
_NOTED = frozenset({"label", "session_info", "leaf", "session"})
_PIECE = 1 << 17  # bytes of lines that go the careful way together because one of them is odd
_MARKERS = (b'{"type":"',)
_SHARED = {
    name: name
    for name in (*SIDE_TYPES, *CONVERSATION_TYPES, *ACTIVITY_ROLES, "toolResult", "bashExecution", "system")
}
_share = _SHARED.get  # one string per known type and role instead of one per line


class PiReader:
    """Reads lines of versions 1, 2 and 3.

    ``shape_only`` is for lists of sessions: it notes when somebody spoke last, and leaves out what only a
    tree screen asks for, which answers are quiet. ``keep_messages`` puts that off, and the times of entries:
    it decodes and keeps their messages, for somebody who will ask for all of them next.
    """

    def __init__(self, *, shape_only: bool = False, keep_messages: bool = False) -> None:
        self._shape_only = shape_only
        self._keeps_messages = keep_messages
        self._decode: Callable[[bytes], skeleton.Skeleton] = skeleton.decode
        self._decode_lines: Callable[[memoryview], Sequence[Any]] = skeleton.decode_lines
        if keep_messages:
            from branchline.formats.pi.spoken import decode_spoken  # noqa: PLC0415  most look at trees

            self._decode_lines = decode_spoken
        elif shape_only:
            self._decode = skeleton.decode_shape
            self._decode_lines = skeleton.decode_shapes
        self.reading = LogIndex("pi")
        self.reading.current_version = CURRENT_VERSION
        self._leaf_targets: dict[int, str | None] = {}
        self._lost_targets: dict[
            int, str | None
        ] = {}  # None for a leaf entry that does not say where it points
        self._gap = False
        self._started = False

    # -- the regular way: many lines at once ----------------------------------------------------------

    def feed(self, data: bytes, end: int) -> None:
        """Take whole lines. Regular ones go in together; where one is odd, all of them go one by one."""
        reading = self.reading
        offset, start = reading.consumed, 0
        if not self._started and (first := data.find(b"\n") + 1) < end and not reading.lines:
            # The header goes in alone, so that what follows it in the first chunk is regular work too.
            self._feed_line(data[: first - 1], offset)
            offset += first
            start = first
        if data.find(b"\n", start) == end - 1:  # one line is less work by itself
            self._feed_line(data[start : end - 1], offset)
        elif not self._feed_regular(data, start, end, offset):
            self._feed_pieces(data, start, end, offset)
        reading.consumed += end

    def _feed_pieces(self, data: bytes, start: int, end: int, offset: int) -> None:
        """Take lines of which some are odd: in pieces, so that these send few others the careful way."""
        small = end - start <= _PIECE  # then these are the very lines that did not go in together
        while start < end:
            stop = data.rfind(b"\n", start, min(start + _PIECE, end)) + 1 or data.index(b"\n", start) + 1
            piece = data[start:stop]
            if small or not self._feed_regular(piece, 0, len(piece), offset):
                careful = offset
                for line in each_line(piece, len(piece)):
                    self._feed_line(line, careful)
                    careful += len(line) + 1
            offset += len(piece)
            start = stop

    def _feed_regular(self, data: bytes, start: int, end: int, offset: int) -> bool:
        """Take lines of which each is one entry in good order; False, and nothing done, when one is not."""
        reading = self.reading
        if not self._started or reading.version != CURRENT_VERSION or self._gap:
            return False
        whole = decode_chunk(data, end, self._decode_lines, start=start)
        if whole is None:
            return False
        found, ends = whole.values, whole.ends
        columns = spoken_columns(found) if self._keeps_messages else skeleton_columns(found)
        if columns is None:
            return False
        types, parents, messages, roles = columns
        kinds = set(types)
        if "session" in kinds:
            return False
        first = len(reading.tree)
        latest = latest_time(messages, roles) if self._shape_only else 0
        if latest is None:
            return False
        asked = not (self._shape_only or self._keeps_messages)
        quiet = skeleton.quiet_answers(messages, first) if asked else []
        ids = [s.id for s in found]
        times = [""] * len(ids) if self._keeps_messages else [s.timestamp for s in found]
        if not reading.linker.extend(ids, parents, types, times, roles, quiet):
            return False
        if latest > (reading.last_message_time or 0):
            reading.last_message_time = latest
        block = LineChunk(first, offset, reading.lines + 1, array("q", ends))
        reading.blocks.append(block)
        if self._keeps_messages:
            # Now, because touching each of them again once the processor has forgotten it takes longer.
            reading.messages[first] = said_by(ids, messages, kinds)
            reading.unasked.append(block)
        reading.lines += len(ends)
        for number in places_of(kinds & _NOTED, types):
            self._note_side_record(first + number, line_at(data, start, whole.stops, number))
        return True

    # -- the careful way: one line at a time ----------------------------------------------------------

    def _feed_line(self, line: bytes, offset: int) -> None:
        reading = self.reading
        reading.lines += 1
        number = reading.lines
        if number == 1 and line.startswith(_BOM):
            reading.add_finding("bom", "the file begins with a byte order mark", line=1)
            offset += len(_BOM)
            line = line[len(_BOM) :]
        if not line.strip():
            return
        if reading.version >= 2:
            try:
                found = self._decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                found = None
            if found is not None and found.type != "session":
                self._add(found, line, offset)
                return
        try:
            value = skeleton.decode_lenient(line)
        except ValueError as reason:
            self._feed_damaged(line, offset, str(reason))
            return
        self._take(value, line, offset)

    def _take(self, value: Any, line: bytes, offset: int) -> None:
        """One JSON value: the header, an entry, or neither."""
        reading = self.reading
        number = reading.lines
        if not isinstance(value, dict) or not isinstance(value.get("type"), str):
            if isinstance(value, dict):
                reading.other_objects.append(len(reading.tree))
            self._gap = False
            message = "not an entry: " + (
                "an object without a type" if isinstance(value, dict) else "no object"
            )
            reading.add_finding("not-an-entry", message, line=number, offset=offset, size=len(line))
            return
        if value["type"] == "session":
            self._feed_header(value, line, offset)
            return
        self._start_without_header(value)
        if reading.version == 1:
            value = assign_position_id(value, reading)
        if not isinstance(value.get("id"), str):
            self._gap = False
            reading.add_finding("no-id", "an entry without an id", line=number, offset=offset, size=len(line))
            return
        self._add(skeleton.from_fields(value), line, offset)

    def _add(self, found: skeleton.Skeleton, line: bytes, offset: int) -> None:
        reading = self.reading
        parent = found.parentId
        if parent is msgspec.UNSET:
            reading.add_finding(
                "no-parent-key",
                f"{found.id} does not say what it hangs from; shown as a root",
                line=reading.lines,
                offset=offset,
                size=len(line),
            )
            parent = None
        kind, role, quiet = found.type, None, False
        if kind == "message" and (message := found.message) is not None:
            role = message.role
            if role == "hookMessage" and reading.version < CURRENT_VERSION:
                role = "custom"
            role = _share(role, role)
            quiet = not self._shape_only and role == "assistant" and message.is_quiet()
            if self._shape_only and role in ACTIVITY_ROLES:
                spoken = instant(message.timestamp, found.timestamp)
                if spoken > (reading.last_message_time or 0):
                    reading.last_message_time = spoken
        position = reading.linker.add(
            found.id,
            parent,
            type=_share(kind, kind),
            time=found.timestamp,
            role=role,
            quiet=quiet,
            after_gap=self._gap,
        )
        self._gap = False
        reading.add_range(position, offset, len(line), reading.lines)
        if kind in _NOTED:
            self._note_side_record(position, line)

    def _feed_header(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        reading = self.reading
        header = codec.header_from_fields(fields)
        if self._started or header is None:
            what = "another header inside the file; ignored" if self._started else "a header without an id"
            reading.add_finding("extra-header", what, line=reading.lines, offset=offset, size=len(line))
            reading.other_objects.append(len(reading.tree))
            self._gap = False
            return
        self._started = True
        self._gap = False
        reading.read_only = None
        reading.other_objects.clear()
        reading.header, reading.header_line, reading.version = header, line, header.version
        reading.header_end = offset + len(line)
        if header.version > CURRENT_VERSION:
            reading.version = CURRENT_VERSION
            reading.read_only = f"it is of version {header.version}, newer than {CURRENT_VERSION}"
            message = f"version {header.version} is newer than {CURRENT_VERSION}; opened read-only"
            reading.add_finding("newer-version", message, line=reading.lines, offset=offset, size=len(line))
        elif header.version < 2:
            reading.version = 1
            message = "version 1: ids are made from positions while reading; the file stays as it is"
            reading.add_finding("v1", message, line=reading.lines, offset=offset, size=len(line))

    def _start_without_header(self, first: dict[str, Any]) -> None:
        reading = self.reading
        if self._started:
            return
        self._started = True
        # Version 1 has neither ids nor parents; a lost header must not cost the whole conversation.
        is_old = first["type"] in FIRST_TYPES and "id" not in first and "parentId" not in first
        reading.version = 1 if is_old else CURRENT_VERSION
        reading.read_only = "it has no header"
        reading.add_finding("no-header", "the file has no header; opened read-only", line=1)

    def _feed_damaged(self, line: bytes, offset: int, reason: str) -> None:
        """A line that is not one JSON value: whole entries in it are read, what is left of others is kept."""
        reading = self.reading
        found = split_records(line, _MARKERS, _is_record)
        glued = any(piece.whole for piece in found)
        for piece in found:
            place = offset + piece.start
            if piece.whole:
                self._take(skeleton.decode_lenient(piece.data), piece.data, place)
                continue
            message = f"unreadable ({reason}), {len(piece.data)} bytes"
            if glued:
                message = f"a fragment of {len(piece.data)} bytes stands beside an entry in the same line"
            message += self._keep_place(piece.data, place)
            kind: Kind = "glued" if glued else "unreadable"
            reading.add_finding(kind, message, line=reading.lines, offset=place, size=len(piece.data))
        if all(piece.whole for piece in found):
            message = f"{len(found)} entries stand in one line; all are read"
            reading.add_finding("glued", message, line=reading.lines, offset=offset, size=len(line))

    def _keep_place(self, data: bytes, offset: int) -> str:
        """A place in the tree for a fragment that still tells its id and parent; says so if there is one."""
        reading = self.reading
        fragment = skeleton.salvage(data) if self._started and reading.version > 1 else None
        if fragment is None:
            self._gap = True
            return ""
        position = reading.linker.add(
            fragment.id, fragment.parent, type="damaged", placeholder=True, after_gap=self._gap
        )
        self._gap = False
        reading.add_range(position, offset, len(data), reading.lines)
        return f"; entry {fragment.id} keeps its place in the tree"

    # -- what we have written ourselves ---------------------------------------------------------------

    def take_written(self, entry: Entry, data: bytes) -> bool:
        """Take a plain message without reading its line again: that would be a third of what an append costs.

        Whatever could be read in another way than it was given is left to :meth:`feed`.
        """
        reading = self.reading
        if type(entry) is not MessageEntry or type(entry.message) is not UnknownMessage:
            return False
        if self._gap or not self._started or reading.end_notes or reading.version != CURRENT_VERSION:
            return False
        fields = entry.message.fields
        role, spoken = fields.get("role"), fields.get("timestamp")
        if (
            type(role) is not str
            or role not in _SHARED
            or type(spoken) is not int
            or not 0 < spoken <= LAST_INSTANT
        ):
            return False
        quiet = None if role == "assistant" else False
        if quiet is None and (quiet := skeleton.is_quiet(fields)) is None:
            return False
        position = reading.linker.add(
            entry.id, entry.parent, type="message", time=entry.timestamp, role=_SHARED[role], quiet=quiet
        )
        reading.lines += 1
        reading.add_range(position, reading.consumed, len(data) - 1, reading.lines)
        reading.consumed += len(data)
        reading.linker.resolve()
        reading.leaf = position
        return True

    # -- side records and the end ---------------------------------------------------------------------

    def _note_side_record(self, position: int, line: bytes) -> None:
        reading = self.reading
        match entry := side_record(line):
            case Label():
                if entry.label:
                    reading.labels[entry.target] = LabelState(entry.label, entry.timestamp)
                else:
                    reading.labels.pop(entry.target, None)
            case SessionInfo():
                reading.title = entry.name.strip() or None
            case Leaf():
                self._leaf_targets[position] = entry.target
                # Whether its target is there is asked at the end, when all of them can be asked at once.
                if (
                    entry.target is not None
                    or skeleton.decode_lenient(line).get("targetId", msgspec.UNSET) is not None
                ):
                    self._lost_targets[position] = entry.target
            case _:
                pass

    def finish(self, tail: bytes) -> None:
        """Read an unterminated last line if there is one; settle links; find the leaf."""
        reading = self.reading
        reading.end_notes.clear()
        if tail:
            reading.unterminated = True
            self._feed_line(tail, reading.consumed)
            offset = reading.consumed
            reading.add_finding(
                "no-final-newline",
                "the last line has no newline",
                line=reading.lines,
                offset=offset,
                size=len(tail),
            )
        if not self._started:
            reading.read_only = (
                "it is empty" if not reading.lines else "nothing in it can be read as a session"
            )
            if reading.consumed == 0 and not tail:
                reading.add_tail_finding("empty", "the file is empty")
            else:
                reading.add_tail_finding("no-header", "no header and no entry can be read")
        reading.linker.resolve()
        if self._lost_targets:
            self._note_lost_targets()
        self._find_leaf()

    def _find_leaf(self) -> None:
        """The last entry of the file, or what the last leaf entry points at; placeholders are passed over."""
        reading = self.reading
        tree = reading.tree
        position = len(tree) - 1
        while position >= 0:
            if position in tree.placeholders:
                position -= 1
                continue
            if position not in self._leaf_targets:
                break
            target = self._leaf_targets[position]
            if position not in self._lost_targets:
                found = None if target is None else reading.linker.latest_with_id(target)
                position = ROOT if found is None else found
                break
            if (above := tree.parent_position(position)) != ROOT:
                position = above
                break
            position -= 1
        reading.leaf = position

    def _note_lost_targets(self) -> None:
        reading = self.reading
        for position, target in list(self._lost_targets.items()):
            if target is not None and reading.linker.latest_with_id(target) is not None:
                del self._lost_targets[position]
                continue
            span = reading.span(position)
            message = f"the leaf entry points at {target or 'nothing'}, which is not in this file"
            line = reading.line_of(position)
            reading.add_tail_finding("leaf-target", message, line=line, offset=span.offset, size=span.size)


def _is_record(data: bytes) -> bool:
    """A header or an entry; a content block has a type too, and a tool call even an id."""
    fields = json_codec.loads(data)
    return isinstance(fields.get("type"), str) and (
        "parentId" in fields or "timestamp" in fields or fields["type"] == "session"
    )
