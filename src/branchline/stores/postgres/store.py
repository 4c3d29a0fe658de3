"""A store in PostgreSQL: drafts, a trash, bulk loading by COPY, and full-text search."""

from __future__ import annotations

import contextlib
import struct
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from branchline.clock import SystemClock
from branchline.errors import InvalidArgument, LogError, ReadOnly, SessionNotFound
from branchline.log import Durability
from branchline.log.protocol import require_lines
from branchline.log.tail import is_complete_json
from branchline.stores.postgres.connections import Connections, driver
from branchline.stores.postgres.log import NOW, PostgresLog
from branchline.stores.postgres.server import parse_address
from branchline.stores.postgres.words import FoundEntries, IndexUpdate, WordIndex
from branchline.stores.protocol import (
    Read,
    ScanResult,
    StoredLog,
    TrashItem,
    check_key,
    key_taken,
    no_session,
)
from branchline.stores.rows import LogRow, RowStore, cut, rows_of

__all__ = ["PostgresStore"]

_LOG, _DRAFT, _TRASH = 0, 1, 2
_LAST = "\U0010ffff" * 63  # longer than any key: an upper bound for keys with a prefix
_LOW = (1 << 62) - 1  # the random bits of an id
_COLUMNS = "id::text, key, size, modified"  # reading an id as text takes a third of the time
_CREATE = f"""
WITH made AS (
  INSERT INTO branchline.session (tenant, id, store, key, state, size, torn, created, modified, touched)
  VALUES (%(tenant)s, %(id)s, %(store)s, %(key)s, %(state)s, %(size)s, false, {NOW}, {NOW}, {NOW} / 10000)
  RETURNING tenant, id
)
INSERT INTO branchline.line (tenant, session, start, data)
SELECT made.tenant, made.id, row.start, row.data
FROM made, unnest(%(starts)s::bigint[], %(datas)b::bytea[]) AS row (start, data)
"""
_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_END = struct.pack(">h", -1)


