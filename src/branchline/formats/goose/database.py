"""The tables of a Goose database as sessions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from branchline.context import milliseconds
from branchline.entries import Header
from branchline.formats.common.derived_format import EntryLines, one_line
from branchline.formats.common.tables import columns, text_of
from branchline.formats.goose.messages import GooseMessages, model_in
from branchline.formats.json_values import iso_time
from branchline.formats.protocol import DatabaseSessions, Query, SessionVersion

__all__ = ["NAME", "GooseDatabase", "header_of", "usage_line"]

NAME = "goose"
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
    "provider_name",
    "model_config_json",
    "thread_id",
)
_MESSAGE = ("message_id", "id", "role", "content_json", "created_timestamp", "metadata_json")
_Row = dict[str, Any]


class GooseDatabase(DatabaseSessions):
    """The sessions of one database."""

    def recognizes(self, tables: Collection[str]) -> bool:
        return {"sessions", "messages", "schema_version"} <= set(tables)

    def sessions(self, query: Query) -> Iterable[SessionVersion]:
        counts = {
            session: (count, size)
            for session, count, size in query(
                "SELECT session_id, count(*), sum(length(CAST(content_json AS BLOB))) "
                "FROM messages GROUP BY session_id"
            )
        }
        for row in _rows(query, "sessions", _SESSION, ""):
            count, size = counts.get(row["id"], (0, 0))
            header = header_of(row)
            time = milliseconds(text_of(row["updated_at"])) or 0
            version = (*row.values(), count, size)
            yield SessionVersion(header.id, (size or 0) + 256 * (count + 1), time, version, header)

    def lines(self, query: Query, session_id: str) -> Iterator[bytes]:
        row = next(_rows(query, "sessions", _SESSION, "WHERE id = ?", session_id), None)
        if row is None:
            return
        lines = EntryLines(NAME)
        yield lines.header(header_of(row))
        messages = GooseMessages(lines, model_in(row["model_config_json"], row["provider_name"]))
        for message in _messages(query, session_id, row["thread_id"]):
            name = text_of(message["message_id"]) or f"message-{text_of(message['id'])}"
            yield from messages.take(
                name,
                text_of(message["role"]),
                one_line(message["content_json"]),
                message["created_timestamp"],
                one_line(message["metadata_json"]),
            )
        end = iso_time(milliseconds(text_of(row["updated_at"])))
        yield from usage_line(
            lines, end, row["accumulated_input_tokens"], row["accumulated_output_tokens"], messages.model
        )
        if title := text_of(row["name"]) or text_of(row["description"]):
            yield lines.title(f"{session_id}/title", end, title)


def usage_line(
    lines: EntryLines, time: str, given: object, made: object, model: dict[str, str]
) -> Iterator[bytes]:
    """Yield the usage of the whole session: Goose stores only totals."""
    count_in = given if isinstance(given, int | float) else 0
    count_out = made if isinstance(made, int | float) else 0
    if count_in or count_out:
        usage = {"input": count_in, "output": count_out, "totalTokens": count_in + count_out}
        fields = {"kind": "session", **model, "usage": usage}
        yield lines.entry("usage", "usage", time, fields, is_side_record=True)


def _messages(query: Query, session_id: str, thread: object) -> Iterator[_Row]:
    """Return the messages of a session; newer versions store those of threads in another table."""
    found = list(_rows(query, "messages", _MESSAGE, "WHERE session_id = ? ORDER BY id", session_id))
    if not found and isinstance(thread, bytes) and columns(query, "thread_messages"):
        return _rows(query, "thread_messages", _MESSAGE, "WHERE thread_id = ? ORDER BY id", text_of(thread))
    return iter(found)


def _rows(query: Query, table: str, names: tuple[str, ...], rest: str, *values: Any) -> Iterator[_Row]:
    """Return rows with these columns; columns that a version lacks are None."""
    known = columns(query, table)
    chosen = ", ".join(name if name in known else f"NULL AS {name}" for name in names)
    statement = f"SELECT {chosen} FROM {table} {rest}"  # noqa: S608  nothing in it comes from outside
    return (dict(zip(names, row, strict=True)) for row in query(statement, *values))


def header_of(row: _Row) -> Header:
    """Return the header of a session."""
    kind = text_of(row["session_type"])
    return Header(
        id=text_of(row["id"]),
        version=3,
        timestamp=iso_time(milliseconds(text_of(row["created_at"]))),
        cwd=text_of(row["working_dir"]),
        metadata={"session_type": kind} if kind and kind != "user" else None,
    )
