"""Operator's session format, version 3: where its files lie, how they are told apart, what can be written."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from branchline.context import ContextRules, ModelRef
from branchline.entries import AssistantMessage, Damaged, Entry, Header, MessageEntry, json_codec
from branchline.formats.entry_log import EntryLog
from branchline.formats.lines import head_lines
from branchline.formats.operator.copies import fork_lines, whole_lines
from branchline.formats.operator.log_index import OperatorLogIndex
from branchline.formats.operator.reader import OperatorReader
from branchline.formats.operator.records import to_entry
from branchline.formats.operator.timestamps import seconds_of
from branchline.formats.operator.writer import OperatorWriter, header_line
from branchline.formats.protocol import Format, LinkFields, LogIndex
from branchline.tree import ROOT

__all__ = ["OPERATOR", "OperatorFormat"]

_RULES = ContextRules(keeps_system_messages=True)
_LOOKED_AT = 8  # lines that may be damaged before the first one that says whose file it is
_NUMBER = rb"-?[0-9]"
_ENTRY = re.compile(rb'\s*\{"id":"[^"]*","timestamp":' + _NUMBER)
_HEADER = re.compile(rb'\s*\{"type":"session","version":[0-9]+,"id":"[^"]*","timestamp":' + _NUMBER)


class OperatorFormat(Format):
    """Sessions of Operator, appended to as Operator does."""

    name = "operator"
    writable = True
    file_patterns = ("*.jsonl", "*/sessions/*.jsonl", "*/acp/*.jsonl")
    links = LinkFields("parent_id", "target_id", "first_kept_entry_id", "target_id")
    unsupported = {  # noqa: RUF012
        "usage": "tokens are recorded only inside an answer",
        "context_edit": "messages cannot be edited for the model afterwards",
        "message": "its messages are those of system, user, assistant and tools",
        "block": "a message of this role has no place for a part of this kind",
        "thinking level": "the levels are off, minimal, low, medium, high, xhigh and max",
        "stop reason": "an answer ends by stop, length, tool use, error or abort",
        "system state": "a system message is a text, without sections and tools",
        "kept messages": "a compaction names the first entry that is kept and holds no messages itself",
        "no title": "a title can be replaced, not taken away",
        "part": "this result shares its line with others; only the last of them can be gone back to or named",
        "repeated id": "a later entry has the same id and hides this one",
    }

    # -- reading --------------------------------------------------------------------------------------

    def sniff(self, head: bytes, path: str) -> bool:
        """Times are numbers, and entries say ``parent_id``: the first line that tells decides."""
        del path
        for line in head_lines(head, _LOOKED_AT):
            if _HEADER.match(line) or _ENTRY.match(line):
                return True
            try:
                fields = json_codec.loads(line)
            except ValueError:
                continue
            if isinstance(fields, dict) and isinstance(fields.get("type"), str):
                time = fields.get("timestamp")
                return isinstance(fields.get("id"), str) and (
                    "parent_id" in fields or (isinstance(time, int | float) and not isinstance(time, bool))
                )
        return False

    def reader(self, path: str = "") -> OperatorReader:
        return OperatorReader(path)

    def decode(self, line: bytes, reading: LogIndex, position: int) -> Entry:
        assert isinstance(reading, OperatorLogIndex)
        tree = reading.tree
        key = tree.keys[position]
        parent = None if tree.parents[position] == ROOT else tree.keys[tree.parents[position]]
        if position in tree.placeholders:
            return Damaged(id=key, parent=parent, text=line.decode("utf-8", "replace"))
        entry = to_entry(json_codec.loads(line), key, parent, reading.result(position), reading.first_parts)
        if tree.roles[position] == "assistant" and (model := reading.models.at(position)) is not None:
            return _answered_by(entry, model)
        return entry

    def answer_model(self, transcript: EntryLog, position: int) -> ModelRef | None:
        """The model that was chosen last above the answer."""
        assert isinstance(transcript.reading, OperatorLogIndex)
        model = transcript.reading.models.at(position)
        return model if model is not None and model.id else None

    def context_rules(self) -> ContextRules:
        """As pi's; but a system message is a message like others, also where a compaction keeps it."""
        return _RULES

    # -- writing --------------------------------------------------------------------------------------

    def encode(self, entries: Sequence[Entry], reading: LogIndex) -> bytes:
        assert isinstance(reading, OperatorLogIndex)
        return OperatorWriter(reading, self.unsupported_error).lines(entries)

    def encode_header(self, header: Header) -> bytes:
        return header_line(header)

    def fork(self, transcript: EntryLog, leaf: int, header: Header) -> bytes:
        return b"".join(fork_lines(transcript, leaf, header, self.unsupported_error))

    def copy(self, transcript: EntryLog, header: Header) -> bytes:
        return b"".join(whole_lines(transcript, header))

    # -- places ---------------------------------------------------------------------------------------

    def file_key(self, header: Header) -> str:
        """Local time, with six digits behind the second, and the id."""
        moment = datetime.fromtimestamp(seconds_of(header.timestamp)).astimezone()
        return f"{moment:%Y-%m-%dT%H-%M-%S-%f}_{header.id}"

    def roots(self, environment: Mapping[str, str], home: str) -> list[str]:
        """The profiles, each with ``sessions`` and ``acp``, and the sessions of no profile."""
        del environment
        return [os.path.join(home, ".operator", "profiles"), os.path.join(home, ".operator", "sessions")]

    def directory(self, cwd: str, environment: Mapping[str, str], home: str) -> str | None:
        """All projects lie together."""
        del cwd, environment
        return os.path.join(home, ".operator", "sessions")


def _answered_by(entry: Entry, model: ModelRef) -> Entry:
    """An answer with the model that gave it, which only an entry above it names."""
    if not isinstance(entry, MessageEntry) or not isinstance(entry.message, AssistantMessage):
        return entry
    answer = msgspec.structs.replace(entry.message, provider=model.provider or None, model=model.id or None)
    return msgspec.structs.replace(entry, message=answer)


OPERATOR = OperatorFormat()
