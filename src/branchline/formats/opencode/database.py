"""The tables of an opencode database as sessions.

Each session has rows in ``message`` and ``part``. The log in ``event`` holds the same facts and keeps deleted
messages: the id of a session with ``+deleted`` behind it names the session with the branches that its user
reverted and opencode deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import msgspec

from branchline.entries import Header, json_codec
from branchline.formats.common.derived_format import EntryLines, instant, one_line
from branchline.formats.json_values import iso_time
from branchline.formats.opencode.entries import MessageEntries, StoredMessage
from branchline.formats.opencode.rows import decode_event, decode_message, decode_part, decode_revert
from branchline.formats.protocol import DatabaseSessions, Query, SessionVersion

__all__ = ["OpencodeDatabase"]

NAME = "opencode"
_DELETED = "+deleted"
_VERSIONS = """
SELECT session.id, session.parent_id, session.directory, session.title, session.version, session.revert,
    session.time_created, session.time_updated,
    messages.count, messages.changed, messages.size, parts.count, parts.changed, parts.size
FROM session
LEFT JOIN (
    SELECT session_id, count(*) AS count, max(time_updated) AS changed,
        sum(length(CAST(data AS BLOB))) AS size
    FROM message {where} GROUP BY session_id
) AS messages ON messages.session_id = session.id
LEFT JOIN (
    SELECT session_id, count(*) AS count, max(time_updated) AS changed,
        sum(length(CAST(data AS BLOB))) AS size
    FROM part {where} GROUP BY session_id
) AS parts ON parts.session_id = session.id
"""
# The length of a text is counted by reading all of it; that of a blob is known without.
_ALL_VERSIONS = _VERSIONS.format(where="")
_ONE_VERSION = _VERSIONS.format(where="WHERE session_id = ?") + "WHERE session.id = ?"
_SESSION = """
SELECT id, parent_id, directory, title, version, revert, time_created, time_updated FROM session WHERE id = ?
"""
_MESSAGES = "SELECT id, time_created, data FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS = """
SELECT part.message_id, part.id, part.data FROM message JOIN part ON part.message_id = message.id
WHERE message.session_id = ? ORDER BY message.time_created, message.id, part.id
"""  # in the order of two indexes, so that nothing has to be sorted
_NO_PART: tuple[tuple[Any, ...], Any] = ((object(), None, None), None)  # of no message, whatever its id
_EVENTS = "SELECT type, data FROM event WHERE aggregate_id = ? AND type LIKE 'message.%' ORDER BY seq"


class OpencodeDatabase(DatabaseSessions):
    """The sessions of one database."""

    def recognizes(self, tables: Collection[str]) -> bool:
        return {"session", "message", "part", "project"} <= set(tables)

    def sessions(self, query: Query) -> Iterable[SessionVersion]:
        return map(_version, query(_ALL_VERSIONS))

    def session(self, query: Query, session_id: str) -> SessionVersion | None:
        own_id = session_id.removesuffix(_DELETED)
        found = next(map(_version, query(_ONE_VERSION, own_id, own_id, own_id)), None)
        return None if found is None else msgspec.structs.replace(found, id=session_id)

    def lines(self, query: Query, session_id: str) -> Iterator[bytes]:
        own_id = session_id.removesuffix(_DELETED)
        row = next(query(_SESSION, own_id), None)
        if row is not None:
            lines = EntryLines(NAME)
            yield lines.header(_header(row))
            messages: Iterable[StoredMessage] = _stored_messages(query, own_id)
            deleted: list[tuple[int, StoredMessage]] = []
            if own_id != session_id:
                messages = list(messages)
                deleted = _deleted_messages(query, own_id, messages)
            yield from _entry_lines(row, messages, deleted, lines)


def _version(row: tuple[Any, ...]) -> SessionVersion:
    messages, changed, size, parts, parts_changed, parts_size = row[8:]
    updated = row[7]
    header = _header(row)
    return SessionVersion(
        header.id,
        _whole(size) + _whole(parts_size) + 256 * (_whole(messages) + 1) + 128 * _whole(parts),
        instant(updated, changed, parts_changed),
        row,
        header,
    )


def _header(row: tuple[Any, ...]) -> Header:
    session_id, parent, directory, _, version, _, created, *_ = row
    return Header(
        id=_text(session_id),
        version=3,
        timestamp=iso_time(created),
        cwd=_text(directory),
        parent_session=_text(parent) or None,
        metadata={"version": _text(version)} if version else None,
    )


def _entry_lines(
    row: tuple[Any, ...],
    messages: Iterable[StoredMessage],
    deleted: list[tuple[int, StoredMessage]],
    lines: EntryLines,
) -> Iterator[bytes]:
    session_id, _, _, title, _, revert, _, updated = row
    session_id = _text(session_id)
    entries = MessageEntries(lines)
    tips: dict[int, str | None] = {}
    waiting = sorted(deleted, key=lambda one: (one[1].row.time.created, one[1].id))
    for message in messages:
        while waiting and waiting[0][1].row.time.created < message.row.time.created:
            yield from _branch(lines, entries, tips, *waiting.pop(0))
        yield from entries.take(message)
    for group, message in waiting:
        yield from _branch(lines, entries, tips, group, message)
    end = iso_time(updated)
    hidden = decode_revert(one_line(revert)) if revert else None
    if hidden is not None:
        found = entries.first.get(hidden.partID) or entries.first.get(hidden.messageID)
        if found is not None:
            lines.last = found[0]
            if title:
                yield lines.title(f"{session_id}/title", end, _text(title))
            yield lines.leaf(f"{session_id}/leaf", end, found[0])
            return
    if title:
        yield lines.title(f"{session_id}/title", end, _text(title))


def _branch(
    lines: EntryLines,
    entries: MessageEntries,
    tips: dict[int, str | None],
    group: int,
    message: StoredMessage,
) -> Iterator[bytes]:
    """The lines of a deleted message, below those that were deleted together with it."""
    live = lines.last
    lines.last = tips.get(group, live)
    yield from entries.take(message)
    tips[group] = lines.last
    lines.last = live


def _stored_messages(query: Query, session_id: str) -> Iterator[StoredMessage]:
    rows = decode_part.rows(query(_PARTS, session_id))
    (owner, part_id, _), part = next(rows, _NO_PART)
    for (message_id, created, _), row in decode_message.rows(query(_MESSAGES, session_id)):
        parts: list[tuple[str, Any]] = []
        while owner == message_id:
            if part is not None:
                parts.append((_text(part_id), part))
            (owner, part_id, _), part = next(rows, _NO_PART)
        told = row or decode_message(json_codec.dumps({"role": "damaged", "time": {"created": created}}))
        yield StoredMessage(_text(message_id), told, parts)


def _deleted_messages(
    query: Query, session_id: str, messages: Iterable[StoredMessage]
) -> list[tuple[int, StoredMessage]]:
    """Messages that only the log of events knows, each with the number of the removal that it was part of."""
    known = {message.id for message in messages}
    infos: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {}
    removed: dict[str, int] = {}
    group, in_removal = 0, False
    for raw_kind, data in query(_EVENTS, session_id):
        kind, event = _text(raw_kind), decode_event(one_line(data))
        if event is None:
            continue
        if kind.startswith("message.removed"):
            group += not in_removal
            in_removal = True
            removed.setdefault(event.messageID, group)
            continue
        in_removal = False
        if kind.startswith("message.part.updated"):
            part = decode_part(bytes(event.part))
            if part is not None:
                parts.setdefault(part.messageID, {})[part.id] = part
        elif kind.startswith("message.part.removed"):
            parts.get(event.messageID, {}).pop(event.partID, None)
        elif kind.startswith("message.updated"):
            info = decode_message(bytes(event.info))
            if info is not None:
                infos[info.id] = info
    return [
        (number, StoredMessage(message_id, infos[message_id], sorted(parts.get(message_id, {}).items())))
        for message_id, number in removed.items()
        if message_id in infos and message_id not in known
    ]


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else "" if value is None else str(value)


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
