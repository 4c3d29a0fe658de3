"""The database schema: created and upgraded explicitly, never on opening.

Each migration is a numbered SQL file. Migrations run in one transaction under a lock, so that concurrent
upgrades apply them once.
"""

from __future__ import annotations

from importlib import resources

import msgspec

from branchline.errors import NotSupported
from branchline.stores.postgres.connections import VERSION, Connections
from branchline.stores.postgres.server import parse_address

__all__ = ["SchemaStatus", "status", "upgrade"]

_LOCK = 0x424C4E31
_HAS_TABLE = "SELECT to_regclass('branchline.migration') IS NOT NULL"
_FIND_VERSION = "SELECT coalesce(max(version), 0) FROM branchline.migration"


class SchemaStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The schema version and contents of a database."""

    name: str
    """The address without its password."""
    server: str
    """The server version."""
    version: int
    """The schema version; 0 if there are no tables."""
    newest: int
    """The schema version that this branchline needs."""
    sessions: int = 0
    drafts: int = 0
    trash: int = 0
    bytes: int = 0
    """Total size of the sessions, as files."""
    stored_bytes: int = 0
    """Size of the tables and indexes."""

    @property
    def is_current(self) -> bool:
        """Whether the schema has the needed version."""
        return self.version == self.newest


def status(address: str) -> SchemaStatus:
    """Return the status of a database without changing it. Raises LogError if it is unreachable."""
    connections = _Unchecked(parse_address(address), 10.0)
    try:
        return _status(connections)
    finally:
        connections.close()


def upgrade(address: str) -> SchemaStatus:
    """Create or upgrade the tables. Idempotent.

    Raises NotSupported if the schema is newer than this branchline.
    """
    connections = _Unchecked(parse_address(address), 10.0)
    try:
        with connections.transaction(f"upgrade {connections.server.name}") as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            name = f"upgrade {connections.server.name}"
            ((there,),) = connections.run_in(connection, name, _HAS_TABLE)
            if there:
                ((found,),) = connections.run_in(connection, name, _FIND_VERSION)
            else:
                connection.execute("CREATE SCHEMA IF NOT EXISTS branchline")
                connection.execute(
                    "CREATE TABLE branchline.migration (version integer PRIMARY KEY, "
                    "applied timestamptz NOT NULL DEFAULT now())"
                )
                found = 0
            if found > VERSION:
                raise NotSupported(
                    f"cannot upgrade {connections.server.name}: its schema is version {found}, "
                    f"this branchline knows up to {VERSION}"
                )
            for number in range(found + 1, VERSION + 1):
                connection.execute(_migration(number))
                connection.execute("INSERT INTO branchline.migration (version) VALUES (%s)", (number,))
        return _status(connections)
    finally:
        connections.close()


class _Unchecked(Connections):
    """Connections to a database that may have no tables yet."""

    def _require_schema(self, connection: object) -> None:
        del connection


def _status(connections: Connections) -> SchemaStatus:
    name = connections.server.name
    doing = f"look at {name}"
    ((server,),) = connections.run(doing, "SELECT current_setting('server_version')")
    ((there,),) = connections.run(doing, _HAS_TABLE)
    version = 0
    if there:
        ((version,),) = connections.run(doing, _FIND_VERSION)
    if version != VERSION:
        return SchemaStatus(name=name, server=server, version=version, newest=VERSION)
    counts = dict(connections.run(doing, "SELECT state, count(*) FROM branchline.session GROUP BY state"))
    ((size,),) = connections.run(doing, "SELECT coalesce(sum(size), 0)::bigint FROM branchline.session")
    ((stored,),) = connections.run(
        doing,
        "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c "
        "JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = 'branchline' AND c.relkind = 'r'",
    )
    return SchemaStatus(
        name=name,
        server=server,
        version=version,
        newest=VERSION,
        sessions=counts.get(0, 0),
        drafts=counts.get(1, 0),
        trash=counts.get(2, 0),
        bytes=size,
        stored_bytes=stored,
    )


def _migration(number: int) -> str:
    name = f"{number:04}.sql"
    return (resources.files("branchline.stores.postgres") / "migrations" / name).read_text("utf-8")
