"""The tables of the LangGraph saver, in a branchline database: a SQLite file or PostgreSQL.

Both use the same statements, with ``?`` as the placeholder of a value.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from branchline.errors import NotSupported
from branchline.stores.address import refuse_options
from branchline.stores.sqlite import SqliteStore

__all__ = ["CheckpointRows", "Run", "markers", "open_rows"]

Run = Callable[..., list[tuple[Any, ...]]]
"""``run(statement, *values)`` in a transaction."""

# A row-id table with an index takes half the space of a table WITHOUT ROWID.
_TABLES = """
CREATE TABLE IF NOT EXISTS {lg}checkpoint (
  space TEXT NOT NULL, thread TEXT NOT NULL, ns TEXT NOT NULL, id TEXT NOT NULL, parent TEXT, run TEXT,
  kind TEXT NOT NULL, head {bytes} NOT NULL, refs TEXT, metadata {bytes} NOT NULL,
  PRIMARY KEY (space, thread, ns, id));
CREATE INDEX IF NOT EXISTS lg_checkpoint_newest ON {lg}checkpoint (space, id);
CREATE INDEX IF NOT EXISTS lg_checkpoint_run ON {lg}checkpoint (space, run) WHERE run IS NOT NULL;
CREATE TABLE IF NOT EXISTS {lg}write (
  space TEXT NOT NULL, thread TEXT NOT NULL, ns TEXT NOT NULL, checkpoint TEXT NOT NULL, task TEXT NOT NULL,
  idx INTEGER NOT NULL, path TEXT NOT NULL, channel TEXT NOT NULL, kind TEXT NOT NULL, data {bytes} NOT NULL,
  PRIMARY KEY (space, thread, ns, checkpoint, task, idx));
CREATE TABLE IF NOT EXISTS {lg}segment (
  space TEXT NOT NULL, thread TEXT NOT NULL, id BIGINT NOT NULL, parent BIGINT, base INTEGER NOT NULL,
  sizes {bytes} NOT NULL, data {bytes} NOT NULL,
  PRIMARY KEY (space, thread, id));
CREATE TABLE IF NOT EXISTS {lg}value (
  space TEXT NOT NULL, thread TEXT NOT NULL, hash TEXT NOT NULL, kind TEXT NOT NULL, data {bytes} NOT NULL,
  PRIMARY KEY (space, thread, hash))
"""

# ``space`` is the name of the tenant, a slash and a store, which contains no slash.
_NAMES = ("checkpoint", "write", "segment", "value")
_LOCK = 0x424C4E32
_SECURED = """
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON {table}
  USING (space = current_setting('branchline.tenant', true) || '/' || split_part(space, '/', -1))
"""


class CheckpointRows(Protocol):
    """The tables: read with single statements, written in transactions."""

    space: str
    """Selects the rows of this store, if several stores share a database."""

    def read(self, statement: str, *values: Any) -> list[tuple[Any, ...]]: ...

    def write_one(self, statement: str, *values: Any) -> None:
        """Run one statement in its own transaction."""
        ...

    def write(self, thread: str) -> contextlib.AbstractContextManager[Run]:
        """Run a ``with`` block in a transaction; transactions of one thread are serialized."""
        ...

    def setup(self) -> None:
        """Create the tables if they do not exist."""
        ...

    def close(self) -> None: ...


def open_rows(where: str | os.PathLike[str]) -> CheckpointRows:
    """Open the tables of a database. Raises NotSupported unless it is a SQLite file or PostgreSQL."""
    text = os.fspath(where)
    if text.startswith(("postgresql://", "postgres://")):
        return _PostgresRows(text)
    refuse_options(text)
    if os.path.isdir(os.path.expanduser(text)):
        raise NotSupported(
            f"checkpoints need a database, and {text} is a directory; give it a file: {text}/agents.db"
        )
    return _SqliteRows(text)


class _SqliteRows:
    space = ""

    def __init__(self, path: str) -> None:
        self._store = SqliteStore(os.path.expanduser(path))
        self._saving = self._doing("save")
        self._is_set_up = False
        self._turn = threading.Lock()  # the busy handler of SQLite sleeps up to 100 ms

    def read(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        self.setup()
        with self._store.reading(self._doing("read")) as connection:
            return connection.execute(_sqlite(statement), values).fetchall()

    def write_one(self, statement: str, *values: Any) -> None:
        if not self._is_set_up:
            self.setup()
        with self._turn, self._store.reading(self._saving) as connection:
            connection.use("fsync")
            connection.execute(_sqlite(statement), values)

    @contextlib.contextmanager
    def write(self, thread: str) -> Iterator[Run]:
        del thread  # all transactions are serialized
        self.setup()
        with self._turn, self._store.writing(self._doing("save")) as connection:
            yield lambda statement, *values: connection.execute(_sqlite(statement), values).fetchall()

    def setup(self) -> None:
        if self._is_set_up:
            return
        with self._store.writing(self._doing("create tables for")) as connection:
            for statement in _TABLES.format(lg="lg_", bytes="BLOB").split(";"):
                connection.execute(statement)
        self._is_set_up = True

    def close(self) -> None:
        self._store.close()

    def _doing(self, what: str) -> str:
        return f"{what} checkpoints in {self._store.name}"


class _PostgresRows:
    def __init__(self, address: str) -> None:
        from branchline.stores.postgres.connections import Connections  # noqa: PLC0415  needs psycopg
        from branchline.stores.postgres.server import parse_address  # noqa: PLC0415

        server = parse_address(address)
        store = server.store.replace("%", "%25").replace("/", "%2f")
        self.space = f"{server.tenant}/{store}"
        self._name = server.name
        self._connections = Connections(server, 10.0)

    def read(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._connections.run(f"read checkpoints in {self._name}", _postgres(statement), values)

    def write_one(self, statement: str, *values: Any) -> None:
        self._connections.run(f"save checkpoints in {self._name}", _postgres(statement), values)

    @contextlib.contextmanager
    def write(self, thread: str) -> Iterator[Run]:
        with self._connections.transaction(f"save checkpoints in {self._name}") as connection:

            def run(statement: str, *values: Any) -> list[tuple[Any, ...]]:
                cursor = connection.execute(_postgres(statement), values)
                return cursor.fetchall() if cursor.description is not None else []

            run("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", f"{self.space}/{thread}")
            yield run

    def setup(self) -> None:
        doing = f"create tables in {self._name}"
        tables = _TABLES.format(lg="branchline.lg_", bytes="BYTEA").replace(" TEXT", ' TEXT COLLATE "C"')
        with self._connections.transaction(doing) as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            secured = self._connections.run_in(
                connection,
                doing,
                "SELECT tablename::text FROM pg_policies "
                "WHERE schemaname = 'branchline' AND policyname = 'tenant'",
            )
            missing = [name for name in _NAMES if (f"lg_{name}",) not in secured]
            if not missing:
                return  # avoid locking the tables: graphs may be running
            for statement in tables.split(";"):
                connection.execute(statement)
            for name in missing:
                for statement in _SECURED.format(table=f"branchline.lg_{name}").split(";"):
                    connection.execute(statement)

    def close(self) -> None:
        self._connections.close()


@functools.cache
def _sqlite(statement: str) -> str:
    return statement.replace("{lg}", "lg_")


@functools.cache
def _postgres(statement: str) -> str:
    return statement.replace("{lg}", "branchline.lg_").replace("?", "%s")


def markers(values: Sequence[Any]) -> str:
    """Return a list of placeholders for the values."""
    return ", ".join("?" * len(values))
