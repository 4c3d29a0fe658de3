"""Reads Copilot CLI events into a tree: each names its own id and the previous event.

Sub-agent events are interleaved with the session's. They are kept in the tree as data, so that a sub-agent's
prompts are not taken for the user's; its usage counts.
"""

from __future__ import annotations

import posixpath
import re

import msgspec

from branchline.context import milliseconds
from branchline.entries import Header
from branchline.entries.skeleton import SalvagedIds
from branchline.formats.copilot.log_index import CopilotLogIndex
from branchline.formats.copilot.rows import Row
from branchline.formats.typed_rows import LinkedReader, RowPlace

__all__ = ["CopilotReader"]

_DATA = ("custom", None)
_KINDS: dict[str, tuple[str, str | None]] = {
    "session.usage_record": ("usage", None),
    "user.message": ("message", "user"),
    "assistant.message": ("message", "assistant"),
    "tool.execution_complete": ("message", "toolResult"),
    "session.compaction_complete": ("compaction", None),
    "session.model_change": ("model_change", None),
    "session.error": ("custom_message", None),
    "session.warning": ("custom_message", None),
    "session.info": ("custom_message", None),
}
"""The entry that an event becomes, by its type; all others are data."""
_BESIDE = "model."
"""How the types of events begin that are a chain of their own, of which the file has only a part."""
_IDS = re.compile(rb'"id":"([0-9A-Za-z-]{1,64})","timestamp":"[^"\\]*","parentId":(?:null|"([^"\\]*)")')

READ_ONLY = "Copilot CLI sessions are read-only; fork this one into a native session to continue"


class CopilotReader(LinkedReader[Row]):
    """Reads one session, whose id is the name of its folder."""

    format_name = "copilot"
    row_type = Row
    markers = (b'{"type":"',)
    reading: CopilotLogIndex

    def __init__(self, path: str = "") -> None:
        super().__init__(CopilotLogIndex())
        self._path = path
        self._session = self._cwd = self._branch = self._version = self._time = ""
        self._prompt = self._last_activity = self._title = ""
        self._origin: str | None = None
        self._compactions: set[str] = set()  # that run, and during which nothing was said so far
        self._said_during: dict[str, int] = {}  # the first message since a compaction began

    def place(self, row: Row) -> RowPlace:
        data = row.data
        parent = msgspec.UNSET if row.type.startswith(_BESIDE) else row.parent_id
        kind, role = _KINDS.get(row.type, _DATA)
        quiet = False
        if data is None or row.agent_id is not None or data.parent_tool_call_id is not None:
            if kind != "usage":
                kind, role = _DATA
        elif role == "assistant":
            quiet = not data.content or data.content.isspace()
        elif data.is_user_requested and role == "toolResult":
            role = "bashExecution"
        elif (role == "user" and (data.source or "").startswith("agent-")) or (
            kind == "compaction" and data.success is False
        ):
            kind, role = _DATA
        return row.id, parent, kind, row.timestamp, role, quiet

    def note(self, row: Row, position: int) -> None:
        data = row.data
        if data is None:
            return
        role = self.reading.tree.roles[position]
        if role is not None and self._compactions:
            self._said_during.update(dict.fromkeys(self._compactions, position))
            self._compactions.clear()
        if (role == "assistant" or role == "user") and row.timestamp > self._last_activity:  # noqa: PLR1714  for speed
            self._last_activity = row.timestamp
        if data.tool_requests:
            names = self.reading.tool_names
            for one in data.tool_requests:
                names[one.tool_call_id] = one.name
        elif data.tool_name and data.tool_call_id:
            self.reading.tool_names.setdefault(data.tool_call_id, data.tool_name)
        if row.type == "tool.user_requested" and data.tool_call_id:
            self.reading.commands[data.tool_call_id] = position
        if attempt := data.compaction_attempt_id:
            self._note_compaction(row, attempt, position)
        if data.asset_id:
            self.reading.assets.setdefault(data.asset_id, position)
        if role == "user" and not self._prompt:
            self._prompt = (data.content or "").strip()
        if row.type == "session.start" and row.agent_id is None:
            self._session = self._session or data.session_id
            self._version = self._version or data.copilot_version
            self._time = self._time or data.start_time
            if data.branchline is not None:  # a file that branchline wrote
                self._origin, self._title = data.branchline.parent, data.branchline.title or ""
        if data.context is not None:
            self._cwd = self._cwd or data.context.cwd
            self._branch = self._branch or data.context.branch or ""

    def _note_compaction(self, row: Row, attempt: str, position: int) -> None:
        if row.type == "session.compaction_start":
            self._compactions.add(attempt)
        elif self.reading.tree.types[position] == "compaction":
            self._compactions.discard(attempt)
            if (first := self._said_during.pop(attempt, None)) is not None:
                self.reading.first_kept[position] = first

    def take_one(self, row: Row, line: bytes, offset: int) -> None:
        gap = self.gap
        super().take_one(row, line, offset)
        self.gap = gap and row.type.startswith(_BESIDE)  # it does not say what was lost before it

    def salvage(self, data: bytes) -> SalvagedIds | None:
        """Return id and parent, which are at the end of a line."""
        found = None
        for found in _IDS.finditer(data[-300:]):  # noqa: B007  the last one
            pass
        if found is None:
            return None
        parent = found[2].decode("utf-8", "replace") if found[2] else None
        return SalvagedIds(found[1].decode("utf-8", "replace"), parent)

    def is_record(self, data: bytes) -> bool:
        return b'"parentId":' in data

    def on_finish(self) -> None:
        reading = self.reading
        reading.title = self._title or self._prompt or None
        reading.last_message_time = milliseconds(self._last_activity)
        if reading.read_only is None:
            reading.read_only = READ_ONLY
        if not reading.lines:
            return
        folder = posixpath.basename(posixpath.dirname(self._path))
        about = {"version": self._version, "gitBranch": self._branch}
        reading.header = Header(
            id=self._session or folder,
            timestamp=self._time or next((time for time in reading.tree.times if time), ""),
            cwd=self._cwd,
            parent_session=self._origin,
            metadata={key: value for key, value in about.items() if value} or None,
        )
