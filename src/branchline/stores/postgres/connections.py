"""Connections to a server, each taken for one transaction, and the driver's errors translated into ours.

No state is kept in a connection between transactions, so a pooler may give each transaction another one. A
connection that has failed is not used again. The driver is imported when a store is first used.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from branchline.errors import BranchlineError, LockTimeout, LogError, NotSaved, NotSupported, ReadOnly
from branchline.stores.postgres.server import Server

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[tuple[Any, ...]]

__all__ = ["VERSION", "ConnectionLost", "Connections", "connect", "driver"]

VERSION = 1
"""The schema that this branchline reads and writes."""
_MOST = 20
_CONNECT_SECONDS = 10
_CHUNK = 64


class ConnectionLost(LogError):
    """The server went away. Whether a transaction was committed is unknown."""


def driver() -> Any:
    """The driver's module. NotSupported if it is not installed."""
    try:
        import psycopg  # noqa: PLC0415  only who uses this store needs it
    except ImportError as problem:
        raise NotSupported(
            f"sessions in PostgreSQL need another package ({problem}): pip install 'branchline[postgres]'"
        ) from None
    return psycopg


def connect(server: Server, doing: str) -> Connection:
    """A new connection, which commits each statement by itself. ConnectionLost if there can be none."""
    psycopg = driver()
    try:
        made = psycopg.connect(server.dsn, autocommit=True, connect_timeout=_CONNECT_SECONDS)
    except psycopg.Error as problem:
        why = f"no connection to {server.name}: {_first(problem)}"
        raise ConnectionLost(f"cannot {doing}: {why}") from problem
    if server.pooler:
        made.prepare_threshold = None
    return made  # type: ignore[no-any-return]


