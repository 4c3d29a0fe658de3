"""A connection pool, and the conversion of driver errors.

Connections hold no state between transactions, so an external pooler may use another one for each. A failed
connection is not reused. The driver is imported when a store is first used.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from branchline._version import install_extra
from branchline.errors import (
    BranchlineError,
    LockTimeout,
    LogError,
    NotSaved,
    NotSupported,
    ReadOnly,
    StoreClosed,
)
from branchline.stores.postgres.server import Server

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[tuple[Any, ...]]

__all__ = ["VERSION", "ConnectionLost", "Connections", "connect", "driver", "storable"]

VERSION = 2
"""The schema that this branchline reads and writes."""
_MAX_CONNECTIONS = 20
_CONNECT_SECONDS = 10
_CHUNK = 64


class ConnectionLost(LogError):
    """The connection was lost. Whether the transaction was committed is unknown."""


def driver() -> Any:
    """Return the driver module. Raises NotSupported if it is not installed."""
    try:
        import psycopg  # noqa: PLC0415  optional
    except ImportError as problem:
        raise NotSupported(
            f"sessions in PostgreSQL need another package ({problem}): {install_extra('postgres')}"
        ) from None
    return psycopg


def connect(server: Server, doing: str) -> Connection:
    """Open a connection in autocommit mode. Raises ConnectionLost if that fails."""
    psycopg = driver()
    try:
        made = psycopg.connect(server.dsn, autocommit=True, connect_timeout=_CONNECT_SECONDS)
    except psycopg.Error as problem:
        why = f"no connection to {server.name}: {_first_line(problem)}"
        raise ConnectionLost(f"cannot {doing}: {why}") from problem
    if server.pooler:
        made.prepare_threshold = None
    return made  # type: ignore[no-any-return]


def storable(text: str) -> str:
    """Return a text that the database can hold: NUL and half characters become U+FFFD.

    For texts only. Names keep their characters, so that two of them never become one: such a name is refused.
    """
    return text.replace("\0", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class Connections:
    """The connections of one store. Threads may share it."""

    def __init__(self, server: Server, lock_timeout: float) -> None:
        self.server = server
        self._lock_timeout = lock_timeout
        self._idle: list[Connection] = []
        self._inherited: list[Connection] = []
        self._free = threading.BoundedSemaphore(_MAX_CONNECTIONS)
        self.is_secured = False
        """Whether row-level security applies to this role, so that each transaction must set its tenant."""
        self._checked = False
        self._closed = False
        self._pid = os.getpid()

    def close(self) -> None:
        """Close the connections; those in use are closed after what they do now."""
        self._closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        while self._idle:
            with contextlib.suppress(IndexError):  # another thread took it
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
        ``large`` means that the result has megabytes of rows.
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
        """Run one statement in an open transaction and return its rows."""
        with self._translated(doing, connection):
            return _rows(connection, statement, values, large=large)

    @contextlib.contextmanager
    def transaction(self, doing: str, settings: dict[str, str] | None = None) -> Iterator[Connection]:
        """Run a ``with`` block in a transaction, committed at its end."""
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
        """Begin a transaction with its tenant and settings, which end with it."""
        connection.execute("BEGIN")
        wanted = {"branchline.tenant": self.server.tenant} if self.is_secured else {}
        for name, value in (wanted | (settings or {})).items():
            connection.execute("SELECT set_config(%s, %s, true)", (name, value))

    @contextlib.contextmanager
    def take(self, doing: str) -> Iterator[Connection]:
        """Take a connection from the pool for a ``with`` block."""
        self._after_fork()
        if self._closed:
            raise StoreClosed(f"cannot {doing}: the store is closed")
        if not self._free.acquire(timeout=min(self._lock_timeout + _CONNECT_SECONDS, threading.TIMEOUT_MAX)):
            raise LockTimeout(
                f"cannot {doing}: all {_MAX_CONNECTIONS} connections to {self.server.name} are in use"
            )
        try:
            connection = self._usable(doing)
            try:
                with self._translated(doing, connection):
                    yield connection
            except Exception:
                self._put_back(connection)
                raise
            except BaseException:
                connection.close()  # interrupted: its state is unknown
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
            if self._closed:
                self._close_idle()

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
        """Leave the connections to the parent process: a forked child must neither use nor close them."""
        if self._pid != os.getpid():
            self._inherited, self._idle, self._pid = self._idle, [], os.getpid()
            self._free = threading.BoundedSemaphore(_MAX_CONNECTIONS)

    @contextlib.contextmanager
    def _translated(self, doing: str, connection: Connection) -> Iterator[None]:
        psycopg = driver()
        try:
            yield
        except psycopg.Error as problem:
            raise self._problem(doing, problem, connection) from problem
        except UnicodeEncodeError as problem:  # the driver encodes values itself
            raise LogError(f"cannot {doing}: a name contains half a character") from problem

    def _problem(self, doing: str, problem: Any, connection: Connection) -> BranchlineError:
        name, state = self.server.name, problem.sqlstate or ""
        if connection.closed or state.startswith(("08", "57P")):
            connection.close()
            return ConnectionLost(
                f"cannot {doing}: the connection to {name} was lost: {_first_line(problem)}"
            )
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
            return ReadOnly(f"cannot {doing}: {_first_line(problem)}")
        # Timeout, full disk, I/O error, conflict, or a value that is too large.
        if state == "57014" or state.startswith(("53", "58", "40", "54")):
            return NotSaved(f"cannot {doing}: {_first_line(problem)}; nothing was saved")
        return LogError(f"cannot {doing}: {_first_line(problem)}")


def _rows(connection: Connection, statement: str, values: Any, *, large: bool) -> list[tuple[Any, ...]]:
    if large and driver().capabilities.has_stream_chunked():
        # In chunks: buffering the whole result takes 50 % more CPU.
        return list(connection.cursor().stream(statement, values, binary=True, size=_CHUNK))
    cursor = connection.execute(statement, values, binary=True)
    return cursor.fetchall() if cursor.description is not None else []


def _first_line(problem: Exception) -> str:
    """Return the first line of an error message; the others repeat the statement."""
    return str(problem).strip().partition("\n")[0] or type(problem).__name__
