"""Sessions for ``opencode import``: derived lines that hold what a document can, and the document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from branchline.context import milliseconds
from branchline.entries import (
    AssistantMessage,
    Compaction,
    CustomMessage,
    Entry,
    Header,
    MessageEntry,
    SessionInfo,
    ToolCall,
    ToolResult,
    UserMessage,
    decode_entry,
    json_codec,
)
from branchline.errors import NotSupported
from branchline.formats.api_limits import api_tool_name
from branchline.formats.common.derived_lines import EntryLines
from branchline.formats.entry_log import EntryLog
from branchline.formats.json_values import iso_time
from branchline.formats.opencode.documents import (
    cost_of,
    error_of,
    parts_of,
    result_state,
    session_id,
    tokens_of,
)
from branchline.formats.opencode.entries import (
    fields_of_entry,
    moment_of,
    planned_entries,
    result_fields,
)
from branchline.formats.opencode.log_index import NAME, OpencodeLogIndex
from branchline.formats.opencode.rows import StoredMessage, decode_message, decode_part
from branchline.formats.opencode.unsupported import CANNOT
from branchline.formats.protocol import FormatTraits, FormatWriter

__all__ = ["OpencodeWriter"]


class OpencodeWriter(FormatWriter[OpencodeLogIndex]):
    """Writes derived lines, normalized to what opencode reads back from its own document."""

    def session_id(self, fresh: str, timestamp: str) -> str:
        return session_id(fresh, milliseconds(timestamp) or 0)

    def encode_header(self, header: Header) -> bytes:
        return EntryLines(NAME).header(header)

    def encode(self, entries: Sequence[Entry], index: OpencodeLogIndex) -> bytes:
        return b"".join(_Encoder(index).lines(entries))

    def fork(self, transcript: EntryLog[OpencodeLogIndex], leaf: int, header: Header) -> bytes:
        del transcript, leaf, header
        raise NotSupported("sessions of opencode are only read; convert the session instead")

    def copy(self, transcript: EntryLog[OpencodeLogIndex], header: Header) -> bytes:
        del transcript, header
        raise NotSupported("sessions of opencode are only read; convert the session instead")


class _Encoder:
    def __init__(self, index: OpencodeLogIndex) -> None:
        self._index = index
        self._lines = EntryLines(NAME)
        tree = index.tree
        end = tree.nearest_conversation_entry(len(tree) - 1)
        self._lines.last = tree.keys[end] if end >= 0 else None
        self._time = (milliseconds(tree.times[end]) or 0) if end >= 0 else 0
        self._calls: dict[str, ToolCall] = {}
        self._titles: set[str | None] = set()

    def _above(self, parent: str | None) -> str | None:
        """The entry of the conversation that something with this parent follows."""
        tree = self._index.tree
        at = tree.nearest_conversation_entry(tree.positions.get(parent or "", -1))
        return tree.keys[at] if at >= 0 else parent

    def _call(self, name: str) -> ToolCall | None:
        """The last call with this id that has no result yet."""
        if name in self._calls:
            return self._calls.pop(name)
        roles = self._index.tree.roles
        for position in range(len(roles) - 1, -1, -1):
            if roles[position] not in ("assistant", "toolResult"):
                continue
            entry = decode_entry(self._index.read(*self._index.span(position)))
            if not isinstance(entry, MessageEntry):
                continue
            if isinstance(entry.message, ToolResult) and entry.message.tool_call_id == name:
                return None
            if (found := _calls(entry).get(name)) is not None:
                return found
        return None

    def lines(self, entries: Sequence[Entry]) -> Iterator[bytes]:
        for entry in entries:
            if isinstance(entry, SessionInfo):
                self._titles.add(entry.id)
                yield self._lines.title(entry.id, entry.timestamp, entry.name)
                continue
            if entry.parent not in self._titles and self._above(entry.parent) != self._lines.last:
                raise _refused("branch")
            yield from self._conversation_entry(entry)

    def _conversation_entry(self, entry: Entry) -> Iterator[bytes]:
        # opencode sorts messages by their time.
        time = self._time = max(self._time, _moment(entry)) or self._begin()
        match entry:
            case MessageEntry(message=ToolResult() as result):
                call = self._call(result.tool_call_id)
                if call is None:
                    raise _refused("result")
                part = {
                    "type": "tool",
                    "callID": result.tool_call_id,
                    "tool": api_tool_name(call.name),
                    "state": result_state(result, call.arguments),
                }
                fields = {**result_fields(_part(part)), "timestamp": moment_of(time)}
                yield self._lines.message(entry.id, iso_time(time), fields)
            case MessageEntry(message=AssistantMessage() as answer):
                self._calls |= _calls(entry)
                info = {**_answer_info(answer.usage, time), "role": "assistant"}
                info |= {"modelID": answer.model, "providerID": answer.provider}
                if (error := error_of(answer)) is not None:
                    info["error"] = error
                yield from self._message_lines(_message(entry.id, info, parts_of(entry)))
            case Compaction():
                yield from self._compaction(entry, time)
            case MessageEntry(message=UserMessage()) | CustomMessage(role="user", display=False):
                info = {"role": "user", "time": {"created": time}}
                yield from self._message_lines(_message(entry.id, info, parts_of(entry)))
            case _:
                raise _refused(entry.type)

    def _begin(self) -> int:
        """The time of a session whose first messages have none."""
        header = self._index.header
        return 0 if header is None else milliseconds(header.timestamp) or 0

    def _message_lines(self, message: StoredMessage, first_kept: str | None = None) -> Iterator[bytes]:
        time = iso_time(message.row.time.created)
        for planned in planned_entries(message.id, message.row, message.ids, message.parts):
            fields = fields_of_entry(message, planned, first_kept)
            yield self._lines.entry(planned[1], planned[0], time, fields)

    def _compaction(self, entry: Compaction, time: int) -> Iterator[bytes]:
        if not entry.summary:
            raise _refused("summary")
        first = entry.first_kept
        if entry.retained_tail is not None or first in (None, entry.id):
            first = None
        else:
            tree = self._index.tree
            at = tree.positions.get(first or "", -1)
            if at < 0 or tree.types[at] != "message" or tree.roles[at] == "toolResult":
                raise _refused("kept")
            if "compaction" in tree.types[at:]:
                raise _refused("twice")
        info = {**_answer_info(entry.usage, time), "role": "assistant", "summary": True}
        yield from self._message_lines(_message(entry.id, info, parts_of(entry)), first)
        self._calls = {}
        for number, message in enumerate(entry.retained_tail or ()):
            if isinstance(message, ToolResult) and message.tool_call_id not in self._calls:
                continue  # its call is not kept, so that no model is shown it
            kept = MessageEntry(
                id=f"{entry.id}.{number}",
                parent=self._lines.last,
                timestamp=entry.timestamp,
                message=message,
            )
            yield from self._conversation_entry(kept)


def _answer_info(usage: Any, time: int) -> dict[str, Any]:
    return {"time": {"created": time}, "cost": cost_of(usage), "tokens": tokens_of(usage)}


def _message(name: str, info: dict[str, Any], parts: list[dict[str, Any]]) -> StoredMessage:
    row = decode_message(json_codec.dumps(info))
    finish = next((part["reason"] for part in parts if part["type"] == "step-finish"), None)
    if finish is not None:
        row = msgspec.structs.replace(row, finish=finish)
    ids = [f"{name}/{number}" for number in range(len(parts))]
    return StoredMessage(name, row, ids, list(map(_part, parts)))


def _part(fields: dict[str, Any]) -> Any:
    return decode_part(json_codec.dumps(fields))


def _calls(entry: Entry) -> dict[str, ToolCall]:
    if not isinstance(entry, MessageEntry) or not isinstance(entry.message, AssistantMessage):
        return {}
    content = entry.message.content
    return {
        block.id: block
        for block in (() if isinstance(content, str) else content)
        if isinstance(block, ToolCall)
    }


def _moment(entry: Entry) -> int:
    message = entry.message if isinstance(entry, MessageEntry) else None
    said = getattr(message, "timestamp", None)
    return int(said) if isinstance(said, int | float) else milliseconds(entry.timestamp) or 0


def _refused(what: str) -> NotSupported:
    return FormatTraits(name=NAME, unsupported=CANNOT).unsupported_error(what)
