"""Reads Qwen Code records into a tree: each names its own id and its parent."""

from __future__ import annotations

import posixpath
import re

from branchline.context import milliseconds
from branchline.entries import Header
from branchline.entries.skeleton import SalvagedIds
from branchline.formats.common.gemini_parts import prompt_words
from branchline.formats.qwen.log_index import ORIGIN, QwenLogIndex, agent_of
from branchline.formats.qwen.rows import Row
from branchline.formats.typed_rows import LinkedReader, RowPlace

__all__ = ["QwenReader"]

_SYSTEM = {"custom_title": "session_info", "chat_compression": "compaction"}
_IDS = re.compile(rb'"uuid"\s*:\s*"([^"\\]+)"\s*,\s*"parentUuid"\s*:\s*(?:null|"([^"\\]*)")')
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

READ_ONLY = "Qwen Code sessions are read-only; fork this one into a native session to continue"


class QwenReader(LinkedReader[Row]):
    """Reads one session, whose id is the name of its file."""

    format_name = "qwen"
    row_type = Row
    markers = (b'{"uuid":"',)
    reading: QwenLogIndex

    def __init__(self, path: str = "") -> None:
        super().__init__(QwenLogIndex())
        self._path = path
        self._session = self._cwd = self._version = self._branch = self._time = ""
        self._prompt = self._title = self._last_activity = ""

    def place(self, row: Row) -> RowPlace:
        kind, role, quiet = "custom", None, False
        match row.type:
            case "user" if row.message is not None:
                if any(part.function_response is not None for part in row.message.parts):
                    kind, role = "message", "toolResult"
                elif row.subtype is not None or row.provenance == "system":
                    kind = "custom_message"
                else:
                    kind, role = "message", "user"
            case "assistant" if row.message is not None:
                kind, role, quiet = "message", "assistant", not any(map(str.strip, row.message.texts))
            case "tool_result" if row.message is not None:
                kind, role = "message", "toolResult"
            case "system" if row.system_payload is not None:
                kind = _SYSTEM.get(row.subtype or "", "custom")
            case _:
                pass
        return row.uuid, row.parent_uuid, kind, row.timestamp, role, quiet

    def note(self, row: Row, position: int) -> None:
        reading = self.reading
        if row.forked_from is not None and position == reading.copied:
            reading.copied += 1
            reading.forked_from = row.forked_from.session_id or reading.forked_from
        elif not self._time or (position == reading.copied and row.timestamp):
            self._time = row.timestamp
        self._session = self._session or row.session_id
        self._cwd = self._cwd or row.cwd
        self._version = row.version or self._version
        self._branch = row.git_branch or self._branch
        role = reading.tree.roles[position]
        if role == "assistant" and row.message is not None:
            for part in row.message.parts:
                if part.function_call is not None:
                    reading.tool_names[part.function_call.id] = part.function_call.name
        if role in ("user", "assistant"):
            self._last_activity = max(self._last_activity, row.timestamp)
        if role == "user" and not self._prompt and row.message is not None:
            self._prompt = prompt_words(row.message.texts)
        if row.subtype == ORIGIN and position == 0 and row.system_payload is not None:
            reading.origin = row.system_payload.parent
        if row.subtype == "custom_title" and row.system_payload is not None:
            self._title = row.system_payload.custom_title or self._title

    def salvage(self, data: bytes) -> SalvagedIds | None:
        found = _IDS.search(data[:300])
        if found is None:
            return None
        parent = found[2].decode("utf-8", "replace") if found[2] else None
        return SalvagedIds(found[1].decode("utf-8", "replace"), parent)

    def on_finish(self) -> None:
        reading = self.reading
        reading.title = self._title.strip() or self._prompt or None
        reading.last_message_time = milliseconds(self._last_activity)
        if reading.read_only is None:
            reading.read_only = READ_ONLY
        if reading.lines:
            reading.header = self._header()

    def _header(self) -> Header:
        reading = self.reading
        name = posixpath.basename(self._path).removesuffix(".jsonl")
        agent = agent_of(self._path)
        parent = reading.forked_from or reading.origin
        if agent is not None:
            parent, name = agent
        elif self._session and _UUID.fullmatch(name) is None:
            name = self._session
        about = {"version": self._version, "gitBranch": self._branch}
        return Header(
            id=name or self._session,
            timestamp=self._time,
            cwd=self._cwd,
            parent_session=parent,
            metadata={key: value for key, value in about.items() if value} or None,
        )
