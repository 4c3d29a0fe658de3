"""Sessions in one SQLite file: one row for each line, keyed by session and byte offset.

The file is in WAL mode. An append is one transaction, durable before it returns (``durability="os"``: written
to the kernel). Each session has its own lock, a byte of the file ``<name>-locks``, so that writers of
different sessions wait only for the short transaction. Network file systems are refused: WAL needs shared
memory.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from branchline.errors import (
    InvalidArgument,
    LockTimeout,
    LogError,
    LogGone,
    LogShrank,
    NotASession,
    NotSaved,
    NotSupported,
    ReadOnly,
    SessionNotFound,
    StoreClosed,
)
from branchline.log import Durability, TornTail, create_directory, filesystem_warning, publish_file
from branchline.log.protocol import require_lines
from branchline.log.system import OPEN_FLAGS, describe_oserror, random_name
from branchline.log.tail import is_complete_json, read_tail
from branchline.stores.protocol import (
    Read,
    ScanResult,
    StoredLog,
    TrashItem,
    check_key,
    key_taken,
    no_session,
)
from branchline.stores.range_locks import RangeLocks
from branchline.stores.rows import (
    APPLICATION,
    LogRow,
    RowStore,
    RowWriter,
    StoredRow,
    checksum,
    cut,
    row_findings,
    rows_of,
)
from branchline.stores.write_ahead_log import require_own_wal
from branchline.tree import Finding

__all__ = ["SqliteLog", "SqliteStore"]

_VERSION = 2
_VERSIONS = (1, 2)  # lines of the first have no checksums
_OFFSET_BITS = 40
_MAX_LOG = 1 << _OFFSET_BITS
_MAX_SESSIONS = (1 << 63 - _OFFSET_BITS) - 1
_BLOCK = 1 << 25  # bytes per query
_LOG, _DRAFT, _TRASH = 0, 1, 2
# The row id is session << 40 | offset: half the log bytes per append compared with a two-column key.
_SCHEMA = f"""
CREATE TABLE session (
  id INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id <= {_MAX_SESSIONS}),
  key TEXT NOT NULL,
  state INTEGER NOT NULL,  -- 0 log, 1 draft, 2 trash
  size INTEGER NOT NULL CHECK (size < {_MAX_LOG}),
  torn INTEGER NOT NULL,  -- whether the last line lacks its newline
  modified INTEGER NOT NULL,  -- Unix milliseconds
  removed INTEGER,
  was INTEGER  -- the state before it was removed
) STRICT;
CREATE UNIQUE INDEX session_key ON session (key) WHERE state < 2;
CREATE INDEX session_newest ON session (state, modified DESC, key);
CREATE TABLE line (at INTEGER PRIMARY KEY, checksum INTEGER, data BLOB NOT NULL) STRICT;
CREATE TABLE tree (session INTEGER PRIMARY KEY, covered INTEGER NOT NULL, body BLOB NOT NULL) STRICT;
"""
_LAST = "\U0010ffff" * 63  # longer than any key: an upper bound for keys with a prefix
_COLUMNS = "id, key, size, modified"


class _Connection(sqlite3.Connection):
    """A connection with a cached durability setting."""

    _durability: Durability | None = None
    has_checksums = True
    is_signed = False
    """Whether this connection has marked the database as changed by it."""

    def use(self, durability: Durability) -> None:
        if durability != self._durability:
            self.execute(f"PRAGMA synchronous = {'FULL' if durability == 'fsync' else 'NORMAL'}")
            self._durability = durability


class SqliteStore(RowStore):
    """The sessions of one database file, which the first write creates. Threads may share it."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        lock_timeout: float = 10.0,
        is_complete: Callable[[bytes], bool] = is_complete_json,
    ) -> None:
        if lock_timeout < 0:
            raise InvalidArgument(f"a time limit cannot be negative: {lock_timeout}")
        super().__init__(os.path.abspath(os.fspath(path)))
        self.lock_timeout = lock_timeout
        self.is_complete = is_complete
        self.locks = RangeLocks(f"{self.name}-locks", lock_timeout)
        self._idle: list[_Connection] = []
        self._inherited: list[_Connection] = []
        self._pid = os.getpid()
        self._closed = False
        # Serializes the writers of this process: the busy handler of SQLite sleeps up to 100 ms.
        self._turn = threading.Lock()

    # -- reading --------------------------------------------------------------------------------------

    def scan(
        self, *, limit: int | None = None, after: tuple[float, str] | None = None, prefix: str = ""
    ) -> ScanResult:
        if limit is not None and limit < 0:
            raise InvalidArgument(f"a limit cannot be negative: {limit}")
        wanted, values = "state = 0", list[object]()
        if after is not None:
            last = round(after[0] * 1000)
            wanted += " AND modified <= ? AND (modified < ? OR key > ?)"
            values += [last, last, after[1]]
        table = "session"
        if prefix:
            # The key index finds the sessions of one user; "state < 2" is its condition.
            table += " INDEXED BY session_key"
            wanted += " AND state < 2 AND key >= ? AND key < ?"
            values += [prefix, prefix + _LAST]
        select = f"SELECT {_COLUMNS} FROM {table} WHERE {wanted} ORDER BY modified DESC, key LIMIT ?"
        rows = self._select(
            f"list the sessions in {self.name}", select, *values, -1 if limit is None else limit
        )
        return ScanResult(self._stored(rows), [])

    def stat(self, key: str) -> StoredLog | None:
        # The condition "state < 2" lets SQLite use the partial index.
        select = f"SELECT {_COLUMNS} FROM session WHERE key = ? AND state < 2 AND state = 0"
        rows = self._select(f"look up {key!r} in {self.name}", select, check_key(key))
        return self._stored(rows)[0] if rows else None

    def drafts(self) -> list[StoredLog]:
        select = f"SELECT {_COLUMNS} FROM session WHERE state = 1 ORDER BY modified DESC, key"
        return self._stored(self._select(f"list the drafts in {self.name}", select))

    def in_use(self, keys: Iterable[str]) -> set[str]:
        """Return the keys of logs whose lock a writer holds."""
        return {key for key in keys if (found := self._id(key)) is not None and self.locks.is_held(found)}

    # -- opening and making ---------------------------------------------------------------------------

    def open(self, key: str, *, durability: Durability = "fsync") -> SqliteLog:
        found = self._id(key)
        if found is None:
            raise no_session(key, self.name)
        return SqliteLog(self, found, key, durability)

    def create(
        self, key: str, data: bytes, *, draft: bool = False, durability: Durability = "fsync"
    ) -> SqliteLog:
        if data:
            require_lines(data)
        number = self.create_from(key, [data] if data else [], state=_DRAFT if draft else _LOG)
        return SqliteLog(self, number, key, durability)

    def publish(self, key: str, *, durability: Durability = "fsync") -> SqliteLog:
        check_key(key)
        with self.writing(f"publish the draft {key!r} in {self.name}") as connection:
            row = _one(connection, "SELECT id, state FROM session WHERE key = ? AND state < 2", key)
            if row is None:
                raise SessionNotFound(f"no draft named {key!r} in {self.name}")
            if row[1] != _DRAFT:
                raise key_taken("publish the draft", key, self.name)
            connection.execute("UPDATE session SET state = 0 WHERE id = ?", row[:1])
        return SqliteLog(self, row[0], key, durability)

    def drop_draft(self, key: str) -> bool:
        check_key(key)
        if not os.path.exists(self.name):
            return False
        with self.writing(f"drop the draft {key!r} in {self.name}") as connection:
            row = _one(connection, "SELECT id FROM session WHERE key = ? AND state < 2 AND state = 1", key)
            if row is not None:
                _delete(connection, row[0])
        return row is not None

    # -- moving ---------------------------------------------------------------------------------------

    def rename(self, key: str, new_key: str) -> StoredLog:
        check_key(key)
        check_key(new_key)
        if self.stat(key) is None:
            raise no_session(key, self.name)
        with self.writing(f"rename {key!r} in {self.name}") as connection:
            self._require_free(connection, f"rename {key!r}", new_key)
            update = "UPDATE session SET key = ? WHERE key = ? AND state < 2 AND state = 0"
            if not connection.execute(update, (new_key, key)).rowcount:
                raise no_session(key, self.name)
        return self._found(new_key)

    def remove(self, key: str, *, draft: bool = False) -> TrashItem | None:
        check_key(key)
        if not os.path.exists(self.name):
            return None
        removed, state = _now(), _DRAFT if draft else _LOG
        with self.writing(f"remove {key!r} from {self.name}") as connection:
            row = _one(
                connection,
                "SELECT id, size FROM session WHERE key = ? AND state < 2 AND state = ?",
                key,
                state,
            )
            if row is None:
                return None
            connection.execute(
                "UPDATE session SET state = 2, was = ?, removed = ? WHERE id = ?", (state, removed, row[0])
            )
        return TrashItem(f"trash-{row[0]}", key, row[1], removed / 1000, draft)

    def trashed(self) -> list[TrashItem]:
        select = (
            "SELECT id, key, size, removed, was FROM session WHERE state = 2 ORDER BY removed DESC, id DESC"
        )
        return [
            TrashItem(f"trash-{number}", key, size, removed / 1000, was == _DRAFT)
            for number, key, size, removed, was in self._select(f"list the trash of {self.name}", select)
        ]

    @contextlib.contextmanager
    def read_trashed(self, token: str) -> Iterator[Read]:
        item = next((item for item in self.trashed() if item.token == token), None)
        if item is None:
            raise SessionNotFound(f"{token!r} is not in the trash of {self.name}")
        with contextlib.closing(SqliteLog(self, int(token.removeprefix("trash-")), item.key, "fsync")) as log:
            yield log.read

    def restore(self, token: str) -> StoredLog:
        number = check_key(token).removeprefix("trash-")
        missing = SessionNotFound(f"{token!r} is not in the trash of {self.name}")
        self._require_open(f"restore {token!r} from the trash of {self.name}")
        if not number.isdecimal() or not os.path.exists(self.name):
            raise missing
        with self.writing(f"restore {token!r} from the trash of {self.name}") as connection:
            select = f"SELECT {_COLUMNS} FROM session WHERE id = ? AND state = 2"
            row = _one(connection, select, int(number))
            if row is None:
                raise missing
            self._require_free(connection, f"restore {token!r} from the trash", row[1])
            connection.execute("UPDATE session SET state = was WHERE id = ?", (int(number),))
        return self._stored([row])[0]

    def close(self) -> None:
        """Close the connections; those in use are closed after what they do now."""
        self._closed = True
        self._close_idle()
        self.locks.close()

    def _close_idle(self) -> None:
        while self._idle:
            with contextlib.suppress(IndexError):  # another thread took it
                self._idle.pop().close()

    def check(self) -> list[str]:
        """Return what is wrong with the database as a whole: its pages, and lines without a session."""
        if not os.path.exists(self.name):
            return []
        problems: list[str] = []
        with self.reading(f"check {self.name}") as connection:
            for (text,) in connection.execute("PRAGMA quick_check(20)"):
                if text != "ok":
                    problems += str(text).splitlines()
            for number in _lost(connection):
                base = number << _OFFSET_BITS
                count = "SELECT count(*) FROM line WHERE at >= ? AND at < ?"
                (lines,) = connection.execute(count, (base, base + _MAX_LOG)).fetchone()
                problems.append(
                    f"{lines:,} lines belong to session number {number}, which does not exist; "
                    f"`branchline repair {self.name}` makes them a session again"
                )
        return problems

    def restore_lost(self) -> list[str]:
        """Make lines without a session sessions again, named ``lost-NUMBER``; return their keys."""
        made = []
        with self.writing(f"repair {self.name}") as connection:
            for number in _lost(connection):
                base, key = number << _OFFSET_BITS, f"lost-{number}"
                while _one(connection, "SELECT 1 FROM session WHERE key = ? AND state < 2", key) is not None:
                    key += "-"
                start, data = connection.execute(
                    "SELECT at - ?, CAST(data AS BLOB) FROM line WHERE at < ? ORDER BY at DESC LIMIT 1",
                    (base, base + _MAX_LOG),
                ).fetchone()
                connection.execute(
                    "INSERT INTO session (id, key, state, size, torn, modified) VALUES (?, ?, ?, ?, ?, ?)",
                    (number, key, _LOG, start + len(data), not data.endswith(b"\n"), _now()),
                )
                connection.execute("DELETE FROM tree WHERE session = ?", (number,))
                made.append(key)
        return made

    # -- for logs -------------------------------------------------------------------------------------

    @contextmanager
    def reading(self, doing: str) -> Iterator[_Connection]:
        """Take a connection for a ``with`` block, and convert SQLite errors."""
        self._after_fork()
        self._require_open(doing)
        connection = self._take(doing)
        try:
            yield connection
        except sqlite3.Error as problem:
            raise self._problem(doing, problem) from problem
        finally:
            self._idle.append(connection)
            if self._closed:
                self._close_idle()

    @contextmanager
    def writing(self, doing: str, durability: Durability = "fsync") -> Iterator[_Connection]:
        """Run a ``with`` block in a transaction, committed at its end or rolled back."""
        self._after_fork()
        self._require_open(doing)
        self._create()
        if not self._turn.acquire(timeout=min(self.lock_timeout + 1, threading.TIMEOUT_MAX)):
            raise LockTimeout(
                f"cannot {doing}: another thread is writing; tried for {self.lock_timeout:.1f} s"
            )
        try:
            with self.reading(doing) as connection:
                connection.use(durability)
                connection.execute("BEGIN IMMEDIATE")
                try:
                    if connection.is_signed:
                        yield connection
                    else:
                        (cookie,) = connection.execute("PRAGMA schema_version").fetchone()
                        yield connection
                        connection.execute(f"PRAGMA schema_version = {(cookie + 1) & 0x7FFFFFFF}")
                    connection.execute("COMMIT")
                    connection.is_signed = True
                except BaseException:
                    if connection.in_transaction:
                        with contextlib.suppress(sqlite3.Error):
                            connection.execute("ROLLBACK")
                    raise
        finally:
            self._turn.release()

    def log_state(self, doing: str, number: int) -> tuple[int, bool] | None:
        """Return the size of a log and whether its last line lacks its newline; None if it was deleted."""
        rows = self._select(doing, "SELECT size, torn FROM session WHERE id = ?", number)
        return (rows[0][0], bool(rows[0][1])) if rows else None

    # -- inside ---------------------------------------------------------------------------------------

    def create_from(self, key: str, pieces: Iterable[bytes], *, state: int = _LOG) -> int:
        check_key(key)
        with self.writing(f"create {key!r} in {self.name}") as connection:
            self._require_free(connection, "create", key)
            insert = (
                "INSERT INTO session (key, state, size, torn, modified) VALUES (?, ?, 0, 0, ?) RETURNING id"
            )
            row = _one(connection, insert, key, state, _now())
            assert row is not None
            number, size, torn = int(row[0]), 0, False
            for rows in cut(pieces):
                size = rows[-1].start + len(rows[-1].data)
                torn = not rows[-1].data.endswith(b"\n")
                insert_rows(connection, number, rows)
            connection.execute("UPDATE session SET size = ?, torn = ? WHERE id = ?", (size, torn, number))
        return number

    def _id(self, key: str) -> int | None:
        select = "SELECT id FROM session WHERE key = ? AND state < 2"
        rows = self._select(f"look up {key!r} in {self.name}", select, check_key(key))
        return int(rows[0][0]) if rows else None

    def _select(self, doing: str, select: str, *values: object) -> list[tuple[Any, ...]]:
        """Run a SELECT; no rows if there is no database yet."""
        self._require_open(doing)
        if not self._idle and not os.path.exists(self.name):
            return []
        with self.reading(doing) as connection:
            return connection.execute(select, values).fetchall()

    def _require_free(self, connection: sqlite3.Connection, doing: str, key: str) -> None:
        if _one(connection, "SELECT id FROM session WHERE key = ? AND state < 2", key) is not None:
            raise key_taken(doing, key, self.name)

    # -- connections ----------------------------------------------------------------------------------

    def _require_open(self, doing: str) -> None:
        if self._closed:
            raise StoreClosed(f"cannot {doing}: the store is closed")

    def _after_fork(self) -> None:
        """Leave the connections to the parent process: a forked child must neither use nor close them."""
        if self._pid != os.getpid():
            self._inherited, self._idle, self._pid = self._idle, [], os.getpid()
            self._turn = threading.Lock()

    def _take(self, doing: str) -> _Connection:
        try:
            return self._idle.pop()
        except IndexError:
            pass
        try:
            connection = self._connect()
        except sqlite3.Error as problem:
            raise self._problem(doing, problem) from problem
        try:
            self._require_branchline(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect(self) -> _Connection:
        require_own_wal(self.name)
        busy = min(self.lock_timeout, 3600.0)
        for mode in ("rw", "ro", "immutable"):
            if mode == "immutable" and os.path.exists(f"{self.name}-wal"):
                break
            query = "mode=ro&immutable=1" if mode == "immutable" else f"mode={mode}"
            address = "file:" + _quoted(self.name) + "?" + query
            connection = sqlite3.connect(
                address,
                uri=True,
                timeout=busy,
                isolation_level=None,
                check_same_thread=False,
                factory=_Connection,
            )
            try:
                connection.execute("PRAGMA schema_version")
            except sqlite3.OperationalError as problem:
                connection.close()
                if "readonly" not in str(problem) and "unable to open" not in str(problem):
                    raise
            else:
                return connection
        raise sqlite3.OperationalError("unable to open database file")

    def _require_branchline(self, connection: _Connection) -> None:
        try:
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.Error as problem:
            raise self._problem(f"open {self.name}", problem) from problem
        if application != APPLICATION:
            what = "a SQLite database of another program" if tables else "empty"
            raise NotASession(f"{self.name} is {what}, not a database of branchline")
        if version not in _VERSIONS:
            raise NotSupported(
                f"cannot open {self.name}: its schema is version {version}, this branchline knows "
                f"{' and '.join(map(str, _VERSIONS))}"
                + ("; upgrade branchline" if version > _VERSION else "")
            )
        connection.has_checksums = version > 1

    def _create(self) -> None:
        """Create the database atomically, if there is none yet."""
        if self._idle or os.path.exists(self.name):
            return
        if (warning := filesystem_warning(self.name)) is not None:
            raise NotSupported(f"cannot create a database here, use a directory of files: {warning}")
        folder, name = os.path.split(self.name)
        temporary = os.path.join(folder, f".{name[:100]}.{random_name()}.tmp")
        try:
            create_directory(folder)
            try:
                os.close(os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | OPEN_FLAGS.CLOEXEC, 0o600))
                _write_schema(temporary)
                with contextlib.suppress(FileExistsError):  # another process was faster
                    publish_file(temporary, self.name)
            finally:
                for leftover in (temporary, f"{temporary}-wal", f"{temporary}-shm", f"{temporary}-journal"):
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(leftover)
        except sqlite3.Error as problem:
            raise self._problem(f"create {self.name}", problem) from problem
        except OSError as problem:
            kind = ReadOnly if isinstance(problem, PermissionError) else NotSaved
            raise kind(f"cannot create {self.name}: {describe_oserror(problem)}") from problem

    def _problem(self, doing: str, problem: sqlite3.Error) -> Exception:
        text, name = str(problem), getattr(problem, "sqlite_errorname", "")
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return LockTimeout(
                f"cannot {doing}: another program is writing to it; tried for {self.lock_timeout:.1f} s"
            )
        if name.startswith(("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH")):
            return ReadOnly(f"cannot {doing}: {text}")
        if name.startswith("SQLITE_NOTADB"):
            return NotASession(f"cannot {doing}: {self.name} is not a SQLite database")
        if name.startswith("SQLITE_CONSTRAINT_CHECK"):
            return NotSaved(f"cannot {doing}: a log has at most 1 TiB, a database {_MAX_SESSIONS} sessions")
        if name.startswith(("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_TOOBIG", "SQLITE_NOMEM")):
            return NotSaved(f"cannot {doing}: {text}; nothing was saved")
        return LogError(f"cannot {doing}: {text}")


