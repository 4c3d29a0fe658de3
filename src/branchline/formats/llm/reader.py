"""Reads the lines of an llm session into a tree: messages of a thread, or native entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from branchline.context.javascript import trim
from branchline.entries import ACTIVITY_ROLES
from branchline.formats.common.derived_format import DerivedReader
from branchline.formats.entry_times import usual_time
from branchline.formats.lines import Lines
from branchline.formats.llm.entries import PlannedEntry, planned_entries
from branchline.formats.llm.log_index import LlmLogIndex
from branchline.formats.llm.rows import TEXT, EndRow, LineShape, fields_of_line
from branchline.formats.llm.values import latest_time
from branchline.formats.typed_rows import row_from

__all__ = ["LlmReader"]

_BEGINNINGS = (b'{"message":"', b'{"usage":{', b'{"end":{')
_UNSET = msgspec.UNSET
_SIZE = max(map(len, _BEGINNINGS))
_decode_lines = msgspec.json.Decoder(LineShape).decode_lines


class LlmReader(DerivedReader):
    """Reads messages as the database has them, and native entries of older conversations."""

    markers = (*DerivedReader.markers, *_BEGINNINGS)
    reading: LlmLogIndex

    def __init__(self) -> None:
        super().__init__(LlmLogIndex())
        self._last: str | None = None
        """The last entry of the conversation."""
        self._behind: tuple[str | None, str] | None = None
        """The same, and the last side record after it."""
        self._ends: dict[str, str] = {}
        """The last entry of a message, if it has another id."""

    def decode_rows(self, data: memoryview) -> Sequence[Any]:
        if bytes(data[:_SIZE]).startswith(_BEGINNINGS):
            return _decode_lines(data)
        return super().decode_rows(data)

    def loads(self, line: bytes) -> Any:
        return fields_of_line(line) if line.startswith(_BEGINNINGS) else super().loads(line)

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        row = row_from(fields, LineShape) if line.startswith(_BEGINNINGS) else LineShape()
        if _is_known(row):
            self.take_one(row, line, offset)
        else:
            super().take(fields, line, offset)

    def take_rows(self, rows: Sequence[Any], lines: Lines) -> bool:
        if type(rows[0]) is not LineShape:
            return super().take_rows(rows, lines)
        if None in [row.message for row in rows] and not all(map(_is_known, rows)):
            return False
        reading = self.reading
        reading.is_native = False
        found = _Entries(self._last, self._behind, self._ends, len(reading.tree))
        counts = found.add(rows)
        parents: list[str | None] = [self._last, *found.ids[:-1]]
        for number, parent in found.odd_parents.items():
            parents[number] = parent
        if not self.link(
            lines,
            found.ids,
            parents,
            types=found.types,
            times=map(usual_time, found.times),
            roles=found.roles,
            quiet=found.quiet,
            counts=counts,
        ):
            return False
        self._last, self._behind = found.last, found.behind
        self._ends |= found.ends
        spoken = zip(found.times, found.roles, strict=True)
        self._note_activity(latest_time([time for time, role in spoken if role in ACTIVITY_ROLES]))
        if (end := rows[-1].end) is not None:
            self._note_end(end)
        return True

    def _note_end(self, end: EndRow) -> None:
        last = len(self.reading.tree) - 1
        if end.title:
            self.reading.title = trim(end.title) or None
        if end.leaf is not None:
            self._leaf_targets[last] = self._last


def _is_known(row: LineShape) -> bool:
    return row.message is not None or row.usage is not None or row.end is not None


class _Entries:
    """The entries of some lines, as columns."""

    __slots__ = (
        *("_known_ends", "behind", "ends", "first", "ids", "last"),
        *("odd_parents", "quiet", "roles", "times", "types"),
    )

    def __init__(
        self,
        last: str | None,
        behind: tuple[str | None, str] | None,
        ends: dict[str, str],
        first: int,
    ) -> None:
        self.last = last
        self.behind = behind
        self._known_ends = ends
        self.ends: dict[str, str] = {}
        self.first = first
        """The position of the first one."""
        self.ids: list[str] = []
        self.types: list[str] = []
        self.roles: list[str | None] = []
        self.times: list[str] = []
        self.quiet: list[int] = []
        self.odd_parents: dict[int, str | None] = {}
        """The parents of those that do not follow the one before them."""

    def add(self, rows: Sequence[LineShape]) -> list[int]:
        """Add the entries of lines; return how many each of them has."""
        ids, types, roles, times = self.ids, self.types, self.roles, self.times
        counts = []
        plans: dict[tuple[str, str], Sequence[PlannedEntry]] = {}  # most messages are of a few kinds
        last = self.last
        for row in rows:
            name, shape, role, time = row.message, row.shape, row.role, row.time
            if name is None:
                self.last = last
                counts.append(self._add_side_records(row))
                last = self.last
                continue
            if row.parent is not _UNSET or not ids or last is not ids[-1]:
                above = last if row.parent is _UNSET else self._end_of(row.parent)
                if not ids or above != ids[-1]:
                    self.odd_parents[len(ids)] = above
            planned = plans.get((role, shape))
            if planned is None:
                plans[role, shape] = planned = planned_entries(role, shape)
            for suffix, entry_type, entry_role, _ in planned:
                if entry_role == "assistant" and TEXT not in shape:
                    self.quiet.append(self.first + len(ids))
                ids.append(name + suffix if suffix else name)
                types.append(entry_type)
                roles.append(entry_role)
                times.append(time)
            last = ids[-1]
            if last is not name:
                self.ends[name] = ids[-1]
            counts.append(len(planned))
        self.last = last
        return counts

    def _end_of(self, message: str | None) -> str | None:
        """Return the last entry of a message."""
        if message is None:
            return None
        return self.ends.get(message) or self._known_ends.get(message, message)

    def _add_side_records(self, row: LineShape) -> int:
        if row.usage is not None:
            usage = row.usage
            if usage.parent is _UNSET:
                self._add_behind(usage.id, "usage", usage.time)
            else:
                self._add_side_record(usage.id, "usage", usage.time, self._end_of(usage.parent))
            return 1
        if row.end is None:
            return 0
        end, before = row.end, len(self.ids)
        if end.leaf is not None:
            self.last = self._end_of(end.leaf)
        if end.title:
            self._add_behind(f"{end.id}/title", "session_info", end.time)
        if end.leaf is not None:
            self._add_side_record(f"{end.id}/leaf", "leaf", end.time, self.last)
        return len(self.ids) - before

    def _add_behind(self, entry_id: str, kind: str, time: str) -> None:
        """Add a side record of the last entry, chained so that a path contains all of them."""
        is_next = self.behind is not None and self.behind[0] == self.last
        above = self.behind[1] if self.behind is not None and is_next else self.last
        self.behind = self.last, entry_id
        self._add_side_record(entry_id, kind, time, above)

    def _add_side_record(self, entry_id: str, kind: str, time: str, parent: str | None) -> None:
        self.odd_parents[len(self.ids)] = parent
        self.ids.append(entry_id)
        self.types.append(kind)
        self.roles.append(None)
        self.times.append(time)
