"""The tables of an opencode database as sessions.

Each session has rows in ``message`` and ``part``. The log in ``event`` holds the same facts and keeps deleted
messages: the id of a session with ``+deleted`` behind it names the session with the branches that its user
reverted and opencode deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from operator import contains, itemgetter
from typing import Any, NamedTuple

import msgspec

from branchline.entries import Header, json_codec
from branchline.formats.common.derived_lines import EntryLines, instant, joined_lines, one_line
from branchline.formats.common.tables import text_of
from branchline.formats.json_values import dict_of, iso_time, optional_text
from branchline.formats.opencode.lineage import COPIES, origins_of
from branchline.formats.opencode.log_index import NAME, ORIGIN
from branchline.formats.opencode.rows import TAB, decode_event, decode_message, decode_part
from branchline.formats.protocol import DatabaseSessions, Query, SessionVersion

__all__ = ["OpencodeDatabase", "end_line", "header_of", "message_line"]

_DELETED = "+deleted"
_NEWLINE = ord("\n")  # a number is found in bytes without the exception that bytes cost
_NO_PARTS = b"[]"
_without_brace = itemgetter(slice(-1))
_VERSIONS = """
SELECT session.id, session.parent_id, session.directory, session.title, session.version, session.revert,
    session.time_created, session.time_updated, {metadata},
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
_SESSION = """
SELECT id, parent_id, directory, title, version, revert, time_created, time_updated, {metadata}
FROM session WHERE id = ?
"""
_HAS_METADATA = "SELECT 1 FROM pragma_table_info('session') WHERE name = 'metadata'"
_MESSAGES = """
SELECT id, time_created, data FROM message WHERE session_id = ? ORDER BY time_created, id LIMIT -1 OFFSET ?
"""
_PARTS = "SELECT id, data FROM part WHERE message_id = ? ORDER BY id"
_HAS_INDEX = "SELECT 1 FROM sqlite_master WHERE name = 'part_message_id_id_idx' AND tbl_name = 'part'"
_TOGETHER = """
SELECT json_object(
        'message', ifnull(CAST(message.id AS TEXT), ''), 'created', CAST(message.time_created AS INTEGER)
    ),
    message.data, json_group_array(CAST(part.id AS TEXT)), group_concat(part.data, ',\t')
FROM message LEFT JOIN part INDEXED BY part_message_id_id_idx ON part.message_id = message.id
WHERE message.session_id = ?
GROUP BY message.time_created, message.id ORDER BY message.time_created, message.id
"""  # in the order of two indexes, so that nothing has to be sorted; SQLite joins texts faster than Python
_EVENTS = "SELECT type, data FROM event WHERE aggregate_id = ? AND type LIKE 'message.%' ORDER BY seq"


class OpencodeDatabase(DatabaseSessions):
    """The sessions of one database."""

    def recognizes(self, tables: Collection[str]) -> bool:
        return {"session", "message", "part", "project"} <= set(tables)

    def sessions(self, query: Query) -> Iterable[SessionVersion]:
        return map(_version, query(_VERSIONS.format(where="", metadata=_metadata(query))))

    def ids(self, query: Query) -> Iterable[str]:
        return (text_of(session_id) for (session_id,) in query("SELECT id FROM session"))

    def origins(self, query: Query) -> Mapping[str, str]:
        return origins_of(query(COPIES))

    def session(self, query: Query, session_id: str) -> SessionVersion | None:
        own_id = session_id.removesuffix(_DELETED)
        versions = _VERSIONS.format(where="WHERE session_id = ?", metadata=_metadata(query))
        rows = query(f"{versions} WHERE session.id = ?", own_id, own_id, own_id)
        found = next(map(_version, rows), None)
        return None if found is None else msgspec.structs.replace(found, id=session_id)

    def lines(self, query: Query, session_id: str) -> Iterator[bytes]:
        own_id = session_id.removesuffix(_DELETED)
        row = next(query(_SESSION.format(metadata=_metadata(query)), own_id), None)
        if row is not None:
            yield EntryLines(NAME).header(header_of(row))
            if own_id == session_id:
                yield from _message_lines(query, own_id)
            else:
                yield from _lines_with_deleted(query, own_id)
            yield end_line(row)


def _metadata(query: Query) -> str:
    """The column with what other programs say about a session; older databases have none."""
    return "session.metadata" if any(query(_HAS_METADATA)) else "NULL"


def _version(row: tuple[Any, ...]) -> SessionVersion:
    messages, changed, size, parts, parts_changed, parts_size = row[9:]
    updated = row[7]
    header = header_of(row)
    return SessionVersion(
        header.id,
        _whole(size) + _whole(parts_size) + 256 * (_whole(messages) + 1) + 128 * _whole(parts),
        instant(updated, changed, parts_changed),
        row,
        header,
    )


def header_of(row: tuple[Any, ...]) -> Header:
    """The header of the session in a row of the table of sessions."""
    session_id, starter, directory, _, version, _, created, _, metadata, *_ = row
    told: dict[str, Any] = {"version": text_of(version)} if version else {}
    parent = text_of(starter)
    if not parent and metadata:
        origin = _origin(metadata)
        if parent := optional_text(origin.get("from")) or "":
            told["converted"] = optional_text(origin.get("at")) or ""
    return Header(
        id=text_of(session_id),
        version=3,
        timestamp=iso_time(created),
        cwd=text_of(directory),
        parent_session=parent or None,
        metadata=told or None,
    )


