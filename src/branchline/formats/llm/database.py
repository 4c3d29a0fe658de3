"""The tables of an llm log as sessions.

Since 0.36 messages form a tree in which common prefixes are stored once, and a thread names one message: the
session is the path to it, with the results of its other turns as branches. A turn is one model call and
records its tokens. Before 0.36 a conversation was a list of prompts and responses; a log may contain both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from branchline.context import milliseconds
from branchline.entries import Header
from branchline.formats.common.derived_format import EntryLines
from branchline.formats.common.tables import columns, tables, text_of
from branchline.formats.json_values import iso_time
from branchline.formats.llm.conversations import conversation_lines, unlisted_usage
from branchline.formats.llm.messages import ThreadMessages, Turn
from branchline.formats.llm.values import usage_of
from branchline.formats.protocol import DatabaseSessions, Query, SessionVersion

__all__ = ["NAME", "LlmDatabase"]

NAME = "llm"
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
_THREAD = "SELECT id, name, tip_message_hash, forked_from, datetime_utc FROM threads WHERE id = ?"
_TURNS = """
SELECT id, tip_message_hash, model, {resolved}, input_tokens, output_tokens, token_details, datetime_utc
FROM turns WHERE thread_id = ? ORDER BY id
"""
_PER_TURN = 1024


class LlmDatabase(DatabaseSessions):
    """The threads and conversations of one log."""

    def recognizes(self, tables: Collection[str]) -> bool:
        return "_llm_migrations" in tables and not {"conversations", "threads"}.isdisjoint(tables)

    def sessions(self, query: Query) -> Iterable[SessionVersion]:
        return _versions(query, None)

    def session(self, query: Query, session_id: str) -> SessionVersion | None:
        return next(_versions(query, session_id), None)

    def lines(self, query: Query, session_id: str) -> Iterator[bytes]:
        known = tables(query)
        lines = EntryLines(NAME)
        if "threads" in known:
            for row in query(_THREAD, session_id):
                yield from _thread_lines(query, row, lines, has_conversations="responses" in known)
                return
        if "responses" in known:
            yield from conversation_lines(query, session_id, lines)


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


def _thread_lines(
    query: Query, row: tuple[Any, ...], lines: EntryLines, *, has_conversations: bool
) -> Iterator[bytes]:
    raw_id, name, tip, forked_from, created = row
    thread_id = text_of(raw_id)
    turns = list(_turns(query, thread_id))
    times = [turn.time for turn in turns if turn.time]
    begun = min(times, default=iso_time(milliseconds(text_of(created))))
    yield lines.header(
        Header(id=thread_id, version=3, timestamp=begun, parent_session=text_of(forked_from) or None)
    )
    messages = ThreadMessages(query, thread_id, lines, begun)
    for turn in turns:
        yield from messages.path_to(turn.tip, turn)
    last = text_of(tip)
    yield from messages.path_to(last, None)
    if has_conversations:
        yield from unlisted_usage(query, thread_id, lines)
    end = max(times, default=begun)
    leaf = messages.last_entry.get(last)
    is_elsewhere = leaf is not None and leaf != lines.last
    if is_elsewhere:
        lines.last = leaf
    if name:
        yield lines.title(f"{thread_id}/title", end, text_of(name))
    if is_elsewhere:
        yield lines.leaf(f"{thread_id}/leaf", end, leaf)


def _turns(query: Query, thread_id: str) -> Iterator[Turn]:
    resolved = "resolved_model" if "resolved_model" in columns(query, "turns") else "NULL"
    for row in query(_TURNS.format(resolved=resolved), thread_id):
        turn_id, tip, model, resolved_model, given, made, details, time = row
        yield Turn(
            id=text_of(turn_id),
            tip=text_of(tip),
            model=text_of(resolved_model) or text_of(model),
            usage=usage_of(given, made, details),
            time=iso_time(milliseconds(text_of(time))),
        )
