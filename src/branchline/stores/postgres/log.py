"""One log in PostgreSQL.

An append is one statement in one round trip that compares the end of the log with the expected end. If
another writer was faster, the next attempt locks the session row. If the connection is lost during an append,
the log is read afterwards: either all bytes are there or none.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from branchline.errors import InvalidArgument, LockTimeout, LogError, LogGone, NotSaved, ReadOnly
from branchline.log import Durability, TornTail
from branchline.log.protocol import require_lines
from branchline.log.tail import read_tail
from branchline.stores.postgres.connections import ConnectionLost, Connections, connect
from branchline.stores.rows import RowWriter, rows_of

__all__ = ["NOW", "PostgresLog"]

NOW = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
_BLOCK = 1 << 20  # bytes per result; the server sorts more than its work_mem on disk
_LINES = 8192  # lines per result
_POLL = 0.25
_MAX_POLL = 2.0
_FOLLOW_MS = 60_000  # milliseconds for which appends notify after a follower has registered
_SETTLE_SECONDS = 10.0

# A row locked by another writer is skipped, which counts as a conflict; the statement never waits.
_APPEND = f"""
WITH free AS (
  SELECT tenant, id FROM branchline.session
  WHERE tenant = %(tenant)s AND id = %(id)s AND size = %(end)s AND NOT torn FOR UPDATE SKIP LOCKED
), moved AS (
  UPDATE branchline.session AS s SET size = size + %(added)s, modified = {NOW}, touched = {NOW} / 10000
  FROM free WHERE s.tenant = free.tenant AND s.id = free.id
  RETURNING s.size, s.followed, s.modified
), added AS (
  INSERT INTO branchline.line (tenant, session, start, data)
  SELECT %(tenant)s, %(id)s, row.start, row.data
  FROM moved, unnest(%(starts)s::bigint[], %(datas)b::bytea[]) AS row (start, data)
)
SELECT size, CASE WHEN followed > modified - {_FOLLOW_MS} THEN pg_notify(%(channel)s, size::text) END FROM
moved
"""


class PostgresLog:
    """The log of one session. Renaming, publishing, removing and restoring do not change its rows."""

    def __init__(
        self,
        connections: Connections,
        number: str,
        key: str,
        *,
        durability: Durability,
        lock_timeout: float,
        is_complete: Callable[[bytes], bool],
    ) -> None:
        if durability not in ("fsync", "os"):
            raise InvalidArgument(f'durability is "fsync" or "os", not {durability!r}')
        self.name = f"{connections.server.name}#{key}"  # as in paths of sessions
        self.identity = (connections.server.name, number)
        self._connections = connections
        self._number = number
        self._lock_timeout = lock_timeout
        self._is_complete = is_complete
        self._settings = {"synchronous_commit": "off"} if durability == "os" else {}
        self._held: tuple[int, Any] | None = None
        self._where = (connections.server.tenant, number)

    # -- reading --------------------------------------------------------------------------------------

    def size(self) -> int:
        return self._state()[0]

    def read(self, offset: int, size: int) -> bytes:
        if offset < 0 or size < 0:
            raise InvalidArgument(f"cannot read {size} bytes at {offset}")
        pieces = []
        while size > 0 and (piece := self._read(offset, min(size, _BLOCK))):
            pieces.append(piece)
            offset, size = offset + len(piece), size - len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _read(self, offset: int, size: int) -> bytes:
        # Joined by the server: fetching a row per line would cost more than decoding the lines.
        statement = (
            "SELECT substr(string_agg(data, ''::bytea ORDER BY start), (%s - min(start))::integer + 1, %s) "
            "FROM branchline.line "
            "WHERE tenant = %s AND session = %s AND start < %s AND start >= coalesce(("
            "SELECT max(start) FROM branchline.line WHERE tenant = %s AND session = %s AND start <= %s), 0)"
        )
        values = (offset, size, *self._where, offset + size, *self._where, offset)
        ((data,),) = self._select(statement, values)
        return data or b""

    def read_lines(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        # One statement without copies; the server strips the newline.
        statement = (
            "SELECT start, rtrim(data, '\\x0a'::bytea) FROM branchline.line "
            "WHERE tenant = %s AND session = %s AND start = ANY(%s::bigint[])"
        )
        found = []
        for first in range(0, len(ranges), _LINES):
            some = ranges[first : first + _LINES]
            starts = ",".join([str(start) for start, _end in some])  # as text: faster than a list
            rows = dict(self._select(statement, (*self._where, "{" + starts + "}"), large=len(some) > 64))
            for start, end in some:
                line = rows.get(start, b"")
                found.append(line if len(line) == end - start else self.read(start, end - start))
        return found

    def _select(self, statement: str, values: Sequence[Any], *, large: bool = False) -> list[tuple[Any, ...]]:
        """Run a SELECT. A thread that holds the lock reads in the transaction that holds it."""
        doing, held = f"read {self.name}", self._held
        if held is not None and held[0] == threading.get_ident():
            return self._connections.run_in(held[1], doing, statement, values, large=large)
        return self._connections.run(doing, statement, values, large=large)

    def _state(self) -> tuple[int, bool]:
        statement = "SELECT size, torn FROM branchline.session WHERE tenant = %s AND id = %s"
        rows = self._select(statement, self._where)
        if not rows:
            raise LogGone(f"cannot read {self.name}: it was deleted while open")
        return int(rows[0][0]), bool(rows[0][1])

    # -- appending ------------------------------------------------------------------------------------

    def try_append(self, expected_end: int, data: bytes) -> int | None:
        require_lines(data)
        return expected_end if self._append(expected_end, data) else None

    @contextmanager
    def exclusive(self) -> Iterator[PostgresWriter]:
        doing = f"append to {self.name}"
        with self._connections.transaction(doing, self._lock_settings) as connection:
            end, unfinished = self.locked(connection)
            writer = PostgresWriter(self, connection, end, unfinished=unfinished)
            self._held = (threading.get_ident(), connection)
            try:
                yield writer
            finally:
                self._held = None
                writer.close()

    def unlink(self) -> None:
        held = self._held
        if held is not None and held[0] == threading.get_ident():
            self._delete(held[1])
        else:
            with self._connections.transaction(f"delete {self.name}") as connection:
                self._delete(connection)

    def _delete(self, connection: Any) -> None:
        for table, column in (
            ("line", "session"),
            ("tree", "session"),
            ("entry", "session"),
            ("session", "id"),
        ):
            connection.execute(
                f"DELETE FROM branchline.{table} WHERE tenant = %s AND {column} = %s",
                self._where,
            )

    def close(self) -> None:
        """Do nothing: connections belong to the store."""

    def __repr__(self) -> str:
        return f"PostgresLog({self.name!r})"

    @property
    def _lock_settings(self) -> dict[str, str]:
        return {"lock_timeout": f"{max(1, round(self._lock_timeout * 1000))}ms", **self._settings}

    def lock_again(self, connection: Any) -> tuple[int, bool]:
        """Begin another transaction that holds the lock."""
        self._connections.begin(connection, self._lock_settings)
        return self.locked(connection)

    def locked(self, connection: Any) -> tuple[int, bool]:
        """Wait for the lock; return the size and whether the last line lacks its newline."""
        statement = "SELECT size, torn FROM branchline.session WHERE tenant = %s AND id = %s FOR UPDATE"
        row = connection.execute(statement, self._where).fetchone()
        if row is None:
            raise LogGone(f"cannot append to {self.name}: it was deleted while open")
        return row[0], row[1]

    def append_locked(self, connection: Any, end: int, data: bytes, *, unfinished: bool) -> TornTail | None:
        """Append in a transaction that holds the lock and commit; return the torn tail that this closed."""
        found = None
        if unfinished:
            tail = read_tail(self.read, end)
            if not self._is_complete(tail):
                found = TornTail(end - len(tail), len(tail), None)
            data = b"\n" + data
            connection.execute(
                "UPDATE branchline.session SET torn = false WHERE tenant = %s AND id = %s", self._where
            )
        try:
            appended = connection.execute(_APPEND, self._values(end, data)).fetchone()
            connection.execute("COMMIT")
        except Exception as problem:
            if not connection.closed:
                connection.execute("ROLLBACK")
                raise
            self._held = None
            if not self._is_saved(end, data, problem):
                raise NotSaved(
                    f"cannot append to {self.name}: the connection was lost; nothing was saved"
                ) from problem
        else:
            if appended is None:
                raise LogError(f"cannot append to {self.name}: it no longer ends at {end}; open it again")
        return found

    def _append(self, end: int, data: bytes) -> bool:
        """Append if the log ends at ``end``; otherwise return False and write nothing."""
        doing = f"append to {self.name}"
        until = time.monotonic() + _SETTLE_SECONDS
        while True:
            try:
                return bool(
                    self._connections.run(doing, _APPEND, self._values(end, data), settings=self._settings)
                )
            except ConnectionLost as problem:
                if self._is_saved(end, data, problem):
                    return True
                if time.monotonic() > until:
                    raise
                # Safe to repeat: a statement that compares the end cannot append twice.

    def _values(self, end: int, data: bytes) -> dict[str, Any]:
        rows = rows_of(data, end)
        tenant, number = self._where
        return {
            "tenant": tenant,
            "id": number,
            "end": end,
            "added": len(data),
            "starts": [row.start for row in rows],
            "datas": [row.data for row in rows],
            "channel": self._channel,
        }

    def _is_saved(self, end: int, data: bytes, problem: Exception) -> bool:
        """Return whether bytes were saved before the connection was lost. Raises LogError if unknown."""
        doing, until, wait = f"append to {self.name}", time.monotonic() + _SETTLE_SECONDS, 0.05
        while time.monotonic() < until:
            try:
                # The lock is free once the server has ended the lost transaction.
                with self._connections.transaction(doing, self._lock_settings) as connection:
                    self.locked(connection)
                return self.read(end, len(data)) == data
            except (
                ConnectionLost,
                LockTimeout,
                ReadOnly,
            ):  # unreachable, not yet ended, or not yet the primary
                time.sleep(wait)
                wait = min(1.0, wait * 2)
        raise LogError(
            f"the connection was lost while appending to {self.name}, which may or may not be saved; "
            "open it again"
        ) from problem

    # -- saved index ----------------------------------------------------------------------------------

    def saved_index(self) -> tuple[int, bytes] | None:
        statement = "SELECT covered, body FROM branchline.tree WHERE tenant = %s AND session = %s"
        rows = self._select(statement, self._where)
        return (rows[0][0], rows[0][1]) if rows else None

    def save_index(self, covered: int, index: bytes) -> None:
        statement = (
            "INSERT INTO branchline.tree (tenant, session, covered, body) VALUES (%s, %s, %s, %s) "
            "ON CONFLICT (tenant, session) DO UPDATE SET covered = excluded.covered, body = excluded.body"
        )
        values = (*self._where, covered, index)
        self._connections.run(f"keep the index of {self.name}", statement, values)

    # -- following ------------------------------------------------------------------------------------

    @property
    def _channel(self) -> str:
        return f"branchline_{self._number.replace('-', '')}"

    def follow(self, after: int, *, timeout: float | None = None) -> Iterator[int]:
        """Yield each new end. Listens for notifications, and polls in case one is lost."""
        listener = self._listener() if self._connections.server.follow else None
        last, poll, registered = time.monotonic(), _POLL, 0.0
        try:
            while True:
                if listener is not None and time.monotonic() - registered > _FOLLOW_MS / 3000:
                    # Before the size is read, which includes an append that did not notify.
                    self._register_follower()
                    registered = time.monotonic()
                if (size := self.size()) > after:
                    after, last, poll = size, time.monotonic(), _POLL
                    yield size
                    continue
                left = None if timeout is None else timeout - (time.monotonic() - last)
                if left is not None and left <= 0:
                    return
                wait = _MAX_POLL if listener is not None else poll
                poll = min(poll * 2, _MAX_POLL)
                listener = self._wait(listener, wait if left is None else min(wait, left))
        finally:
            if listener is not None:
                listener.close()

    def _listener(self) -> Any:
        """Open a connection that receives notifications; None if the server has none."""
        try:
            listener = connect(self._connections.server, f"follow {self.name}")
        except ConnectionLost:
            return None
        try:
            listener.execute(f'LISTEN "{self._channel}"')
        except Exception:  # noqa: BLE001  a server without notifications is polled
            listener.close()
            return None
        return listener

    def _register_follower(self) -> None:
        """Register as a follower, so that writers of this log notify for some time."""
        statement = f"UPDATE branchline.session SET followed = {NOW} WHERE tenant = %s AND id = %s"
        with contextlib.suppress(
            LogError, ReadOnly
        ):  # a replica, or a role that may only read: then it polls
            self._connections.run(f"follow {self.name}", statement, self._where)

    @staticmethod
    def _wait(listener: Any, seconds: float) -> Any:
        """Wait for a notification or a timeout; return the listener if it still works."""
        if listener is None:
            time.sleep(seconds)
            return None
        try:
            for _notification in listener.notifies(timeout=seconds, stop_after=1):
                pass
        except Exception:  # noqa: BLE001  the connection was lost: poll from now on
            listener.close()
            return None
        return listener


class PostgresWriter(RowWriter):
    """A writer of a `PostgresLog`."""

    def __init__(self, log: PostgresLog, connection: Any, end: int, *, unfinished: bool) -> None:
        super().__init__(log.name, end, unfinished=unfinished)
        self._log = log
        self._connection = connection
        self._held = True

    def _save(self, data: bytes) -> TornTail | None:
        if not self._held:
            # The previous append was committed, which released the lock.
            self.end, self._unfinished = self._log.lock_again(self._connection)
        self._held = False
        return self._log.append_locked(self._connection, self.end, data, unfinished=self._unfinished)
