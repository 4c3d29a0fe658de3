"""The database schema: created and upgraded explicitly, never on opening.

Each migration is a numbered SQL file. Migrations run in one transaction under a lock, so that concurrent
upgrades apply them once.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources

import msgspec

from branchline.errors import NotSupported
from branchline.stores.postgres.connections import VERSION, Connections
from branchline.stores.postgres.server import parse_address

__all__ = ["SchemaStatus", "status", "upgrade"]

_LOCK = 0x424C4E31
_HAS_TABLE = "SELECT to_regclass('branchline.migration') IS NOT NULL"
_FIND_VERSION = "SELECT coalesce(max(version), 0) FROM branchline.migration"
# Rights of other roles that row-level security does not restrict to one tenant. It holds
# for SELECT, INSERT, UPDATE and DELETE only.
_FIND_WIDE = """
SELECT CASE WHEN acl.grantee = 0 THEN 'PUBLIC' ELSE pg_get_userbyid(acl.grantee)::text END AS role,
  string_agg(DISTINCT c.relname, ', ')
FROM pg_class AS c
JOIN (
  SELECT oid AS relation, (aclexplode(relacl)).* FROM pg_class
  UNION ALL SELECT attrelid, (aclexplode(attacl)).* FROM pg_attribute
) AS acl ON acl.relation = c.oid
WHERE c.relnamespace = 'branchline'::regnamespace AND c.relkind IN ('r', 'p') AND acl.grantee <> c.relowner
  AND (c.relispartition
    OR acl.privilege_type NOT IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
    OR (c.relname = 'migration' AND acl.privilege_type <> 'SELECT'))
GROUP BY role ORDER BY role
"""
_FIND_OPEN = """
SELECT c.relname::text FROM pg_class AS c
WHERE c.relnamespace = 'branchline'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relrowsecurity
ORDER BY 1
"""
# Roles with rights on the sessions for which row-level security does not hold.
_FIND_EXEMPT = """
SELECT DISTINCT role.rolname::text
FROM pg_class AS c, aclexplode(c.relacl) AS acl
JOIN pg_roles AS role ON role.oid = acl.grantee
WHERE c.oid = 'branchline.session'::regclass AND acl.grantee <> c.relowner
  AND (role.rolsuper OR role.rolbypassrls OR pg_has_role(role.oid, c.relowner, 'MEMBER'))
ORDER BY 1
"""


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
    warnings: list[str] = []
    """What lets a role reach the sessions of other tenants."""

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
    warnings = list(_warnings(connections, doing)) if version else []
    if version != VERSION:
        return SchemaStatus(name=name, server=server, version=version, newest=VERSION, warnings=warnings)
    ((connections.is_secured,),) = connections.run(doing, "SELECT row_security_active('branchline.session')")
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
        warnings=warnings,
    )


def _warnings(connections: Connections, doing: str) -> Iterator[str]:
    for role, tables in connections.run(doing, _FIND_WIDE):
        yield (
            f"{role} has rights that reach beyond one tenant, on {tables}: REVOKE ALL ON ALL TABLES "
            f"IN SCHEMA branchline FROM {role}, then grant as docs/guides/stores.md says"
        )
    tables = [table for (table,) in connections.run(doing, _FIND_OPEN)]
    if tables:
        yield (
            f"no row-level security on {', '.join(tables)}: a role with rights on it reaches the rows "
            "of every tenant; run `branchline store upgrade`, and setup() of the LangGraph saver for lg_…"
        )
    for (role,) in connections.run(doing, _FIND_EXEMPT):
        yield (
            f"row-level security does not hold for {role}, which is a superuser, has BYPASSRLS or is a "
            "member of the owner"
        )


def _migration(number: int) -> str:
    name = f"{number:04}.sql"
    return (resources.files("branchline.stores.postgres") / "migrations" / name).read_text("utf-8")