class PostgresStore(RowStore):
    """The sessions of one store in a database. Threads may share it; close it when it is no longer needed.

    ``address`` is ``postgresql://user@host/database`` with the parameters of libpq and of branchline:
    ``tenant=`` and ``store=`` (a name) select the sessions; ``pooler=transaction`` is for a pooler that uses
    another connection for each transaction; ``follow=poll`` avoids LISTEN. The store connects on first use.
    """

    def __init__(
        self,
        address: str,
        *,
        lock_timeout: float = 10.0,
        is_complete: Callable[[bytes], bool] = is_complete_json,
    ) -> None:
        if lock_timeout < 0:
            raise InvalidArgument(f"a time limit cannot be negative: {lock_timeout}")
        driver()
        self.address = address
        self.server = parse_address(address)
        super().__init__(self.server.name)
        self.connections = Connections(self.server, lock_timeout)
        self._lock_timeout = lock_timeout
        self._is_complete = is_complete
        self._scope = (self.server.tenant, self.server.store)
        self._words = WordIndex(self.connections)

    def close(self) -> None:
        self.connections.close()

    # -- reading --------------------------------------------------------------------------------------

    def scan(
        self, *, limit: int | None = None, after: tuple[float, str] | None = None, prefix: str = ""
    ) -> ScanResult:
        if limit is not None and limit < 0:
            raise InvalidArgument(f"a limit cannot be negative: {limit}")
        wanted, values = "tenant = %s AND store = %s AND state = 0", list[Any](self._scope)
        if after is not None:
            last = round(after[0] * 1000)
            wanted += " AND touched <= %s AND (modified < %s OR (modified = %s AND key > %s))"
            values += [last // 10000, last, last, after[1]]
        if prefix:
            wanted += " AND state < 2 AND key >= %s AND key < %s"
            values += [prefix, prefix + _LAST]
        # The index provides the first sort column; rows of one bucket are sorted.
        select = (
            f"SELECT {_COLUMNS} FROM branchline.session WHERE {wanted} "
            "ORDER BY touched DESC, modified DESC, key"
        )
        if limit is not None:
            select, values = select + " LIMIT %s", [*values, limit]
        rows = self._run(f"list the sessions in {self.name}", select, values)
        return ScanResult(self._stored(rows), [])

    def stat(self, key: str) -> StoredLog | None:
        row = self._find(key, "state = 0")
        return None if row is None else self._stored([row])[0]

    def drafts(self) -> list[StoredLog]:
        select = (
            f"SELECT {_COLUMNS} FROM branchline.session "
            "WHERE tenant = %s AND store = %s AND state = 1 ORDER BY modified DESC, key"
        )
        return self._stored(self._run(f"list the drafts in {self.name}", select, self._scope))

    def in_use(self, keys: Iterable[str]) -> set[str]:
        """Return the keys of logs whose lock a writer holds."""
        wanted = [check_key(key) for key in keys]
        where = "FROM branchline.session WHERE tenant = %s AND store = %s AND key = ANY(%s) AND state < 2"
        values = (*self._scope, wanted)
        doing = f"look for writers in {self.name}"
        there = {key for (key,) in self._run(doing, f"SELECT key {where}", values)}
        try:
            free = self._run(doing, f"SELECT key {where} FOR UPDATE SKIP LOCKED", values)
        except ReadOnly:
            return set()  # a replica has no writers
        return there - {key for (key,) in free}

    # -- opening and making ---------------------------------------------------------------------------

    def open(self, key: str, *, durability: Durability = "fsync") -> PostgresLog:
        row = self._find(key, "true")
        if row is None:
            raise no_session(key, self.name)
        return self._log(row[0], key, durability)

    def create(
        self, key: str, data: bytes, *, draft: bool = False, durability: Durability = "fsync"
    ) -> PostgresLog:
        if data:
            require_lines(data)
        number, rows = SystemClock().session_id(), rows_of(data, 0)
        self._change(
            f"create {key!r}",
            key,
            _CREATE,
            {
                "tenant": self.server.tenant,
                "id": number,
                "store": self.server.store,
                "key": check_key(key),
                "state": _DRAFT if draft else _LOG,
                "size": len(data),
                "starts": [row.start for row in rows],
                "datas": [row.data for row in rows],
            },
        )
        return self._log(number, key, durability)

    def publish(self, key: str, *, durability: Durability = "fsync") -> PostgresLog:
        check_key(key)
        rows = self._run(
            f"publish the draft {key!r} in {self.name}",
            "UPDATE branchline.session SET state = 0 "
            "WHERE tenant = %s AND store = %s AND key = %s AND state = 1 RETURNING id::text",
            (*self._scope, key),
        )
        if not rows:
            if self.stat(key) is not None:
                raise key_taken("publish the draft", key, self.name)
            raise SessionNotFound(f"no draft named {key!r} in {self.name}")
        return self._log(rows[0][0], key, durability)

    def drop_draft(self, key: str) -> bool:
        row = self._find(key, "state = 1")
        if row is None:
            return False
        self._log(row[0], key).unlink()
        return True

    # -- moving ---------------------------------------------------------------------------------------

    def rename(self, key: str, new_key: str) -> StoredLog:
        check_key(new_key)
        if self.stat(key) is None:
            raise no_session(key, self.name)
        if self._find(new_key, "true") is not None:
            raise key_taken(f"rename {key!r}", new_key, self.name)
        row = self._change(
            f"rename {key!r}",
            new_key,
            "UPDATE branchline.session SET key = %s "
            f"WHERE tenant = %s AND store = %s AND key = %s AND state = 0 RETURNING {_COLUMNS}",
            (new_key, *self._scope, key),
        )
        if row is None:
            raise no_session(key, self.name)
        return self._stored([row])[0]

    def remove(self, key: str, *, draft: bool = False) -> TrashItem | None:
        rows = self._run(
            f"remove {key!r} from {self.name}",
            f"UPDATE branchline.session SET state = 2, was = state, removed = {NOW} "
            "WHERE tenant = %s AND store = %s AND key = %s AND state = %s RETURNING id, size, removed",
            (*self._scope, check_key(key), _DRAFT if draft else _LOG),
        )
        return TrashItem(str(rows[0][0]), key, rows[0][1], rows[0][2] / 1000, draft) if rows else None

    def trashed(self) -> list[TrashItem]:
        select = (
            "SELECT id, key, size, removed, was FROM branchline.session "
            "WHERE tenant = %s AND store = %s AND state = 2 ORDER BY removed DESC, id DESC"
        )
        return [
            TrashItem(str(number), key, size, removed / 1000, was == _DRAFT)
            for number, key, size, removed, was in self._run(
                f"list the trash of {self.name}", select, self._scope
            )
        ]

    @contextlib.contextmanager
    def read_trashed(self, token: str) -> Iterator[Read]:
        item = next((item for item in self.trashed() if item.token == token), None)
        if item is None:
            raise SessionNotFound(f"{token!r} is not in the trash of {self.name}")
        with contextlib.closing(self._log(token, item.key, "fsync")) as log:
            yield log.read

    def restore(self, token: str) -> StoredLog:
        check_key(token)
        item = next((item for item in self.trashed() if item.token == token), None)
        row = None
        if item is not None:
            row = self._change(
                f"restore {token!r} from the trash",
                item.key,
                "UPDATE branchline.session SET state = was "
                f"WHERE tenant = %s AND store = %s AND id = %s AND state = 2 RETURNING {_COLUMNS}",
                (*self._scope, token),
            )
        if row is None:
            raise SessionNotFound(f"{token!r} is not in the trash of {self.name}")
        return self._stored([row])[0]

    # -- searching ------------------------------------------------------------------------------------

    def search(self, text: str, *, limit: int = 20) -> FoundEntries:
        """Return the entries that match a web-search query such as ``"a phrase" or -word``, best first.

        Updates the index first. The answer names what that left out: ``skipped`` the sessions that cannot be
        indexed, ``outdated`` why nothing was updated (a replica, or a role that may only read).
        """
        return self._words.search(self._scope, text, limit)

    def update_index(self) -> IndexUpdate:
        """Index new text and return how many sessions had some; ``skipped`` names those that failed."""
        return self._words.update(self._scope)

    # -- inside ---------------------------------------------------------------------------------------

    def _run(self, doing: str, statement: str, values: Any) -> list[tuple[Any, ...]]:
        return self.connections.run(doing, statement, values)

    def _stored(self, rows: Iterable[tuple[Any, ...]]) -> list[StoredLog]:
        return super()._stored(
            (int(number[19:23] + number[24:], 16) & _LOW, key, size, modified)
            for number, key, size, modified in rows
        )

    def _log(self, number: str, key: str, durability: Durability = "fsync") -> PostgresLog:
        return PostgresLog(
            self.connections,
            number,
            key,
            durability=durability,
            lock_timeout=self._lock_timeout,
            is_complete=self._is_complete,
        )

    def _find(self, key: str, condition: str) -> tuple[Any, ...] | None:
        select = (
            f"SELECT {_COLUMNS} FROM branchline.session "
            f"WHERE tenant = %s AND store = %s AND key = %s AND state < 2 AND {condition}"
        )
        rows = self._run(f"look up {key!r} in {self.name}", select, (*self._scope, check_key(key)))
        return rows[0] if rows else None

    def _change(self, doing: str, key: str, statement: str, values: Any) -> tuple[Any, ...] | None:
        """Return the row that a statement changes. Raises FileExistsError if the key is taken."""
        try:
            rows = self._run(f"{doing} in {self.name}", statement, values)
        except LogError as problem:
            if isinstance(problem.__cause__, driver().errors.UniqueViolation):
                raise key_taken(doing, key, self.name) from None
            raise
        return rows[0] if rows else None

    def create_from(self, key: str, pieces: Iterable[bytes]) -> str:
        check_key(key)
        number = SystemClock().session_id()
        size, torn = 0, False
        try:
            with self.connections.transaction(f"create {key!r} in {self.name}") as connection:
                connection.execute(
                    "INSERT INTO branchline.session "
                    "(tenant, id, store, key, state, size, torn, created, modified, touched) "
                    f"VALUES (%s, %s, %s, %s, %s, 0, false, {NOW}, {NOW}, {NOW} / 10000)",
                    (self.server.tenant, number, self.server.store, key, _LOG),
                )
                for rows in cut(pieces):
                    size = rows[-1].start + len(rows[-1].data)
                    torn = not rows[-1].data.endswith(b"\n")
                    self._insert(connection, number, rows)
                if size:
                    connection.execute(
                        "UPDATE branchline.session SET size = %s, torn = %s WHERE tenant = %s AND id = %s",
                        (size, torn, self.server.tenant, number),
                    )
        except LogError as problem:
            if isinstance(problem.__cause__, driver().errors.UniqueViolation):
                raise key_taken("create", key, self.name) from None
            raise
        return number

    def _insert(self, connection: Any, number: str, rows: list[LogRow]) -> None:
        if len(rows) < 16 or self.connections.is_secured:
            # COPY does not work with row-level security.
            connection.execute(
                "INSERT INTO branchline.line (tenant, session, start, data) "
                "SELECT %s, %s, * FROM unnest(%s::bigint[], %b::bytea[])",
                (self.server.tenant, number, [row.start for row in rows], [row.data for row in rows]),
            )
            return
        tenant, session = self.server.tenant.encode(), uuid.UUID(number).bytes
        head = struct.pack(f">hi{len(tenant)}si16si", 4, len(tenant), tenant, 16, session, 8)
        pack = struct.Struct(">qi").pack
        body = b"".join([part for start, data in rows for part in (head, pack(start, len(data)), data)])
        copy = "COPY branchline.line (tenant, session, start, data) FROM STDIN (FORMAT BINARY)"
        with connection.cursor() as cursor, cursor.copy(copy) as stream:
            stream.write(_SIGNATURE + body + _END)
