"""Full-text search in the database: an index of entry texts, updated before each search."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import msgspec

from branchline.entries import MessageEntry, decode_entry, message_text
from branchline.entries.records import BranchSummary, Compaction, CustomMessage, Label, SessionInfo
from branchline.errors import LogError, ReadOnly
from branchline.stores.postgres.connections import Connections

__all__ = ["Found", "WordIndex"]

_MAX_CHARACTERS = 250_000  # characters indexed per entry; a tsvector has at most 1 MB
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


class WordIndex:
    """The table ``branchline.entry`` of a database."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def search(self, scope: tuple[str, str], text: str, limit: int) -> list[Found]:
        with contextlib.suppress(ReadOnly, LogError):  # a replica: search what the primary has indexed
            self.update(scope)
        rows = self._connections.run(
            f"search {self._connections.server.name}",
            "SELECT s.key, e.id, e.type, e.role, ts_rank(e.words, query)::float8 AS rank, e.start "
            "FROM websearch_to_tsquery('simple', %s) AS query, branchline.entry AS e "
            "JOIN branchline.session AS s ON s.tenant = e.tenant AND s.id = e.session "
            "WHERE e.tenant = %s AND s.store = %s AND s.state = 0 AND e.words @@ query "
            "ORDER BY rank DESC, s.modified DESC, e.start DESC LIMIT %s",
            (text, *scope, limit),
        )
        names = ("key", "entry", "type", "role", "rank", "start")
        return [Found(**dict(zip(names, row, strict=True))) for row in rows]

    def update(self, scope: tuple[str, str]) -> int:
        """Index new entries; return how many sessions had some."""
        stale = self._connections.run(
            f"index {self._connections.server.name}",
            "SELECT id FROM branchline.session WHERE tenant = %s AND store = %s AND state < 2 AND worded < "
            "size",
            scope,
        )
        for (number,) in stale:
            while self._advance(scope[0], number):
                pass
        return len(stale)

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
            entries = [entry for start, data in lines if (entry := _entry(start, data)) is not None]
            connection.execute(
                "INSERT INTO branchline.entry (tenant, session, start, id, type, role, words) "
                "SELECT %s, %s, start, id, type, role, to_tsvector('simple', text) FROM "
                "unnest(%s::bigint[], %s::text[], %s::text[], %s::text[], %s::text[]) "
                "AS row (start, id, type, role, text) ON CONFLICT DO NOTHING",
                (tenant, number, *(list(column) for column in zip(*entries, strict=True)))
                if entries
                else (tenant, number, [], [], [], [], []),
            )
            end = lines[-1][0] + len(lines[-1][1]) if lines else row[0]
            connection.execute(
                "UPDATE branchline.session SET worded = %s WHERE tenant = %s AND id = %s",
                (end, tenant, number),
            )
        return bool(lines)


def _entry(start: int, line: bytes) -> tuple[int, str, str, str | None, str] | None:
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
    text = text[:_MAX_CHARACTERS].replace("\0", " ").encode("utf-8", "replace").decode()
    return (start, entry.id, entry.type, role, text) if text.strip() else None
