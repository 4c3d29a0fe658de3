"""Sessions of Qwen Code as a format: how they are recognized and read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from branchline.context import ContextRules
from branchline.entries import Entry, Header
from branchline.formats.derived_ids import uuid4_from
from branchline.formats.entry_log import EntryLog
from branchline.formats.lines import begins_as
from branchline.formats.protocol import Format, FormatReader, FormatTraits, FormatWriter
from branchline.formats.qwen.copies import copied_lines
from branchline.formats.qwen.home import QwenHome
from branchline.formats.qwen.log_index import QwenLogIndex
from branchline.formats.qwen.reader import QwenReader
from branchline.formats.qwen.records import record_of
from branchline.formats.qwen.writer import CANNOT, QwenWriter, header_line
from branchline.tree import ROOT

__all__ = ["QWEN"]

_LOOKED_AT = 64
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
    """Reads sessions of Qwen Code, 0.15 to 0.24."""

    context_rules = ContextRules()

    def sniff(self, head: bytes, path: str) -> bool:
        """A record with message parts or a payload of the program, before any line of another program."""
        del path
        return begins_as(head, _LOOKED_AT, cut=_CUT, is_ours=_is_ours, may_be_ours=_may_be_ours)

    def log_reader(self, path: str = "") -> QwenReader:
        return QwenReader(path)

    def decode(self, line: bytes, index: QwenLogIndex, position: int) -> Entry:
        return record_of(line, index, position)


class QwenFormatWriter(FormatWriter[QwenLogIndex]):
    """Writes new sessions for Qwen Code; it does not append to those of the program."""

    def session_id(self, fresh: str, timestamp: str) -> str:
        del timestamp
        return uuid4_from(fresh)

    def parent_link(self, session_id: str, file: str | None) -> str | None:
        del file
        return session_id

    def encode_header(self, header: Header) -> bytes:
        return header_line(header)

    def encode(self, entries: Sequence[Entry], index: QwenLogIndex) -> bytes:
        return QwenWriter(index, TRAITS.unsupported_error, record_of).write(entries)

    def fork(self, transcript: EntryLog[QwenLogIndex], leaf: int, header: Header) -> bytes:
        path = [] if leaf == ROOT else transcript.tree.path_positions(leaf)
        return b"".join(copied_lines(transcript, path, header))

    def copy(self, transcript: EntryLog[QwenLogIndex], header: Header) -> bytes:
        return b"".join(copied_lines(transcript, range(len(transcript.tree)), header))


def _may_be_ours(fields: dict[str, Any]) -> bool:
    return len(_RECORD & fields.keys()) >= len(_RECORD) - 1 and "content" not in _message(fields)


def _is_ours(fields: dict[str, Any]) -> bool:
    if len(_RECORD & fields.keys()) < len(_RECORD) - 1:  # one of them may be damaged
        return False
    return isinstance(_message(fields).get("parts"), list) or "systemPayload" in fields


def _message(fields: dict[str, Any]) -> dict[str, Any]:
    message = fields.get("message")
    return message if isinstance(message, dict) else {}


QWEN = Format(traits=TRAITS, reader=QwenFormatReader(), writer=QwenFormatWriter(), home=QwenHome())
