"""The protocols of scanners, which find the sessions of a library, and what they return.

A library uses one scanner: of one store, or of the directories of every agent. Scanners do not write, lock or
cache. A file that cannot be read is a row with a problem; it never raises.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, Self, TypeVar

import msgspec

from branchline.catalog.record import FileRecord
from branchline.clock import Clock
from branchline.entries import Header
from branchline.formats import Format
from branchline.library.row_reader import ReadLog, header_row, shallow_row
from branchline.log import Durability
from branchline.plugins.formats import format_named
from branchline.stores import FileState, Read, SkippedFile, Store, StoredLog
from branchline.stores.activity import recent_use
from branchline.views.session_row import SessionRow

if TYPE_CHECKING:
    from branchline.formats import EntryLog
    from branchline.session import Session

__all__ = [
    "CONTINUED",
    "ComparedFiles",
    "FileFinder",
    "KnownStates",
    "OwnStore",
    "RowMaker",
    "Scanner",
    "See",
    "SeenFile",
    "SessionOpener",
    "StoredSession",
    "catalog_number",
    "dated_row",
    "header_record",
    "seen_file",
]

_T = TypeVar("_T")
_T_contra = TypeVar("_T_contra", contravariant=True)
CONTINUED = "a later file continues the same session"


class StoredSession(NamedTuple):
    """A session in the store that can move, rename or remove it."""

    store: Store
    key: str
    draft: bool = False


class SeenFile(msgspec.Struct, frozen=True):
    """An open session file, and what was read from it."""

    record: FileRecord
    transcript: EntryLog | None
    """None if only its header, or the beginning of a compressed file, was read."""
    read: Read
    is_packed: bool = False
    """Whether the file is compressed, so that offsets refer to its content."""


See = Callable[[SeenFile], None]
KnownStates = Callable[[Sequence[str] | None], Mapping[str, FileState]]
"""``known(paths)``: the files with these paths, or all, as they were when they were read."""


class ComparedFiles(msgspec.Struct, Generic[_T], frozen=True):
    """The files of a scan, and which of them are as the catalog knows them."""

    files: Sequence[_T]
    """Newest first."""
    numbers: Sequence[int]
    """For each file its number in the catalog; 0 if it is new or changed."""
    hidden: Sequence[SkippedFile]

    @property
    def unchanged(self) -> dict[int, _T]:
        """The unchanged files by number."""
        found = dict(zip(self.numbers, self.files, strict=True))
        found.pop(0, None)
        return found

    @property
    def changed(self) -> list[_T]:
        """The new and changed files."""
        return [file for number, file in zip(self.numbers, self.files, strict=True) if not number]


class OwnStore(Protocol):
    """A store of our own, which has drafts and may have empty sessions."""

    @property
    def store(self) -> Store: ...

    def drafts(self) -> list[SessionRow]:
        """Return sessions without a first reply yet."""
        ...

    def empty(self) -> Iterable[SessionRow]:
        """Return sessions and drafts without messages, damaged ones left out."""
        ...


class FileFinder(Protocol[_T]):
    """Finds files, without opening them; ``_T`` is a file that is not read yet."""

    @property
    def name(self) -> str:
        """The name for messages."""
        ...

    @property
    def cwd(self) -> str | None:
        """The working directory that the scanner is restricted to; None for all."""
        ...

    @property
    def restricts(self) -> bool:
        """Whether the contents of a file decide if it is listed."""
        ...

    def scan(self) -> tuple[Sequence[_T], Sequence[SkippedFile]]:
        """Return the files, newest first, and hidden ones with reasons. Opens nothing."""
        ...

    def compare(self, known: KnownStates) -> ComparedFiles[_T]:
        """Return the files of a scan and which of them are unchanged, without opening any."""
        ...

    def scan_parts(self) -> tuple[Sequence[_T], Sequence[_T]]:
        """Return the files, newest first, and files that one of them continues as the same session."""
        ...

    def likely(self, files: Sequence[_T], text: str) -> Sequence[_T]:
        """Return the files to search first for an id; none if all headers can be read."""
        ...

    def stored_log(self, file: _T) -> StoredLog:
        """Return the stored log of a file."""
        ...


class RowMaker(Protocol[_T_contra]):
    """Makes rows of the files that a :class:`FileFinder` finds."""

    def with_subagents(self) -> Self:
        """Return a scanner that makes rows of the sessions of sub-agents, too."""
        ...

    def shallow_row(self, file: _T_contra) -> SessionRow | SkippedFile:
        """Return the least that a list needs; reads the header only if necessary."""
        ...

    def header_row(self, file: _T_contra) -> SessionRow | SkippedFile:
        """Return the row with what directory and header tell."""
        ...

    def dated_row(self, file: _T_contra) -> SessionRow | SkippedFile:
        """Return the header row with the time of the last activity, from the last lines of the file."""
        ...

    def titled_row(self, file: _T_contra) -> SessionRow | SkippedFile:
        """Return the row for a search by title."""
        ...

    def deep_row(self, file: _T_contra, see: See | None = None) -> SessionRow | SkippedFile:
        """Return the row of the whole file; ``see`` is called while the file is open."""
        ...

    def row_of(self, file: _T_contra, record: FileRecord) -> SessionRow | SkippedFile:
        """Return the row of an unchanged file from its record."""
        ...


class SessionOpener(Protocol):
    """Finds and opens sessions by name and by row."""

    def locate(self, name: str) -> SessionRow | None:
        """Return the session or draft with this key or session id. Raises InvalidId if it is neither."""
        ...

    def stored(self, row: SessionRow) -> StoredSession:
        """Return the store of a session. Raises NotSupported if its file cannot be moved."""
        ...

    def read(self, row: SessionRow) -> AbstractContextManager[tuple[StoredLog, EntryLog]]:
        """Read the present session of a row, in a ``with`` block. Raises SessionNotFound if it is gone."""
        ...

    def open(self, row: SessionRow, *, durability: Durability, clock: Clock) -> Session:
        """Open the session of a row. Raises SessionNotFound or FileNotFoundError if it is gone."""
        ...

    def waiting(self) -> Sequence[SessionRow]:
        """Return drafts of sessions for other agents, which would remove empty files."""
        ...

    def own_stores(self) -> Sequence[OwnStore]:
        """Return our own stores, with drafts, trash and empty sessions."""
        ...


class Scanner(FileFinder[_T], RowMaker[_T], SessionOpener, Protocol[_T]):
    """The source of a library's sessions."""