class SqliteLog:
    """One log of a `SqliteStore`. Renaming, publishing, removing and restoring do not change its rows."""

    def __init__(self, store: SqliteStore, number: int, key: str, durability: Durability) -> None:
        if durability not in ("fsync", "os"):
            raise InvalidArgument(f'durability is "fsync" or "os", not {durability!r}')
        self.name = store.path_of(key)
        self.identity = (store.name, number)
        self._store = store
        self._number = number
        self._durability: Durability = durability

    def size(self) -> int:
        return self._state("read")[0]

    def read(self, offset: int, size: int) -> bytes:
        if offset < 0 or size < 0:
            raise InvalidArgument(f"cannot read {size} bytes at {offset}")
        pieces = []
        with self._store.reading(f"read {self.name}") as connection:
            while size and offset < _MAX_LOG and (piece := self._read(connection, offset, min(size, _BLOCK))):
                pieces.append(piece)
                offset, size = offset + len(piece), size - len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _read(self, connection: sqlite3.Connection, offset: int, size: int) -> bytes:
        base = self._number << _OFFSET_BITS
        end = min(offset + size, _MAX_LOG)
        # Joined by SQLite in row id order: an object per line would cost more than decoding it. The casts do
        # not change any byte.
        select = (
            "SELECT substr(CAST(group_concat(CAST(data AS TEXT), '') AS BLOB), ? - min(at) + 1, ?) "
            "FROM line WHERE at >= coalesce("
            "(SELECT max(at) FROM line WHERE at BETWEEN ? AND ?), ?) AND at < ?"
        )
        start = base + offset
        row = _one(connection, select, start, size, base, start, start, base + end)
        return (row and row[0]) or b""

    @contextmanager
    def exclusive(self) -> Iterator[SqliteWriter]:
        with self._store.locks.hold(self._number, self.name):
            end, unfinished = self._state("append to")
            writer = SqliteWriter(self, end, unfinished=unfinished)
            try:
                yield writer
            finally:
                writer.close()

    def unlink(self) -> None:
        with self._store.writing(f"delete {self.name}") as connection:
            _delete(connection, self._number)

    def saved_index(self) -> tuple[int, bytes] | None:
        select = "SELECT covered, body FROM tree WHERE session = ?"
        with self._store.reading(f"read {self.name}") as connection:
            row = _one(connection, select, self._number)
        if row is None or not (isinstance(row[0], int) and isinstance(row[1], bytes)):
            return None  # broken pages can give any values
        return row[0], row[1]

    def save_index(self, covered: int, index: bytes) -> None:
        with self._store.writing(f"keep the index of {self.name}", "os") as connection:
            connection.execute("INSERT OR REPLACE INTO tree VALUES (?, ?, ?)", (self._number, covered, index))

    def check_rows(self) -> list[Finding]:
        base = self._number << _OFFSET_BITS
        with self._store.reading(f"check {self.name}") as connection:
            connection.execute("BEGIN")
            try:
                state = _one(connection, "SELECT size, torn FROM session WHERE id = ?", self._number)
                if state is None:
                    raise LogGone(f"cannot check {self.name}: it was deleted while open")
                column = "checksum" if connection.has_checksums else "NULL"
                rows = connection.execute(
                    f"SELECT at - ?, CAST(data AS BLOB), {column} FROM line "
                    "WHERE at >= ? AND at < ? ORDER BY at",
                    (base, base, base + _MAX_LOG),
                )
                return row_findings(itertools.starmap(StoredRow, rows), state[0], torn=bool(state[1]))
            finally:
                connection.execute("COMMIT")

    def stored_data(self) -> bytes:
        base = self._number << _OFFSET_BITS
        select = "SELECT CAST(data AS BLOB) FROM line WHERE at >= ? AND at < ? ORDER BY at"
        with self._store.reading(f"read {self.name}") as connection:
            return b"".join(data for (data,) in connection.execute(select, (base, base + _MAX_LOG)))

    def close(self) -> None:
        """Do nothing: connections belong to the store."""

    def __repr__(self) -> str:
        return f"SqliteLog({self.name!r})"

    def try_append(self, expected_end: int, data: bytes) -> int | None:
        require_lines(data)
        locks = self._store.locks
        if locks.acquire(self._number, 0) is not None:
            return None
        try:
            with self._store.writing(f"append to {self.name}", self._durability) as connection:
                return expected_end if self._insert(connection, data, expected_end) else None
        finally:
            locks.release(self._number)

    def append(self, data: bytes, expected: int) -> TornTail | None:
        """Append lines if the log ends at ``expected``; return the torn tail that this closed."""
        torn = None
        with self._store.writing(f"append to {self.name}", self._durability) as connection:
            if not self._insert(connection, data, expected):
                torn, data = self._closed(connection, data, expected)
                connection.execute("UPDATE session SET torn = 0 WHERE id = ?", (self._number,))
                self._insert(connection, data, expected)
        return torn

    def _insert(self, connection: _Connection, data: bytes, expected: int) -> bool:
        """Append if the log ends at ``expected`` with a complete line; otherwise return False."""
        update = "UPDATE session SET size = size + ?, modified = ? WHERE id = ? AND size = ? AND torn = 0"
        values = (len(data), time.time_ns() // 1_000_000, self._number, expected)
        if not connection.execute(update, values).rowcount:
            return False
        base = self._number << _OFFSET_BITS
        last = "SELECT at + length(data) FROM line WHERE at >= ? AND at < ? ORDER BY at DESC LIMIT 1"
        row = _one(connection, last, base, base + _MAX_LOG)
        if (end := row[0] - base if row else 0) != expected:
            raise LogError(
                f"cannot append to {self.name}: its lines end at byte {end:,}, not at {expected:,}, so the "
                "database is damaged; `branchline repair` writes a copy that takes appends"
            )
        insert_rows(connection, self._number, rows_of(data, expected))
        return True

    def _closed(
        self, connection: sqlite3.Connection, data: bytes, expected: int
    ) -> tuple[TornTail | None, bytes]:
        """Return the torn last line, if it is torn, and the data with the missing newline before it."""
        row = _one(connection, "SELECT size, torn FROM session WHERE id = ?", self._number)
        if row is None:
            raise LogGone(f"cannot append to {self.name}: it was deleted while open")
        if row[0] != expected:
            raise LogShrank(
                f"cannot append to {self.name}: it ends at {row[0]}, expected {expected}; open it again"
            )
        tail = read_tail(self.read, expected)
        torn = None if self._store.is_complete(tail) else TornTail(expected - len(tail), len(tail), None)
        return torn, b"\n" + data

    def _state(self, verb: str) -> tuple[int, bool]:
        found = self._store.log_state(f"{verb} {self.name}", self._number)
        if found is None:
            raise LogGone(f"cannot {verb} {self.name}: it was deleted while open")
        return found


class SqliteWriter(RowWriter):
    """A writer of a `SqliteLog`."""

    def __init__(self, log: SqliteLog, end: int, *, unfinished: bool) -> None:
        super().__init__(log.name, end, unfinished=unfinished)
        self._log = log

    def _save(self, data: bytes) -> TornTail | None:
        return self._log.append(data, self.end)


def _write_schema(path: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = OFF")  # the finished file is synced, once
        connection.executescript(f"BEGIN;{_SCHEMA}")
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {_VERSION}")
        # The identity of this database, counted up by each connection that writes: see `write_ahead_log`.
        connection.execute(f"PRAGMA schema_version = {int.from_bytes(os.urandom(4)) >> 2}")
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")
    finally:
        connection.close()


def insert_rows(connection: _Connection, number: int, rows: list[LogRow]) -> None:
    """Insert the rows of a log."""
    base = number << _OFFSET_BITS
    if not connection.has_checksums:
        insert = "INSERT INTO line (at, data) VALUES (?, ?)"
        connection.executemany(insert, ((base + start, data) for start, data in rows))
        return
    insert = "INSERT INTO line VALUES (?, ?, ?)"
    if len(rows) == 1:  # takes half the time
        connection.execute(insert, (base + rows[0].start, checksum(rows[0]), rows[0].data))
    else:
        connection.executemany(insert, ((base + row.start, checksum(row), row.data) for row in rows))


def _delete(connection: sqlite3.Connection, number: int) -> None:
    base = number << _OFFSET_BITS
    connection.execute("DELETE FROM line WHERE at >= ? AND at < ?", (base, base + _MAX_LOG))
    connection.execute("DELETE FROM tree WHERE session = ?", (number,))
    connection.execute("DELETE FROM session WHERE id = ?", (number,))


def _lost(connection: sqlite3.Connection) -> Iterator[int]:
    """Yield the numbers of sessions that have lines, but no row of their own."""
    at = 0
    while (
        first := connection.execute("SELECT min(at) FROM line WHERE at >= ?", (at,)).fetchone()[0]
    ) is not None:
        number = first >> _OFFSET_BITS
        if _one(connection, "SELECT 1 FROM session WHERE id = ?", number) is None:
            yield number
        at = number + 1 << _OFFSET_BITS


def _one(connection: sqlite3.Connection, statement: str, *values: object) -> tuple[Any, ...] | None:
    return connection.execute(statement, values).fetchone()  # type: ignore[no-any-return]


def _now() -> int:
    return time.time_ns() // 1_000_000


def _quoted(path: str) -> str:
    from urllib.parse import quote  # noqa: PLC0415

    return quote(path)
