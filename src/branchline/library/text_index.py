"""Index the text of sessions: new files completely, grown files from their previous end on.

Files are indexed oldest first, so later documents are newer and a search sees recent sessions first.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any

import msgspec

from branchline.catalog import Catalog, CatalogFile, CatalogUnavailable, FileUpdate
from branchline.catalog.database import database_path, delete_database
from branchline.errors import BranchlineError
from branchline.library.scanner import Scanner, See, SeenFile
from branchline.settings import Settings
from branchline.stores import SkippedFile, snapshot_of
from branchline.views.session_row import SessionRow

__all__ = [
    "IndexProgress",
    "IndexResult",
    "IndexStatus",
    "StaleFile",
    "changed_files",
    "index_status",
    "index_text",
    "stale_files",
    "update_index",
]

_FILES, _BYTES = 512, 48 << 20  # of session files in one transaction: the index merges what each one adds
IndexProgress = Callable[[int, int], None]
"""``progress(done, total)`` after each file; after the last when all is written."""


class StaleFile(msgspec.Struct, frozen=True):
    """A file that is not indexed, or not completely."""

    file: Any
    known: CatalogFile | None
    bytes: int
    """The number of new bytes."""

    def is_covered(self, scanner: Scanner[Any]) -> bool:
        """Whether the file is indexed after all, unless it changed without a new time."""
        known = self.known
        return known is not None and known.is_indexed and known.stamp == scanner.stored_log(self.file).stamp


class IndexStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of the index; ``problem`` says why there is none."""

    enabled: bool
    path: str = ""
    problem: str | None = None
    sessions: int = 0
    """The number of known files."""
    indexed: int = 0
    """The number of indexed files."""
    waiting: int = 0
    """The number of files that are not indexed, or not completely."""
    documents: int = 0
    dead: int = 0
    """Documents of deleted files; a rebuild drops them."""
    bytes: int = 0
    text_bytes: int = 0
    """The size of the indexed session files."""
    exclude: tuple[str, ...] = ()


class IndexResult(msgspec.Struct, frozen=True):
    """The number of indexed files, and the files that could not be read."""

    indexed: int
    unreadable: tuple[str, ...]


def stale_files(
    scanner: Scanner[Any], files: Sequence[Any], known: dict[str, CatalogFile], catalog: Catalog
) -> list[StaleFile]:
    """Return the files of a scan that are not indexed, oldest first, without those out of scope."""
    stale = []
    for file in files:
        stored = scanner.stored_log(file)
        if stored.path is None or stored.stamp is None or catalog.excludes(stored.path):
            continue
        one = known.get(stored.path)
        if one is None:
            stale.append(StaleFile(file, None, stored.size))
        elif not one.is_current(stored.stamp):
            grown = stored.size - one.indexed if 0 <= one.indexed <= stored.size else stored.size
            stale.append(StaleFile(file, one, grown))
        elif not one.is_indexed:
            record = one.decoded()
            if record.deep or not isinstance(scanner.row_of(file, record), SkippedFile):
                stale.append(StaleFile(file, one, stored.size - max(0, one.indexed)))
    stale.reverse()  # scans return the newest first
    return stale


def changed_files(scanner: Scanner[Any], catalog: Catalog) -> list[StaleFile]:
    """The files that the index does not cover, oldest first."""
    changed = scanner.compare(partial(catalog.states, with_text=True)).changed
    paths = [path for file in changed if (path := scanner.stored_log(file).path) is not None]
    return stale_files(scanner, changed, catalog.files(paths), catalog)


def index_text(
    scanner: Scanner[Any],
    stale: Sequence[StaleFile],
    catalog: Catalog,
    *,
    seconds: float | None = None,
    progress: IndexProgress | None = None,
) -> IndexResult:
    """Index these files, for at most ``seconds``.

    Raises CatalogUnavailable if the catalog cannot be written.
    """
    from branchline.library.catalog_rows import text_updates  # noqa: PLC0415  often there is nothing to index

    end = None if seconds is None else time.monotonic() + seconds
    checked_ns = time.time_ns()
    waiting: list[FileUpdate] = []
    unreadable: list[str] = []
    size = done = 0
    for number, one in enumerate(stale, 1):
        file, known, grown = one.file, one.known, one.bytes
        stored = scanner.stored_log(file)
        if known is None and stored.path is not None and stored.stamp is not None:
            known = catalog.adopt(stored.path, stored.stamp)  # the file may have been moved
        seen: list[FileUpdate] = []
        beginnings: list[SeenFile] = []

        def see(
            one: SeenFile,
            stored: Any = stored,
            known: Any = known,
            seen: Any = seen,
            beginnings: Any = beginnings,
        ) -> None:
            if one.transcript is not None:
                parts = text_updates(one, stored, checked_ns, known)
                seen.append(_put_parts(catalog, waiting, parts, len(one.transcript.tree)))
            elif one.is_packed:
                beginnings.append(one)

        row = _continued(scanner, file, known, catalog, see) or scanner.deep_row(file, see)
        if beginnings and isinstance(row, SessionRow) and row.problem is None:
            _read_whole(scanner, row, beginnings[0], see)
        if isinstance(row, SkippedFile):
            waiting.extend(seen)
        elif seen:
            waiting.append(
                msgspec.structs.replace(seen[0], agent=row.agent or seen[0].agent, title=row.title)
            )
        else:
            unreadable.append(stored.path or stored.key)
        done += 1
        size += grown
        if len(waiting) >= _FILES or size >= _BYTES:
            catalog.put(waiting)
            waiting.clear()
            size = 0
        if progress is not None and number < len(stale):
            progress(number, len(stale))
        if end is not None and time.monotonic() > end:
            break
    catalog.put(waiting)
    if progress is not None and stale:
        progress(done, len(stale))
    return IndexResult(done - len(unreadable), tuple(unreadable))


