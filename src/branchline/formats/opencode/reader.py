"""The lines of a session of opencode into a tree: a line of messages, and branches that were deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from branchline.context.javascript import trim
from branchline.entries import json_codec
from branchline.formats.common.derived_format import DerivedReader
from branchline.formats.json_values import LAST_INSTANT, iso_times
from branchline.formats.lines import Lines
from branchline.formats.opencode.entries import (
    PlannedEntry,
    is_silent,
    planned_entries,
    requested_compaction,
)
from branchline.formats.opencode.log_index import OpencodeLogIndex
from branchline.formats.opencode.rows import EndRow, LineShape, fields_of_line, part_ids
from branchline.formats.typed_rows import row_from
from branchline.tree import ROOT

__all__ = ["OpencodeReader"]

_BEGINNINGS = (b'{"message":"', b'{"end":')
_decode_lines = msgspec.json.Decoder(LineShape).decode_lines


class _Entries:
    """The entries of some lines."""

    __slots__ = ("before", "first", "last", "latest", "odd_parents", "planned", "quiet", "times")

    def __init__(self, last: str | None, first: int) -> None:
        self.before = self.last = last
        """The entry before the next one."""
        self.first = first
        """The position of the first one."""
        self.latest = 0
        """The time of the latest message."""
        self.planned: list[PlannedEntry] = []
        self.times: list[float | str] = []
        self.quiet: list[int] = []
        self.odd_parents: dict[int, str | None] = {}
        """The parents of those that do not follow the one before them."""


class OpencodeReader(DerivedReader):
    """Reads messages as the database has them, and the native entries that our own writer makes of others."""

    markers = (*DerivedReader.markers, *_BEGINNINGS)
    reading: OpencodeLogIndex

    def __init__(self) -> None:
        super().__init__(OpencodeLogIndex())
        self._tip: str | None = None
        """The parent of the next entry."""
        self._tips: dict[int, str | None] = {}  # of deleted branches
        self._requests: dict[str, str | None] = {}  # of prompts that ask for a compaction, the entry above
        self._kept_from: str | None = None  # what the last of them asks for

    def decode_rows(self, data: memoryview) -> Sequence[Any]:
        if bytes(data[: len(_BEGINNINGS[0])]).startswith(_BEGINNINGS):
            return _decode_lines(data)
        return super().decode_rows(data)

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        if isinstance(fields.get("message"), str) or "end" in fields:
            self.take_one(row_from(fields, LineShape), line, offset)
        else:
            super().take(fields, line, offset)

    def loads(self, line: bytes) -> Any:
        if not line.startswith(_BEGINNINGS):
            return json_codec.loads(line)
        return fields_of_line(line)

    def take_rows(self, rows: Sequence[Any], lines: Lines) -> bool:
        if type(rows[0]) is not LineShape:
            return super().take_rows(rows, lines)
        reading = self.reading
        if not lines.alone and any(row.message is None and row.end is None for row in rows):
            return False
        reading.is_native = False
        before = self._tip, dict(self._tips), self._kept_from
        found = _Entries(self._tip, len(reading.tree))
        counts = self._add_rows(rows, found)
        planned = found.planned
        ids = [one[0] for one in planned]
        types = [one[1] for one in planned]
        roles = [one[2] for one in planned]
        parents: list[str | None] = [found.before, *ids[:-1]] if ids else []
        for number, parent in found.odd_parents.items():
            parents[number] = parent
        times = iso_times(found.times)
        quiet = found.quiet
        if self.link(lines, ids, parents, types=types, times=times, roles=roles, quiet=quiet, counts=counts):
            self._note_activity(found.latest)
            return True
        self._tip, self._tips, self._kept_from = before
        return False

    def _add_rows(self, rows: Sequence[LineShape], found: _Entries) -> list[int]:
        """Add the entries of rows to those that were found; return how many each of them has."""
        planned, times, counts = found.planned, found.times, []
        for row in rows:
            message_id, info, parts, branch = row.message, row.info, row.parts, row.branch
            if message_id is None:
                counts.append(0 if row.end is None else self._take_end(row.end, found))
                continue
            own = planned_entries(message_id, info, part_ids(row), parts)
            above = self._tip if branch is None else self._tips.get(branch, self._tip)
            counts.append(len(own))
            if not own:
                self._take_request(row, above)
                continue
            first_id, _, first_role, _, end = own[0]
            if above != found.last:
                found.odd_parents[len(planned)] = above
            if first_role == "assistant":
                self._kept_from = None
                if end == len(parts):  # of one step, as nearly all are
                    if is_silent(info, parts, 0, end):
                        found.quiet.append(found.first + len(planned))
                else:
                    self._note_silent(own, row, found)
            else:
                self._note_kept(row, found)
            if first_id != message_id:
                self.reading.aliases[message_id] = first_id
            created = info.time.created
            if found.latest < created <= LAST_INSTANT and first_role is not None:
                found.latest = int(created)
            planned += own
            times += [created] * len(own)
            found.last = last = planned[-1][0]
            if branch is None:
                self._tip = last
            else:
                self._tips[branch] = last
        return counts

    def _note_silent(self, own: Sequence[PlannedEntry], row: LineShape, found: _Entries) -> None:
        """Note which answers of a message with several steps have no text."""
        position = found.first + len(found.planned)
        for place, (_, _, role, start, end) in enumerate(own, position):
            if role == "assistant" and is_silent(row.info, row.parts, start, end):
                found.quiet.append(place)

    def _note_kept(self, row: LineShape, found: _Entries) -> None:
        """Note what a compaction keeps, if the prompt before this message asked for one."""
        role = row.info.role
        if role == "assistant" and self._kept_from is not None:
            self.reading.kept_from[found.first + len(found.planned)] = self._kept_from
        if role in ("assistant", "user"):
            self._kept_from = None

    def _take_request(self, row: LineShape, above: str | None) -> None:
        """A prompt that asks for a compaction is no entry; it stands for the entry above it."""
        asked = requested_compaction(row.info, row.parts)
        self._kept_from = None if asked is None else asked.tail_start_id
        message_id = row.message or ""
        self._requests[message_id] = above
        if above is not None:
            self.reading.aliases[message_id] = above

    def _take_end(self, end: EndRow, found: _Entries) -> int:
        target: str | msgspec.UnsetType | None = msgspec.UNSET
        if end.revert is not None:
            target = self._above(end.revert.partID, found)
            if target is msgspec.UNSET:
                target = self._above(end.revert.messageID, found)
        if end.title:
            self.reading.title = trim(end.title) or None
        kinds = ["session_info"] if end.title else []
        if not isinstance(target, msgspec.UnsetType):
            self._tip = target
            kinds.append("leaf")
        for kind in kinds:
            found.odd_parents[len(found.planned)] = self._tip
            key = f"{end.id}/{'leaf' if kind == 'leaf' else 'title'}"
            found.planned.append((key, kind, None, 0, 0))
            found.times.append(end.time)
        return len(kinds)

    def _above(self, name: str, found: _Entries) -> str | msgspec.UnsetType | None:
        """The entry above the first one of a message or part; UNSET if it has no entry."""
        if name in self._requests:
            return self._requests[name]
        tree = self.reading.tree
        key = self.reading.aliases.get(name, name)
        above = found.before
        for number, (planned, *_) in enumerate(found.planned):
            if planned == key:
                return found.odd_parents.get(number, above)
            above = planned
        position = self.reading.linker.latest_with_id(key)
        if position is None:
            return msgspec.UNSET
        parent = tree.parent_position(position)
        return None if parent == ROOT else tree.keys[parent]

    def find_leaf(self) -> int:
        reading = self.reading
        if reading.is_native:
            return super().find_leaf()
        last = len(reading.tree) - 1
        if last >= 0 and reading.tree.types[last] == "session_info":
            return last
        position = None if self._tip is None else reading.linker.latest_with_id(self._tip)
        return ROOT if position is None else position
