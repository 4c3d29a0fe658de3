"""Reads Kimi Code events into a tree: prompts, the answer of each step, results, compactions, undone turns.

The file has no parent links: an entry is a child of the previous one. An undo moves back before a prompt, so
the undone turns become a branch. An answer is one entry, although its texts and calls are separate lines.
"""

from __future__ import annotations

import posixpath
from array import array
from collections.abc import Sequence
from typing import Any

from branchline.context import ModelRef
from branchline.entries import Header
from branchline.formats.json_values import LAST_INSTANT, iso_time
from branchline.formats.kimi.log_index import KimiLogIndex, wire_path
from branchline.formats.kimi.rows import Row
from branchline.formats.lines import Lines
from branchline.formats.typed_rows import ReplayReader
from branchline.tree import ROOT

__all__ = ["KimiReader"]

READ_ONLY = "Kimi Code sessions are read-only; fork this one into a native session to continue"
_MAIN = "main"
_BOOKKEEPING = frozenset(
    {
        "agent.message.appended",
        "agent.turn.ended",
        "agent.turn.started",
        "llm.tools_snapshot",
        "permission.set_mode",
        "plugin.session_start",
        "prompt.completed",
        "runtime.set_binding",
        "token_counting.measured",
        "token_counting.turn_recorded",
        "turn.ended",
    }
)
"""The most frequent events that do not affect the conversation."""
_STEP_LIMITS = frozenset({"step.begin", "step.end"})