def _put_parts(
    catalog: Catalog, waiting: list[FileUpdate], parts: Iterator[FileUpdate], entries: int
) -> FileUpdate:
    """Store what is waiting and all parts of a file but the last one, which is returned."""
    base: int | None = None
    for one in parts:
        part = one if base is None else msgspec.structs.replace(one, base=base)
        assert part.text is not None
        if part.text.entries == entries:
            return part
        catalog.put([*waiting, part])
        waiting.clear()
        now = catalog.files([part.path]).get(part.path)
        if now is None or now.entries != part.text.entries:  # another process was here
            return msgspec.structs.replace(part, text=None)
        base = now.id
        del one, part  # before the next part is made
    raise AssertionError("the last part has the last entry")


def _read_whole(scanner: Scanner[Any], row: SessionRow, beginning: SeenFile, see: See) -> None:
    """Read a compressed file that is too large for lists, which read its beginning."""
    from branchline.library.row_reader import deep_row  # noqa: PLC0415  few files are so large

    with contextlib.suppress(BranchlineError, OSError), scanner.read(row) as (stored, transcript):
        record = msgspec.structs.replace(beginning.record, row=deep_row(stored, transcript))
        see(msgspec.structs.replace(beginning, record=record, transcript=transcript))


def _continued(
    scanner: Scanner[Any], file: Any, known: CatalogFile | None, catalog: Catalog, see: See
) -> SessionRow | SkippedFile | None:
    """Return the row of a grown file from its tail; None if the whole file has to be read.

    ``see`` is called as by :meth:`Scanner.deep_row`.
    """
    stored = scanner.stored_log(file)
    if known is None or stored.path is None or stored.stamp is None or stored.size <= known.size:
        return None
    saved = catalog.reading_of(known)
    if saved is None:
        return None
    from branchline.library.row_reader import continue_row  # noqa: PLC0415  few files grow

    try:
        with snapshot_of(stored.path) as opened:
            read = lru_cache(maxsize=16)(opened)  # the end of the known part is read twice
            if not known.is_extended_by(read, stored.stamp):
                return None
            record = known.decoded()
            found = continue_row(read, stored, record.format, saved)
            if found is None:
                return None
            fresh = msgspec.structs.replace(record, row=found.row)
            see(SeenFile(fresh, found.transcript, read))
            return scanner.row_of(file, fresh)
    except Exception:  # noqa: BLE001  reading the whole file reports the problem
        return None


def update_index(
    scanner: Scanner[Any],
    open_catalog: Callable[[], Catalog],
    *,
    progress: IndexProgress | None = None,
    rebuild: bool = False,
) -> IndexResult:
    """Update the index; rebuild it on request, or if half of its documents are dead."""
    from branchline.catalog.statistics import roll_up  # noqa: PLC0415  searches need none of it

    catalog = open_catalog()
    if rebuild or catalog.wants_rebuild:
        catalog.close()
        delete_database(catalog.directory or "")
        if rebuild and os.path.exists(path := database_path(catalog.directory or "")):
            raise CatalogUnavailable(f"cannot delete {path}")
        catalog = open_catalog()
    with catalog:
        stale = changed_files(scanner, catalog)
        done = index_text(scanner, stale, catalog, progress=progress)
        if scanner.cwd is None:
            catalog.forget_gone()  # after moved files have been found
        if stale:
            with catalog.guarded():
                roll_up(catalog)  # of a large session this takes seconds, which no list should wait for
            catalog.settle()
        return done


def index_status(
    scanner: Scanner[Any], open_catalog: Callable[..., Catalog], wanted: Settings
) -> IndexStatus:
    """Return the status of the index. Reads no session and makes no index."""
    try:
        with open_catalog(create=False) as catalog:
            held = catalog.status()
            stale = changed_files(scanner, catalog)
    except CatalogUnavailable as problem:
        return IndexStatus(enabled=wanted.index, problem=str(problem), exclude=wanted.index_exclude)
    return IndexStatus(
        enabled=wanted.index,
        path=held.path,
        sessions=held.files,
        indexed=held.indexed,
        waiting=sum(not one.is_covered(scanner) for one in stale),
        documents=held.documents,
        dead=held.dead,
        bytes=held.bytes,
        text_bytes=held.text_bytes,
        exclude=wanted.index_exclude,
    )
