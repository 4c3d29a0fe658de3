"""Sessions of Copilot CLI as a format: how they are recognized and read."""

from __future__ import annotations

import re
from typing import Any

from branchline.context import ContextRules
from branchline.entries import Entry, json_codec
from branchline.formats.copilot.home import CopilotHome, WorkspaceFile
from branchline.formats.copilot.log_index import CopilotLogIndex
from branchline.formats.copilot.reader import CopilotReader
from branchline.formats.copilot.records import record_of
from branchline.formats.lines import head_lines
from branchline.formats.protocol import Format, FormatReader, FormatTraits

__all__ = ["COPILOT"]

_LOOKED_AT = 64
_KIND = re.compile(r"(?:session|user|assistant|tool|model|system|subagent|hook|skill|abort)\.[a-z_.]+")
_CUT = re.compile(
    rb'\s*\{\s*"type"\s*:\s*"(?:session|user|assistant|tool|system)\.[a-z_.]+"\s*,\s*"data"\s*:\s*\{'
)

TRAITS = FormatTraits(
    name="copilot",
    records_cost=False,
    file_patterns=("*/events.jsonl",),
    session_folder=1,
    compaction_embeds_tail=True,
)


class CopilotFormatReader(FormatReader[CopilotLogIndex]):
    """Reads sessions of Copilot CLI 1.0."""

    context_rules = ContextRules(excluded_types=frozenset({"custom_message"}))

    def sniff(self, head: bytes, path: str) -> bool:
        """An event with data and the id of the one before it."""
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
            if isinstance(fields, dict):
                if _is_ours(fields):
                    return True
                if not {"data", "id", "parentId"} & fields.keys():
                    return False
        return False

    def log_reader(self, path: str = "") -> CopilotReader:
        return CopilotReader(path)

    def decode(self, line: bytes, index: CopilotLogIndex, position: int) -> Entry:
        return record_of(line, index, position)


def _is_ours(fields: dict[str, Any]) -> bool:
    kind = fields.get("type")
    return (
        isinstance(kind, str)
        and _KIND.fullmatch(kind) is not None
        and isinstance(fields.get("data"), dict)
        and ("parentId" in fields or kind == "session.start")
    )


COPILOT = Format(traits=TRAITS, reader=CopilotFormatReader(), home=CopilotHome(), companion=WorkspaceFile())
