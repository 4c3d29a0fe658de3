"""Rows from the catalog for unchanged files, and from the files otherwise.

The catalog is read once, before the first row, and new rows are written to it in batches. Without
a catalog every file is read; ``problem`` says why.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from typing import Any, Protocol

import msgspec

from branchline.catalog import (
    Catalog,
    CatalogFile,
    CatalogMissing,
    CatalogOff,
    CatalogUnavailable,
    FileRecord,
    FileUpdate,
    TextUpdate,
)
from branchline.catalog.documents import (
    documents_of,
    off_path,
    spending_before,
    traits_of,
)
from branchline.catalog.record import shape_hash, tail_hash
from branchline.formats import EntryLog
from branchline.library.scanner import Scanner, SeenFile
from branchline.stores import FileStamp, SkippedFile, StoredLog
from branchline.stores.activity import by_activity, latest_possible
from branchline.views.session_row import SessionRow

__all__ = ["CatalogRows", "OpenCatalog", "file_update"]

_TOGETHER = 512  # files in one transaction; opening the catalog costs as much as writing fifty
_RECORDS = 2_000  # records that are read at once
_MOST_ENTRIES = 20_000
_SHORT = 1 << 15  # bytes that are read as quickly as the last lines
_RECENT_NS = 3_600_000_000_000


class OpenCatalog(Protocol):
    """Opens the catalog; CatalogUnavailable where it cannot."""

    def __call__(self, *, create: bool = True) -> Catalog: ...


class CatalogRows:
    """Returns the row of a file when called. Call :meth:`flush` after the last file."""

    def __init__(self, scanner: Scanner[Any], open_catalog: OpenCatalog) -> None:
        self._scanner = scanner
        self._open = open_catalog
        self._updates: list[FileUpdate] = []
        self._known: dict[str, CatalogFile] = {}
        self._records: dict[int, FileRecord] = {}
        self._checked_ns = time.time_ns()
        self._activity: dict[int, int] = {}
        self._dated: dict[int, SessionRow | SkippedFile] = {}
        self._together = _RECORDS
        self.problem: CatalogUnavailable | None = None
        """Why the catalog was not used."""
        try:
            with open_catalog(create=False) as catalog:
                compared = scanner.compare(catalog.states)
                files, numbers, hidden = compared.files, compared.numbers, compared.hidden
                paths = (scanner.stored_log(file).path for file in compared.changed)
                self._known = catalog.files([path for path in paths if path is not None])
        except CatalogUnavailable as problem:
            self.problem = None if isinstance(problem, CatalogMissing) else problem
            files, hidden = scanner.scan()
            numbers = [0] * len(files)
        self.files = list(zip(numbers, files, strict=True))
        """Each with the number of its record in the catalog; 0 where that is not to be used."""
        self.hidden = hidden
        self._unchanged = iter([number for number in numbers if number])

    def by_activity(self, count: int, *, keeps: bool = True) -> Iterator[tuple[int, Any]]:
        """Yield the files, those of the sessions that were used last first, of which ``count`` are wanted.

        Files that the catalog does not know are dated by their last lines, if they may be among them. Where
        rows are wanted, short ones are read completely instead, so that the catalog knows them next time.
        """
        if self.problem is None and any(number for number, _file in self.files):
            try:
                with self._open() as catalog:
                    self._activity = catalog.activity()
            except CatalogUnavailable as problem:
                self.problem = problem
        known = self._activity
        numbers = [number for number, _file in self.files if number in known]
        self._unchanged = iter(sorted(numbers, key=lambda number: -known[number]))
        self._together = max(1, min(count, _RECORDS))

        def limit(item: tuple[int, Any]) -> int:
            number, file = item
            found = known.get(number)
            return latest_possible(self._scanner.stored_log(file)) if found is None else found

        def find(item: tuple[int, Any]) -> int | None:
            number, file = item
            if (found := known.get(number)) is not None:
                return found
            if keeps and self._scanner.stored_log(file).size <= _SHORT:
                row = self(item)
            else:
                row = self._dated[id(item)] = self._scanner.dated_row(file)
            return row.active_ms if isinstance(row, SessionRow) else None

        return by_activity(
            self.files, limit=limit, find=find, key=lambda item: self._scanner.stored_log(item[1]).key
        )

    def dated(self, item: tuple[int, Any]) -> SessionRow | SkippedFile:
        """Return the row of a file that :meth:`by_activity` yielded, as far as it was read for that."""
        row = self._dated.get(id(item))
        return self(item) if row is None else row

    def __call__(self, item: tuple[int, Any]) -> SessionRow | SkippedFile:
        number, file = item
        record = self._records.get(number) or self._record(number) if number else None
        if record is not None and record.row.path == file.path:  # not so if the catalog was just made again
            row = self._scanner.row_of(file, record)
            if record.deep or isinstance(row, SkippedFile):
                return row
        stored = self._scanner.stored_log(file)
        known = self._known.get(stored.path or "")
        seen: list[FileUpdate] = []

        def see(one: SeenFile) -> None:
            if stored.stamp is not None and self.problem is None:
                seen.append(file_update(one, stored, self._checked_ns, known))

        row = self._scanner.deep_row(file, see)
        for update in seen:
            if not isinstance(row, SkippedFile) and (row.agent, row.title) != (update.agent, update.title):
                update = msgspec.structs.replace(update, agent=row.agent, title=row.title)  # noqa: PLW2901
            self._updates.append(update)
        if len(self._updates) >= _TOGETHER:
            self.flush()
        return row

    def _record(self, number: int) -> FileRecord | None:
        """The record of an unchanged file, which are asked for in order: many are read at once."""
        if number not in self._records and self.problem is None:
            self._records = {}
            wanted = [number, *islice(self._unchanged, self._together)]
            try:
                with self._open() as catalog:
                    self._records = catalog.records(wanted)
            except CatalogUnavailable as problem:
                self.problem = problem
        return self._records.get(number)

    @property
    def notes(self) -> list[str]:
        """A note about a catalog that could not be used, unless it is turned off."""
        if self.problem is None or isinstance(self.problem, CatalogOff):
            return []
        return [f"the index cannot be used, so every session was read: {self.problem}"]

    def flush(self) -> None:
        """Write the new rows to the catalog."""
        if self._updates and self.problem is None:
            try:
                with self._open() as catalog:
                    catalog.put(self._updates)
            except CatalogUnavailable as problem:
                self.problem = problem
        self._updates = []


def file_update(
    seen: SeenFile, stored: StoredLog, checked_ns: int, known: CatalogFile | None, *, with_text: bool = False
) -> FileUpdate:
    """Return the catalog entry of an open file; ``known`` is the present entry."""
    assert stored.path is not None
    assert stored.stamp is not None
    transcript = seen.transcript
    base, start = -1, 0
    if known is not None and not seen.is_packed and known.indexed >= 0:
        same = transcript is not None and shape_hash(transcript.tree, known.entries) == known.shape
        if same and known.is_extended_by(seen.read, stored.stamp):
            base, start = known.id, known.entries
    elif known is not None and known.stamp == stored.stamp:
        base = known.id
    if transcript is None:
        # Only the header was read: the next deep reading replaces this entry.
        return FileUpdate(
            stored.path, stored.stamp, checked_ns, 0, b"", None, seen.record, seen.record.format, base=base
        )
    consumed = transcript.reading.consumed
    return FileUpdate(
        stored.path,
        stored.stamp,
        checked_ns,
        consumed,
        # An append to an unterminated last line may change the entries that were read from it.
        b"" if seen.is_packed or transcript.reading.unterminated else tail_hash(seen.read, consumed),
        transcript.leaf,
        seen.record,
        seen.record.format,
        seen.record.row.title,
        base,
        _text(transcript, start) if with_text else None,
        _saved(transcript) if with_text and (start or _is_recent(stored.stamp, checked_ns)) else None,
    )


def _is_recent(stamp: FileStamp, now_ns: int) -> bool:
    """Whether a file changed recently, so that it is likely to grow again."""
    return now_ns - stamp.modified_ns < _RECENT_NS


def _saved(transcript: EntryLog) -> bytes | None:
    """The saved index of a growing log; None if writing it would take longer than it saves."""
    if len(transcript.tree) > _MOST_ENTRIES or transcript.reading.unterminated:
        return None
    return transcript.save()


def _text(transcript: EntryLog, start: int) -> TextUpdate:
    reading, tree = transcript.reading, transcript.tree
    return TextUpdate(
        start,
        len(tree),
        shape_hash(tree, len(tree)),
        list(documents_of(transcript, start)),
        off_path(transcript, start),
        spending_before(transcript, start),
        {key: label.text for key, label in reading.labels.items()},
        reading.git_branch,
        traits_of(transcript),
    )