def _origin(metadata: object) -> dict[str, Any]:
    """What branchline says about a session that it converted; opencode's import keeps it in the metadata."""
    return dict_of((json_codec.loads_object(one_line(metadata)) or {}).get(ORIGIN))


def end_line(row: tuple[Any, ...]) -> bytes:
    """The last line of a session: its title, and whether its user went back."""
    session_id, _, _, title, _, revert, _, updated, *_ = row
    end: dict[str, Any] = {"id": text_of(session_id), "time": iso_time(updated), "title": text_of(title)}
    if revert:
        end["revert"] = json_codec.loads_object(one_line(revert))
    return json_codec.dumps({"end": end}) + b"\n"


# -- messages ---------------------------------------------------------------------------------------------


def _message_lines(query: Query, session_id: str) -> Iterator[bytes]:
    """The messages of a session: together up to the first that is unusual, then one by one."""
    done: int | None = 0
    if any(query(_HAS_INDEX)):
        done = yield from joined_lines(query(_TOGETHER, session_id), _joined_lines)
        if done is None:
            return
    for message_id, created, info in query(_MESSAGES, session_id, done):
        yield message_line(message_id, created, info, list(query(_PARTS, _name(message_id))))


def _joined_lines(rows: Sequence[tuple[Any, ...]]) -> bytes:
    """Messages as lines. TypeError or ValueError if a value is unusual."""
    heads, infos, ids, parts = zip(*rows, strict=True)
    if None in parts:
        ids = tuple(_NO_PARTS if given is None else own for own, given in zip(ids, parts, strict=True))
        parts = tuple(given or b"" for given in parts)
    if any(map(contains, chain(infos, parts), repeat(_NEWLINE))):
        raise ValueError("a newline in a value")
    columns = (
        *(map(_without_brace, heads), repeat(b',"info":\t'), infos, repeat(b',\t"ids":'), ids),
        *(repeat(b',\t"parts":[\t'), parts, repeat(b"]}\n")),
    )
    return b"".join(chain.from_iterable(zip(*columns, strict=False)))


def message_line(
    message_id: object,
    created: object,
    info: object,
    parts: Sequence[tuple[object, object]],
    branch: int | None = None,
) -> bytes:
    """One message as a line, whatever its values are."""
    head: dict[str, Any] = {"message": text_of(message_id), "created": _whole(created)}
    if branch is not None:
        head["branch"] = branch
    return b'%b,"info":\t%b,\t"ids":%b,\t"parts":[\t%b]}\n' % (
        json_codec.dumps(head)[:-1],
        _json(info),
        json_codec.dumps([text_of(name) for name, _ in parts]),
        b",\t".join(_json(part) for _, part in parts),
    )


def _json(value: object) -> bytes:
    return one_line(value).replace(TAB, b" ") or b"null"


# -- deleted messages -------------------------------------------------------------------------------------


class _Deleted(NamedTuple):
    """A message that only the log of events has."""

    created: float
    id: str
    group: int
    """The number of the removal that it was part of."""
    info: bytes
    parts: list[tuple[object, object]]


def _lines_with_deleted(query: Query, session_id: str) -> Iterator[bytes]:
    """All messages, each deleted one before the live ones that are younger."""
    live = list(query(_MESSAGES, session_id, 0))
    waiting = _deleted_messages(query, session_id, {text_of(message_id) for message_id, _, _ in live})
    waiting.sort(key=lambda one: (one.created, one.id), reverse=True)
    for message_id, created, info in live:
        row = decode_message(one_line(info))
        time = _whole(created) if row is None else row.time.created
        while waiting and waiting[-1].created < time:
            yield _deleted_line(waiting.pop())
        yield message_line(message_id, created, info, list(query(_PARTS, _name(message_id))))
    yield from map(_deleted_line, reversed(waiting))


def _deleted_line(deleted: _Deleted) -> bytes:
    return message_line(deleted.id, deleted.created, deleted.info, deleted.parts, deleted.group)


def _deleted_messages(query: Query, session_id: str, known: Collection[str]) -> list[_Deleted]:
    infos: dict[str, tuple[float, bytes]] = {}
    parts: dict[str, dict[str, bytes]] = {}
    removed: dict[str, int] = {}
    group, in_removal = 0, False
    for raw_kind, data in query(_EVENTS, session_id):
        kind, event = text_of(raw_kind), decode_event(one_line(data))
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
                parts.setdefault(part.messageID, {})[part.id] = bytes(event.part)
        elif kind.startswith("message.part.removed"):
            parts.get(event.messageID, {}).pop(event.partID, None)
        elif kind.startswith("message.updated"):
            info = decode_message(bytes(event.info))
            if info is not None:
                infos[info.id] = info.time.created, bytes(event.info)
    return [
        _Deleted(created, message_id, removed[message_id], info, sorted(parts.get(message_id, {}).items()))
        for message_id, (created, info) in infos.items()
        if message_id in removed and message_id not in known
    ]


def _name(value: object) -> object:
    """An id as it is compared in a statement: text is not a blob."""
    return text_of(value) if isinstance(value, bytes) else value


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
