"""Reads the joined lines of a Cline session into a chain of messages."""

from __future__ import annotations

import posixpath
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from branchline.entries import Header
from branchline.formats.cline.log_index import ClineLogIndex
from branchline.formats.cline.prompts import is_context, is_tool_output, typed_words
from branchline.formats.cline.rows import Content, Row
from branchline.formats.json_values import LAST_INSTANT, iso_time
from branchline.formats.typed_rows import ChainColumns, ChainReader

__all__ = ["ClineReader"]

READ_ONLY = "Cline sessions are read-only; fork this one into a native session to continue"


class ClineReader(ChainReader[Row]):
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
        self._spoken: float = 0  # the latest time of a prompt or an answer
        self._tool_names = self.reading.tool_names
        self._answer_times: list[float] = []
        self._answer_models: list[tuple[str, str]] = []

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        if "damaged" in fields:
            self.note_not_an_entry("the facts about the session, whose file is damaged", line, offset)
        elif not {"cline", "role", "content", "spent"} & fields.keys():
            self.note_not_an_entry("no message", line, offset)
        else:
            super().take(fields, line, offset)

    def are_regular(self, rows: Sequence[Row]) -> bool:
        return all(row.role or row.cline or row.spent for row in rows)

    def add_entries(self, rows: Sequence[Row], number: int, found: ChainColumns) -> None:
        add, note_count = found.add, found.counts.append
        for row in rows:
            key, time, role, content = row.id or f"line-{number}", row.ts, row.role, row.content
            number += 1
            if row.is_summary:
                add(key, "compaction", time)
            elif row.metadata is not None and row.metadata.display_only:
                add(key, "custom_message", time)
            elif role == "assistant":
                if time is not None and self._spoken < time <= LAST_INSTANT:
                    self._spoken = time
                if self._is_textless(content):
                    found.quiet.append(len(found.keys))
                if row.model_info is not None:
                    self._answer_times.append(time or 0)
                    self._answer_models.append(_model(row))
                add(key, "message", time, "assistant")
            elif role == "user":
                if type(content) is not list or len(content) != 1 or content[0].type != "tool_result":
                    note_count(self._add_prompt(content, key, time, found))
                    continue
                add(key, "message", time, "toolResult")
            elif row.cline and not role:
                self._head = row
                note_count(0)
                continue
            else:
                is_usage = not role and row.spent is not None
                if is_usage and (model := self._model_of_request(row)) is not None:
                    self.reading.request_models[len(self.reading.tree) + len(found.keys)] = model
                add(key, "usage" if is_usage else "custom", time)
            note_count(1)

    def _model_of_request(self, row: Row) -> tuple[str, str] | None:
        """Return provider and model of a request: its own, or those of the answer to it."""
        if row.model_info is not None:
            return _model(row)
        if not self._answer_models:
            return ("", self._head.model) if self._head.model else None
        place = bisect_left(self._answer_times, row.ts or 0)
        return self._answer_models[min(place, len(self._answer_models) - 1)]

    def _is_textless(self, content: Content) -> bool:
        """Return whether an answer contains no text, and remember the tools that it calls."""
        if content is None or isinstance(content, str):
            return not content or content.isspace()
        is_textless = True
        for block in content:
            kind = block.type
            if kind == "tool_use":
                if block.id:
                    self._tool_names[block.id] = block.name or ""
            elif kind == "text" and block.text and not block.text.isspace():
                is_textless = False
        return is_textless

    def _add_prompt(self, content: Content, key: str, time: float | None, found: ChainColumns) -> int:
        """Add the entries of a user message, tool results and the prompt; return how many there are."""
        blocks = () if content is None or isinstance(content, str) else content
        kinds = [block.type for block in blocks]
        results = kinds.count("tool_result")
        for number in range(results):
            found.add(f"{key}.{number + 1}" if number else key, "message", time, "toolResult")
        texts = [content] if isinstance(content, str) else [one.text for one in blocks if one.type == "text"]
        given = list(filter(None, texts))
        said = [text for text in given if not is_context(text)]
        name = f"{key}.said" if results else key
        if not said and "image" not in kinds:
            if results:
                return results
            kind, role = ("custom", None) if given else ("message", "user")
            found.add(name, kind, time, role)
        elif said and is_tool_output(said[0]):
            found.add(name, "custom_message", time)
        else:
            if time is not None and self._spoken < time <= LAST_INSTANT:
                self._spoken = time
            self._prompt = self._prompt or "".join(map(typed_words, said)).strip()
            found.add(name, "message", time, "user")
        return results + 1

    def is_record(self, data: bytes) -> bool:
        return b'"role":' in data or data.startswith((b'{"cline":', b'{"spent":'))

    def on_finish(self) -> None:
        reading, head = self.reading, self._head
        reading.title = typed_words((head.title or "").strip()) or self._prompt or None
        reading.last_message_time = self._spoken or None
        reading.task_model = None if self._answer_models else head.model
        reading.knows_cost = not head.agent  # a sub-agent's file does not have it, the manifest does
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


def _model(row: Row) -> tuple[str, str]:
    """Return provider and model of an answer."""
    info = row.model_info
    if info is None:
        return "", ""
    return info.provider_id or info.provider or "", info.model_id or info.id or ""
