"""Reads versions 1, 2 and 3 of pi's session format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from branchline.context import milliseconds
from branchline.context.javascript import trim
from branchline.entries import (
    ACTIVITY_ROLES,
    CONVERSATION_TYPES,
    SIDE_TYPES,
    Entry,
    Label,
    Leaf,
    SessionInfo,
    codec,
    decode_entry,
    json_codec,
    skeleton,
)
from branchline.formats.common.native_upgrade import CURRENT_VERSION, FIRST_TYPES, assign_position_id
from branchline.formats.lines import LineReader, Lines
from branchline.formats.log_index import LabelState, LogIndex
from branchline.tree import ROOT

__all__ = ["NativeReader"]

_NOTED = frozenset({"label", "session_info", "leaf"})
_SHARED = {name: name for name in (*SIDE_TYPES, *CONVERSATION_TYPES)}
_share = _SHARED.get  # one shared string per known type
_EXTRA = "another header inside the file; ignored"
_LAST_INSTANT = 8.64e15  # the last millisecond that a JavaScript date can hold
_Targets = dict[int, str | None]
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[bool, _Targets, _Targets]).decode


class _Repeat:
    """A repeated header, and the entries expected to follow it.

    pi 0.73.1 continues a session without an answer by writing everything again: the header, the entries so
    far, then the new ones. Entries that are repeated exactly are read once.
    """

    __slots__ = ("end", "line", "next", "offset", "size")

    def __init__(self, end: int, line: int, offset: int, size: int) -> None:
        self.next = 0
        """The next expected entry."""
        self.end = end
        """The number of entries before the header."""
        self.line, self.offset, self.size = line, offset, size


class NativeReader(LineReader):
    """Reads lines of versions 1, 2 and 3."""

    format_name = "pi"
    headers = 1

    def __init__(self, index: LogIndex | None = None) -> None:
        super().__init__(index)
        self.reading.current_version = CURRENT_VERSION
        self._leaf_targets: _Targets = {}
        # Leaf entries whose target is not in the file so far; None for one that names no target.
        self._lost_targets: _Targets = {}
        self._started = False
        self._repeat: _Repeat | None = None

    # -- rows -----------------------------------------------------------------------------------------

    def takes_rows(self) -> bool:
        return self._started and self.reading.version > 1 and self._repeat is None

    def decode_rows(self, data: memoryview) -> Sequence[Any]:
        return skeleton.decode_lines(data)

    def row_from(self, fields: dict[str, Any]) -> skeleton.Skeleton:
        """Return the row of an object whose ``type`` and ``id`` are strings."""
        return skeleton.from_fields(fields)

    def take_rows(self, rows: Sequence[Any], lines: Lines) -> bool:
        """Add rows of any version; a single row has its own path, which halves the cost of an append."""
        if len(rows) == 1:
            return self._take_row(rows[0], lines)
        reading = self.reading
        types = [row.type for row in rows]
        parents = [row.parentId for row in rows]
        messages = [row.message for row in rows]
        if type(rows[0]) is skeleton.Skeleton:  # an unknown type, perhaps with a message
            types = [_share(kind, kind) for kind in types]
            beside = zip(types, messages, strict=True)
            messages = [message if kind == "message" else None for kind, message in beside]
            roles = [None if message is None else message.role for message in messages]
        else:
            roles = [message.role for message in messages]
        kinds = set(types)
        if "session" in kinds or msgspec.UNSET in parents:
            return False
        if reading.version < CURRENT_VERSION:
            roles = list(map(_current_role, roles))
        first = len(reading.tree)
        times = [row.timestamp for row in rows]
        quiet = [
            first + number
            for number, role in enumerate(roles)
            if role == "assistant" and messages[number].is_quiet()
        ]
        ids = [row.id for row in rows]
        if not self.link(lines, ids, parents, types=types, times=times, roles=roles, quiet=quiet):
            return False
        self._note_activity(_latest_time(messages, roles, times))
        if not _NOTED.isdisjoint(kinds):
            for index, kind in enumerate(types):
                if kind in _NOTED:
                    self._note_side_record(first + index, lines[index])
        return True

    def _take_row(self, row: Any, lines: Lines) -> bool:
        reading, kind, parent, time = self.reading, row.type, row.parentId, row.timestamp
        if kind == "session":
            return False
        size = lines.ends[0]
        if parent is msgspec.UNSET:
            text = f"{row.id} has no parent field; shown as a root"
            reading.add_finding("no-parent-key", text, line=lines.number, offset=lines.offset, size=size)
            parent = None
        message, role = row.message, None
        if kind == "message" and message is not None:
            role = message.role if reading.version == CURRENT_VERSION else _current_role(message.role)
        quiet = role == "assistant" and message.is_quiet()
        position = reading.linker.add(
            row.id,
            parent,
            type=_share(kind, kind),
            time=time,
            role=role,
            quiet=quiet,
            after_gap=self.gap,
        )
        reading.add_range(position, lines.offset, size, lines.number)
        if role in ACTIVITY_ROLES:
            self._note_activity(_instant(message.timestamp, time))
        if kind in _NOTED:
            self._note_side_record(position, lines[0])
        return True

    def _note_activity(self, time: float) -> None:
        if time > (self.reading.last_message_time or 0):
            self.reading.last_message_time = time

    # -- objects that are no rows of the current version ----------------------------------------------

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        reading = self.reading
        if not isinstance(fields.get("type"), str):
            reading.other_objects.append(len(reading.tree))
            self.note_not_an_entry("an object without a type", line, offset)
            return
        if fields["type"] == "session":
            self._take_header(fields, line, offset)
            return
        if self._repeat is not None and self._is_repeated(self._repeat, line):
            self.gap = False
            return
        if not self._started and not isinstance(fields.get("id"), str) and fields["type"] not in FIRST_TYPES:
            reading.other_objects.append(len(reading.tree))
            self.note_not_an_entry("an object above the header", line, offset)
            return
        self._start_without_header(fields)
        if reading.version == 1:
            fields = assign_position_id(fields, reading)
        if not isinstance(fields.get("id"), str):
            self.gap = False
            self.report("no-id", "an entry without an id", line, offset)
            return
        self.take_one(self.row_from(fields), line, offset)

    def _take_header(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        reading = self.reading
        header = codec.header_from_fields(fields)
        if header is not None and header == reading.header and _is_same(line, reading.header_line):
            self._repeat = _Repeat(len(reading.tree), reading.lines, offset, len(line))
            self.gap = False
            return
        if self._started or header is None:
            what = _EXTRA if self._started else "a header without an id"
            self.report("extra-header", what, line, offset)
            reading.other_objects.append(len(reading.tree))
            self.gap = False
            return
        self._started = True
        self.gap = False
        reading.read_only = None
        reading.other_objects.clear()
        reading.header, reading.header_line, reading.version = header, line, header.version
        reading.header_end = offset + len(line)
        if header.version > CURRENT_VERSION:
            reading.version = CURRENT_VERSION
            reading.read_only = f"it is of version {header.version}, newer than {CURRENT_VERSION}"
            message = f"version {header.version} is newer than {CURRENT_VERSION}; opened read-only"
            self.report("newer-version", message, line, offset)
        elif header.version < 2:
            reading.version = 1
            message = "version 1: ids are derived from positions while reading; the file is unchanged"
            self.report("v1", message, line, offset)

    def _is_repeated(self, repeat: _Repeat, line: bytes) -> bool:
        """Return whether a line after a repeated header is the same entry as the first time."""
        reading = self.reading
        if repeat.next < repeat.end and _is_same(line, reading.read(*reading.span(repeat.next))):
            repeat.next += 1
            self._repeat = repeat if repeat.next < repeat.end else None
            return True
        if repeat.end and not repeat.next:
            reading.add_finding(
                "extra-header", _EXTRA, line=repeat.line, offset=repeat.offset, size=repeat.size
            )
            reading.other_objects.append(len(reading.tree))
        self._repeat = None
        return False

    def _start_without_header(self, first: dict[str, Any]) -> None:
        reading = self.reading
        if self._started:
            return
        self._started = True
        # Version 1 has neither ids nor parents; without a header it is still read.
        is_old = first["type"] in FIRST_TYPES and "id" not in first and "parentId" not in first
        reading.version = 1 if is_old else CURRENT_VERSION
        reading.read_only = "it has no header"
        reading.add_finding("no-header", "the file has no header; opened read-only", line=1)

    # -- damage ---------------------------------------------------------------------------------------

    def salvage(self, data: bytes) -> skeleton.SalvagedIds | None:
        return skeleton.salvage(data) if self.takes_rows() else None

    def is_record(self, data: bytes) -> bool:
        """Return whether this is a header or an entry; content blocks and tool calls have a type too."""
        fields = json_codec.loads(data)
        return isinstance(fields.get("type"), str) and (
            "parentId" in fields or "timestamp" in fields or fields["type"] == "session"
        )

    # -- continuing a reading that was saved ----------------------------------------------------------

    def saved_state(self) -> bytes | None:
        if self._repeat is not None or self.reading.version != CURRENT_VERSION:
            return None
        return _encode((self._started, self._leaf_targets, self._lost_targets))

    def restore_state(self, state: bytes) -> None:
        self._started, self._leaf_targets, self._lost_targets = _decode(state)

    # -- side records and the end ---------------------------------------------------------------------

    def _note_side_record(self, position: int, line: bytes) -> None:
        reading = self.reading
        match entry := _side_record(line):
            case Label():
                if entry.label:
                    reading.labels[entry.target] = LabelState(entry.label, entry.timestamp)
                else:
                    reading.labels.pop(entry.target, None)
            case SessionInfo():
                reading.title = trim(entry.name) or None
            case Leaf():
                self._leaf_targets[position] = entry.target
                # Targets are checked at the end, all at once.
                if (
                    entry.target is not None
                    or json_codec.loads(line).get("targetId", msgspec.UNSET) is not None
                ):
                    self._lost_targets[position] = entry.target
            case _:
                pass

    def on_finish(self) -> None:
        reading = self.reading
        if not self._started and reading.lines:
            reading.read_only = "nothing in it can be read as a session"
            reading.add_tail_finding("no-header", "no header and no entry can be read")
        repeat = self._repeat
        if repeat is not None and repeat.end and not repeat.next:
            where = {"line": repeat.line, "offset": repeat.offset, "size": repeat.size}
            reading.add_tail_finding("extra-header", _EXTRA, **where)
        for position, target in list(self._lost_targets.items()) if self._lost_targets else ():
            if target is not None and reading.linker.latest_with_id(target) is not None:
                del self._lost_targets[position]
                continue
            span = reading.span(position)
            message = f"the leaf entry points at {target or 'nothing'}, which is not in this file"
            line = reading.line_of(position)
            reading.add_tail_finding("leaf-target", message, line=line, offset=span.offset, size=span.size)

    def find_leaf(self) -> int:
        """Return the last entry, or the target of the last leaf entry; placeholders are skipped."""
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
        return position


@json_codec.build_once
def _side() -> msgspec.json.Decoder[Label | SessionInfo | Leaf]:
    return msgspec.json.Decoder(Label | SessionInfo | Leaf)


def _side_record(line: bytes) -> Entry:
    """Decode a side record, like :func:`decode_entry`.

    Avoids building the decoder of all records, which takes as long as decoding a thousand of these.
    """
    try:
        return _side().decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return decode_entry(line)


def _latest_time(messages: Sequence[Any], roles: Sequence[str | None], written: Sequence[str]) -> float:
    """Return the time of the latest message in milliseconds; 0 if there is none.

    A message without a time has that of its entry.
    """
    spoken = zip(messages, roles, strict=True)
    try:  # a message without a time makes the comparison fail
        latest: float = max(
            [message.timestamp for message, role in spoken if role in ACTIVITY_ROLES], default=0
        )
        if latest <= _LAST_INSTANT:
            return latest
    except TypeError:
        pass
    times = zip(messages, roles, written, strict=True)
    return max(
        [_instant(message.timestamp, time) for message, role, time in times if role in ACTIVITY_ROLES],
        default=0,
    )


def _instant(said: float | None, written: str) -> float:
    """Return the time of a message in milliseconds: its own, else that of its entry, else 0."""
    time = milliseconds(written) or 0 if said is None else said
    return time if 0 < time <= _LAST_INSTANT else 0


def _is_same(line: bytes, other: bytes) -> bool:
    """Return whether two lines contain the same object."""
    try:
        return line == other or bool(json_codec.loads(line) == json_codec.loads(other))
    except (ValueError, RecursionError):
        return False


def _current_role(role: str | None) -> str | None:
    """Return the version 3 name of a version 2 role."""
    return "custom" if role == "hookMessage" else role
