"""The tables of a Goose database as sessions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from operator import contains, itemgetter
from typing import Any

from branchline.context import milliseconds
from branchline.entries import Header, json_codec
from branchline.formats.common.derived_lines import EntryLines, joined_lines, one_line
from branchline.formats.common.tables import columns, text_of
from branchline.formats.goose.lineage import COPIES, origins_of
from branchline.formats.goose.log_index import NAME
from branchline.formats.goose.rows import TAB
from branchline.formats.json_values import iso_time, optional_number, optional_text, whole_number
from branchline.formats.protocol import DatabaseSessions, Query, SessionVersion

__all__ = ["GooseDatabase", "end_line"]

_NEWLINE = ord("\n")  # a number is found in bytes without the exception that bytes cost
_SESSION = (
    "id",
    "name",
    "description",
    "session_type",
    "working_dir",
    "created_at",
    "updated_at",
    "accumulated_input_tokens",
    "accumulated_output_tokens",
    "accumulated_cache_read_tokens",
    "accumulated_cache_write_tokens",
    "accumulated_cost",
    "provider_name",
    "model_config_json",
    "thread_id",
    "parent_session_id",
)
_MESSAGE = ("message_id", "id", "role", "created_timestamp", "metadata_json", "content_json")
_SIZES = "SELECT session_id, count(*), sum(length(CAST(content_json AS BLOB))) FROM messages"
# The length of a text is counted by reading all of it; that of a blob is known without.
_COLUMNS = """
json_object(
    'id', ifnull(nullif(CAST(message_id AS TEXT), ''), 'message-' || id),
    'role', ifnull(CAST(role AS TEXT), ''),
    'created', CAST(created_timestamp AS INTEGER)
),
content_json, nullif(metadata_json, '{"userVisible":true,"agentVisible":true}')
"""  # SQLite encodes short values faster than Python; nearly all messages are visible
_CONTENT, _METADATA, _END = b',"content":\t', b',"metadata":\t', b"}\n"
_without_brace = itemgetter(slice(-1))
_Row = dict[str, Any]


class GooseDatabase(DatabaseSessions):
    """The sessions of one database."""

    def recognizes(self, tables: Collection[str]) -> bool:
        return {"sessions", "messages", "schema_version"} <= set(tables)

    def sessions(self, query: Query) -> Iterable[SessionVersion]:
        sizes = {session: size for session, *size in query(f"{_SIZES} GROUP BY session_id")}
        for row in _sessions(query, ""):
            yield _version(row, *sizes.get(row["id"], (0, 0)))

    def ids(self, query: Query) -> Iterable[str]:
        return (text_of(session_id) for (session_id,) in query("SELECT id FROM sessions"))

    def origins(self, query: Query) -> Mapping[str, str]:
        return origins_of(query(COPIES))

    def session(self, query: Query, session_id: str) -> SessionVersion | None:
        row = next(_sessions(query, "WHERE id = ?", session_id), None)
        if row is None:
            return None
        ((_, *size),) = query(f"{_SIZES} WHERE session_id = ?", session_id)
        return _version(row, *size)

    def lines(self, query: Query, session_id: str) -> Iterator[bytes]:
        row = next(_sessions(query, "WHERE id = ?", session_id), None)
        if row is None:
            return
        yield EntryLines(NAME).header(_header_of(row))
        yield from _message_lines(query, session_id, row["thread_id"])
        config = row["model_config_json"]
        settings = json_codec.loads_object(config) if isinstance(config, bytes) else None
        yield end_line(
            session=session_id,
            title=text_of(row["name"]) or text_of(row["description"]),
            given=row["accumulated_input_tokens"],
            made=row["accumulated_output_tokens"],
            cached=row["accumulated_cache_read_tokens"],
            written=row["accumulated_cache_write_tokens"],
            cost=row["accumulated_cost"],
            time=iso_time(milliseconds(text_of(row["updated_at"]))),
            model=(settings or {}).get("model_name"),
            provider=text_of(row["provider_name"]) or None,
        )


def end_line(
    *,
    session: str,
    title: str,
    given: object,
    made: object,
    cached: object = None,
    written: object = None,
    cost: object = None,
    time: str = "",
    model: object = None,
    provider: str | None = None,
) -> bytes:
    """Return the last line of a session: its title, its model, and its total of tokens."""
    end = {
        "id": session,
        "time": time,
        "title": title,
        "input": whole_number(given),
        "output": whole_number(made),
        "cached": whole_number(cached),
        "written": whole_number(written),
        "cost": optional_number(cost),
        "model": optional_text(model),
        "provider": provider,
    }
    return json_codec.dumps({"end": end}) + b"\n"


def _version(row: _Row, count: int, size: int | None) -> SessionVersion:
    header = _header_of(row)
    time = milliseconds(text_of(row["updated_at"])) or 0
    version = (*row.values(), count, size or 0)
    return SessionVersion(header.id, (size or 0) + 256 * (count + 1), time, version, header)


def _header_of(row: _Row) -> Header:
    kind = text_of(row["session_type"])
    return Header(
        id=text_of(row["id"]),
        version=3,
        timestamp=iso_time(milliseconds(text_of(row["created_at"]))),
        cwd=text_of(row["working_dir"]),
        parent_session=text_of(row["parent_session_id"]) or None,
        metadata={"session_type": kind} if kind and kind != "user" else None,
    )


def _sessions(query: Query, rest: str, *values: Any) -> Iterator[_Row]:
    """Return rows of the table of sessions; columns that a version lacks are None."""
    known = columns(query, "sessions")
    chosen = ", ".join(name if name in known else f"NULL AS {name}" for name in _SESSION)
    statement = f"SELECT {chosen} FROM sessions {rest}"  # noqa: S608  nothing in it comes from outside
    return (dict(zip(_SESSION, row, strict=True)) for row in query(statement, *values))


# -- messages ---------------------------------------------------------------------------------------------


def _message_lines(query: Query, session_id: str, thread: object) -> Iterator[bytes]:
    """Yield the messages of a session; newer versions store those of threads in another table."""
    found = False
    for lines in _lines_of(query, "messages", "session_id", session_id):
        found = True
        yield lines
    if not found and isinstance(thread, bytes):
        yield from _lines_of(query, "thread_messages", "thread_id", text_of(thread))


def _lines_of(query: Query, table: str, owner: str, key: str) -> Iterator[bytes]:
    """Yield messages as lines: together up to the first that is unusual, then one by one."""
    known = columns(query, table)
    if not known:
        return
    rest = f"FROM {_completed(table, known)} WHERE {owner} = ? ORDER BY id"
    done = yield from joined_lines(query(f"SELECT {_COLUMNS} {rest}", key), _joined_lines)
    if done is None:
        return
    names = ", ".join(_MESSAGE)
    for row in query(f"SELECT {names} {rest} LIMIT -1 OFFSET ?", key, done):
        yield _line_of(*row)


def _completed(table: str, known: Collection[str]) -> str:
    """Return a table of messages with null in the columns that a version lacks."""
    missing = [f"NULL AS {name}" for name in _MESSAGE if name not in known]
    if not missing:
        return table
    return f"(SELECT *, {', '.join(missing)} FROM {table})"  # noqa: S608  nothing in it comes from outside


def _joined_lines(rows: Sequence[tuple[Any, ...]]) -> bytes:
    """Return messages as lines. Raises TypeError or ValueError if a value is unusual."""
    heads, contents, metadata = zip(*rows, strict=True)
    if any(map(contains, contents, repeat(_NEWLINE))):
        raise ValueError("a newline in a value")
    ends: Iterable[bytes] = repeat(_END)
    if any(metadata):
        ends = [_END if one is None else _METADATA + one_line(one) + _END for one in metadata]
    pieces = (map(_without_brace, heads), repeat(_CONTENT), contents, ends)
    return b"".join(chain.from_iterable(zip(*pieces, strict=False)))


def _line_of(
    message_id: object, number: object, role: object, created: object, metadata: object, content: object
) -> bytes:
    """Return one message as a line, whatever its values are."""
    head = {
        "id": text_of(message_id) or f"message-{text_of(number)}",
        "role": text_of(role),
        "created": created if isinstance(created, int | float) else 0,
    }
    pieces = json_codec.dumps(head)[:-1], _CONTENT, _json(content), _METADATA, _json(metadata), _END
    return b"".join(pieces)


def _json(value: object) -> bytes:
    return one_line(value).replace(TAB, b" ") or b"null"
