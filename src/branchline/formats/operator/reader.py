"""Reads the lines of an Operator session into an index: a tree by ``parent_id`` whose last line is the leaf.

Every line is an entry, including moves, labels and titles, and later entries are their children. A title
applies to a branch; labels apply to the file. A message with several tool results becomes several entries,
the last of which has the id.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from itertools import accumulate, chain, count, repeat
from typing import Any

import msgspec

from branchline._sha256 import sha256
from branchline.context import ModelRef
from branchline.entries import Header, json_codec
from branchline.entries.skeleton import SalvagedIds
from branchline.formats.json_values import optional_text, text_of
from branchline.formats.lines import LineReader, Lines
from branchline.formats.log_index import LabelState
from branchline.formats.operator.flat_store import (
    current_lines,
    flat_header,
    flat_problems,
    is_flat_header,
    is_flat_message,
)
from branchline.formats.operator.inherited_value import InheritedValue
from branchline.formats.operator.log_index import OperatorLogIndex
from branchline.formats.operator.rows import OperatorRow, decode_lines, message_facts, row_from, row_problems
from branchline.formats.operator.timestamps import are_times, instant, iso_time, iso_times
from branchline.formats.saved_attributes import SavedAttributes
from branchline.tree import ROOT, Kind

__all__ = ["HEADER_TYPES", "OperatorReader"]

VERSION = 3
HEADER_TYPES = frozenset({"session", "session_header"})
"""The type of a header line: as Operator writes it, and as its documentation names it."""
_MESSAGES = frozenset({"message"})
_POINTERS = frozenset({"label", "leaf"})
_NOTED = _POINTERS | {"session_info", "model_change"}
_FRAGMENT = re.compile(
    rb'\s*\{"id":"([^"\\]+)","timestamp":-?[0-9][0-9.eE+-]*,'
    rb'(?:"parent_id":(?:"([^"\\]+)"|null),)?"type":"[^"\\]*"'
)
_FILE_NAME = re.compile(
    r"[0-9T-]{26}_(([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})\.jsonl"
)

_SAVED = SavedAttributes(_started=bool, _calls=dict[str, str], _moves=dict[int, int | None])
_SAVED_FACTS = SavedAttributes(
    documented=bool,
    is_superseded=bool,
    _tools=dict[int, str],
    _numbers=dict[int, int],
    inner=set[int],
    first_parts=dict[str, str],
)
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[bytes, bytes, dict[int, str], dict[int, ModelRef]]).decode


class OperatorReader(LineReader):
    """Reads sessions of version 3. The path is used if the header is lost."""

    format_name = "operator"
    markers = (b'{"id":"', b'{"type":"session"', b'{"type":"session_header"', b'{"role": "')
    reading: OperatorLogIndex

    def __init__(self, path: str = "") -> None:
        super().__init__(OperatorLogIndex())
        self._path = path
        self._started = False
        self._calls: dict[str, str] = {}
        self._moves: dict[int, int | None] = {}
        self._titles: InheritedValue[str] = InheritedValue(self.reading.tree)

    def takes_rows(self) -> bool:
        return self._started and not self.reading.is_superseded

    def decode_rows(self, data: memoryview) -> Sequence[OperatorRow]:
        return decode_lines(data)

    def take_rows(self, rows: Sequence[OperatorRow], lines: Lines) -> bool:
        types: list[str] = [row.type for row in rows]
        moments = [row.timestamp for row in rows]
        messages = [row.message for row in rows]
        kinds = set(types)
        if kinds != _MESSAGES:
            messages = [row.message if row.type == "message" else None for row in rows]
        dated = are_times(moments)
        regular = dated and types.count("message") == len(messages) - messages.count(None)
        if not regular and not lines.alone:
            return False
        calls: dict[str, str] = {}
        facts = message_facts(messages, calls, self._calls)
        newest = instant(facts.newest)
        if newest is None:
            return False
        ids = [row.id for row in rows]
        parents = [row.parent_id for row in rows]
        times = iso_times(moments) if dated else [""]
        roles, tools = facts.roles, facts.tools
        first = len(self.reading.tree)
        counts: list[int] | None = None
        places: Sequence[int] = range(first, first + len(rows))
        if tools and max(map(len, tools.values())) > 1:
            counts = [1] * len(rows)
            for number, names in tools.items():
                counts[number] = len(names)
            ids, parents = _chained(ids, parents, counts)
            types, times, roles = (_repeated(column, counts) for column in (types, times, roles))
            places = [first + end - 1 for end in accumulate(counts)]
        targets = {} if _POINTERS.isdisjoint(kinds) else self._targets(rows, ids, places)
        quiet = [places[number] for number in facts.quiet]
        if not self.link(
            lines, ids, parents, types=types, times=times, roles=roles, quiet=quiet, counts=counts
        ):
            return False
        if targets or counts is not None:
            # registers the id of every entry, which labels and results refer to
            self.reading.linker.resolve()
        self._calls |= calls
        if newest > (self.reading.last_message_time or 0):
            self.reading.last_message_time = newest
        for number, names in tools.items():
            self.reading.add_results(rows[number].id, places[number], names)
        if not _NOTED.isdisjoint(kinds):
            for row, place in zip(rows, places, strict=True):
                self._note_row(row, place, targets.get(place))
        return True

    def _targets(
        self, rows: Sequence[OperatorRow], ids: list[str], places: Sequence[int]
    ) -> dict[int, int | None]:
        """Return the nearest ancestor named by each label or move that is about to be linked."""
        first = len(self.reading.tree)
        above: dict[str, int] = {}
        found: dict[int, int | None] = {}
        done = 0
        for row, place in zip(rows, places, strict=True):
            if row.type in _POINTERS and row.target_id is not None:
                end = place - first
                above.update(zip(ids[done:end], count(first + done), strict=False))
                done = end
                target = above.get(row.target_id)
                found[place] = self.reading.linker.latest_with_id(row.target_id) if target is None else target
        return found

    def _note_row(self, row: OperatorRow, position: int, target: int | None) -> None:
        """Record the session state that a row sets; ``target`` is the entry that it names, if present."""
        reading = self.reading
        if row.type == "model_change":
            reading.models.add(position, ModelRef(provider=row.provider_id or "", id=row.model_id or ""))
        elif row.type == "session_info":
            if title := (row.name or "").strip():
                self._titles.add(position, title)
        elif row.type == "leaf":
            self._moves[position] = ROOT if row.target_id is None else target
        if row.type not in _POINTERS or row.target_id is None:
            return
        if target is None:
            span = reading.span(position)
            finding: Kind = "leaf-target" if row.type == "leaf" else "label-target"
            message = f"the {row.type} entry points at {row.target_id}, which is not an ancestor"
            reading.add_finding(
                finding, message, line=reading.line_of(position), offset=span.offset, size=span.size
            )
        elif row.type == "label" and row.label:
            reading.labels[reading.tree.keys[target]] = LabelState(row.label, reading.tree.times[position])
        elif row.type == "label":
            reading.labels.pop(reading.tree.keys[target], None)

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        kind, entry_id = fields.get("type"), fields.get("id")
        if self.reading.is_superseded or (
            not self._started and (is_flat_header(fields) or is_flat_message(fields))
        ):
            self._take_flat(fields, line, offset)
            return
        if not isinstance(kind, str):
            self.note_not_an_entry("an object without a type", line, offset)
            return
        if kind in HEADER_TYPES:
            self._take_header(fields, line, offset)
            return
        self._start_without_header()
        if not isinstance(entry_id, str):
            self.gap = False
            self.report("no-id", "an entry without an id", line, offset)
            return
        for finding, what in row_problems(fields, documented=self.reading.documented):
            self.report(finding, f"{entry_id}: {what}", line, offset)
        self.take_one(row_from(fields), line, offset)

    def _take_flat(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        """Take a line of the older store."""
        reading = self.reading
        if not self._started:
            self._started = reading.is_superseded = True
            reading.read_only = "it is of Operator's older store, which rewrites the whole file"
            reading.header, reading.last_message_time = flat_header(fields, self._path)
            reading.version, reading.current_version = reading.header.version, VERSION
            if is_flat_header(fields):
                reading.header_line, reading.header_end = line, offset + len(line)
                if not isinstance(fields.get("id"), str):
                    self.report("bad-value", "the id of the session is not a string", line, offset)
                return
            reading.add_finding("no-header", "the file has no header", line=1)
        if fields.get("type") == "metadata":
            self.gap = False
            self.report("extra-header", "another header inside the file; ignored", line, offset)
            return
        if not isinstance(fields.get("role"), str):
            self.note_not_an_entry("an object without a role", line, offset)
            return
        tree = reading.tree
        assert reading.header is not None
        name = sha256(f"{reading.header.id}:{len(tree)}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
        for finding, what in flat_problems(fields):
            self.report(finding, f"{name}: {what}", line, offset)
        for row in current_lines(fields, name, tree.keys[-1] if len(tree) else None):
            self.take_one(row_from(row), line, offset)

    def salvage(self, data: bytes) -> SalvagedIds | None:
        found = _FRAGMENT.match(data)
        if found is None or not self._started:
            return None
        parent = None if found[2] is None else found[2].decode("utf-8", "replace")
        return SalvagedIds(found[1].decode("utf-8", "replace"), parent)

    def is_record(self, data: bytes) -> bool:
        fields = json_codec.loads(data)
        if self.reading.is_superseded:
            return is_flat_message(fields)
        return fields.get("type") in (*HEADER_TYPES,) or {"id", "timestamp", "type"} <= fields.keys()

    def _take_header(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        reading = self.reading
        self.gap = False
        session, version = fields.get("id"), fields.get("version")
        if self._started or not isinstance(session, str):
            what = "another header inside the file; ignored" if self._started else "a header without an id"
            self.report("extra-header", what, line, offset)
            return
        self._started = True
        reading.documented = fields.get("type") != "session"
        reading.read_only = None
        reading.version = version if isinstance(version, int) and not isinstance(version, bool) else VERSION
        reading.header = Header(
            id=session,
            version=reading.version,
            timestamp=iso_time(fields.get("timestamp")),
            cwd=text_of(fields.get("cwd")),
            parent_session=optional_text(fields.get("parent_session")),
        )
        reading.header_line, reading.header_end = line, offset + len(line)
        if reading.version > VERSION:
            reading.read_only = f"it is of version {version}, newer than {VERSION}"
            message = f"version {version} is newer than {VERSION}; opened read-only"
            self.report("newer-version", message, line, offset)

    def _start_without_header(self) -> None:
        if self._started:
            return
        self._started = True
        reading = self.reading
        reading.version = VERSION
        reading.header = _header_from_name(self._path)
        reading.read_only = "it has no header, and Operator would overwrite it"
        reading.add_finding("no-header", "the file has no header; opened read-only", line=1)

    def saved_state(self) -> bytes | None:
        reading = self.reading
        return _encode(
            (_SAVED.dump(self), _SAVED_FACTS.dump(reading), self._titles.values, reading.models.values)
        )

    def restore_state(self, state: bytes) -> None:
        own, known, self._titles.values, self.reading.models.values = _decode(state)
        _SAVED.defer(self, own)
        _SAVED_FACTS.defer(self.reading, known)

    def finish(self, tail: bytes) -> None:
        super().finish(tail)
        reading = self.reading
        reading.title = self._titles.at(reading.leaf)
        if not self._started and (reading.consumed or tail):
            reading.read_only = "nothing in it can be read as a session"
            reading.add_tail_finding("no-header", "no header and no entry can be read")

    def find_leaf(self) -> int:
        """Return the last entry, or the one it points at; dangling and unreadable entries are skipped."""
        tree = self.reading.tree
        position = len(tree) - 1
        while position >= 0:
            if position in tree.placeholders:
                position -= 1
                continue
            target = self._moves.get(position, position)
            if target is not None:
                while target in tree.placeholders:
                    target = tree.parents[target]
                return target
            position -= 1
        return ROOT


def _chained(
    ids: list[str], parents: list[str | None], counts: list[int]
) -> tuple[list[str], list[str | None]]:
    """Return ids and parents for several entries per row, chained; the last of them has the row's id."""
    all_ids: list[str] = []
    all_parents: list[str | None] = []
    for entry_id, parent, number in zip(ids, parents, counts, strict=True):
        for part in range(1, number):
            all_parents.append(parent)
            all_ids.append(parent := f"{entry_id}.{part}")
        all_parents.append(parent)
        all_ids.append(entry_id)
    return all_ids, all_parents


def _repeated(column: list[Any], counts: list[int]) -> list[Any]:
    return list(chain.from_iterable(map(repeat, column, counts)))


def _header_from_name(path: str) -> Header | None:
    """Return the header implied by the file name: the id, which contains the time."""
    found = _FILE_NAME.fullmatch(posixpath.basename(path))
    if found is None:
        return None
    return Header(id=found[1], version=VERSION, timestamp=iso_time(int(found[2] + found[3], 16) / 1000))
