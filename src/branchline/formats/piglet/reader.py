"""Reads the lines of a piglet session into an index: a tree by id and parent, and the meta rows.

Every line except a meta row is a node; the last one is the leaf. Older files have no ids: their lines are
named L0, L1, … in order, and each is a child of the line before it. If such a line is damaged, only later
appends show whether piglet had counted it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import compress
from typing import Any, NamedTuple

import msgspec

from branchline.context import milliseconds
from branchline.entries import ACTIVITY_ROLES, Header, json_codec
from branchline.entries.skeleton import SalvagedIds
from branchline.formats.go_json import utc_time
from branchline.formats.json_values import dict_of, text_of
from branchline.formats.lines import LineReader, Lines
from branchline.formats.log_index import LabelState
from branchline.formats.piglet.log_index import PigletLogIndex
from branchline.formats.piglet.rows import Answer, LabelRow, Meta, Row, decode_rows, row_from
from branchline.tree import BackwardLinker

__all__ = ["PigletReader"]

_NAME = re.compile(r"([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\.jsonl$")
_LEGACY = re.compile(r"L(\d{1,15})")
_FRAGMENT = re.compile(
    rb'\{"type":"((?:[^"\\]|\\.)*+)","id":"([^"\\]{1,200})"(?:,"(?:(ts)":|parentId":"([^"\\]{0,200})"))?'
)
_META = b'{"type":"meta"'
_NO_META = "no row in it names the session"
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[int, bool, str, dict[str, Any] | None]).decode


class _PendingRow(NamedTuple):
    """A line without an id, or a move, after a damaged line whose number is not known yet."""

    row: Row | None
    """None for a damaged line."""
    lines: Lines


class PigletReader(LineReader):
    """Reads the lines of one file. The path provides the id if no meta row does."""

    format_name = "piglet"
    reading: PigletLogIndex

    def __init__(self, path: str = "") -> None:
        reading = PigletLogIndex()
        reading.linker = BackwardLinker(reading.tree)
        super().__init__(reading)
        self._path = path
        self._legacy = 0
        self._has_ids = False
        self._pending: list[_PendingRow | None] = []  # None: not an entry, but piglet numbers it
        self._is_guess = False  # the numbers of lines were guessed at the end of the file
        self._last_activity = ""

    # -- rows -----------------------------------------------------------------------------------------

    def takes_rows(self) -> bool:
        return not self._pending and self.reading.meta is not None

    def decode_rows(self, data: memoryview) -> Sequence[Row | Meta]:
        return decode_rows(data)

    def take_rows(self, rows: Sequence[Any], lines: Lines) -> bool:
        reading = self.reading
        counts = None
        metas = [row.data for row in rows if type(row) is Meta]
        if metas:
            if not all(map(_names_session, metas)):
                return False
            counts = [type(row) is not Meta for row in rows]
            rows = list(compress(rows, counts))
        ids = [row.id for row in rows]
        if "" in ids:
            return False
        times = [row.ts for row in rows]
        roles = [row.role for row in rows]
        first = len(reading.tree)
        if ids and not self.link(
            lines,
            ids,
            [row.parentId or None for row in rows],
            types=[row.type for row in rows],
            times=map(utc_time, times),  # lazy: converting eagerly takes a quarter of opening
            roles=roles,
            quiet=[place for place, row in enumerate(rows, first) if type(row) is Answer and row.is_quiet()],
            counts=counts,
        ):
            return False
        if metas:
            reading.set_meta(metas[-1])
        self._has_ids = self._has_ids or (bool(ids) and not lines.alone)
        activity = map(ACTIVITY_ROLES.__contains__, reversed(roles))
        self._last_activity = next(map(utc_time, compress(reversed(times), activity)), self._last_activity)
        for row in rows:
            if type(row) is LabelRow:
                self._set_label(row)
        return True

    def _set_label(self, row: LabelRow) -> None:
        if row.target and row.label:
            self.reading.labels[row.target] = LabelState(row.label, utc_time(row.ts))
        elif row.target:
            self.reading.labels.pop(row.target, None)

    # -- objects of any shape -------------------------------------------------------------------------

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        kind, entry_id, parent_id = (fields.get(name) for name in ("type", "id", "parentId"))
        if kind is None and not entry_id:
            self._skip_number()
            self.note_not_an_entry("an object without a type", line, offset)
            return
        if not all(value is None or isinstance(value, str) for value in (kind, entry_id, parent_id)):
            self.note_not_an_entry("type, id or parent is not a string", line, offset)
            return
        if kind == "meta":
            self._take_meta(fields.get("data"), line, offset)
            return
        if entry_id:
            if kind != "branch_summary":
                self._number_pending(parent_id)
            self._has_ids = True
        pending = _PendingRow(row_from(fields), self._here(line, offset))
        if self._pending:
            self._pending.append(pending)
        else:
            self._add(pending)

    def _here(self, data: bytes, offset: int) -> Lines:
        """Return the location of a part of the current line."""
        return Lines(data, 0, [len(data)], offset, self.reading.lines, alone=True)

    def _add(self, pending: _PendingRow) -> None:
        """Add an entry to the tree, with the next number if it has no id."""
        reading = self.reading
        row, lines = pending
        number, keys = f"L{self._legacy}", reading.tree.keys
        before = keys[-1] if keys else None
        if row is None or not row.id:
            self._legacy += 1
        if row is None:
            position = reading.linker.add(number, before, type="damaged", placeholder=True)
            self.locate(position, lines)
        else:
            if not row.id:
                row.id, row.parentId = number, before
            self.take_rows((row,), lines)
        self.gap = False

    def _take_meta(self, data: Any, line: bytes, offset: int) -> None:
        reading = self.reading
        self.gap = False
        if not _names_session(data):
            self.report("extra-header", "a meta row that does not name the session; ignored", line, offset)
            return
        if reading.meta is None:
            reading.header_line, reading.header_end = line, offset + len(line)
        reading.set_meta(data)

    # -- damage ---------------------------------------------------------------------------------------

    def is_record(self, data: bytes) -> bool:
        """Return whether this is a complete piglet line; an object without an id may be a message in a
        compaction.
        """
        fields = json_codec.loads(data)
        kind = fields.get("type")
        if not isinstance(kind, str) or "ts" not in fields or "data" not in fields:
            return False
        return kind == "meta" or (isinstance(fields.get("id"), str) and bool(fields["id"]))

    def salvage(self, data: bytes) -> SalvagedIds | None:
        """Return the id and parent at the start of a damaged fragment."""
        found = _FRAGMENT.match(data)
        if found is None or found[1] == b"meta":
            return None
        self._has_ids = True
        parent = None if found[3] else (found[4] or b"").decode("utf-8", "replace")
        self._number_pending(parent)
        return SalvagedIds(found[2].decode("utf-8", "replace"), parent)

    def on_lost_line(self, data: bytes, offset: int) -> None:
        if not self._has_ids and not data.startswith(_META):
            self._pending.append(_PendingRow(None, self._here(data, offset)))

    def note_not_an_entry(self, what: str, line: bytes, offset: int) -> None:
        if line.strip() == b"null":
            self._skip_number()
        super().note_not_an_entry(what, line, offset)

    def _skip_number(self) -> None:
        """Count a line that is not an entry here but has a number in piglet."""
        if self._pending:
            self._pending.append(None)
        else:
            self._legacy += 1

    def _number_pending(self, parent_id: str | None) -> None:
        """Number the pending lines so that the last of them is ``parent_id``, if possible."""
        if not self._pending:
            return
        held, self._pending = self._pending, []
        damaged = sum(one is not None and one.row is None for one in held)
        with_ids = sum(one is not None and one.row is not None and bool(one.row.id) for one in held)
        numbered = self._legacy + len(held) - damaged - with_ids
        named = _LEGACY.fullmatch(parent_id or "")
        counted = int(named[1]) + 1 - numbered if named else 0
        if not 0 < counted <= damaged:
            counted = 0
        for one in held:
            if one is None:
                self._legacy += 1
            elif one.row is not None:
                self._add(one)
            elif counted:
                counted -= 1
                self._add(one)

    # -- continuing a reading that was saved ----------------------------------------------------------

    def saved_state(self) -> bytes | None:
        if self._is_guess:
            return None  # more lines may tell otherwise
        return _encode((self._legacy, self._has_ids, self._last_activity, self.reading.meta))

    def restore_state(self, state: bytes) -> None:
        self._legacy, self._has_ids, self._last_activity, self.reading.meta = _decode(state)

    # -- the end --------------------------------------------------------------------------------------

    def on_finish(self) -> None:
        self._is_guess = self._is_guess or bool(self._pending)
        self._number_pending(None)
        reading = self.reading
        reading.last_message_time = milliseconds(self._last_activity)
        for target, state in reading.labels.items():
            if target not in reading.tree:
                reading.add_tail_finding(
                    "label-target", f"the label {state.text!r} names {target}, which is not here"
                )
        if reading.meta is not None:
            if reading.read_only == _NO_META:
                reading.read_only = None
        elif reading.lines:
            reading.read_only = _NO_META
            reading.add_tail_finding("no-header", "no readable meta row; opened read-only", line=1)
            named = _NAME.search(self._path)
            reading.header = None if named is None else Header(id=named[1])


def _names_session(data: Any) -> bool:
    """Return whether these are the fields of a meta row."""
    return bool(text_of(dict_of(data).get("id")))