class KimiReader(ReplayReader[Row]):
    """Reads one event log, whose path names the session."""

    format_name = "kimi"
    row_type = Row
    markers = (b'{"type":"', b'{"message":', b'{"turnId":')
    reading: KimiLogIndex

    def __init__(self, path: str = "") -> None:
        super().__init__(KimiLogIndex())
        self._path = path
        self._prompts: list[int] = []  # on the current path
        self._prompt_id: str | None = None
        self._unrepeated: str | None = None  # the text of a prompt without an id, until a message repeats it
        self._steps: dict[str, int] = {}  # the entry of each answer
        self._model = ModelRef(provider="", id="")
        self._cwd = self._prompt = self._version = ""
        self._created: float | None = None
        self._last_activity: float | None = None

    # -- lines ----------------------------------------------------------------------------------------

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        if not isinstance(fields.get("type"), str):
            self.note_not_an_entry("an event without a type", line, offset)
            return
        super().take(fields, line, offset)

    def are_regular(self, rows: Sequence[Row]) -> bool:
        return "" not in [row.type for row in rows]

    def replay(self, row: Row, lines: Lines, index: int) -> None:
        kind = row.type
        if kind in _BOOKKEEPING:
            return
        number = lines.number + index
        match kind:
            case "context.append_loop_event" if row.event is not None:
                if row.event.type not in _STEP_LIMITS:
                    self._take_event(row, number, lines, index)
            case "turn.prompt":
                text = _text(row.input)
                self._prompt_id = row.prompt_id
                self._unrepeated = text if row.prompt_id is None else None
                self._take_prompt(row, number, text)
            case "context.append_message" if row.message is not None:
                self._take_message(row, number)
            case "usage.record":
                self._add("usage", row, number)
            case "llm.request":
                if (row.provider, row.model) != (self._model.provider, self._model.id):
                    self._model = ModelRef(provider=row.provider or "", id=row.model or "")
            case "context.apply_compaction":
                kept = min(max(row.kept_user_message_count or 0, 0), len(self._prompts))
                position = self._add("compaction", row, number)
                self.reading.kept[position] = self._prompts[len(self._prompts) - kept :]
            case "context.undo":
                self._undo(row, number, 1 if row.count is None else row.count)
            case "context.clear":
                self._prompts.clear()
                self.move_to(ROOT, f"line-{number}", row.time)
            case "forked":
                self.reading.copied = len(self.reading.tree)
            case "profile.bind":
                if row.environment_disclosure is not None:
                    self._cwd = self._cwd or row.environment_disclosure.cwd
            case "metadata":
                self._created = self._created if row.created_at is None else row.created_at
                self._version = row.protocol_version or self._version
            case _:
                pass

    def _take_prompt(self, row: Row, number: int, text: str) -> None:
        self._prompt = self._prompt or text.strip()
        self._speak(row)
        self._prompts.append(self._add("message", row, number, "user"))

    def _take_message(self, row: Row, number: int) -> None:
        message = row.message
        assert message is not None
        origin = "" if message.origin is None else message.origin.kind
        match message.role:
            case "user" if message.id is not None and message.id == self._prompt_id:
                pass  # repeats the prompt
            case "user" if origin == "user" and _text(message.content) == self._unrepeated:
                self._unrepeated = None
            case "user" if origin in ("", "user"):
                self._take_prompt(row, number, _text(message.content))
            case "assistant":
                self._speak(row)
                position = self._add("message", row, number, "assistant")
                if not _text(message.content).strip():
                    self.reading.tree.textless.add(position)
            case "tool":
                self._add("message", row, number, "toolResult")
            case _:
                self._add("custom_message", row, number)

    def _take_event(self, row: Row, number: int, lines: Lines, index: int) -> None:
        event, reading = row.event, self.reading
        assert event is not None
        kind = event.type
        if kind == "tool.result":
            self._add("message", row, number, "toolResult")
            return
        if kind == "tool.call":
            if event.tool_call_id:
                reading.tool_names[event.tool_call_id] = event.name or ""
        elif kind != "content.part":
            return
        step = event.step_uuid or f"line-{number}"
        position = self._steps.get(step)
        if position is None:
            position = self._steps[step] = self._add("message", row, number, "assistant")
            reading.models[position] = self._model
            reading.tree.textless.add(position)
            self._speak(row)
        else:
            pieces = reading.pieces.get(position)
            if pieces is None:
                reading.pieces[position] = array("q", lines.span(index))
            else:
                pieces.extend(lines.span(index))
        part = event.part
        if part is not None and part.type == "text" and part.text and not part.text.isspace():
            reading.tree.textless.discard(position)

    def _undo(self, row: Row, number: int, count: int) -> None:
        """Move back before the last ``count`` prompts."""
        if count > 0 and self._prompts:
            place = max(len(self._prompts) - count, 0)
            target = self.parent_of(self._prompts[place])
            del self._prompts[place:]
            self.move_to(target, f"line-{number}", row.time)

    def _add(self, type: str, row: Row, number: int, role: str | None = None) -> int:  # noqa: A002
        return self.add(f"line-{number}", type, row.time, role)

    def _speak(self, row: Row) -> None:
        time = row.time
        if (
            time is not None
            and 0 < time <= LAST_INSTANT
            and (self._last_activity is None or time > self._last_activity)
        ):
            self._last_activity = time

    # -- the end --------------------------------------------------------------------------------------

    def is_record(self, data: bytes) -> bool:
        return b'"time":' in data or b'"protocol_version":' in data

    def on_finish(self) -> None:
        reading = self.reading
        reading.title = self._prompt or None
        reading.last_message_time = self._last_activity
        if reading.read_only is None:
            reading.read_only = READ_ONLY
        if not reading.lines:
            return
        place = wire_path(self._path)
        if place is None:
            name, parent = posixpath.basename(self._path).removesuffix(".jsonl"), None
        elif place.agent == _MAIN:
            name, parent = place.session, None
        else:
            name, parent = f"{place.session}.{place.agent}", place.session
        reading.header = Header(
            id=name,
            timestamp=iso_time(self._created) or next((time for time in reading.tree.times if time), ""),
            cwd=self._cwd,
            parent_session=parent,
            metadata={"protocolVersion": self._version} if self._version else None,
        )


def _text(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "".join([part.text for part in content if part.text and part.type == "text"])
