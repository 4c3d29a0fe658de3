"""induscode's lines into a reading: entries linked by ``prev``, and head lines that name the leaf.

A file has no header; its name is the id of the session. Lines of another schema belong to somebody else and
stay where they are. Head lines are no entries of the tree.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from branchline.entries import ACTIVITY_ROLES, Header, json_codec
from branchline.entries.skeleton import SalvagedIds
from branchline.formats.induscode.leaf_resolver import DeepestEntry, Descendants, HeadRow, resolve_leaf
from branchline.formats.induscode.rows import (
    SCHEMA,
    InduscodeRow,
    bad_values,
    decode_lines,
    seen_in,
    spoken_at,
)
from branchline.formats.lines import LineReader, decode_chunk
from branchline.formats.protocol import LogIndex
from branchline.formats.suffixes import NDJSON
from branchline.tree import ROOT, BackwardLinker, Kind

__all__ = ["FAMILY", "ORIGIN", "InduscodeReader", "InduscodeReading"]

FAMILY = "indus/transcript@"
ORIGIN = "branchline/origin@1"
_FRAGMENT = re.compile(
    rb'\s*\{"schema":"indus/transcript@1","kind":"entry","id":"([^"\\]+)","prev":(?:"([^"\\]*)"|null)'
)
_ID = re.compile(r"s_([0-9a-z]{1,9})_[0-9a-z]+")
_UNSEEN = frozenset({"glued", "unreadable", "bom"})  # where induscode reads less than we do


class InduscodeReading(LogIndex):
    """A reading that also knows what induscode itself would take for the leaf."""

    def __init__(self, path: str) -> None:
        super().__init__("induscode")
        self.linker = BackwardLinker(self.tree)
        self.version = 1
        self.header = _header_from(path)
        self.deepest = DeepestEntry(self.tree)
        self.has_head = False
        """Whether induscode goes by a head line, be it a good one or not."""

    def take_origin(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        """The line before the first entry in which a fork or a conversion of ours names its parent."""
        parent = fields.get("parent")
        if self.header is not None and isinstance(parent, str):
            self.header = msgspec.structs.replace(self.header, parent_session=parent)
        self.header_line, self.header_end = line, offset + len(line)

    @property
    def is_whole(self) -> bool:
        """Whether induscode sees the same entries and links as we do."""
        return not (
            self.tree.placeholders
            or self.linker.findings()
            or any(note.kind in _UNSEEN for note in self.notes)
        )


class InduscodeReader(LineReader):
    """Reads sessions of schema ``indus/transcript@1``."""

    format_name = "induscode"
    markers = (b'{"schema":"',)
    begins_with_header = False

    def __init__(self, path: str = "") -> None:
        self._reading = InduscodeReading(path)
        super().__init__(self._reading)
        self._head: HeadRow | None = None
        self._below: Descendants | None = None
        self._other_schema: str | None = None
        self._newer: str | None = None

    # -- the regular way: many lines at once ----------------------------------------------------------

    def take_regular(self, data: bytes, start: int, end: int) -> bool:
        found = decode_chunk(data, end, decode_lines, start=start)
        if found is None:
            return False
        lines: Sequence[InduscodeRow] = found.values
        kinds: list[str] = [line.kind for line in lines]
        entries = lines if "head" not in kinds else [line for line in lines if line.kind == "entry"]
        first, offset = len(self.reading.tree), self.reading.consumed
        if entries and not self._take_entries(entries):
            return False
        if entries is lines:
            self.add_block(first, offset, found.ends)
            return True
        line = self.reading.lines
        self.add_lines(first, offset, [kind == "entry" for kind in kinds], found.ends)
        last = len(kinds) - 1 - kinds[::-1].index("head")
        begin = found.ends[last - 1] + 1 if last else 0
        after = first + kinds[:last].count("entry")
        self._set_head(lines[last].leaf, after, line + last + 1, offset + begin, found.ends[last] - begin)
        return True

    def _take_entries(self, lines: Sequence[InduscodeRow]) -> bool:
        """Lines that are all entries; False, and nothing done, when one of them is odd."""
        messages = [line.message for line in lines]
        ids, times = [line.id for line in lines], [line.at for line in lines]
        node_roles = [line.role for line in lines]
        if None in messages or any(msgspec.UNSET in values for values in (ids, times, node_roles)):
            return False
        roles = [message.role for message in messages]  # type: ignore[union-attr]
        types = [message.type for message in messages]  # type: ignore[union-attr]
        parents = [line.prev for line in lines]
        spoken = [m.timestamp or 0 for m, role in zip(messages, roles, strict=True) if role in ACTIVITY_ROLES]  # type: ignore[union-attr]
        newest = max(spoken, default=0)
        if newest and not spoken_at(newest):
            return False
        first = len(self.reading.tree)
        quiet = [first + number for number, message in enumerate(messages) if message.is_quiet()]  # type: ignore[union-attr]
        if not self.reading.linker.extend(ids, parents, types, times, roles, quiet):  # type: ignore[arg-type]
            return False
        self._note_spoken(newest)
        return True

    # -- the careful way: one line at a time ----------------------------------------------------------

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        schema, kind = fields.get("schema"), fields.get("kind")
        if schema == ORIGIN and not self._reading.header_line and not len(self.reading.tree):
            self._reading.take_origin(fields, line, offset)
        elif schema != SCHEMA and not self._is_newer(schema):
            if isinstance(schema, str):
                self._other_schema = schema
            self.note_not_an_entry(f"a line of another schema ({schema}), left as it is", line, offset)
        elif kind == "head":
            self._take_head(fields, line, offset)
        elif kind == "entry":
            self._take_entry(fields, line, offset)
        else:
            self.note_not_an_entry(f"neither entry nor head ({kind})", line, offset)

    def _is_newer(self, schema: object) -> bool:
        """Whether the file is of a newer version: it begins with lines of one, which are read as ours."""
        if self._newer is None and isinstance(schema, str) and schema.startswith(FAMILY):
            version = schema.removeprefix(FAMILY)
            if version.isdecimal() and not len(self.reading.tree) and not self._reading.has_head:
                self._newer = schema
        return schema == self._newer

    def _take_head(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        leaf = fields.get("leaf")
        if "leaf" not in fields:
            leaf = msgspec.UNSET
        if leaf is None or leaf is msgspec.UNSET or isinstance(leaf, str):
            self.gap = False
            self._set_head(leaf, len(self.reading.tree), self.reading.lines, offset, len(line))
        else:
            self._reading.has_head = True
            self._note("bad-value", f"the head names no entry ({leaf}); ignored", line, offset)

    def _take_entry(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        entry_id, time, previous = fields.get("id"), fields.get("at"), fields.get("prev")
        if (
            not isinstance(entry_id, str)
            or not isinstance(time, str)
            or not isinstance(fields.get("role"), str)
        ):
            self.note_not_an_entry("an entry needs id, role and time", line, offset)
            return
        message = fields.get("message")
        if previous is not None and not isinstance(previous, str):
            self._note("bad-value", f"{entry_id}: prev is no text; shown as a root", line, offset)
            previous = None
        for name in bad_values(message):
            self._note("bad-value", f"{entry_id}: bad {name} value", line, offset)
        seen = seen_in(message)
        self.add(
            entry_id, previous, line, offset, type=seen.type, time=time, role=seen.role, quiet=seen.quiet
        )
        if isinstance(message, dict) and seen.role in ACTIVITY_ROLES:
            self._note_spoken(message.get("timestamp"))

    def salvage(self, data: bytes) -> SalvagedIds | None:
        found = _FRAGMENT.match(data)
        if found is None:
            return None
        parent = None if found[2] is None else found[2].decode("utf-8", "replace")
        return SalvagedIds(found[1].decode("utf-8", "replace"), parent)

    def is_record(self, data: bytes) -> bool:
        try:
            fields = json_codec.loads(data)
        except ValueError:
            return False
        return (
            isinstance(fields, dict)
            and isinstance(schema := fields.get("schema"), str)
            and schema.startswith(FAMILY)
            and "kind" in fields
        )

    # -- what is the same both ways -------------------------------------------------------------------

    def _set_head(
        self, leaf: str | msgspec.UnsetType | None, after: int, line: int, offset: int, size: int
    ) -> None:
        """The last head counts. One that names nothing counts as none, also for those before it."""
        self._head = None if isinstance(leaf, msgspec.UnsetType) else HeadRow(leaf, line, offset, size, after)
        self._reading.has_head = self._head is not None

    def _note_spoken(self, time: Any) -> None:
        moment = spoken_at(time)
        if moment > (self.reading.last_message_time or 0):
            self.reading.last_message_time = moment

    def _note(self, kind: Kind, message: str, line: bytes, offset: int) -> None:
        self.reading.add_finding(kind, message, line=self.reading.lines, offset=offset, size=len(line))

    # -- the end --------------------------------------------------------------------------------------

    def on_finish(self) -> None:
        reading = self._reading
        reading.read_only = None  # also when it is empty: a session may begin here
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
        """What the head names or was written below it since; without a head the deepest entry."""
        reading, head = self._reading, self._head
        reading.leaf_ambiguous = False
        if head is None:
            return reading.deepest.find()
        place = {"line": head.line, "offset": head.offset, "size": head.size}
        top = ROOT if head.leaf is None else reading.linker.latest_with_id(head.leaf)
        if top is None:
            message = f"the head names {head.leaf}, which is not in this file; the deepest entry counts"
            reading.add_tail_finding("leaf-target", message, **place)
            return reading.deepest.find()
        if self._below is None or self._below.top != top:
            self._below = Descendants(reading.tree, top)
        standing = resolve_leaf(reading.tree, head, self._below)
        reading.leaf_ambiguous = standing.stale
        if standing.below:
            newest = reading.tree.keys[standing.newest]
            named = head.leaf or "the beginning"
            if standing.stale:
                message = f"the head names {named}, but the session went on below it, to {newest}"
                reading.add_tail_finding("stale-head", message, **place)
            else:
                message = f"{standing.below} entries lie below the head ({named}); the newest is {newest}"
                reading.add_tail_finding("below-head", message, **place)
        return standing.leaf


def _header_from(path: str) -> Header:
    """The name of the file is the id, and in most ids stands the time."""
    name = os.path.basename(path).removesuffix(NDJSON)
    found = _ID.fullmatch(name)
    return Header(id=name, version=1, timestamp="" if found is None else _iso(int(found[1], 36)))


def _iso(moment: int) -> str:
    try:
        time = datetime.fromtimestamp(moment / 1000, UTC)
    except (ValueError, OverflowError):
        return ""
    return time.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
