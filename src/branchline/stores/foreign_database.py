"""Read-only access to SQLite databases of other agents.

Nothing is ever written: no database, no ``-wal``, no ``-shm``. How a database is opened depends on the files
next to it:

- A database that is not in WAL mode, or whose ``-wal`` and ``-shm`` both exist, is opened with ``mode=ro``,
  which waits briefly for a process that holds a lock.
- A database in WAL mode without a ``-wal`` is complete. SQLite would create files next to it, so it is opened
  as immutable, and read again if the file changed meanwhile.
- Everything else, such as a ``-wal`` that cannot be locked or was copied without its ``-shm``, or a journal
  that a crash left, is copied to a private directory, and SQLite recovers the copy.
"""

from __future__ import annotations

import contextlib
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from branchline.errors import BranchlineError, LogError, NotASession
from branchline.formats import Query
from branchline.log.system import opening, read_beginning

if TYPE_CHECKING:
    import sqlite3
    import tempfile

__all__ = ["MAGIC", "is_database", "read_database", "reading_database", "state_of", "tables_of"]

MAGIC = b"SQLite format 3\0"
_WAL_VERSION = slice(18, 20)
_NEWEST_VERSION = 2
"""The version of the file format with a WAL, which is the newest."""
_WAL_MAGIC, _WAL_HEADER, _PAGE_SIZES = 0x377F0683, 32, (512, 65536)
_TIMEOUT_SECONDS = 2.0
"""Seconds to wait for a process that holds a lock."""
_LOCKED_SECONDS = 5.0
"""Seconds in which a database that was locked is not waited for again: a list reads it several times."""
_MAX_VALUE = 1 << 28
"""Size limit of a value; SQLite itself allows a gigabyte."""
_ALLOWED, _DENIED = 0, 1
"""SQLITE_OK and SQLITE_DENY, without importing sqlite3."""
_ATTEMPTS = 3
_T = TypeVar("_T")


def is_database(path: str) -> bool:
    """Return whether there is a SQLite database at this path."""
    try:
        return read_beginning(path, len(MAGIC)) == MAGIC
    except OSError:
        return False


def tables_of(query: Query) -> frozenset[str]:
    """Return the names of the tables."""
    rows = query("SELECT name FROM sqlite_master WHERE type = 'table'")
    return frozenset(name.decode("utf-8", "replace") for (name,) in rows)


def read_database(path: str, use: Callable[[Query], _T]) -> _T:
    """Call ``use`` with a query on a database and return its result; ``use`` must not keep the query.

    ``use`` is called again if the database changed during the read. Raises CannotOpen, NotASession or
    LogError with the reason.
    """
    for _ in range(_ATTEMPTS):
        with _Reading(path) as reading:
            result = use(reading.query)
            if reading.is_consistent():
                return result
    raise _changing_error(path)


@contextlib.contextmanager
def reading_database(path: str) -> Iterator[Query]:
    """Open a consistent snapshot of a database for a ``with`` block."""
    with _Reading(path) as reading:
        yield reading.query
        if not reading.is_consistent():
            raise _changing_error(path)


def state_of(path: str) -> object:
    """Return a value that changes with every write to a database; None if the database is gone."""
    try:
        return _files(path)[:2]
    except (OSError, NotASession):
        return None


class _Files(NamedTuple):
    """The state of a database's files, to detect changes without opening it."""

    main: tuple[int, ...]
    wal: tuple[int, ...] | None
    has_shm: bool
    journal: tuple[int, ...] | None

    @property
    def has_wal(self) -> bool:
        return self.wal is not None and self.wal[2] > 0


def _files(path: str) -> _Files:
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise NotASession(f"cannot read {path}: it is not a regular file")
    wal, shm, journal = (_state_beside(path, ending) for ending in ("-wal", "-shm", "-journal"))
    return _Files(_state(status), wal, shm is not None, journal)


