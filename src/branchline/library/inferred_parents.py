"""Parents of sessions that Claude Code, opencode or Goose copied without naming the original.

A copy by Claude Code is a file that begins with records of the original. While files are read for a listing,
the hashes of their record ids are collected. Only files that contain the first record of another file are
read again, together; the lineage rules of the format then tell which file owns the records.

Copies in a database are found with one statement.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from branchline.errors import BranchlineError
from branchline.formats import EntryLog
from branchline.library.row_reader import read_log
from branchline.stores import DatabaseStore, StoredLog, is_address, snapshot_of
from branchline.views.session_row import SessionRow

__all__ = ["ParentInference", "with_parents_in_databases"]

_FORMAT = "claude-code"
_MADE_UP = "line-"  # keys of records that have none of their own


class ParentInference:
    """The hashed record ids of each file: eight bytes per record."""

    def __init__(self) -> None:
        self._marks: dict[str, array[int]] = {}

    def add(self, transcript: EntryLog) -> None:
        """Collect the record ids of a file that was read."""
        if transcript.format.name == _FORMAT:
            keys = (key for key in transcript.tree.keys if not key.startswith(_MADE_UP))
            self._marks[transcript.name] = array("q", map(hash, keys))

    def parents_for(self, rows: Iterable[SessionRow]) -> list[SessionRow]:
        """Return the rows; copies name the file that they were copied from as their parent."""
        rows = list(rows)
        numbers = {
            row.path: number
            for number, row in enumerate(rows)
            if row.path is not None and not row.subagent and self._marks.get(row.path)
        }
        for family in self._families(numbers):
            for number, parent in _parents(rows, family):
                rows[number] = msgspec.structs.replace(rows[number], parent_session=rows[parent].path)
        return rows

    def _families(self, numbers: dict[str, int]) -> list[list[int]]:
        """Groups of at least two rows, linked because one contains the first record of another."""
        starts: dict[int, int] = {}
        member = {
            number: number for number in numbers.values()
        }  # union-find: parent pointers up to the representative

        def standing_for(number: int) -> int:
            while member[number] != number:
                member[number] = number = member[member[number]]
            return number

        for path, number in numbers.items():
            first = starts.setdefault(self._marks[path][0], number)
            member[standing_for(number)] = standing_for(first)
        for path, number in numbers.items():
            for mark in starts.keys() & set(self._marks[path]):
                member[standing_for(number)] = standing_for(starts[mark])
        families: dict[int, list[int]] = {}
        for number in numbers.values():
            families.setdefault(standing_for(number), []).append(number)
        return [family for family in families.values() if len(family) > 1]


def with_parents_in_databases(rows: Iterable[SessionRow]) -> list[SessionRow]:
    """Return the rows; copies in databases name the session that they were copied from as their parent."""
    rows = list(rows)
    databases: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        if row.path is not None and row.parent_session is None and row.path.endswith(f"#{row.key}"):
            databases.setdefault(row.path.removesuffix(f"#{row.key}"), []).append(number)
    for file, numbers in databases.items():
        origins = _origins_in(file)
        for number in numbers:
            if (origin := origins.get(rows[number].key)) is not None:
                rows[number] = msgspec.structs.replace(rows[number], parent_session=f"{file}#{origin}")
    return rows


def _origins_in(file: str) -> Mapping[str, str]:
    try:
        return {} if is_address(file) else DatabaseStore(file).origins()
    except (BranchlineError, OSError):
        return {}  # deleted, locked or unreadable by now


def _parents(rows: Sequence[SessionRow], family: Sequence[int]) -> list[tuple[int, int]]:
    """For rows without a parent, the row that owns their first records."""
    if all(rows[number].parent_session is not None for number in family):
        return []
    from branchline.formats.claude_code.lineage import lineage  # noqa: PLC0415  as above
    from branchline.formats.claude_code.log_index import ClaudeCodeLogIndex  # noqa: PLC0415  few need it

    readings: dict[int, ClaudeCodeLogIndex] = {}
    for number in family:
        transcript = _read_again(rows[number])
        if transcript is not None and isinstance(transcript.reading, ClaudeCodeLogIndex):
            readings[number] = transcript.reading
    numbers = list(readings)
    return [
        (number, numbers[parent])
        for number, parent in zip(numbers, lineage(list(readings.values())), strict=True)
        if parent is not None and rows[number].parent_session is None
    ]


def _read_again(row: SessionRow) -> EntryLog | None:
    assert row.path is not None
    try:
        with snapshot_of(row.path) as read:
            return read_log(read, StoredLog(row.key, row.size, row.modified_ms / 1000, row.path))
    except (BranchlineError, OSError):
        return None  # deleted or unreadable by now: its relatives are unknown
