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
    Document,
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

__all__ = ["CatalogRows", "OpenCatalog", "file_update", "text_updates"]

_TOGETHER = 512  # files in one transaction; opening the catalog costs as much as writing fifty
_RECORDS = 2_000  # records that are read at once
_MOST_ENTRIES = 20_000
_PART, _MOST_DOCUMENTS = 8 << 20, 20_000
"""Bytes of a file, and documents, that are indexed at once: a larger file takes several transactions."""
_BYTES_PER_SECOND = 100_000_000
"""About what is read in a second for rows, on a busy machine."""
_SHORT = 1 << 15  # bytes that are read as quickly as the last lines
_RECENT_NS = 3_600_000_000_000


class OpenCatalog(Protocol):
    """Opens the catalog; CatalogUnavailable where it cannot."""

    def __call__(self, *, create: bool = True) -> Catalog: ...


class CatalogRows:
    """Returns the row of a file when called. Call :meth:`flush` after the last file.

    With ``seconds``, files that cannot be read in that time have the row that their header tells.
    """

    def __init__(
        self, scanner: Scanner[Any], open_catalog: OpenCatalog, *, seconds: float | None = None
    ) -> None:
        self._until = None if seconds is None else time.monotonic() + seconds
        self.shallow = 0
        """How many files were not read for lack of time."""
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
        if self._until is not None:
            left = self._until - time.monotonic()
            if left < 0 or stored.size > left * _BYTES_PER_SECOND:
                self.shallow += 1
                return self._scanner.header_row(file)
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


def file_update(seen: SeenFile, stored: StoredLog, checked_ns: int, known: CatalogFile | None) -> FileUpdate:
    """Return the catalog entry of an open file; ``known`` is the present entry."""
    return _file_update(seen, stored, checked_ns, known)[0]


def text_updates(
    seen: SeenFile, stored: StoredLog, checked_ns: int, known: CatalogFile | None
) -> Iterator[FileUpdate]:
    """Yield the catalog entry of an open file with its text: with that of a large file in parts.

    Each part has to be stored before the next one is asked for. Their ``base`` is that of the first.
    """
    update, start = _file_update(seen, stored, checked_ns, known)
    transcript = seen.transcript
    assert transcript is not None
    is_recent = _is_recent(update.stamp, checked_ns)
    for text in _texts(transcript, start):
        is_last = text.entries == len(transcript.tree)
        reading = _saved(transcript) if is_last and (start or is_recent) else None
        yield msgspec.structs.replace(update, text=text, reading=reading)
        del text  # before the next one is made


def _file_update(
    seen: SeenFile, stored: StoredLog, checked_ns: int, known: CatalogFile | None
) -> tuple[FileUpdate, int]:
    """Return the catalog entry of an open file, and the first entry whose text is not in the index."""
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
        header = seen.record
        return FileUpdate(
            stored.path, stored.stamp, checked_ns, 0, b"", None, header, header.format, base=base
        ), start
    consumed = transcript.reading.consumed
    update = FileUpdate(
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
    )
    return update, start


def _is_recent(stamp: FileStamp, now_ns: int) -> bool:
    """Whether a file changed recently, so that it is likely to grow again."""
    return now_ns - stamp.modified_ns < _RECENT_NS


def _saved(transcript: EntryLog) -> bytes | None:
    """The saved index of a growing log; None if writing it would take longer than it saves."""
    if len(transcript.tree) > _MOST_ENTRIES or transcript.reading.unterminated:
        return None
    return transcript.save()


def _texts(transcript: EntryLog, start: int) -> Iterator[TextUpdate]:
    """Yield the text of a log from an entry on, about as many bytes of it at a time as fit into memory."""
    reading, tree = transcript.reading, transcript.tree
    off: list[int] | None = off_path(transcript, start) if start else None
    spending = spending_before(transcript, start) if start else {}
    labels = {key: label.text for key, label in reading.labels.items()}
    traits = traits_of(transcript)
    first, since, documents = start, -1, list[Document]()

    def part(end: int, consumed: int) -> TextUpdate:
        shape = shape_hash(tree, end)
        return TextUpdate(
            first,
            end,
            consumed,
            shape,
            documents,
            off,
            spending,
            labels,
            reading.git_branch,
            traits,
            is_copy=reading.inherited_entries > 0,
        )

    for one in documents_of(transcript, start):
        if since < 0:
            since = one.offset
        if one.offset - since > _PART or len(documents) >= _MOST_DOCUMENTS:
            yield part(one.position, one.offset)
            first, since, documents = one.position, one.offset, []
            off, spending = None, {}
        documents.append(one)
    yield part(len(tree), reading.consumed)
