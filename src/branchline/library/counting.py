"""The sessions of libraries, added up; what cannot be read is told and costs only itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from branchline.entries import Header
from branchline.formats import peek_header
from branchline.library.library import SessionLibrary
from branchline.library.look import problem_row, read_whole
from branchline.library.records import SessionRow
from branchline.stores import Stored
from branchline.views.stats import Origin, Tally

__all__ = ["Counted", "count_sessions"]


class Counted(NamedTuple):
    """How many sessions were read, and the rows of those that could not be."""

    read: int
    unreadable: list[SessionRow]


class _Found(NamedTuple):
    created: str
    library: SessionLibrary
    stored: Stored


def count_sessions(
    libraries: Iterable[SessionLibrary],
    tally: Tally,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Counted:
    """Add all sessions of these libraries to a tally, the oldest first: parents before their forks."""
    found: list[_Found] = []
    unreadable: list[SessionRow] = []
    for library in libraries:
        for row in library.list():
            stored = library.store.stat(row.key)
            if stored is None:
                continue  # removed in this moment
            try:
                found.append(_Found(_created(library, stored), library, stored))
            except Exception as problem:  # noqa: BLE001  formats come from many hands
                unreadable.append(problem_row(stored, problem))
    found.sort(key=lambda item: (item.created, item.stored.key))
    read = 0
    for number, (_, library, stored) in enumerate(found, 1):
        try:
            with library.store.snapshot(stored.key) as look:
                transcript = read_whole(look, stored)
                reading = transcript.reading
                origin = _origin(stored, reading.header, reading.format)
                tally.add(transcript, origin, inherited=reading.inherited)
            read += 1
        except Exception as problem:  # noqa: BLE001  as above
            unreadable.append(problem_row(stored, problem))
        if progress is not None:
            progress(number, len(found))
    return Counted(read, unreadable)


def _created(library: SessionLibrary, stored: Stored) -> str:
    with library.store.snapshot(stored.key) as read:
        header = peek_header(read)
    return "" if header is None else header.timestamp


def _origin(stored: Stored, header: Header | None, program: str) -> Origin:
    if header is None:
        return Origin(stored.key, program, "")
    return Origin(header.id or stored.key, program, header.cwd or "")
