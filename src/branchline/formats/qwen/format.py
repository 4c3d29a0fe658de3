"""Qwen Code's session format: detection, reading and writing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from branchline.entries import Entry, Header, json_codec
from branchline.formats.copying_writer import CopyingWriter
from branchline.formats.entry_log import EntryLog
from branchline.formats.lines import begins_as
from branchline.formats.protocol import Format, FormatReader, FormatTraits
from branchline.formats.qwen.home import QwenHome
from branchline.formats.qwen.log_index import QwenLogIndex
from branchline.formats.qwen.reader import QwenReader
from branchline.formats.qwen.records import record_of
from branchline.formats.qwen.writer import CANNOT, QwenWriter, header_line
from branchline.formats.uuid_writer import UuidWriter

__all__ = ["QWEN"]

_HEAD_LINES = 64
_RECORD = frozenset({"uuid", "parentUuid", "sessionId"})
_CUT = re.compile(
    rb'\s*\{\s*"uuid"\s*:\s*"[^"\\]*"\s*,\s*"parentUuid"\s*:\s*(?:null|"[^"\\]*")\s*,\s*"sessionId"\s*:'
)

TRAITS = FormatTraits(
    name="qwen",
    records_cost=False,
    file_patterns=("*/chats/*.jsonl",),
    subagent_patterns=("*/subagents/*/agent-*.jsonl",),
    compaction_embeds_tail=True,
    unsupported=CANNOT,
    appendable=False,
    active_branch_last=True,
    ends_with_position=True,
    rounds_integers=True,
)


class QwenFormatReader(FormatReader[QwenLogIndex]):
    """Reads sessions of Qwen Code 0.15 to 0.24."""

    log_reader = QwenReader
    decode = staticmethod(record_of)

    def sniff(self, head: bytes, path: str) -> bool:
        """Recognize a record with message parts or a system payload, before any line of another agent."""
        del path
        return begins_as(head, _HEAD_LINES, cut=_CUT, matches=_matches, may_match=_may_match)


class QwenFormatWriter(CopyingWriter[QwenLogIndex], UuidWriter[QwenLogIndex]):
    """Writes new sessions for Qwen Code; it does not append to existing ones."""

    def encode_header(self, header: Header) -> bytes:
        return header_line(header)

    def encode(self, entries: Sequence[Entry], index: QwenLogIndex) -> bytes:
        return QwenWriter(index, TRAITS.unsupported_error, record_of).write(entries)

    def copied_lines(
        self, transcript: EntryLog[QwenLogIndex], positions: Sequence[int], header: Header
    ) -> Iterator[bytes]:
        """Yield the records at these positions with the new session id and Qwen Code's mark for copies."""
        source = None if transcript.reading.header is None else transcript.reading.header.id
        if not positions:
            yield header_line(header)
        for position in positions:
            fields = json_codec.loads_object(transcript.raw(position))
            if fields is None:
                continue
            if header.parent_session is not None and source is not None and "forkedFrom" not in fields:
                fields["forkedFrom"] = {"sessionId": source, "messageUuid": fields.get("uuid")}
            yield json_codec.dumps({**fields, "sessionId": header.id, "cwd": header.cwd}) + b"\n"


def _may_match(fields: dict[str, Any]) -> bool:
    return len(_RECORD & fields.keys()) >= len(_RECORD) - 1 and "content" not in _message(fields)


def _matches(fields: dict[str, Any]) -> bool:
    if len(_RECORD & fields.keys()) < len(_RECORD) - 1:  # one of them may be damaged
        return False
    return isinstance(_message(fields).get("parts"), list) or "systemPayload" in fields


def _message(fields: dict[str, Any]) -> dict[str, Any]:
    message = fields.get("message")
    return message if isinstance(message, dict) else {}


QWEN = Format(traits=TRAITS, reader=QwenFormatReader(), writer=QwenFormatWriter(), home=QwenHome())
