"""Reads the joined lines of a Mistral Vibe session into a chain of messages."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Any

from branchline.entries import Header
from branchline.formats.log_index import LogIndex
from branchline.formats.typed_rows import ChainColumns, ChainReader
from branchline.formats.vibe.rows import Facts, Row

__all__ = ["VibeReader"]

READ_ONLY = "Mistral Vibe sessions are read-only; fork this one into a native session to continue"
_ROLES = {"user": "user", "assistant": "assistant", "tool": "toolResult"}


class VibeReader(ChainReader[Row]):
    """Reads one session from the lines that its files are joined to."""

    format_name = "vibe"
    row_type = Row
    markers = (b'{"vibe":', b'{"message":', b'{"facts":')

    def __init__(self, path: str = "") -> None:
        super().__init__(LogIndex("vibe"))
        self._path = path
        self._head = Row()
        self._facts = Facts()
        self._prompt = ""

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        if "missing" in fields or "damaged" in fields:
            state = "missing" if "missing" in fields else "damaged"
            self.note_not_an_entry(f"a part of the conversation, whose file is {state}", line, offset)
        elif not {"vibe", "message", "facts"} & fields.keys():
            self.note_not_an_entry("no message", line, offset)
        else:
            super().take(fields, line, offset)

    def are_regular(self, rows: Sequence[Row]) -> bool:
        return all(row.message or row.vibe or row.facts for row in rows)

    def add_entries(self, rows: Sequence[Row], number: int, found: ChainColumns) -> None:
        counts = found.counts
        for row in rows:
            key, message = f"line-{number}", row.message
            number += 1
            if message is None:
                counts.append(self._take_facts(row, key, found))
                continue
            counts.append(1)
            role = _ROLES.get(message.role)
            if role is None:
                found.add(key, "custom")
                continue
            if role == "assistant":
                is_textless = True
                for part in message.content:
                    if part.type == "text" and is_textless and part.decoded.strip():
                        is_textless = False
                if is_textless:
                    found.quiet.append(len(found.keys))
            elif role == "user":
                if row.source == "injection":
                    found.add(key, "custom_message")
                    continue
                self._prompt = self._prompt or message.text.strip()
            found.add(key, "message", "", role)

    def _take_facts(self, row: Row, key: str, found: ChainColumns) -> int:
        """Take a row that is no message; return how many entries it has."""
        if row.vibe:
            self._head = row
        elif row.facts is not None:
            self._facts = row.facts
            if row.facts.usage is not None:
                found.add(key, "usage")
                return 1
        return 0

    def is_record(self, data: bytes) -> bool:
        return b'"message":' in data or data.startswith((b'{"vibe":', b'{"facts":'))

    def on_finish(self) -> None:
        reading, head = self.reading, self._head
        reading.title = (self._facts.title or "").strip() or self._prompt or None
        reading.last_message_time = self._facts.ended
        if reading.read_only is None:
            reading.read_only = READ_ONLY
        if not reading.lines:
            return
        metadata = {"gitBranch": head.branch, "kind": head.kind}
        reading.header = Header(
            id=head.id or posixpath.basename(posixpath.dirname(self._path)),
            timestamp=head.time,
            cwd=head.cwd,
            parent_session=head.parent,
            metadata={name: value for name, value in metadata.items() if value} or None,
        )
