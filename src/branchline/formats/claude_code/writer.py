"""Encodes entries as records of a transcript that Claude Code can resume.

Every record gets a new uuid and names its parent's, so one file holds a whole tree. An answer has a model and
a ``message.id``; consecutive answers share the id, because Claude Code merges them by it. Every call has
exactly one result, which follows the answer; a missing one is replaced by a result that says so. Thinking is
omitted: a signature is valid only for the provider and model that made it.

Some records are repeated, because Claude Code does not read the file as a tree:

- It treats everything with the ``message.id`` of an answer, and every result below it, as part of that
  answer, on any branch. A branch that starts within an answer or its results gets an answer of its own.
- It reads one list of kept messages per file and applies it to all branches. So the messages that a
  compaction keeps are repeated after its summary.
- It never stops in the middle of a branch. A session whose leaf is there ends with a copy of the leaf.

Such records name their parent in the tree, and branchline hides them when reading.
"""

from __future__ import annotations

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
    UserMessage,
    json_codec,
    message_text,
)
from branchline.errors import NotSupported
from branchline.formats.api_limits import IMAGE_TYPES, api_tool_name, well_formed
from branchline.formats.claude_code.kinds import (
    ANSWER,
    ASIDE,
    BOOKKEEPING,
    BOUNDARY,
    PROVENANCE,
    RESULT,
    SUMMARY,
)
from branchline.formats.claude_code.log_index import ClaudeCodeLogIndex
from branchline.formats.claude_code.records import NO_MODEL, STOP_REASONS, decode_record
from branchline.formats.derived_ids import call_ids, uuid4_from
from branchline.formats.entry_times import NO_TIME, entry_time, usual_time
from branchline.formats.extra_fields import typed_message
from branchline.tree import ROOT

__all__ = ["VERSION", "TranscriptWriter", "provenance_line", "record_line"]

VERSION = "2.1.197"
"""The Claude Code version named in records."""

_LONGEST_PROMPT = 2000
_STOPS = {"stop": "end_turn", "toolUse": "tool_use", "length": "max_tokens"}
_CALL = "toolu_"
_SYNTHETIC = "<synthetic>"  # the model of records that are not answers


class _Record(NamedTuple):
    """What later records need to know about one."""

    parent: str | None
    above: str | None
    """Its parent in Claude Code's view; for a repeated record this differs from the tree."""
    kind: int
    calls: tuple[str, ...]
    """The calls that an answer makes, or that results answer."""
    time: str


