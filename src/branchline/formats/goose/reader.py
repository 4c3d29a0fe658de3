"""Reads Goose lines into a chain of entries.

Tool results are parts of user messages; here each is an entry of its own. A message that the model does not
see is followed by context edits, one for each of its entries: Goose hides messages when it compacts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from branchline.context.javascript import trim
from branchline.entries import codec
from branchline.formats.goose.log_index import NAME, GooseLogIndex
from branchline.formats.goose.rows import MILLISECONDS, End, Part, Row, fields_of_line, instant_of
from branchline.formats.json_values import LAST_INSTANT
from branchline.formats.typed_rows import ChainColumns, ChainReader

__all__ = ["GooseReader"]

READ_ONLY = "sessions of goose are read-only; fork one to continue it"
_CALLS = frozenset({"toolRequest", "frontendToolRequest"})
_ROLES = frozenset({"user", "assistant"})


def _has_calls(parts: Sequence[Part]) -> bool:
    return any(part.type in _CALLS for part in parts)


class GooseReader(ChainReader[Row]):
    """Reads one session."""

    format_name = NAME
    row_type = Row
    markers = (b'{"type":"session"', b'{"id":', b'{"role":', b'{"end":')
    begins_with_header = True
    headers = 1
    reading: GooseLogIndex

    def __init__(self) -> None:
        super().__init__(GooseLogIndex())
        self._tool_names = self.reading.tool_names
        self._spoken: float = 0  # the latest time of a prompt or an answer

    # -- lines ----------------------------------------------------------------------------------------

    def loads(self, line: bytes) -> Any:
        return fields_of_line(line)

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        if fields.get("type") == "session" and "role" not in fields:
            self._take_header(fields, line, offset)
        elif not {"role", "content", "end"} & fields.keys():
            self.note_not_an_entry("no message", line, offset)
        else:
            super().take(fields, line, offset)

    def _take_header(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        reading, header = self.reading, codec.header_from_fields(fields)
        self.gap = False
        if header is None or reading.header is not None:
            what = "a header without an id" if header is None else "another header inside the file; ignored"
            self.report("extra-header", what, line, offset)
            return
        reading.header, reading.header_line = header, line
        reading.header_end = offset + len(line)

    def are_regular(self, rows: Sequence[Row]) -> bool:
        return all(row.role is not None or row.end is not None for row in rows)

    def is_record(self, data: bytes) -> bool:
        return b'"role":' in data or data.startswith((b'{"end":', b'{"type":"session"'))

    # -- entries --------------------------------------------------------------------------------------

    def add_entries(self, rows: Sequence[Row], number: int, found: ChainColumns) -> None:
        keys, types, times, roles, counts = found.keys, found.types, found.times, found.roles, found.counts
        spoken, tool_names = self._spoken, self._tool_names
        for row in rows:
            first, role, parts, seen, time = len(keys), row.role, row.content, row.metadata, row.created
            name = row.id or f"message-{number - 2}"
            number += 1
            if row.end is not None:
                self._add_end(row.end, found)
                counts.append(len(keys) - first)
                continue
            # Nearly always seconds: a call for each message would cost a tenth of reading it.
            time = time * 1000 if time is not None and 0 < time < MILLISECONDS else instant_of(time)
            results, is_textless = 0, role == "assistant"
            for part in parts:
                kind = part.type
                if kind == "text":
                    if is_textless and part.text and not part.text.isspace():
                        is_textless = False
                elif kind == "toolResponse":
                    found.add(f"{name}.{results}", "message", time, "toolResult")
                    results += 1
                elif kind in _CALLS:
                    call = part.toolCall
                    if call.status == "error":
                        is_textless = False  # the error is shown as text
                    else:
                        tool_names[part.id] = call.value.name
            if not results or results < len(parts):
                is_shown = seen is None or seen.userVisible or (role == "assistant" and _has_calls(parts))
                if is_shown and role in _ROLES:
                    if time is not None and spoken < time <= LAST_INSTANT:
                        spoken = time
                    if is_textless:
                        found.quiet.append(len(keys))
                    types.append("message")
                    roles.append(role)
                else:
                    types.append("custom_message")
                    roles.append(None)
                keys.append(name)
                times.append(time)
            if seen is not None and not seen.agentVisible:
                for place in range(len(keys) - first):
                    found.add(f"{name}/unseen-{place}", "context_edit", time)
            counts.append(len(keys) - first)
        self._spoken = spoken

    def _add_end(self, end: End, found: ChainColumns) -> None:
        self.reading.end = end
        self.reading.title = trim(end.title) or None
        self.reading.knows_cost = end.cost is not None
        if end.input or end.output:
            found.add("usage", "usage", end.time)
        if end.title:
            found.add(f"{end.id}/title", "session_info", end.time)

    # -- the end --------------------------------------------------------------------------------------

    def on_finish(self) -> None:
        reading = self.reading
        reading.last_message_time = self._spoken or None
        if reading.header is None and reading.lines:
            reading.add_tail_finding("no-header", "the file has no header; opened read-only", line=1)
        if reading.read_only is None:
            reading.read_only = READ_ONLY
