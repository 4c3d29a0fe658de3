"""Copilot CLI's session format: detection, reading and writing."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import Any

from branchline.entries import Entry, Header, json_codec
from branchline.formats.copilot.context_rules import RULES
from branchline.formats.copilot.home import CopilotHome, WorkspaceFile
from branchline.formats.copilot.log_index import CopilotLogIndex
from branchline.formats.copilot.reader import CopilotReader
from branchline.formats.copilot.records import record_of
from branchline.formats.copilot.writer import CANNOT, CopilotWriter, header_line
from branchline.formats.copying_writer import CopyingWriter
from branchline.formats.entry_log import EntryLog
from branchline.formats.lines import begins_as
from branchline.formats.protocol import Format, FormatReader, FormatTraits
from branchline.formats.uuid_writer import UuidWriter

__all__ = ["COPILOT"]

_HEAD_LINES = 64
_KIND = re.compile(r"(?:session|user|assistant|tool|model|system|subagent|hook|skill|abort)\.[a-z_.]+")
_CUT = re.compile(
    rb'\s*\{\s*"type"\s*:\s*"(?:session|user|assistant|tool|system)\.[a-z_.]+"\s*,\s*"data"\s*:\s*\{'
)


class CopilotTraits(FormatTraits, frozen=True, kw_only=True):
    """All files have the same name; their folders are named after the sessions."""

    def key_of(self, path: str) -> str:
        return posixpath.basename(posixpath.dirname(path)) or self.stem_of(path)


TRAITS = CopilotTraits(
    name="copilot",
    records_cost=False,
    file_patterns=("*/events.jsonl",),
    unsupported=CANNOT,
    appendable=False,
    title_in_header=True,
    ends_with_position=True,
    rounds_integers=True,
)


class CopilotFormatReader(FormatReader[CopilotLogIndex]):
    """Reads sessions of Copilot CLI 1.0."""

    log_reader = CopilotReader
    decode = staticmethod(record_of)
    context_rules = RULES

    def sniff(self, head: bytes, path: str) -> bool:
        """Recognize an event with data and the id of the previous one."""
        del path
        return begins_as(head, _HEAD_LINES, cut=_CUT, matches=_matches, may_match=_may_match)


class CopilotFormatWriter(CopyingWriter[CopilotLogIndex], UuidWriter[CopilotLogIndex]):
    """Writes new sessions for Copilot CLI; it does not append to existing ones."""

    def encode_header(self, header: Header) -> bytes:
        return header_line(header)

    def encode(self, entries: Sequence[Entry], index: CopilotLogIndex) -> bytes:
        return CopilotWriter(index, TRAITS.unsupported_error, record_of).write(entries)

    def copied_lines(
        self, transcript: EntryLog[CopilotLogIndex], positions: Sequence[int], header: Header
    ) -> Iterator[bytes]:
        """Yield a new first event, then the events at these positions, as Copilot CLI's own forks do."""
        start = header_line(header)
        yield start
        last = json_codec.loads(start)["id"]
        for position in positions:
            fields = json_codec.loads_object(transcript.raw(position))
            if fields is None or fields.get("type") == "session.start":
                continue
            yield json_codec.dumps({**fields, "parentId": last}) + b"\n"
            last = fields.get("id")


def _may_match(fields: dict[str, Any]) -> bool:
    return bool({"data", "id", "parentId"} & fields.keys())


def _matches(fields: dict[str, Any]) -> bool:
    kind = fields.get("type")
    return (
        isinstance(kind, str)
        and _KIND.fullmatch(kind) is not None
        and isinstance(fields.get("data"), dict)
        and ("parentId" in fields or kind == "session.start")
    )


COPILOT = Format(
    traits=TRAITS,
    reader=CopilotFormatReader(),
    writer=CopilotFormatWriter(),
    home=CopilotHome(),
    companion=WorkspaceFile(),
)