class Connections:
    """The connections of one store. Threads may share it."""

    def __init__(self, server: Server, lock_timeout: float) -> None:
        self.server = server
        self._lock_timeout = lock_timeout
        self._idle: list[Connection] = []
        self._inherited: list[Connection] = []
        self._free = threading.BoundedSemaphore(_MOST)
        self.is_secured = False
        """Whether row-level security holds for this role, so that each transaction must name its tenant."""
        self._checked = False
        self._pid = os.getpid()

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def run(
        self,
        doing: str,
        statement: str,
        values: Sequence[Any] | dict[str, Any] = (),
        *,
        settings: dict[str, str] | None = None,
        large: bool = False,
    ) -> list[tuple[Any, ...]]:
        """Run one statement in a transaction of its own, in one round trip, and return its rows.

        A SELECT is repeated once if the connection was lost: the server may have been restarted.
        ``large`` says that the rows are megabytes together.
        """
        try:
            return self._run(doing, statement, values, settings, large=large)
        except ConnectionLost:
            if not statement.startswith("SELECT"):
                raise
            return self._run(doing, statement, values, settings, large=large)

    def _run(
        self, doing: str, statement: str, values: Any, settings: dict[str, str] | None, *, large: bool
    ) -> list[tuple[Any, ...]]:
        with self.take(doing) as connection:
            if not (settings or self.is_secured):
                return _rows(connection, statement, values, large=large)
            with connection.pipeline():
                self.begin(connection, settings)
                cursor = connection.execute(statement, values, binary=True)
                connection.execute("COMMIT")
            return cursor.fetchall() if cursor.description is not None else []

    def run_in(
        self,
        connection: Connection,
        doing: str,
        statement: str,
        values: Sequence[Any] = (),
        *,
        large: bool = False,
    ) -> list[tuple[Any, ...]]:
        """Run one statement in a transaction that is open, and return its rows."""
        with self._translated(doing, connection):
            return _rows(connection, statement, values, large=large)

    @contextlib.contextmanager
    def transaction(self, doing: str, settings: dict[str, str] | None = None) -> Iterator[Connection]:
        """A transaction for a ``with`` block, committed at its end."""
        with self.take(doing) as connection:
            with connection.pipeline():
                self.begin(connection, settings)
            try:
                yield connection
                if connection.info.transaction_status:
                    connection.execute("COMMIT")
            except BaseException:
                if not connection.closed and connection.info.transaction_status:
                    with contextlib.suppress(driver().Error):
                        connection.execute("ROLLBACK")
                raise

    def begin(self, connection: Connection, settings: dict[str, str] | None = None) -> None:
        """Begin a transaction that knows its tenant. Everything that is set ends with it."""
        connection.execute("BEGIN")
        wanted = {"branchline.tenant": self.server.tenant} if self.is_secured else {}
        for name, value in (wanted | (settings or {})).items():
            connection.execute("SELECT set_config(%s, %s, true)", (name, value))

    @contextlib.contextmanager
    def take(self, doing: str) -> Iterator[Connection]:
        """A connection for a ``with`` block."""
        self._after_fork()
        if not self._free.acquire(timeout=min(self._lock_timeout + _CONNECT_SECONDS, threading.TIMEOUT_MAX)):
            raise LockTimeout(f"cannot {doing}: all {_MOST} connections to {self.server.name} are in use")
        try:
            connection = self._usable(doing)
            try:
                with self._translated(doing, connection):
                    yield connection
            except Exception:
                self._put_back(connection)
                raise
            except BaseException:
                connection.close()  # interrupted: nobody knows what it is doing
                raise
            else:
                self._put_back(connection)
        finally:
            self._free.release()

    def _put_back(self, connection: Connection) -> None:
        if connection.closed or connection.info.transaction_status:
            connection.close()
        else:
            self._idle.append(connection)

    def _usable(self, doing: str) -> Connection:
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                break
            if not connection.closed:
                return connection
        connection = connect(self.server, doing)
        if not self._checked:
            try:
                with self._translated(doing, connection):
                    self._require_schema(connection)
            except BaseException:
                connection.close()
                raise
            self._checked = True
        return connection

    def _require_schema(self, connection: Connection) -> None:
        row = connection.execute(
            "SELECT max(version), row_security_active('branchline.session') FROM branchline.migration"
        ).fetchone()
        assert row is not None
        found, self.is_secured = row[0] or 0, row[1]
        name = self.server.name
        if found > VERSION:
            raise NotSupported(
                f"cannot use {name}: its schema is version {found}, this branchline knows up to {VERSION}; "
                "upgrade branchline"
            )
        if found < VERSION:
            raise NotSupported(
                f"cannot use {name}: its schema is version {found}, this branchline needs {VERSION}; run "
                "`branchline store upgrade` on it"
            )

    def _after_fork(self) -> None:
        """Leave the connections to the parent process: a child must neither use nor close them."""
        if self._pid != os.getpid():
            self._inherited, self._idle, self._pid = self._idle, [], os.getpid()
            self._free = threading.BoundedSemaphore(_MOST)

    @contextlib.contextmanager
    def _translated(self, doing: str, connection: Connection) -> Iterator[None]:
        psycopg = driver()
        try:
            yield
        except psycopg.Error as problem:
            raise self._problem(doing, problem, connection) from problem

    def _problem(self, doing: str, problem: Any, connection: Connection) -> BranchlineError:
        name, state = self.server.name, problem.sqlstate or ""
        if connection.closed or state.startswith(("08", "57P")):
            connection.close()
            return ConnectionLost(f"cannot {doing}: the connection to {name} was lost: {_first(problem)}")
        if state == "55P03":
            return LockTimeout(
                f"cannot {doing}: the lock is held by another thread or program; tried for "
                f"{self._lock_timeout:.1f} s"
            )
        if state in ("3F000", "42P01"):
            return NotSupported(
                f"cannot {doing}: {name} has no tables of branchline; run `branchline store init` on it"
            )
        if state in ("25006", "42501"):
            return ReadOnly(f"cannot {doing}: {_first(problem)}")
        # A time-out, a full disk, a failed disk, a conflict, something too large.
        if state == "57014" or state.startswith(("53", "58", "40", "54")):
            return NotSaved(f"cannot {doing}: {_first(problem)}; nothing was saved")
        return LogError(f"cannot {doing}: {_first(problem)}")


def _rows(connection: Connection, statement: str, values: Any, *, large: bool) -> list[tuple[Any, ...]]:
    if large and driver().capabilities.has_stream_chunked():
        # Some rows at a time: buffering the whole result takes half as much CPU again.
        return list(connection.cursor().stream(statement, values, binary=True, size=_CHUNK))
    cursor = connection.execute(statement, values, binary=True)
    return cursor.fetchall() if cursor.description is not None else []


def _first(problem: Exception) -> str:
    """The first line of what the server says; the others repeat the statement."""
    return str(problem).strip().partition("\n")[0] or type(problem).__name__
