"""Reads the joined lines of a Cline session into a chain of messages."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Any

from branchline.entries import Header
from branchline.formats.cline.log_index import ClineLogIndex
from branchline.formats.cline.prompts import is_context, is_tool_output, typed_words
from branchline.formats.cline.rows import Row
from branchline.formats.json_values import LAST_INSTANT, iso_time
from branchline.formats.lines import Lines
from branchline.formats.typed_rows import ReplayReader

__all__ = ["ClineReader"]

READ_ONLY = "Cline sessions are read-only; fork this one into a native session to continue"


class ClineReader(ReplayReader[Row]):
    """Reads one session from the lines that its documents are joined to."""

    format_name = "cline"
    row_type = Row
    markers = (b'{"cline":', b'{"id":', b'{"role":', b'{"spent":')
    reading: ClineLogIndex

    def __init__(self, path: str = "") -> None:
        super().__init__(ClineLogIndex())
        self._path = path
        self._head = Row()
        self._prompt = ""
        self._spoken: float | None = None

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        if not {"cline", "role", "content", "spent"} & fields.keys():
            self.note_not_an_entry("no message", line, offset)
            return
        super().take(fields, line, offset)

    def are_regular(self, rows: Sequence[Row]) -> bool:
        return all(row.role or row.cline or row.spent for row in rows)

    def replay(self, row: Row, lines: Lines, index: int) -> None:
        key = row.id or f"line-{lines.number + index}"
        if row.cline:
            self._head = row
        elif row.spent is not None and not row.role:
            self.add(key, "usage", row.ts)
        elif row.is_summary:
            self.add(key, "compaction", row.ts)
        elif row.metadata is not None and row.metadata.display_only:
            self.add(key, "custom_message", row.ts)
        elif row.role == "assistant":
            self._take_answer(row, key)
        elif row.role == "user":
            self._take_prompt(row, key)
        else:
            self.add(key, "custom", row.ts)

    def _take_answer(self, row: Row, key: str) -> None:
        self._speak(row)
        position = self.add(key, "message", row.ts, "assistant")
        content = row.content
        if isinstance(content, str):
            says = bool(content.strip())
        else:
            says = False
            for block in content or ():
                if block.type == "tool_use" and block.id:
                    self.reading.tool_names[block.id] = block.name or ""
                elif block.text and block.type == "text" and not block.text.isspace():
                    says = True
        if not says:
            self.reading.tree.textless.add(position)

    def _take_prompt(self, row: Row, key: str) -> None:
        """Add a user message: tool results, each an entry, and the prompt."""
        blocks = row.blocks
        if len(blocks) == 1 and blocks[0].type == "tool_result":
            position = self.add(key, "message", row.ts, "toolResult")
            self.reading.results[position] = blocks[0].tool_use_id or ""
            return
        calls = [block.tool_use_id or "" for block in blocks if block.type == "tool_result"]
        for number, call in enumerate(calls):
            name = key if not number else f"{key}.{number + 1}"
            self.reading.results[self.add(name, "message", row.ts, "toolResult")] = call
        texts = [text for text in row.texts if not is_context(text)]
        images = any(block.type == "image" for block in blocks)
        if calls and not texts and not images:
            return
        name = f"{key}.said" if calls else key
        if not texts and not images:
            self.add(name, "custom" if row.texts else "message", row.ts, None if row.texts else "user")
        elif texts and is_tool_output(texts[0]):
            self.add(name, "custom_message", row.ts)
        else:
            self._speak(row)
            self._prompt = self._prompt or "".join(map(typed_words, texts)).strip()
            self.add(name, "message", row.ts, "user")

    def _speak(self, row: Row) -> None:
        time = row.ts
        if time is not None and 0 < time <= LAST_INSTANT and (self._spoken is None or time > self._spoken):
            self._spoken = time

    def is_record(self, data: bytes) -> bool:
        return b'"role":' in data or data.startswith((b'{"cline":', b'{"spent":'))

    def on_finish(self) -> None:
        reading, head = self.reading, self._head
        reading.title = typed_words((head.title or "").strip()) or self._prompt or None
        reading.last_message_time = self._spoken
        reading.knows_cost = (
            head.cline == "task" or head.parent is None
        )  # the manifest has it, a sub-agent's file does not
        if reading.read_only is None:
            reading.read_only = READ_ONLY
        if not reading.lines:
            return
        started = head.time if isinstance(head.time, str) else iso_time(head.time)
        reading.header = Header(
            id=head.id or posixpath.basename(self._path).removesuffix(".json"),
            timestamp=started or next((time for time in reading.tree.times if time), ""),
            cwd=head.cwd,
            parent_session=head.parent,
            metadata={"gitBranch": head.branch} if head.branch else None,
        )
