"""Operator's session format, version 3: detection, reading and writing."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from branchline.context import ContextRules, ModelRef
from branchline.entries import (
    CONVERSATION_TYPES,
    SIDE_TYPES,
    AssistantMessage,
    Damaged,
    Entry,
    Header,
    MessageEntry,
    json_codec,
)
from branchline.formats.entry_log import EntryLog
from branchline.formats.lines import head_lines
from branchline.formats.operator.copies import fork_lines, whole_lines
from branchline.formats.operator.flat_store import (
    current_lines,
    is_flat_folder,
    is_flat_header,
    is_flat_message,
)
from branchline.formats.operator.home import OperatorHome
from branchline.formats.operator.log_index import OperatorLogIndex
from branchline.formats.operator.reader import OperatorReader
from branchline.formats.operator.records import to_entry
from branchline.formats.operator.writer import OperatorWriter, header_line
from branchline.formats.protocol import Format, FormatReader, FormatTraits, FormatWriter, LinkFields

__all__ = ["OPERATOR"]

_HEAD_LINES = 8  # lines that may be damaged before the first conclusive one
_TYPES = SIDE_TYPES | CONVERSATION_TYPES | {"session", "session_header"}
_NUMBER = rb"-?[0-9]"
_ENTRY = re.compile(rb'\s*\{"id":"[^"]*","timestamp":' + _NUMBER + rb'[0-9.eE+-]*,"(?:parent_id|type)":')
_HEADER = re.compile(rb'\s*\{"type":"session","version":[0-9]+,"id":"[^"]*","timestamp":' + _NUMBER)


TRAITS = FormatTraits(
    name="operator",
    file_patterns=(
        "*.jsonl",
        "*/sessions/*.jsonl",
        "*/acp/*.jsonl",
        "??-??-????/*.jsonl",
        "*/sessions/??-??-????/*.jsonl",
    ),
    links=LinkFields("parent_id", "target_id", "first_kept_entry_id", "target_id"),
    dated_by_file=True,
    unsupported={
        "usage": "tokens are recorded only inside an answer",
        "context_edit": "messages cannot be edited for the model afterwards",
        "message": "it supports only system, user, assistant and tool messages",
        "block": "a message of this role has no place for a part of this kind",
        "thinking level": "the levels are off, minimal, low, medium, high, xhigh and max",
        "stop reason": "an answer ends by stop, length, tool use, error or abort",
        "system state": "a system message is a text, without sections and tools",
        "kept messages": "a compaction names the first entry that is kept and holds no messages itself",
        "custom role": "its custom messages are always user messages",
        "no title": "a title can be replaced but not removed",
        "part": "this result shares its line with others; only the last of them can be gone back to or named",
        "repeated id": "a later entry has the same id and hides this one",
    },
)


class OperatorFormatReader(FormatReader[OperatorLogIndex]):
    """Reads Operator sessions."""

    log_reader = OperatorReader
    context_rules = ContextRules(keeps_system_messages=True)
    """Like pi's, except that system messages are ordinary messages, even if a compaction keeps them."""

    def sniff(self, head: bytes, path: str) -> bool:
        """Recognize numeric times and ``parent_id`` in the first entry, or in the header if it is alone."""
        header = False
        for line in head_lines(head, _HEAD_LINES):
            if _ENTRY.match(line):
                return True
            header = header or _HEADER.match(line) is not None
            fields = json_codec.loads_object(line)
            if fields is not None and (
                is_flat_header(fields) or (is_flat_folder(path) and is_flat_message(fields))
            ):
                return True
            if fields is None or not isinstance(kind := fields.get("type"), str):
                continue
            time = fields.get("timestamp")
            if not isinstance(fields.get("id"), str) or "parentId" in fields or kind not in _TYPES:
                return False
            timed = isinstance(time, int | float) and not isinstance(time, bool)
            if kind == "session_header":
                return True
            if kind != "session":
                return timed or "parent_id" in fields
            header = header or timed  # if its time is damaged, the entries below tell
        return header

    def decode(self, line: bytes, index: OperatorLogIndex, position: int) -> Entry:
        tree = index.tree
        key = tree.keys[position]
        parent = tree.parent(key)
        if position in tree.placeholders:
            return Damaged(id=key, parent=parent, text=line.decode("utf-8", "replace"))
        fields = json_codec.loads(line)
        if index.is_superseded:
            fields = next(one for one in current_lines(fields, key.partition(".")[0]) if one["id"] == key)
        entry = to_entry(fields, key, parent, index.result(position), index.first_parts)
        if tree.roles[position] == "assistant" and (model := index.models.at(position)) is not None:
            return _answered_by(entry, model)
        return entry

    def answer_model(self, transcript: EntryLog[OperatorLogIndex], position: int) -> ModelRef | None:
        """Return the model selected last on the path above the answer."""
        model = transcript.reading.models.at(position)
        return model if model is not None and model.id else None


class OperatorFormatWriter(FormatWriter[OperatorLogIndex]):
    """Appends entries as Operator does."""

    def encode_header(self, header: Header) -> bytes:
        return header_line(header)

    def encode(self, entries: Sequence[Entry], index: OperatorLogIndex) -> bytes:
        return OperatorWriter(index, TRAITS.unsupported_error).lines(entries)

    def fork(self, transcript: EntryLog[OperatorLogIndex], leaf: int, header: Header) -> bytes:
        return b"".join(fork_lines(transcript, leaf, header, TRAITS.unsupported_error))

    def copy(self, transcript: EntryLog[OperatorLogIndex], header: Header) -> bytes:
        return b"".join(whole_lines(transcript, header, TRAITS.unsupported_error))


def _answered_by(entry: Entry, model: ModelRef) -> Entry:
    """Add the model to an answer; only an entry above it names the model."""
    if not isinstance(entry, MessageEntry) or not isinstance(entry.message, AssistantMessage):
        return entry
    answer = msgspec.structs.replace(entry.message, provider=model.provider or None, model=model.id or None)
    return msgspec.structs.replace(entry, message=answer)


OPERATOR = Format(
    traits=TRAITS, reader=OperatorFormatReader(), writer=OperatorFormatWriter(), home=OperatorHome()
)