def _state_beside(path: str, ending: str) -> tuple[int, ...] | None:
    """Return the state of a file next to a database; SQLite would wait for ever for a named pipe."""
    try:
        status = os.stat(path + ending)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise NotASession(f"cannot read {path}: {path}{ending} is not a regular file")
    return _state(status)


def _state(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


class _Connection:
    """An open database."""

    def __init__(self, path: str, files: _Files) -> None:
        self.path = path
        self.files = files
        self.is_live = False
        """Whether SQLite reads the files in place, in a transaction."""
        self.is_wal = False
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self.connection = self._open()

    def _open(self) -> sqlite3.Connection:
        with open(self.path, "rb") as file:
            head = file.read(_WAL_VERSION.stop)
        if head[: len(MAGIC)] != MAGIC:
            raise NotASession(f"cannot read {self.path}: it is not a SQLite database")
        if max(head[_WAL_VERSION], default=0) > _NEWEST_VERSION:
            raise NotASession(f"cannot read {self.path}: it has a newer SQLite file format")
        self.is_wal = _NEWEST_VERSION in head[_WAL_VERSION]
        if not self.is_wal or (self.files.has_wal and self.files.has_shm and _has_frames(self.path + "-wal")):
            try:
                live = _connect(self.path, "mode=ro&readonly_shm=1")
            except _sqlite_error() as problem:
                if not _needs_copy(problem):
                    raise
            else:
                self.is_live = True
                return live
        elif not self.files.has_wal and self.files.journal is None:
            return _connect(self.path, "mode=ro&immutable=1")
        return self._open_copy()

    def _open_copy(self) -> sqlite3.Connection:
        """Open a private copy of the database and its WAL, both in the same state."""
        import shutil  # noqa: PLC0415  few databases are copied
        import tempfile  # noqa: PLC0415

        self._copy = tempfile.TemporaryDirectory(
            prefix="branchline-", ignore_cleanup_errors=True
        )  # mode 0700
        try:
            for _ in range(_ATTEMPTS):
                before = _files(self.path)
                copy = os.path.join(self._copy.name, "copy.db")
                shutil.copyfile(self.path, copy)
                for ending, exists in (("-wal", before.has_wal), ("-journal", before.journal is not None)):
                    if exists:
                        shutil.copyfile(self.path + ending, copy + ending)
                self.files = _files(self.path)
                if (*self.files[:2], self.files.journal) == (*before[:2], before.journal):
                    return _connect(copy, "mode=rw")
        except BaseException:
            self.close()
            raise
        self.close()
        raise _changing_error(self.path)

    def close(self) -> None:
        with contextlib.suppress(AttributeError):  # opening failed
            self.connection.close()
        if self._copy is not None:
            self._copy.cleanup()
            self._copy = None

    def __del__(self) -> None:
        self.close()


_recent = threading.local()
"""The last connection of this thread: lists read many sessions of one database."""
_locked: dict[str, float] = {}
"""When each database was found locked last."""


def _has_frames(wal: str) -> bool:
    """Return whether a WAL begins as one; if not, SQLite waits ten seconds for a writer that completes it."""
    head = read_beginning(wal, _WAL_HEADER + 1)
    magic, size = int.from_bytes(head[:4], "big"), int.from_bytes(head[8:12], "big")
    is_size = _PAGE_SIZES[0] <= size <= _PAGE_SIZES[1] and size.bit_count() == 1
    return len(head) > _WAL_HEADER and magic | 1 == _WAL_MAGIC and is_size


class _Reading:
    """One consistent read of a database."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._connection: _Connection

    def __enter__(self) -> Self:
        try:
            with opening(self._path):
                files = _files(self._path)
                recent: _Connection | None = getattr(_recent, "connection", None)
                _recent.connection = None  # taken: not for nested reads
                if recent is None or (recent.path, recent.files) != (self._path, files):
                    recent = _Connection(self._path, files)
                self._connection = recent
                if recent.is_live:
                    recent.connection.execute("BEGIN")
        except _reading_errors() as problem:
            raise _converted_error(self._path, problem) from problem
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, _: object) -> None:
        connection = self._connection
        is_reusable = isinstance(problem, BranchlineError) and self._path not in _locked
        if kind is None or not issubclass(kind, Exception) or is_reusable:
            with contextlib.suppress(_sqlite_error()):
                if connection.is_live:
                    connection.connection.rollback()
                _recent.connection = connection
                return
        connection.close()

    def is_consistent(self) -> bool:
        """Return whether everything read belongs to one state of the database.

        A transaction guarantees it with a WAL. Without one it needs a lock on the file, which is lost when
        any thread of this process closes a descriptor of that file.
        """
        connection = self._connection
        if connection.is_live and connection.is_wal:
            return True
        return _files(self._path)[:2] == connection.files[:2]

    def query(self, sql: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._connection.connection.execute(sql, values)
        except _reading_errors() as problem:
            raise _converted_error(self._path, problem) from problem


def _connect(path: str, mode: str) -> sqlite3.Connection:
    import sqlite3  # noqa: PLC0415  only for databases

    quoted = os.path.abspath(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    uri = f"file:{quoted}?{mode}"
    timeout = 0 if _was_locked(path) else _TIMEOUT_SECONDS
    connection = sqlite3.connect(
        uri, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False
    )
    try:
        connection.text_factory = bytes
        connection.execute("PRAGMA query_only = 1")
        connection.execute("PRAGMA trusted_schema = 0")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE)
        views = connection.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('view', 'trigger')"
        ).fetchall()
        if views:
            connection.set_authorizer(_deny_views({os.fsdecode(name).lower() for (name,) in views}))
    except BaseException:
        connection.close()
        raise
    _locked.pop(path, None)
    return connection


def _was_locked(path: str) -> bool:
    """Return whether another read has waited for this database just now, in vain."""
    return path in _locked and time.monotonic() - _locked[path] < _LOCKED_SECONDS


def _deny_views(views: set[str]) -> Callable[[int, str | None, str | None, str | None, str | None], int]:
    """Return an authorizer that refuses views and triggers: a hostile one could run forever."""

    def authorize(
        _action: int, _first: str | None, _second: str | None, _base: str | None, view: str | None
    ) -> int:
        return _ALLOWED if view is None or view.lower() not in views else _DENIED

    return authorize


def _sqlite_error() -> type[sqlite3.Error]:
    import sqlite3  # noqa: PLC0415  as above

    return sqlite3.Error


def _reading_errors() -> tuple[type[Exception], ...]:
    """SQLite's errors, and that of a message with damaged bytes of the schema, which is no text."""
    return _sqlite_error(), UnicodeDecodeError


def _changing_error(path: str) -> LogError:
    return LogError(f"cannot read {path}: another program keeps changing it; try again")


def _needs_copy(problem: Exception) -> bool:
    """Return whether the files next to a database cannot be used, so that only a copy can be read."""
    text = str(problem)
    return "unable to open" in text or "readonly" in text or "disk I/O" in text or "protocol" in text


def _converted_error(path: str, problem: Exception) -> BranchlineError:
    """Convert a SQLite error to one that names the database and the cause."""
    if isinstance(problem, UnicodeDecodeError):
        return NotASession(f"cannot read {path}: the database is damaged (its schema is not text)")
    text = str(problem)
    if "locked" in text or "busy" in text:
        if not _was_locked(path):
            _locked[path] = time.monotonic()
        return LogError(f"cannot read {path}: another program has locked the database; try again")
    if "not a database" in text or "malformed" in text or "encrypted" in text:
        return NotASession(f"cannot read {path}: the database is damaged ({text})")
    if "no such table" in text or "no such column" in text:
        return NotASession(f"cannot read {path}: {text}; the database is of another version of the program")
    return LogError(f"cannot read {path}: {text}")
