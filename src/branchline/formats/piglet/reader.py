"""Lines of a piglet session into a reading: a tree by id and parent, meta rows beside it.

Every line but a meta row is a node, and the last one is where the file stands. Older files have no ids: their
lines are named L0, L1, … in order, and each hangs from the line before it. Where such a line is damaged, only
what was appended later tells whether piglet had counted it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import compress
from typing import Any, NamedTuple

from branchline.context import milliseconds
from branchline.entries import ACTIVITY_ROLES, Header, json_codec
from branchline.entries.skeleton import SalvagedIds
from branchline.formats.go_json import utc_time, utc_times
from branchline.formats.lines import LineReader, decode_chunk
from branchline.formats.piglet.log_index import PigletReading
from branchline.formats.piglet.rows import EntryShape, columns, decode_rows, decode_shapes, facts_of
from branchline.formats.protocol import LabelState
from branchline.tree import BackwardLinker, Linker, Tree

__all__ = ["PigletReader"]

_NAME = re.compile(r"([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\.jsonl$")
_LEGACY = re.compile(r"L(\d{1,15})")
_FRAGMENT = re.compile(
    rb'\{"type":"((?:[^"\\]|\\.)*+)","id":"([^"\\]{1,200})"(?:,"(?:(ts)":|parentId":"([^"\\]{0,200})"))?'
)
_META = b'{"type":"meta"'
_NOTHING = EntryShape("nothing")  # of a line that is no entry, but has a number
_NO_META = "no row in it tells which session it is"


class _PendingRow(NamedTuple):
    """A line without an id, or a move, behind a damaged line whose number is not known yet."""

    line: int
    offset: int
    size: int
    facts: EntryShape | None
    """None for a damaged line."""
    time: str = ""
    entry_id: str = ""
    parent_id: str | None = None


class PigletReader(LineReader):
    """Reads the lines of one file; the path tells the id where no row does.

    ``shape_only`` is for lists of sessions: it leaves out which answers are quiet.
    """

    format_name = "piglet"
    linker: Callable[[Tree], Linker] = BackwardLinker

    def __init__(self, path: str = "", *, shape_only: bool = False) -> None:
        self._known = PigletReading()
        self._known.linker = BackwardLinker(self._known.tree)
        super().__init__(self._known)
        self._path = path
        self._shape_only = shape_only
        self._legacy = 0
        self._has_ids = False
        self._held: list[_PendingRow] = []
        self._spoken = ""

    # -- many lines at once ---------------------------------------------------------------------------

    def take_regular(self, data: bytes, start: int, end: int) -> bool:
        reading = self._known
        if self._held or reading.meta is None:
            return False
        found = decode_chunk(data, end, decode_shapes if self._shape_only else decode_rows, start=start)
        if found is None:
            return False
        rows = columns(found.values)
        if (
            "" in rows.ids
            or any(kind == "meta" for kind, _ in rows.others.values())
            or not all(map(_names_session, rows.metas.values()))
        ):
            return False
        first = len(reading.tree)
        times = utc_times(rows.times)
        if rows.ids:
            quiet = [first + number for number in rows.quiet]
            if not reading.linker.extend(rows.ids, rows.parents, rows.types, times, rows.roles, quiet):
                return False
            self._has_ids = True
        if rows.metas:
            sizes = [number not in rows.metas for number in range(len(found.ends))]
            self.add_lines(first, reading.consumed, sizes, found.ends)
            reading.set_meta(next(reversed(rows.metas.values())))
        else:
            self.add_block(first, reading.consumed, found.ends)
        spoken = map(ACTIVITY_ROLES.__contains__, reversed(rows.roles))
        self._spoken = next(compress(reversed(times), spoken), self._spoken)
        for number, (kind, fields) in rows.others.items():
            if kind == "label":
                self._set_label(fields, times[number])
        return True

    # -- one line at a time ---------------------------------------------------------------------------

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        kind, entry_id, parent_id = (fields.get(name) for name in ("type", "id", "parentId"))
        if kind is None and not entry_id:
            self._number_nothing()
            self.note_not_an_entry("an object without a type", line, offset)
            return
        if not all(value is None or isinstance(value, str) for value in (kind, entry_id, parent_id)):
            self.note_not_an_entry("type, id or parent is no text", line, offset)
            return
        if kind == "meta":
            self._take_meta(fields.get("data"), line, offset)
            return
        written = fields.get("ts")
        time = utc_time(written) if isinstance(written, str) else ""
        facts = facts_of(kind or "", fields.get("data"))
        if facts.role in ACTIVITY_ROLES:
            self._spoken = time
        if kind == "label":
            self._set_label(fields.get("data"), time)
        held = _PendingRow(
            self.reading.lines, offset, len(line), facts, time, entry_id or "", parent_id or None
        )
        if entry_id:
            if kind != "branch_summary":
                self._decide(parent_id)
            self._has_ids = True
        if self._held:
            self._held.append(held)
        else:
            self._add(held)

    def _add(self, held: _PendingRow) -> None:
        """Put an entry into the tree, with the next number if it has no id."""
        reading = self._known
        entry_id, parent_id = held.entry_id, held.parent_id
        if not entry_id:
            entry_id = f"L{self._legacy}"
            self._legacy += 1
            keys = reading.tree.keys
            parent_id = keys[-1] if keys else None
        facts = held.facts
        position = reading.linker.add(
            entry_id,
            parent_id,
            type="damaged" if facts is None else facts.type,
            time=held.time,
            role=None if facts is None else facts.role,
            quiet=facts is not None and facts.quiet,
            placeholder=facts is None,
        )
        self.gap = False
        reading.add_range(position, held.offset, held.size, held.line)

    def _take_meta(self, data: Any, line: bytes, offset: int) -> None:
        reading = self._known
        self.gap = False
        if not _names_session(data):
            what = "a meta row that does not say which session it is; ignored"
            reading.add_finding("extra-header", what, line=reading.lines, offset=offset, size=len(line))
            return
        if reading.meta is None:
            reading.header_line, reading.header_end = line, offset + len(line)
        reading.set_meta(data)

    def _set_label(self, data: Any, time: str) -> None:
        fields = data if isinstance(data, dict) else {}
        target, label = fields.get("targetId"), fields.get("label")
        if not isinstance(target, str) or not target:
            return
        if isinstance(label, str) and label:
            self.reading.labels[target] = LabelState(label, time)
        else:
            self.reading.labels.pop(target, None)

    # -- damage ---------------------------------------------------------------------------------------

    def is_record(self, data: bytes) -> bool:
        """A whole line of piglet; an object without an id may be a message inside a compaction."""
        fields = json_codec.loads(data)
        kind = fields.get("type")
        if not isinstance(kind, str) or "ts" not in fields or "data" not in fields:
            return False
        return kind == "meta" or (isinstance(fields.get("id"), str) and bool(fields["id"]))

    def salvage(self, data: bytes) -> SalvagedIds | None:
        """Id and parent with which a damaged piece begins."""
        found = _FRAGMENT.match(data)
        if found is None or found[1] == b"meta":
            return None
        self._has_ids = True
        parent = None if found[3] else (found[4] or b"").decode("utf-8", "replace")
        self._decide(parent)
        return SalvagedIds(found[2].decode("utf-8", "replace"), parent)

    def on_lost_line(self, data: bytes, offset: int) -> None:
        if not self._has_ids and not data.startswith(_META):
            self._held.append(_PendingRow(self.reading.lines, offset, len(data), None))

    def note_not_an_entry(self, what: str, line: bytes, offset: int) -> None:
        if line.strip() == b"null":
            self._number_nothing()
        super().note_not_an_entry(what, line, offset)

    def _number_nothing(self) -> None:
        """A line that is no entry for us, but got a number from piglet."""
        if self._held:
            self._held.append(_PendingRow(0, 0, 0, _NOTHING))
        else:
            self._legacy += 1

    def _decide(self, parent_id: str | None) -> None:
        """Give the held lines their numbers, so that this parent is the last of them if that is possible."""
        if not self._held:
            return
        held, self._held = self._held, []
        numbered = self._legacy + sum(one.facts is not None and not one.entry_id for one in held)
        named = _LEGACY.fullmatch(parent_id or "")
        counted = int(named[1]) + 1 - numbered if named else 0
        damaged = sum(one.facts is None for one in held)
        if not 0 < counted <= damaged:
            counted = 0
        for one in held:
            if one.facts is None:
                if not counted:
                    continue
                counted -= 1
            if one.facts is _NOTHING:
                self._legacy += 1
            else:
                self._add(one)

    # -- the end --------------------------------------------------------------------------------------

    def on_finish(self) -> None:
        self._decide(None)
        reading = self._known
        reading.last_message_time = milliseconds(self._spoken)
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
    """Whether this is what a meta row holds."""
    return isinstance(data, dict) and isinstance(data.get("id"), str) and bool(data["id"])
