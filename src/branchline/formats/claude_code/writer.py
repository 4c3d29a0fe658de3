"""Entries as records of a transcript that Claude Code resumes.

Every record has a new uuid and hangs from the record of its parent, so a whole tree is one file. An answer
has a model and a ``message.id``; answers that follow each other share the id, because the program merges them
by it. Every call has exactly one result, which follows the answer: where none was recorded, one that says so.
Thinking is left out: a signature is valid only for the provider and model that made it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from branchline.context import labelled_summary
from branchline.context.tool_pairs import NO_RESULT
from branchline.entries import (
    AssistantMessage,
    Block,
    Compaction,
    Content,
    CustomMessage,
    Entry,
    Header,
    Image,
    Leaf,
    Message,
    MessageEntry,
    SessionInfo,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownMessage,
    UserMessage,
    json_codec,
    message_from_fields,
    message_text,
)
from branchline.errors import NotSupported
from branchline.formats.claude_code.log_index import ClaudeCodeReading
from branchline.formats.claude_code.records import NO_MODEL, STOP_REASONS, decode_record
from branchline.formats.claude_code.rows import ANSWER, ASIDE, BOUNDARY, PROVENANCE, RESULT
from branchline.formats.derived_ids import call_ids, uuid4_from
from branchline.formats.entry_times import NO_TIME, entry_time, usual_time
from branchline.tree import ROOT

__all__ = ["VERSION", "TranscriptWriter", "provenance_line", "record_line"]

VERSION = "2.1.197"
"""The version of Claude Code that records name."""

_TOOL_NAME = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64
_LONGEST_PROMPT = 2000
_STOPS = {"stop": "end_turn", "toolUse": "tool_use", "length": "max_tokens"}
_CALL = "toolu_"
_SYNTHETIC = "<synthetic>"  # the model of records that are no answers


class _Record(NamedTuple):
    """What later records need to know of one."""

    parent: str | None
    kind: int
    calls: tuple[str, ...]
    """The calls that an answer makes, or that results answer."""
    time: str
    response: str = ""
    """The ``message.id`` of an answer."""


class TranscriptWriter:
    """Writes records behind a reading. ``refuse`` gives the exception for what the format cannot hold."""

    def __init__(self, reading: ClaudeCodeReading, refuse: Callable[[str], NotSupported]) -> None:
        self._reading = reading
        self._refuse = refuse
        header = reading.header
        self._session = "" if header is None else header.id
        self._cwd = "" if header is None else header.cwd
        self._started = NO_TIME if header is None else usual_time(header.timestamp) or NO_TIME
        self._fresh: dict[str, _Record] = {}
        self._calls: set[str] = set()
        self._uuids: dict[str, str] = {}  # of entries that this writer has written, by their ids
        self._last = self._last_record()
        self._lines: list[bytes] = []

    def write(self, entries: Sequence[Entry]) -> bytes:
        """The lines for these entries; all of them or an exception."""
        for entry in entries:
            self._write(entry)
        return b"".join(self._lines)

    def _write(self, entry: Entry) -> None:
        match entry:
            case MessageEntry():
                self._write_message(entry, _known(entry.message))
            case CustomMessage(role="user", display=False):
                content = self._content(entry.content)
                self._user(entry, content, isMeta=True)
            case Compaction():
                self._write_compaction(entry)
            case SessionInfo():
                if not entry.name.strip():
                    raise self._refuse("untitle")
                self._aside({"type": "custom-title", "customTitle": entry.name, "sessionId": self._session})
            case Leaf():
                self._write_position(entry)
            case _:
                raise self._refuse(entry.type)

    # -- messages -------------------------------------------------------------------------------------

    def _write_message(self, entry: MessageEntry, message: Message) -> None:
        match message:
            case UserMessage():
                self._user(entry, self._content(message.content))
            case AssistantMessage():
                self._answer(entry, message)
            case ToolResult():
                self._result(entry, message)
            case _:
                raise self._refuse("message")

    def _user(self, entry: Entry, content: str | list[dict[str, Any]], **flags: bool) -> None:
        parent = self._closed(self._named(entry.parent), entry)
        fields = {**flags, "message": {"role": "user", "content": content}}
        self._record("user", fields, entry, parent, 0)

    def _answer(self, entry: Entry, message: AssistantMessage) -> None:
        content, calls = self._answer_content(message.content)
        parent = self._closed(self._named(entry.parent), entry)
        above = None if parent is None else self._known_record(parent)
        uuid = self._new_uuid(entry.id)
        response = f"msg_{uuid.replace('-', '')[:24]}"
        if parent is not None and above is not None and above.kind == ANSWER:
            response = above.response or self._response_of(parent) or response
        fields = {
            "message": {
                "id": response,
                "type": "message",
                "role": "assistant",
                "model": message.model if message.model not in (None, "", _SYNTHETIC) else NO_MODEL,
                "content": content,
                "stop_reason": self._stop_reason(message, calls),
                "stop_sequence": None,
                "usage": {"input_tokens": 0, "output_tokens": 0},
            }
        }
        self._record("assistant", fields, entry, parent, ANSWER, calls, uuid=uuid, response=response)

    def _stop_reason(self, message: AssistantMessage, calls: tuple[str, ...]) -> str:
        if message.raw_stop_reason in STOP_REASONS:
            return str(message.raw_stop_reason)
        return _STOPS.get(message.stop_reason or "", "tool_use" if calls else "end_turn")

    def _result(self, entry: Entry, message: ToolResult) -> None:
        parent = self._named(entry.parent)
        waiting = self._unanswered(parent)
        call = next((call for call in waiting if self._is_call(call, message.tool_call_id)), None)
        if call is None:
            raise self._refuse("result")
        content = self._content(message.content, empty=True)
        self._write_result(entry, parent, call, content, failed=message.is_error is True)

    def _write_result(
        self,
        entry: Entry,
        parent: str | None,
        call: str,
        content: str | list[dict[str, Any]],
        *,
        failed: bool,
    ) -> str:
        block: dict[str, Any] = {"tool_use_id": call, "type": "tool_result", "content": content}
        if failed:
            block["is_error"] = True
        fields = {"message": {"role": "user", "content": [block]}}
        return self._record("user", fields, entry, parent, RESULT, (call,))

    def _is_call(self, call: str, wanted: str) -> bool:
        """Whether this is what a call is named here; one that was used before has another number."""
        if call == wanted:
            return True
        for name in call_ids(_CALL, wanted):
            if name == call:
                return True
            if not self._is_taken(name):
                return False
        return False

    def _is_taken(self, call: str) -> bool:
        return call in self._reading.tool_names or call in self._calls

    # -- pairs ----------------------------------------------------------------------------------------

    def _closed(self, parent: str | None, entry: Entry) -> str | None:
        """Where an entry hangs that is no result: behind results for all calls that have none.

        Before the first record of another branch, the calls at the end of this one are closed.
        """
        if parent != self._last:
            self._close(self._last, entry)
        return self._close(parent, entry)

    def _close(self, parent: str | None, entry: Entry) -> str | None:
        time = "" if parent is None else self._known_record(parent).time
        for call in self._unanswered(parent):
            missing = MessageEntry(
                id=f"{parent}.{call}",
                timestamp=time or entry.timestamp,
                message=UserMessage(content=""),
            )
            parent = self._write_result(missing, parent, call, NO_RESULT, failed=True)
        return parent

    def _unanswered(self, uuid: str | None) -> list[str]:
        """The calls at the end of a path that have no result yet, in their order."""
        answered: set[str] = set()
        waiting: list[str] = []
        expected = (RESULT, ANSWER)
        while uuid is not None and (record := self._known_record(uuid)).kind in expected:
            if record.kind == RESULT:
                answered.update(record.calls)
            else:
                waiting[:0] = [call for call in record.calls if call not in answered]
                expected = (ANSWER, ANSWER)  # pieces of the same answer
            uuid = record.parent
        return waiting

    # -- compactions and the end ----------------------------------------------------------------------

    def _write_compaction(self, entry: Compaction) -> None:
        if entry.retained_tail is not None:
            raise self._refuse("kept messages")
        before = self._closed(self._named(entry.parent), entry)
        boundary, summary = self._new_uuid(f"{entry.id}.boundary"), self._new_uuid(entry.id)
        about: dict[str, Any] = {"trigger": "manual", "preTokens": entry.tokens_before or 0}
        if entry.first_kept not in (None, entry.id) and before is not None:
            head = self._named(entry.first_kept)
            if not self._is_unbroken(head, before) or self._begins_with_result(head):
                raise self._refuse("kept messages")
            about["preservedSegment"] = {"headUuid": head, "anchorUuid": summary, "tailUuid": before}
        fields = {
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "isMeta": False,
            "level": "info",
            "compactMetadata": about,
            "logicalParentUuid": before,
        }
        self._record("system", fields, entry, before, BOUNDARY, uuid=boundary)
        fields = {
            "isCompactSummary": True,
            "isVisibleInTranscriptOnly": True,
            "message": {"role": "user", "content": labelled_summary(entry.summary)},
        }
        self._record("user", fields, entry, boundary, 0, uuid=summary)

    def _is_unbroken(self, head: str | None, tail: str) -> bool:
        """Whether the program gets from the last record that is kept to the first: no boundary is between."""
        here: str | None = tail
        while here not in (None, head):
            record = self._known_record(here)
            here = None if record.kind == BOUNDARY else record.parent
        return here is not None

    def _begins_with_result(self, head: str | None) -> bool:
        """Whether the call of the first record that is kept would not be kept."""
        return head is not None and self._known_record(head).kind == RESULT

    def _write_position(self, entry: Leaf) -> None:
        """The record that names the end of the active branch, with the last thing that a person said.

        The program has no empty branch: a session that stands before its first entry stands at its last one.
        """
        target = self._last if entry.target is None else self._named(entry.target)
        leaf = self._closed(target, entry)
        if leaf is None:
            return
        if self._is_inner(leaf):
            leaf = self._repeat(leaf)
        fields = {"type": "last-prompt", "leafUuid": leaf, "sessionId": self._session}
        prompt = self._last_prompt(target)
        self._aside(fields if prompt is None else {"type": "last-prompt", "lastPrompt": prompt, **fields})

    def _is_inner(self, uuid: str) -> bool:
        """Whether the conversation goes on below a record: the program would not stop there."""
        reading = self._reading
        position = reading.tree.positions.get(uuid, ROOT)
        below = reading.tree.child_positions(position) if position != ROOT else []
        return any(reading.kinds[child] != ASIDE for child in below)

    def _repeat(self, uuid: str) -> str:
        """Write a record again, as the end of a branch of its own; with a summary also its boundary."""
        reading = self._reading
        position = reading.tree.positions[uuid]
        fields, copy = self._fields_at(position), self._new_uuid(f"{uuid} again")
        if fields.get("isCompactSummary"):
            above = self._fields_at(reading.tree.parents[position])
            boundary = self._new_uuid(f"{above['uuid']} again")
            about = above["compactMetadata"]
            if "preservedSegment" in about:
                segment = {**about["preservedSegment"], "anchorUuid": copy}
                about = {**about, "preservedSegment": segment}
            self._aside({**above, "compactMetadata": about, "uuid": boundary})
            fields = {**fields, "parentUuid": boundary}
        self._aside({**fields, "uuid": copy})
        return copy

    def _last_prompt(self, uuid: str | None) -> str | None:
        reading = self._reading
        position = ROOT if uuid is None else reading.tree.positions.get(uuid, ROOT)
        while position != ROOT:
            if reading.tree.roles[position] == "user":
                entry = decode_record(reading.read(*reading.span(position)), reading, position)
                assert isinstance(entry, MessageEntry)
                return message_text(entry.message, "\n")[:_LONGEST_PROMPT]
            position = reading.tree.parents[position]
        return None

    # -- content --------------------------------------------------------------------------------------

    def _content(self, content: Content, *, empty: bool = False) -> str | list[dict[str, Any]]:
        """What a prompt or a result says; ``empty`` allows nothing at all."""
        if isinstance(content, str):
            if not content.strip() and not empty:
                raise self._refuse("empty")
            return content
        blocks = [made for block in content if (made := self._block(block)) is not None]
        if not blocks:
            if not empty:
                raise self._refuse("empty")
            return ""
        return blocks

    def _block(self, block: Block) -> dict[str, Any] | None:
        match block:
            case Text():
                return {"type": "text", "text": block.text} if block.text.strip() else None
            case Image() if block.data and block.mime_type:
                source = {"type": "base64", "media_type": block.mime_type, "data": block.data}
                return {"type": "image", "source": source}
            case _:
                raise self._refuse("block")

    def _answer_content(self, content: Content) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
        blocks: list[dict[str, Any]] = []
        calls: list[str] = []
        for block in (Text(text=content),) if isinstance(content, str) else content:
            match block:
                case Thinking():
                    continue
                case ToolCall():
                    call = next(
                        name
                        for name in call_ids(_CALL, block.id)
                        if name not in calls and not self._is_taken(name)
                    )
                    calls.append(call)
                    name = _TOOL_NAME.sub("_", block.name)[:_LONGEST_NAME] or "tool"
                    blocks.append({"type": "tool_use", "id": call, "name": name, "input": block.arguments})
                case Text():
                    if (made := self._block(block)) is not None:
                        blocks.append(made)
                case _:
                    raise self._refuse("block")
        if not blocks:
            raise self._refuse("empty")
        return blocks, tuple(calls)

    # -- records --------------------------------------------------------------------------------------

    def _record(
        self,
        type: str,  # noqa: A002
        fields: Mapping[str, Any],
        entry: Entry,
        parent: str | None,
        kind: int,
        calls: Iterable[str] = (),
        *,
        uuid: str | None = None,
        response: str = "",
    ) -> str:
        """Add a record of the tree and return its uuid. A boundary names its parent in another way."""
        uuid = uuid or self._new_uuid(entry.id)
        time = entry_time(entry)
        if not time and parent is not None:
            time = self._known_record(parent).time
        common = {
            "isSidechain": False,
            "userType": "external",
            "cwd": self._cwd,
            "sessionId": self._session,
            "version": VERSION,
            "gitBranch": "",
            PROVENANCE: True,
            "type": type,
        }
        above = None if kind == BOUNDARY else parent
        record = {"parentUuid": above, **common, **fields, "uuid": uuid, "timestamp": time or self._started}
        self._lines.append(record_line(record))
        self._fresh[uuid] = _Record(parent, kind, tuple(calls), time, response)
        self._calls.update(calls)
        self._uuids[entry.id] = uuid
        self._last = uuid
        return uuid

    def _aside(self, fields: dict[str, Any]) -> None:
        self._lines.append(record_line(fields))

    def _new_uuid(self, name: str) -> str:
        seed = f"{self._session} {name}"
        while (uuid := uuid4_from(seed)) in self._fresh or uuid in self._reading.tree.positions:
            seed += "+"
        return uuid

    def _named(self, key: str | None) -> str | None:
        """The uuid of the record that an entry is, or of the nearest one above it."""
        if key is None:
            return None
        if key in self._uuids:
            return self._uuids[key]
        if key in self._fresh:
            return key
        return self._record_at(self._reading.tree.positions.get(key, ROOT))

    def _record_at(self, position: int) -> str | None:
        reading = self._reading
        while position != ROOT and (reading.kinds[position] == ASIDE or position in reading.numbers):
            position = reading.tree.parents[position]
        return None if position == ROOT else reading.tree.keys[position]

    def _last_record(self) -> str | None:
        return self._record_at(len(self._reading.tree) - 1)

    def _known_record(self, uuid: str) -> _Record:
        if uuid in self._fresh:
            return self._fresh[uuid]
        reading = self._reading
        position = reading.tree.positions[uuid]
        kind = reading.kinds[position]
        calls = tuple(filter(None, reading.linker.calls.get(position, "").split("\n")))
        above = self._record_at(reading.tree.parents[position])
        return _Record(above, kind, calls, reading.tree.times[position])

    def _response_of(self, uuid: str) -> str:
        """The ``message.id`` of an answer that was written before."""
        message = self._fields_at(self._reading.tree.positions[uuid]).get("message")
        found = message.get("id") if isinstance(message, dict) else None
        return found if isinstance(found, str) else ""

    def _fields_at(self, position: int) -> dict[str, Any]:
        span = self._reading.span(position)
        return json_codec.loads_object(self._reading.read(span.offset, span.size)) or {}


def provenance_line(header: Header) -> bytes:
    """The first line of a file: where its conversation came from. The program skips it."""
    fields: dict[str, Any] = {
        "type": PROVENANCE,
        "sessionId": header.id,
        "cwd": header.cwd,
        "timestamp": usual_time(header.timestamp) or NO_TIME,
    }
    if header.parent_session is not None:
        fields["from"] = header.parent_session
    return record_line(fields)


def record_line(fields: dict[str, Any]) -> bytes:
    return json_codec.dumps(fields) + b"\n"


def _known(message: Message) -> Message:
    """A message that came as a plain object, as the record of its role."""
    return message_from_fields(message.fields) if isinstance(message, UnknownMessage) else message
