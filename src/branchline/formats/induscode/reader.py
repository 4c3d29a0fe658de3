"""Reads induscode's lines into an index: entries linked by ``prev``, and head lines that name the leaf.

A file has no header; its name is the session id. Lines of another schema are left alone. Head lines are not
entries of the tree.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from branchline.entries import ACTIVITY_ROLES, json_codec
from branchline.entries.skeleton import SalvagedIds
from branchline.formats.induscode.leaf_resolver import Descendants, HeadLine, resolve_leaf
from branchline.formats.induscode.log_index import InduscodeLogIndex
from branchline.formats.induscode.rows import (
    SCHEMA,
    EntryRow,
    HeadRow,
    InduscodeRow,
    activity_time,
    bad_values,
    decode_lines,
    messages_of,
    row_from,
)
from branchline.formats.lines import LineReader, Lines
from branchline.tree import ROOT

__all__ = ["FAMILY", "ORIGIN", "InduscodeReader"]

FAMILY = "indus/transcript@"
ORIGIN = "branchline/origin@1"
_FRAGMENT = re.compile(
    rb'\s*\{"schema":"indus/transcript@1","kind":"entry","id":"([^"\\]+)","prev":(?:"([^"\\]*)"|null)'
)

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[HeadLine | None, str | None, str | None, bool]).decode


class InduscodeReader(LineReader):
    """Reads sessions of schema ``indus/transcript@1``."""

    format_name = "induscode"
    markers = (b'{"schema":"',)
    begins_with_header = False
    reading: InduscodeLogIndex

    def __init__(self, path: str = "") -> None:
        super().__init__(InduscodeLogIndex(path))
        self._head: HeadLine | None = None
        self._below: Descendants | None = None
        self._other_schema: str | None = None
        self._newer: str | None = None

    def decode_rows(self, data: memoryview) -> Sequence[InduscodeRow]:
        return decode_lines(data)

    def take_rows(self, rows: Sequence[InduscodeRow], lines: Lines) -> bool:
        entries = [row for row in rows if type(row) is EntryRow]
        heads: list[tuple[int, HeadRow]] = []
        if len(entries) < len(rows):
            heads = [(number, row) for number, row in enumerate(rows) if type(row) is HeadRow]
        messages = messages_of(entries)
        roles = [message.role for message in messages]
        times = [m.timestamp or 0 for m, role in zip(messages, roles, strict=True) if role in ACTIVITY_ROLES]
        newest = max(times, default=0)
        if newest and not activity_time(newest):
            return False
        first = len(self.reading.tree)
        linked = self.link(
            lines,
            [row.id for row in entries],
            [row.prev for row in entries],
            types=[message.type for message in messages],
            times=[row.at for row in entries],
            roles=roles,
            quiet=[place for place, message in enumerate(messages, first) if message.is_quiet()],
            counts=[type(row) is EntryRow for row in rows] if heads else None,
        )
        if not linked:
            return False
        if newest > (self.reading.last_message_time or 0):
            self.reading.last_message_time = newest
        if heads:
            number, head = heads[-1]
            self._take_head(head, number, first + number - len(heads) + 1, lines)
        return True

    def _take_head(self, row: HeadRow, number: int, after: int, lines: Lines) -> None:
        """Apply a head line: the last one counts, and one without a leaf cancels those before it."""
        ends = lines.ends
        start = ends[number - 1] + 1 if number else 0
        self._head = None
        if not isinstance(row.leaf, msgspec.UnsetType):
            size = ends[number] - start
            self._head = HeadLine(row.leaf, lines.number + number, lines.offset + start, size, after)
        self.reading.has_head = self._head is not None

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        schema, kind = fields.get("schema"), fields.get("kind")
        if schema == ORIGIN and not self.reading.header_line and not len(self.reading.tree):
            self.reading.take_origin(fields, line, offset)
        elif schema != SCHEMA and not self._is_newer(schema):
            if isinstance(schema, str):
                self._other_schema = schema
            self.note_not_an_entry(f"a line of another schema ({schema}), left unchanged", line, offset)
        elif kind in ("head", "entry"):
            self._take_row(fields, line, offset)
        else:
            self.note_not_an_entry(f"neither entry nor head ({kind})", line, offset)

    def _is_newer(self, schema: object) -> bool:
        """Return whether the file has a newer version, as its first lines show; they are read as this one."""
        if self._newer is None and isinstance(schema, str) and schema.startswith(FAMILY):
            version = schema.removeprefix(FAMILY)
            if version.isdecimal() and not len(self.reading.tree) and not self.reading.has_head:
                self._newer = schema
        return schema == self._newer

    def _take_row(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        if fields["kind"] == "head":
            leaf = fields.get("leaf")
            if not isinstance(leaf, str | None):
                self.reading.has_head = True
                self.report("bad-value", f"the head does not name an entry ({leaf}); ignored", line, offset)
                return
        elif not all(isinstance(fields.get(name), str) for name in ("id", "role")):
            self.note_not_an_entry("an entry needs id and role", line, offset)
            return
        else:
            if not isinstance(fields.get("at"), str):
                self.report("bad-value", f"{fields['id']}: its time is not a string; ignored", line, offset)
            if not isinstance(fields.get("prev"), str | None):
                self.report(
                    "bad-value", f"{fields['id']}: prev is not a string; shown as a root", line, offset
                )
            for name in bad_values(fields.get("message")):
                self.report("bad-value", f"{fields['id']}: bad {name} value", line, offset)
        self.take_one(row_from(fields), line, offset)

    def salvage(self, data: bytes) -> SalvagedIds | None:
        found = _FRAGMENT.match(data)
        if found is None:
            return None
        parent = None if found[2] is None else found[2].decode("utf-8", "replace")
        return SalvagedIds(found[1].decode("utf-8", "replace"), parent)

    def is_record(self, data: bytes) -> bool:
        fields = json_codec.loads(data)
        schema = fields.get("schema")
        return isinstance(schema, str) and schema.startswith(FAMILY) and "kind" in fields

    def saved_state(self) -> bytes | None:
        return _encode((self._head, self._other_schema, self._newer, self.reading.has_head))

    def restore_state(self, state: bytes) -> None:
        self._head, self._other_schema, self._newer, self.reading.has_head = _decode(state)

    def on_finish(self) -> None:
        reading = self.reading
        reading.read_only = None  # even if it is empty: a session may start here
        if self._newer is not None:
            reading.read_only = f"it is of {self._newer}, newer than {SCHEMA}"
            reading.add_tail_finding(
                "newer-version", f"{self._newer} is newer than {SCHEMA}; opened read-only", line=1
            )
        elif self._other_schema is not None and not len(reading.tree) and not reading.has_head:
            reading.read_only = f"it is of another schema ({self._other_schema})"
        header = reading.header
        if header is not None and not header.timestamp and len(reading.tree):
            reading.header = msgspec.structs.replace(header, timestamp=reading.tree.times[0])

    def find_leaf(self) -> int:
        """Return the entry that the head names or its newest descendant, else the deepest entry."""
        reading, head = self.reading, self._head
        reading.leaf_ambiguous = False
        if head is None:
            return reading.depths.catch_up()
        place = {"line": head.line, "offset": head.offset, "size": head.size}
        top = ROOT if head.leaf is None else reading.linker.latest_with_id(head.leaf)
        if top is None:
            message = f"the head names {head.leaf}, which is not in this file; using the deepest entry"
            reading.add_tail_finding("leaf-target", message, **place)
            return reading.depths.catch_up()
        if self._below is None or self._below.top != top:
            self._below = Descendants(reading.tree, top)
        state = resolve_leaf(reading.tree, head, self._below)
        reading.leaf_ambiguous = state.stale
        if state.below:
            newest = reading.tree.keys[state.newest]
            named = head.leaf or "the beginning"
            if state.stale:
                message = f"the head names {named}, but the session continued below it, to {newest}"
                reading.add_tail_finding("stale-head", message, **place)
            else:
                message = f"{state.below} entries are below the head ({named}); the newest is {newest}"
                reading.add_tail_finding("below-head", message, **place)
        return state.leaf
