"""Sessions of Qwen Code as a format: how they are recognized and read."""

from __future__ import annotations

import re
from typing import Any

from branchline.context import ContextRules
from branchline.entries import Entry, json_codec
from branchline.formats.lines import head_lines
from branchline.formats.protocol import Format, FormatReader, FormatTraits
from branchline.formats.qwen.home import QwenHome
from branchline.formats.qwen.log_index import QwenLogIndex
from branchline.formats.qwen.reader import QwenReader
from branchline.formats.qwen.records import record_of

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
)


class QwenFormatReader(FormatReader[QwenLogIndex]):
    """Reads sessions of Qwen Code, 0.15 to 0.24."""

    context_rules = ContextRules()

    def sniff(self, head: bytes, path: str) -> bool:
        """A record with message parts or a payload of the program, before any line of another program."""
        del path
        for line in head_lines(head, _LOOKED_AT):
            if not line.strip():
                continue
            try:
                fields = json_codec.loads(line)
            except ValueError:
                if _CUT.match(line):
                    return True
                continue
            if not isinstance(fields, dict):
                continue
            if _is_ours(fields):
                return True
            if len(_RECORD & fields.keys()) < len(_RECORD) - 1 or "content" in _message(fields):
                return False
        return False

    def log_reader(self, path: str = "") -> QwenReader:
        return QwenReader(path)

    def decode(self, line: bytes, index: QwenLogIndex, position: int) -> Entry:
        return record_of(line, index, position)


def _is_ours(fields: dict[str, Any]) -> bool:
    if len(_RECORD & fields.keys()) < len(_RECORD) - 1:  # one of them may be damaged
        return False
    return isinstance(_message(fields).get("parts"), list) or "systemPayload" in fields


def _message(fields: dict[str, Any]) -> dict[str, Any]:
    message = fields.get("message")
    return message if isinstance(message, dict) else {}


QWEN = Format(traits=TRAITS, reader=QwenFormatReader(), home=QwenHome())