class TranscriptWriter:
    """Encodes records for appending. ``refuse`` makes the exception for anything the format cannot store."""

    def __init__(self, reading: ClaudeCodeLogIndex, refuse: Callable[[str], NotSupported]) -> None:
        self._reading = reading
        self._refuse = refuse
        header = reading.header
        self._session = "" if header is None else header.id
        self._cwd = "" if header is None else well_formed(header.cwd)
        self._started = NO_TIME if header is None else usual_time(header.timestamp) or NO_TIME
        self._fresh: dict[str, _Record] = {}
        self._fields: dict[str, dict[str, Any]] = {}
        self._below: dict[str, list[str]] = {}
        self._calls: set[str] = set()
        self._uuids: dict[str, str] = {}  # of entries written by this writer, by entry id
        self._last = self._record_at(len(reading.tree) - 1)
        self._lines: list[bytes] = []

    def write(self, entries: Sequence[Entry]) -> bytes:
        """Return the lines for these entries; raises an error unless all of them can be written."""
        for entry in entries:
            self._write(entry)
        return b"".join(self._lines)

    def _write(self, entry: Entry) -> None:
        match entry:
            case MessageEntry():
                self._write_message(entry, typed_message(entry.message))
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
        self._record("user", fields, entry, parent, BOOKKEEPING)

    def _answer(self, entry: Entry, message: AssistantMessage) -> None:
        content, calls = self._answer_content(message.content)
        parent = self._closed(self._named(entry.parent), entry)
        above = self._end_of(parent)
        uuid = self._new_uuid(entry.id)
        response = _response_id(uuid)
        if parent is not None and above is not None and self._known_record(parent).kind == ANSWER:
            response = self._response_of(above) or response
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
        self._record("assistant", fields, entry, parent, ANSWER, calls, uuid=uuid, above=above)

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
        """Return whether ``call`` is the id written for ``wanted``; a reused id has a number appended."""
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
        """Return the parent of an entry that is not a result: after results for all open calls.

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
        """Return the calls at the end of a path that have no result yet, in order."""
        answered: set[str] = set()
        waiting: list[str] = []
        expected = (RESULT, ANSWER)
        while uuid is not None and (record := self._known_record(uuid)).kind in expected:
            if record.kind == RESULT:
                answered.update(record.calls)
            else:
                waiting[:0] = [call for call in record.calls if call not in answered]
                expected = (ANSWER, ANSWER)  # parts of the same answer
            uuid = record.parent
        return waiting

    # -- compactions and the end ----------------------------------------------------------------------

    def _write_compaction(self, entry: Compaction) -> None:
        if entry.retained_tail is not None:
            raise self._refuse("kept messages")
        before = self._closed(self._named(entry.parent), entry)
        boundary, summary = self._new_uuid(f"{entry.id}.boundary"), self._new_uuid(entry.id)
        about: dict[str, Any] = {"trigger": "manual", "preTokens": entry.tokens_before or 0}
        kept: list[str] = []
        if entry.first_kept not in (None, entry.id) and before is not None:
            head = self._named(entry.first_kept)
            kept = self._records_between(head, before)
            if not kept or self._known_record(kept[0]).kind == RESULT:
                raise self._refuse("kept messages")
            kept = [uuid for uuid in kept if self._known_record(uuid).kind != SUMMARY]
            about[PROVENANCE] = {"headUuid": head}
        if not entry.summary.strip():
            about[PROVENANCE] = {**about.get(PROVENANCE, {}), "summary": False}
        fields = {
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "isMeta": False,
            "level": "info",
            "compactMetadata": about,
            "logicalParentUuid": before,
        }
        self._record("system", fields, entry, before, BOUNDARY, uuid=boundary)
        if not entry.summary.strip():
            self._repeat(kept, boundary, boundary)
            return
        fields = {
            "isCompactSummary": True,
            "isVisibleInTranscriptOnly": True,
            "message": {"role": "user", "content": labelled_summary(entry.summary)},
        }
        self._record("user", fields, entry, boundary, SUMMARY, uuid=summary, above=boundary)
        self._repeat(kept, summary, summary)

    def _records_between(self, head: str | None, tail: str) -> list[str]:
        """Return the records from one to another; none if a boundary is between them."""
        found: list[str] = []
        here: str | None = tail
        while here is not None and (record := self._known_record(here)).kind != BOUNDARY:
            found.insert(0, here)
            if here == head:
                return found
            here = record.parent
        return []

    def _write_position(self, entry: Leaf) -> None:
        """Write the record that names the end of the active branch, with the last prompt.

        Claude Code has no empty branch: a session at its root is written as being at its last entry.
        """
        target = self._last if entry.target is None else self._named(entry.target)
        leaf = self._closed(target, entry)
        if leaf is None:
            return
        end = self._tail_of(leaf)
        leaf = self._end_copy(leaf) if self._children(end) else end
        fields = {"type": "last-prompt", "leafUuid": leaf, "sessionId": self._session}
        prompt = self._last_prompt(target)
        self._aside(fields if prompt is None else {"type": "last-prompt", "lastPrompt": prompt, **fields})

    def _end_copy(self, uuid: str) -> str:
        """Copy a record to end a branch of its own; a summary with its boundary and kept messages."""
        record = self._known_record(uuid)
        if record.kind in (SUMMARY, BOUNDARY):
            tail = self._tail_of(uuid)
            kept: list[str] = []
            while tail != uuid:
                kept.insert(0, tail)
                tail = self._known_record(tail).above or uuid
            return self._repeat([*filter(None, [record.above]), uuid, *kept], None, uuid)
        group = self._group(uuid) or [uuid]
        return self._repeat(group, self._known_record(group[0]).above, uuid)

    # -- records that Claude Code needs twice ---------------------------------------------------------

    def _end_of(self, parent: str | None) -> str | None:
        """Return the record that a new one names as its parent, so that Claude Code sees exactly its path."""
        if parent is None or (tail := self._tail_of(parent)) != parent:
            return None if parent is None else tail
        group = [] if parent == self._last else self._group(parent)
        if not self._has_other_parts(group):
            return parent
        return self._repeat(group, self._known_record(group[0]).above, parent)

    def _tail_of(self, uuid: str) -> str:
        """Return the last kept message after a compaction; any other record itself."""
        below: str | None = uuid if self._known_record(uuid).kind in (SUMMARY, BOUNDARY) else None
        while below is not None:
            uuid = below
            below = next((child for child in self._children(uuid) if self._is_repeat(child)), None)
        return uuid

    def _group(self, uuid: str) -> list[str]:
        """Return the records of one answer and its results down to this one, as Claude Code finds them."""
        found: list[str] = []
        response = ""
        here: str | None = uuid
        while here is not None and (record := self._known_record(here)).kind in (RESULT, ANSWER):
            own = self._response_of(here) if record.kind == ANSWER else ""
            if response and own != response:
                break
            response = own
            found.insert(0, here)
            here = record.above
        return found

    def _has_other_parts(self, group: Sequence[str]) -> bool:
        """Return whether Claude Code would treat a record of another branch as part of this answer."""
        members = set(group)
        responses = {self._response_of(uuid) for uuid in group} - {""}
        for child in (child for uuid in group for child in self._children(uuid)):
            kind = self._known_record(child).kind
            if child not in members and (
                kind == RESULT or (kind == ANSWER and self._response_of(child) in responses)
            ):
                return True
        return False

    def _repeat(self, uuids: Sequence[str], above: str | None, place: str) -> str:
        """Write records again as a chain; in the tree they are children of ``place``.

        Returns the last one, or ``place`` if there are none.
        """
        responses: dict[str, str] = {}
        for uuid in uuids:
            copy = self._new_uuid(f"{uuid} below {place}")
            record, fields = self._known_record(uuid), self._fields_of(uuid)
            if response := self._response_of(uuid):
                fields["message"] = {
                    **fields["message"],
                    "id": responses.setdefault(response, _response_id(copy)),
                }
            fields |= {"uuid": copy, "parentUuid": above, PROVENANCE: place}
            self._keep(copy, _Record(place, above, record.kind, record.calls, record.time), fields)
            above = place = copy
        return place

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
        """Return the content of a prompt or a result; ``empty`` allows it to be empty."""
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
            case Image() if block.data and block.mime_type in IMAGE_TYPES:
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
                    name = api_tool_name(block.name)
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
        above: str | None = None,
    ) -> str:
        """Add a record of the tree and return its uuid. A boundary names its parent in another field."""
        uuid = uuid or self._new_uuid(entry.id)
        if kind != BOUNDARY:
            above = above or self._end_of(parent)
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
        record = {"parentUuid": above, **common, **fields, "uuid": uuid, "timestamp": time or self._started}
        self._keep(uuid, _Record(parent, above, kind, tuple(calls), time), record)
        self._calls.update(calls)
        self._uuids[entry.id] = uuid
        self._last = uuid
        return uuid

    def _keep(self, uuid: str, record: _Record, fields: dict[str, Any]) -> None:
        try:
            line = json_codec.dumps(fields, surrogates="strict") + b"\n"
        except UnicodeEncodeError:
            raise self._refuse("half character") from None
        self._lines.append(line)
        self._fresh[uuid], self._fields[uuid] = record, fields
        above = record.parent if record.kind == BOUNDARY else record.above
        if above is not None:
            self._below.setdefault(above, []).append(uuid)

    def _aside(self, fields: dict[str, Any]) -> None:
        self._lines.append(record_line(fields))

    def _new_uuid(self, name: str) -> str:
        seed = f"{self._session} {name}"
        while (uuid := uuid4_from(seed)) in self._fresh or uuid in self._reading.tree.positions:
            seed += "+"
        return uuid

    def _named(self, key: str | None) -> str | None:
        """Return the uuid of the record of an entry, or of its nearest ancestor that has one."""
        if key is None:
            return None
        if key in self._uuids:
            return self._uuids[key]
        if key in self._fresh:
            return key
        return self._record_at(self._reading.tree.positions.get(key, ROOT))

    def _record_at(self, position: int, *, repeated: bool = False) -> str | None:
        """Return the record at or above a position; ``repeated`` includes repeated records."""
        reading = self._reading
        while position != ROOT and (
            reading.kinds[position] == ASIDE
            or position in reading.numbers
            or (position in reading.repeated and not repeated)
        ):
            position = reading.tree.parents[position]
        return None if position == ROOT else reading.tree.keys[position]

    def _known_record(self, uuid: str) -> _Record:
        if uuid in self._fresh:
            return self._fresh[uuid]
        reading = self._reading
        position = reading.tree.positions[uuid]
        kind, parent, time = (
            reading.kinds[position],
            reading.tree.parents[position],
            reading.tree.times[position],
        )
        if (repeat := reading.repeated.get(position)) is not None:
            return _Record(self._record_at(parent), repeat.parent, repeat.kind, (), time)
        calls = tuple(filter(None, reading.linker.calls.get(position, "").split("\n")))
        above = None if kind == BOUNDARY else self._record_at(parent, repeated=True)
        return _Record(self._record_at(parent), above, kind, calls, time)

    def _is_repeat(self, uuid: str) -> bool:
        return isinstance(self._fields_of(uuid).get(PROVENANCE), str)

    def _children(self, uuid: str) -> list[str]:
        """Return the children of a record in Claude Code's view, and the compactions that follow it."""
        reading = self._reading
        tree = reading.tree
        found = list(self._below.get(uuid, ()))
        if uuid in self._fresh:
            return found
        below = (
            child for child in tree.child_positions(tree.positions[uuid]) if reading.kinds[child] != ASIDE
        )
        return found + [
            tree.keys[child]
            for child in below
            if child not in reading.numbers
            and (reading.kinds[child] == BOUNDARY or self._known_record(tree.keys[child]).above == uuid)
        ]

    def _response_of(self, uuid: str) -> str:
        """Return the ``message.id`` of a record; "" if it is not an answer."""
        if self._known_record(uuid).kind != ANSWER:
            return ""
        found = self._fields_of(uuid)["message"].get("id")
        return found if isinstance(found, str) else ""

    def _fields_of(self, uuid: str) -> dict[str, Any]:
        if uuid in self._fields:
            return dict(self._fields[uuid])
        span = self._reading.span(self._reading.tree.positions[uuid])
        return json_codec.loads_object(self._reading.read(span.offset, span.size)) or {}


def _response_id(uuid: str) -> str:
    return f"msg_{uuid.replace('-', '')[:24]}"


def provenance_line(header: Header) -> bytes:
    """Return the first line of a file, which names the origin of the conversation. Claude Code skips it."""
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
