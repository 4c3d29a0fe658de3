"""Sessions added up, one file after the other; what cannot be read is told and costs only itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from branchline.errors import SessionNotFound
from branchline.library.row_reader import problem_row
from branchline.session import Session
from branchline.stores import StoredLog
from branchline.views.session_row import SessionRow
from branchline.views.stats import StatsSource, Tally

__all__ = ["StatsRun", "collect_stats"]


class StatsRun(NamedTuple):
    """How many sessions were read, and the rows of those that could not be, each with its problem."""

    read: int
    unreadable: list[SessionRow]


def collect_stats(
    rows: Iterable[SessionRow],
    tally: Tally,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> StatsRun:
    """Add the sessions of these rows to a tally, the oldest first: parents before their forks.

    The rows of a shallow list are enough. The order decides only where a message counts that several
    sessions have, never how often.
    """
    ordered = sorted(rows, key=lambda row: (row.created or "", row.modified_ms, row.key))
    read = 0
    unreadable: list[SessionRow] = []
    for number, row in enumerate(ordered, 1):
        try:
            _count(row, tally)
            read += 1
        except Exception as problem:  # noqa: BLE001  formats come from many hands; one row is what it costs
            unreadable.append(_unreadable(row, problem))
        if progress is not None:
            progress(number, len(ordered))
    return StatsRun(read, unreadable)


def _count(row: SessionRow, tally: Tally) -> None:
    if row.path is None:
        raise SessionNotFound(f"{row.key} is in no file")
    with Session.open(row.path) as session:
        origin = StatsSource(session.id, row.agent or session.transcript.reading.format, session.cwd)
        tally.add(
            session.transcript,
            origin,
            inherited=session.inherited_entries,
            skipped=session.transcript.reading.counted_elsewhere,
            answers=session.transcript.reading.answer_ids,
        )


def _unreadable(row: SessionRow, problem: Exception) -> SessionRow:
    stored = StoredLog(row.key, row.size, row.modified_ms / 1000, row.path)
    return msgspec.structs.replace(row, problem=problem_row(stored, problem).problem)
