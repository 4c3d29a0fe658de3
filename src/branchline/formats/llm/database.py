"""The tables of an llm log as sessions.

Since 0.36 messages form a tree in which common prefixes are stored once, and a thread names one message: the
session is the path to it, with the results of its other turns as branches. A turn is one model call and
records its tokens. Before 0.36 a conversation was a list of prompts and responses; a log may contain both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import chain

from branchline.context import milliseconds
from branchline.formats.common.derived_lines import EntryLines
from branchline.formats.common.tables import tables, text_of
from branchline.formats.llm.conversations import conversation_lines
from branchline.formats.llm.log_index import NAME
from branchline.formats.llm.threads import thread_lines
from branchline.formats.protocol import DatabaseSessions, Query, SessionVersion

__all__ = ["LlmDatabase"]

_THREADS = """
SELECT threads.id, threads.name, threads.tip_message_hash, threads.datetime_utc, threads.forked_from,
    count(turns.id), max(turns.datetime_utc), sum(length(turn_search.prompt) + length(turn_search.response))
FROM threads
LEFT JOIN turns ON turns.thread_id = threads.id
LEFT JOIN turn_search ON turn_search.turn_id = turns.id
{where} GROUP BY threads.id
"""
_CONVERSATIONS = """
SELECT conversations.id, conversations.name, NULL, NULL, NULL,
    count(responses.id), max(responses.datetime_utc),
    sum(length(responses.prompt) + length(responses.response))
FROM conversations JOIN responses ON responses.conversation_id = conversations.id
{where} GROUP BY conversations.id
"""
_IDS = {
    "threads": "SELECT id FROM threads",
    "conversations": "SELECT id FROM conversations WHERE id IN (SELECT conversation_id FROM responses)",
}
_THREAD = "SELECT id, name, tip_message_hash, forked_from, datetime_utc FROM threads WHERE id = ?"
_PER_TURN = 1024


class LlmDatabase(DatabaseSessions):
    """The threads and conversations of one log."""

    def recognizes(self, tables: Collection[str]) -> bool:
        return "_llm_migrations" in tables and not {"conversations", "threads"}.isdisjoint(tables)

    def sessions(self, query: Query) -> Iterable[SessionVersion]:
        return _versions(query, None)

    def ids(self, query: Query) -> Iterable[str]:
        known = tables(query)
        rows = chain.from_iterable(query(sql) for table, sql in _IDS.items() if table in known)
        return dict.fromkeys(text_of(session_id) for (session_id,) in rows)

    def session(self, query: Query, session_id: str) -> SessionVersion | None:
        return next(_versions(query, session_id), None)

    def lines(self, query: Query, session_id: str) -> Iterator[bytes]:
        known = tables(query)
        if "threads" in known:
            for row in query(_THREAD, session_id):
                yield from thread_lines(query, row, known)
                return
        if "responses" in known:
            yield from conversation_lines(query, session_id, EntryLines(NAME))


def _versions(query: Query, session_id: str | None) -> Iterator[SessionVersion]:
    known = tables(query)
    seen: set[str] = set()
    values = () if session_id is None else (session_id,)
    for table, statement in (("threads", _THREADS), ("conversations", _CONVERSATIONS)):
        if table not in known:
            continue
        where = "" if session_id is None else f"WHERE {table}.id = ?"
        for row in query(statement.format(where=where), *values):
            own_id = text_of(row[0])
            if own_id in seen:
                continue  # a conversation continued as a thread
            seen.add(own_id)
            _, _, _, created, _, turns, changed, size = row
            time = milliseconds(text_of(changed)) or milliseconds(text_of(created)) or 0
            yield SessionVersion(own_id, (size or 0) + _PER_TURN * turns, time, row)
