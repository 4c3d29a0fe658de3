"""pi's session format, versions 1 to 3; version 3 is also the native format of branchline.

One JSON object per line: a header, then entries that name their parent. Reading never changes the file:
versions 1 and 2 are upgraded in memory, with ids that are the same on every load.
"""

from __future__ import annotations

import hashlib
import os
import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from branchline.entries import (
    Damaged,
    Entry,
    Header,
    Label,
    Leaf,
    SessionInfo,
    Unknown,
    codec,
    decode_entry,
    entry_from_fields,
    jsontext,
    skeleton,
)
from branchline.formats.base import Block, Format, LabelState, Reading
from branchline.formats.copying import path_lines, tree_lines, upgraded_lines
from branchline.formats.transcript import Transcript
from branchline.tree import ROOT

__all__ = ["PI", "PiFormat", "PiReader"]

CURRENT_VERSION = 3
_BOM = b"\xef\xbb\xbf"
_NOTED = frozenset({"label", "session_info", "leaf", "session"})
_SPEAKERS = frozenset({"user", "assistant"})
_SHARED: dict[str, str] = {}
_share = _SHARED.setdefault  # one string per type and role instead of one per line


class PiReader:
    """Reads lines of versions 1, 2 and 3."""

    def __init__(self) -> None:
        self.reading = Reading("pi")
        self.reading.current_version = CURRENT_VERSION
        self._leaf_targets: dict[int, str | None] = {}
        self._gap = False
        self._started = False

    # -- the regular way: many lines at once ----------------------------------------------------------

    def feed(self, data: bytes, end: int) -> None:
        """Take whole lines. Regular ones go in together; where one is odd, all of them go one by one."""
        reading = self.reading
        if not self._started and (first := data.find(b"\n") + 1) < end and not reading.lines:
            # The header goes in alone, so that what follows it in the first chunk is regular work too.
            self.feed(data[:first], first)
            data = data[first:end]
            end -= first
        offset = reading.consumed
        regular = self._started and reading.version == CURRENT_VERSION and not self._gap
        if not regular or not self._feed_regular(data, end, offset):
            for line in data[: end - 1].split(b"\n"):
                self._feed_line(line, offset)
                offset += len(line) + 1
        reading.consumed += end

    def _feed_regular(self, data: bytes, end: int, offset: int) -> bool:
        """Take lines of which each is one entry in good order; False, and nothing done, when one is not."""
        reading = self.reading
        ends = _newlines(data, end)
        if not _each_in_braces(data, ends):
            return False
        try:
            found = skeleton.decode_lines(memoryview(data)[:end])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return False
        if len(found) != len(ends):
            return False
        types = [s.type for s in found]
        parents = [s.parentId for s in found]
        if msgspec.UNSET in parents or "session" in types:
            return False
        first = len(reading.tree)
        messages = [s.message for s in found]
        roles = [None if message is None else message.role for message in messages]
        quiet = [
            first + number
            for number, role in enumerate(roles)
            if role == "assistant" and messages[number].is_quiet()  # type: ignore[union-attr]
        ]
        times = [s.timestamp for s in found]
        if not reading.linker.extend([s.id for s in found], parents, types, times, roles, quiet):  # type: ignore[arg-type]
            return False
        spoken = [
            message.timestamp
            for message in messages
            if message is not None and message.role in _SPEAKERS and message.timestamp is not None
        ]
        if spoken:
            reading.last_message_time = max(reading.last_message_time or 0, *spoken)
        reading.blocks.append(Block(first, offset, reading.lines + 1, array("q", ends)))
        reading.lines += len(ends)
        if not _NOTED.isdisjoint(types):
            for number, kind in enumerate(types):
                if kind in _NOTED:
                    start = ends[number - 1] + 1 if number else 0
                    self._note_side_record(first + number, decode_entry(data[start : ends[number]]))
        return True

    # -- the careful way: one line at a time ----------------------------------------------------------

    def _feed_line(self, line: bytes, offset: int) -> None:
        reading = self.reading
        reading.lines += 1
        number = reading.lines
        if number == 1 and line.startswith(_BOM):
            reading.note("bom", "the file begins with a byte order mark", line=1)
            offset += len(_BOM)
            line = line[len(_BOM) :]
        if not line.strip():
            return
        try:
            found = skeleton.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            found = None
        if found is not None and reading.version == CURRENT_VERSION and found.type != "session":
            self._add(found, line, offset)
            return
        try:
            value = skeleton.careful(line)
        except ValueError as reason:
            self._feed_unreadable(line, offset, str(reason))
            return
        if not isinstance(value, dict) or not isinstance(value.get("type"), str):
            self._gap = False
            message = "not an entry: " + (
                "an object without a type" if isinstance(value, dict) else "no object"
            )
            reading.note("not-an-entry", message, line=number, offset=offset, size=len(line))
            return
        if value["type"] == "session":
            self._feed_header(value, line, offset)
            return
        self._start_without_header()
        if reading.version == 1:
            value = _with_position_id(value, reading)
        if not isinstance(value.get("id"), str):
            self._gap = False
            reading.note("no-id", "an entry without an id", line=number, offset=offset, size=len(line))
            return
        self._add(skeleton.from_fields(value), line, offset)

    def _add(self, found: skeleton.Skeleton, line: bytes, offset: int) -> None:
        reading = self.reading
        parent = found.parentId
        if parent is msgspec.UNSET:
            reading.note(
                "no-parent-key",
                f"{found.id} does not say what it hangs from; shown as a root",
                line=reading.lines,
                offset=offset,
                size=len(line),
            )
            parent = None
        message = found.message
        role = None if message is None else message.role
        if role == "hookMessage" and reading.version < CURRENT_VERSION:
            role = "custom"
        position = reading.linker.add(
            found.id,
            parent,
            type=_share(found.type, found.type),
            time=found.timestamp,
            role=None if role is None else _share(role, role),
            quiet=role == "assistant" and message is not None and message.is_quiet(),
            after_gap=self._gap,
        )
        self._gap = False
        reading.place(position, offset, len(line), reading.lines)
        if message is not None and role in ("user", "assistant") and message.timestamp is not None:
            reading.last_message_time = message.timestamp
        if found.type in _NOTED:
            self._note_side_record(position, _record(line))

    def _feed_header(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        reading = self.reading
        header = codec.header_from_fields(fields)
        if self._started or header is None:
            what = "another header inside the file; ignored" if self._started else "a header without an id"
            reading.note("extra-header", what, line=reading.lines, offset=offset, size=len(line))
            return
        self._started = True
        self._gap = False
        reading.header, reading.header_line, reading.version = header, line, header.version
        reading.header_end = offset + len(line)
        if header.version > CURRENT_VERSION:
            reading.version = CURRENT_VERSION
            reading.read_only = f"it is of version {header.version}, newer than {CURRENT_VERSION}"
            message = f"version {header.version} is newer than {CURRENT_VERSION}; opened read-only"
            reading.note("newer-version", message, line=reading.lines, offset=offset, size=len(line))
        elif header.version < 2:
            reading.version = 1
            message = "version 1: ids are made from positions while reading; the file stays as it is"
            reading.note("v1", message, line=reading.lines, offset=offset, size=len(line))

    def _start_without_header(self) -> None:
        reading = self.reading
        if self._started:
            return
        self._started = True
        reading.version = CURRENT_VERSION
        reading.read_only = "it has no header"
        reading.note("no-header", "the file has no header; opened read-only", line=1)

    def _feed_unreadable(self, line: bytes, offset: int, reason: str) -> None:
        reading = self.reading
        number = reading.lines
        second = skeleton.glued(line)
        if second is not None:
            start, rest = second
            message = (
                f"a fragment of {start} bytes stands before an entry in the same line; the entry is read"
            )
            reading.note("glued", message, line=number, offset=offset, size=start)
            self._gap = True
            reading.lines -= 1
            self._feed_line(rest, offset + start)
            return
        fragment = skeleton.salvage(line) if self._started and reading.version > 1 else None
        message = f"unreadable ({reason}), {len(line)} bytes"
        if fragment is None:
            self._gap = True
        else:
            message += f"; entry {fragment.id} keeps its place in the tree"
            position = reading.linker.add(
                fragment.id, fragment.parent, type="damaged", placeholder=True, after_gap=self._gap
            )
            self._gap = False
            reading.place(position, offset, len(line), reading.lines)
        reading.note("unreadable", message, line=number, offset=offset, size=len(line))

    # -- side records and the end ---------------------------------------------------------------------

    def _note_side_record(self, position: int, entry: Entry) -> None:
        reading = self.reading
        match entry:
            case Label():
                if entry.label:
                    reading.labels[entry.target] = LabelState(entry.label, entry.timestamp)
                else:
                    reading.labels.pop(entry.target, None)
            case SessionInfo():
                reading.title = entry.name.strip() or None
            case Leaf():
                self._leaf_targets[position] = entry.target
            case _:
                pass

    def finish(self, tail: bytes) -> None:
        """Read an unterminated last line if there is one; settle links; find the leaf."""
        reading = self.reading
        if tail:
            reading.unterminated = True
            self._feed_line(tail, reading.consumed)
            offset = reading.consumed
            reading.note(
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
                reading.note("empty", "the file is empty")
            else:
                reading.note("no-header", "no header and no entry can be read")
        reading.linker.settle()
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
            if target is None:
                position = ROOT
                break
            found = reading.linker.holder(target)
            if found is not None:
                position = found
                break
            self._note_lost_target(position, target)
            if tree.parents[position] != ROOT:
                position = tree.parents[position]
                break
            position -= 1
        reading.leaf = position

    def _note_lost_target(self, position: int, target: str) -> None:
        reading = self.reading
        span = reading.span(position)
        message = f"the leaf entry points at {target}, which is not in this file"
        line = reading.line_of(position)
        if not any(finding.kind == "leaf-target" and finding.line == line for finding in reading.notes):
            reading.note("leaf-target", message, line=line, offset=span.offset, size=span.size)


class PiFormat(Format):
    """pi's own files, and ours."""

    name = "pi"
    writable = True

    def sniff(self, head: bytes, path: str) -> bool:
        """A first object of type ``session``, or entries that look like pi's."""
        del path
        line = head.removeprefix(_BOM).lstrip()[:2000].partition(b"\n")[0]
        return b'"type"' in line and b'"v":4' not in line[:40]

    def reader(self, path: str = "") -> PiReader:
        del path
        return PiReader()

    def decode(self, line: bytes, reading: Reading, position: int) -> Entry:
        """The record of an entry; its id and parent are those of the tree."""
        tree = reading.tree
        key = tree.keys[position]
        parent = None if tree.parents[position] == ROOT else tree.keys[tree.parents[position]]
        if position in tree.placeholders:
            return Damaged(id=key, parent=parent, text=line.decode("utf-8", "replace"))
        entry = _record(line) if reading.version == CURRENT_VERSION else _upgraded(line, reading, position)
        if entry.id != key or entry.parent != parent:
            entry = msgspec.structs.replace(entry, id=key, parent=parent)
        return entry

    def encode(self, entries: Sequence[Entry], reading: Reading) -> bytes:
        del reading
        return b"".join(map(codec.encode_entry, entries))

    def encode_header(self, header: Header) -> bytes:
        return codec.encode_header(header)

    def fork(self, transcript: Transcript, leaf: int, header: Header) -> bytes:
        return b"".join([codec.encode_header(header), *path_lines(transcript, leaf)])

    def copy(self, transcript: Transcript, header: Header) -> bytes:
        return b"".join([codec.encode_header(header), *tree_lines(transcript)])

    def upgrade(self, transcript: Transcript) -> Iterable[bytes]:
        return upgraded_lines(transcript)

    def file_key(self, header: Header) -> str:
        return re.sub(r"[:.]", "-", header.timestamp) + "_" + header.id

    def roots(self, environment: Mapping[str, str], home: str) -> list[str]:
        if custom := environment.get("PI_CODING_AGENT_SESSION_DIR"):
            return [_expanded(custom, home)]
        return [os.path.join(_agent_directory(environment, home), "sessions")]

    def directory(self, cwd: str, environment: Mapping[str, str], home: str) -> str | None:
        root = self.roots(environment, home)[0]
        if environment.get("PI_CODING_AGENT_SESSION_DIR"):
            return root
        return os.path.join(root, "--" + re.sub(r"[/\\:]", "-", re.sub(r"^[/\\]", "", cwd)) + "--")


PI = PiFormat()


def _agent_directory(environment: Mapping[str, str], home: str) -> str:
    return _expanded(environment.get("PI_CODING_AGENT_DIR") or "~/.pi/agent", home)


def _expanded(path: str, home: str) -> str:
    return os.path.join(home, path[2:]) if path.startswith("~/") else path


def _record(line: bytes) -> Entry:
    try:
        return decode_entry(line)
    except ValueError:
        fields = skeleton.careful(line)  # readable while scanning, so only the depth can be the reason
        fields.pop("message", None)
        return Unknown(
            type=fields["type"], id=fields["id"], timestamp=fields.get("timestamp") or "", fields=fields
        )


def _newlines(data: bytes, end: int) -> list[int]:
    """Where the newlines are."""
    found = []
    find = data.find
    position = find(b"\n", 0, end)
    while position >= 0:
        found.append(position)
        position = find(b"\n", position + 1, end)
    return found


def _each_in_braces(data: bytes, ends: list[int]) -> bool:
    """Whether every line begins with a brace and ends with one.

    Then no value goes over the end of a line, because inside a value ``}`` is never followed by ``{``; and as
    many values as lines means one on each.
    """
    before = data[:1] + data[ends[-1] - 1 : ends[-1]]
    inner = ends[:-1]
    after = memoryview(data)[1:]
    return (
        before == b"{}"
        and not set(map(data.__getitem__, [end - 1 for end in inner])) - {0x7D}
        and not set(map(after.__getitem__, inner)) - {0x7B}
    )


# -- older versions ---------------------------------------------------------------------------------------


def _position_id(session: str, index: int) -> str:
    """The id of the object at this index (header 0) of a version 1 file: the same on every load."""
    return hashlib.sha256(f"{session}:{index}".encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _with_position_id(fields: dict[str, Any], reading: Reading) -> dict[str, Any]:
    """Version 1 to 2 for one entry: it gets an id and hangs from the entry before it."""
    assert reading.header is not None
    count = len(reading.tree)
    entry_id = _position_id(reading.header.id, count + 1)
    parent = reading.tree.keys[-1] if count else None
    return {**fields, "id": entry_id, "parentId": parent}


def _upgraded(line: bytes, reading: Reading, position: int) -> Entry:
    """The record of an entry of version 1 or 2, as version 3 would hold it."""
    fields = jsontext.loads(line)
    if reading.version == 1:
        fields["id"] = reading.tree.keys[position]
        kept = fields.pop("firstKeptEntryIndex", None)
        if isinstance(kept, int) and 0 < kept <= position + 1:
            fields["firstKeptEntryId"] = reading.tree.keys[kept - 1]
    message = fields.get("message")
    if isinstance(message, dict) and message.get("role") == "hookMessage":
        fields["message"] = {**message, "role": "custom"}
    return entry_from_fields(fields)
