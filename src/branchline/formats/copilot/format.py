"""Sessions of Copilot CLI as a format: how they are recognized and read."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from typing import Any

from branchline.context import ContextRules
from branchline.entries import Entry, Header
from branchline.formats.copilot.copies import copied_lines
from branchline.formats.copilot.home import CopilotHome, WorkspaceFile
from branchline.formats.copilot.log_index import CopilotLogIndex
from branchline.formats.copilot.reader import CopilotReader
from branchline.formats.copilot.records import record_of
from branchline.formats.copilot.writer import CANNOT, CopilotWriter, header_line
from branchline.formats.derived_ids import uuid4_from
from branchline.formats.entry_log import EntryLog
from branchline.formats.lines import begins_as
from branchline.formats.protocol import Format, FormatReader, FormatTraits, FormatWriter
from branchline.tree import ROOT

__all__ = ["COPILOT"]

_LOOKED_AT = 64
_KIND = re.compile(r"(?:session|user|assistant|tool|model|system|subagent|hook|skill|abort)\.[a-z_.]+")
_CUT = re.compile(
    rb'\s*\{\s*"type"\s*:\s*"(?:session|user|assistant|tool|system)\.[a-z_.]+"\s*,\s*"data"\s*:\s*\{'
)


class CopilotTraits(FormatTraits, frozen=True, kw_only=True):
    """All files have one name; their folders are named for the sessions."""

    def key_of(self, path: str) -> str:
        return posixpath.basename(posixpath.dirname(path)) or self.stem_of(path)


TRAITS = CopilotTraits(
    name="copilot",
    records_cost=False,
    file_patterns=("*/events.jsonl",),
    compaction_embeds_tail=True,
    unsupported=CANNOT,
    appendable=False,
    title_in_header=True,
    rounds_integers=True,
)


class CopilotFormatReader(FormatReader[CopilotLogIndex]):
    """Reads sessions of Copilot CLI 1.0."""

    context_rules = ContextRules(excluded_types=frozenset({"custom_message"}))

    def sniff(self, head: bytes, path: str) -> bool:
        """An event with data and the id of the one before it."""
        del path
        return begins_as(head, _LOOKED_AT, cut=_CUT, is_ours=_is_ours, may_be_ours=_may_be_ours)

    def log_reader(self, path: str = "") -> CopilotReader:
        return CopilotReader(path)

    def decode(self, line: bytes, index: CopilotLogIndex, position: int) -> Entry:
        return record_of(line, index, position)


class CopilotFormatWriter(FormatWriter[CopilotLogIndex]):
    """Writes new sessions for Copilot CLI; it does not append to those of the program."""

    def session_id(self, fresh: str, timestamp: str) -> str:
        del timestamp
        return uuid4_from(fresh)

    def parent_link(self, session_id: str, file: str | None) -> str | None:
        del file
        return session_id

    def encode_header(self, header: Header) -> bytes:
        return header_line(header)

    def encode(self, entries: Sequence[Entry], index: CopilotLogIndex) -> bytes:
        return CopilotWriter(index, TRAITS.unsupported_error, record_of).write(entries)

    def fork(self, transcript: EntryLog[CopilotLogIndex], leaf: int, header: Header) -> bytes:
        path = [] if leaf == ROOT else transcript.tree.path_positions(leaf)
        return b"".join(copied_lines(transcript, path, header))

    def copy(self, transcript: EntryLog[CopilotLogIndex], header: Header) -> bytes:
        return b"".join(copied_lines(transcript, range(len(transcript.tree)), header))


def _may_be_ours(fields: dict[str, Any]) -> bool:
    return bool({"data", "id", "parentId"} & fields.keys())


def _is_ours(fields: dict[str, Any]) -> bool:
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