def dated_row(
    scanner: RowMaker[_T], file: _T, stored: StoredLog, snapshot: Callable[[], AbstractContextManager[Read]]
) -> SessionRow | SkippedFile:
    """Return the header row of a file with the time of its last activity.

    What only the whole file tells is read completely: compressed files, documents, rows of databases, and
    the files of agents of which an empty one is not listed.
    """
    row = scanner.header_row(file)
    if isinstance(row, SkippedFile) or row.problem is not None or row.format is None:
        return row
    format_ = format_named(row.format)
    if not format_.traits.leaves_stubs:
        with contextlib.suppress(Exception), snapshot() as read:  # reading it completely reports the problem
            used_ms = recent_use(read, stored, format_)
            if used_ms is not None:
                return msgspec.structs.replace(row, used_ms=used_ms)
    return scanner.deep_row(file)


def catalog_number(stored: StoredLog, known: Mapping[str, FileState]) -> int:
    """Return the number of an unchanged file; 0 for others."""
    before = known.get(stored.path or "")
    if before is None or stored.stamp is None or before.stamp != stored.stamp.packed:
        return 0
    return before.number


def seen_file(found: ReadLog, read: Read, path: str) -> SeenFile:
    """Return the record of a file that was read, while it is open."""
    record = FileRecord(
        row=found.row,
        format=found.format.name,
        starter=found.format.home.subagent_of(path, found.header),
        has_header=found.header is not None,
    )
    return SeenFile(record, found.transcript, read, found.is_packed)


def header_record(stored: StoredLog, format_: Format, header: Header | None) -> FileRecord:
    """Return the record of a file of which only the header was read."""
    row = shallow_row(stored) if header is None else header_row(stored, header, format_)
    return FileRecord(
        row=row,
        format=format_.name,
        starter=format_.home.subagent_of(stored.path or stored.key, header),
        has_header=header is not None,
        deep=False,
    )
