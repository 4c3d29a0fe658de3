"""Full-text search in the database: an index of entry texts, updated before each search."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import msgspec

from branchline.entries import MessageEntry, decode_entry, message_text
from branchline.entries.records import BranchSummary, Compaction, CustomMessage, Label, SessionInfo
from branchline.errors import LogError, ReadOnly
from branchline.stores.postgres.connections import Connections, storable

__all__ = ["Found", "FoundEntries", "IndexUpdate", "WordIndex"]

_MAX_CHARACTERS = 250_000  # characters indexed per entry; a tsvector has at most 1 MB
_MAX_BYTES = 500_000  # and bytes
_BATCH_BYTES = 4 << 20  # bytes indexed per transaction


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """An entry that matches a search."""

    key: str
    """The key of the session."""
    entry: str
    type: str
    role: str | None
    rank: float
    start: int
    """The offset of its line in the log."""


class IndexUpdate(int):
    """The number of sessions whose new text was indexed."""

    skipped: dict[str, str]
    """The keys of the sessions that could not be indexed, each with the reason."""

    def __new__(cls, indexed: int, skipped: dict[str, str]) -> Self:
        made = super().__new__(cls, indexed)
        made.skipped = skipped
        return made

    def __repr__(self) -> str:
        return f"IndexUpdate({int(self)}, skipped={self.skipped})"


class FoundEntries(list[Found]):
    """The entries that match a search, best first, and what the search could not look at."""

    def __init__(self, found: Iterable[Found], skipped: dict[str, str], outdated: str | None) -> None:
        super().__init__(found)
        self.skipped = skipped
        """The keys of the sessions that could not be indexed, each with the reason."""
        self.outdated = outdated
        """Why the index was not updated first, on a replica for example; None if it was."""

    def __repr__(self) -> str:
        return f"FoundEntries({super().__repr__()}, skipped={self.skipped}, outdated={self.outdated!r})"


class WordIndex:
    """The table ``branchline.entry`` of a database."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def search(self, scope: tuple[str, str], text: str, limit: int) -> FoundEntries:
        skipped, outdated = dict[str, str](), None
        try:
            skipped = self.update(scope).skipped
        except ReadOnly as problem:  # a replica: search what the primary has indexed
            outdated = str(problem)
        rows = self._connections.run(
            f"search {self._connections.server.name}",
            "SELECT s.key, e.id, e.type, e.role, ts_rank(e.words, query)::float8 AS rank, e.start, e.session "
            "FROM websearch_to_tsquery('simple', %s) AS query, branchline.entry AS e "
            "JOIN branchline.session AS s ON s.tenant = e.tenant AND s.id = e.session "
            "WHERE e.tenant = %s AND s.store = %s AND s.state = 0 AND e.words @@ query "
            "ORDER BY rank DESC, s.modified DESC, e.start DESC LIMIT %s",
            (storable(text), *scope, limit),
        )
        return FoundEntries((self._found(scope[0], *row) for row in rows), skipped, outdated)

    def _found(
        self,
        tenant: str,
        key: str,
        entry: str,
        type_: str,
        role: str | None,
        rank: float,
        start: int,
        session: Any,
    ) -> Found:
        if "\ufffd" in f"{entry}{role}":  # perhaps not as it is in the line
            data = self._connections.run(
                f"search {self._connections.server.name}",
                "SELECT data FROM branchline.line WHERE tenant = %s AND session = %s AND start = %s",
                (tenant, session, start),
            )
            if data and (written := _written(data[0][0])) is not None:
                entry, role = written.id, written.role
        return Found(key=key, entry=entry, type=type_, role=role, rank=rank, start=start)

    def update(self, scope: tuple[str, str]) -> IndexUpdate:
        """Index new entries. A session whose text the database does not take is skipped."""
        stale = self._connections.run(
            f"index {self._connections.server.name}",
            "SELECT id, key FROM branchline.session "
            "WHERE tenant = %s AND store = %s AND state < 2 AND worded < size",
            scope,
        )
        skipped: dict[str, str] = {}
        for number, key in stale:
            try:
                while self._advance(scope[0], number):
                    pass
            except LogError as problem:
                # A value out of its range or a limit of the server is about this session, all else is not.
                if not (getattr(problem.__cause__, "sqlstate", None) or "").startswith(("22", "54")):
                    raise
                skipped[key] = str(problem)
        return IndexUpdate(len(stale) - len(skipped), skipped)

    def _advance(self, tenant: str, number: Any) -> bool:
        """Index a batch of lines of a session; return whether there may be more."""
        with self._connections.transaction(f"index {self._connections.server.name}") as connection:
            row = connection.execute(
                "SELECT worded FROM branchline.session WHERE tenant = %s AND id = %s AND worded < size "
                "FOR NO KEY UPDATE SKIP LOCKED",
                (tenant, number),
            ).fetchone()
            if row is None:
                return False
            lines = connection.execute(
                "SELECT start, data FROM (SELECT start, data, sum(length(data)) OVER (ORDER BY start) AS "
                "total "
                "FROM branchline.line WHERE tenant = %s AND session = %s AND start >= %s "
                "ORDER BY start LIMIT 10000"
                ") AS part WHERE total - length(data) < %s ORDER BY start",
                (tenant, number, row[0], _BATCH_BYTES),
                binary=True,
            ).fetchall()
            entries = [(start, *entry) for start, data in lines if (entry := _written(data)) is not None]
            columns = [list(column) for column in zip(*entries, strict=True)] or [[], [], [], [], []]
            connection.execute(
                "INSERT INTO branchline.entry (tenant, session, start, id, type, role, words) "
                "SELECT %s, %s, start, id, type, role, to_tsvector('simple', text) FROM "
                "unnest(%s::bigint[], %s::text[], %s::text[], %s::text[], %s::text[]) "
                "AS row (start, id, type, role, text) ON CONFLICT DO NOTHING",
                (tenant, number, *(_storable(column) for column in columns)),
            )
            end = lines[-1][0] + len(lines[-1][1]) if lines else row[0]
            connection.execute(
                "UPDATE branchline.session SET worded = %s WHERE tenant = %s AND id = %s",
                (end, tenant, number),
            )
        return bool(lines)


class _Written(NamedTuple):
    """The fields of an entry, as they are in its line."""

    id: str
    type: str
    role: str | None
    text: str


def _written(line: bytes) -> _Written | None:
    """Return the indexed fields of a line; None if it is not an entry with an id and text."""
    try:
        entry = decode_entry(line)
    except (ValueError, RecursionError):
        return None
    role = None
    match entry:
        case MessageEntry():
            role, text = entry.message.role, message_text(entry.message, " ")
        case Compaction() | BranchSummary():
            text = entry.summary
        case CustomMessage():
            text = (
                entry.content
                if isinstance(entry.content, str)
                else json.dumps(msgspec.to_builtins(entry.content))
            )
        case Label():
            text = entry.label or ""
        case SessionInfo():
            text = entry.name
        case _:
            return None
    text = storable(text[:_MAX_CHARACTERS]).encode()[:_MAX_BYTES].decode("utf-8", "ignore")
    return _Written(entry.id, entry.type, role, text) if text.strip("\ufffd \t\n") else None


def _storable(column: list[Any]) -> list[Any]:
    return [storable(value) if isinstance(value, str) else value for value in column]
