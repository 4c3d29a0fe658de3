"""Cline's session format: detection and reading."""

from __future__ import annotations

import posixpath

from branchline.context import ContextRules
from branchline.entries import Entry
from branchline.formats.cline.documents import ClineDocuments, session_of
from branchline.formats.cline.home import ClineHome
from branchline.formats.cline.log_index import ClineLogIndex
from branchline.formats.cline.reader import ClineReader
from branchline.formats.cline.records import record_of
from branchline.formats.protocol import Format, FormatReader, FormatTraits

__all__ = ["CLINE"]


class ClineTraits(FormatTraits, frozen=True, kw_only=True):
    """The folder of a session or task is named after it; sub-agents have files of their own in it."""

    def key_of(self, path: str) -> str:
        session, name = session_of(path), posixpath.basename(path)
        if session is None:
            return self.stem_of(path)
        return f"{session}__{name.removesuffix('.messages.json')}" if name.startswith("agent_") else session


TRAITS = ClineTraits(
    name="cline",
    suffix=".json",
    file_patterns=("*/[0-9]*_?????.json", "*/api_conversation_history.json"),
    subagent_patterns=("*/agent_*.messages.json",),
    links=None,
    compaction_embeds_tail=True,
)


class ClineFormatReader(FormatReader[ClineLogIndex]):
    """Reads sessions of Cline 3, and the tasks of the editor extensions."""

    context_rules = ContextRules(excluded_types=frozenset({"custom_message"}))

    def sniff(self, head: bytes, path: str) -> bool:
        """Recognize the first line of joined documents."""
        del path
        return head.startswith(b'{"cline":"')

    def log_reader(self, path: str = "") -> ClineReader:
        return ClineReader(path)

    def decode(self, line: bytes, index: ClineLogIndex, position: int) -> Entry:
        return record_of(line, index, position)


CLINE = Format(traits=TRAITS, reader=ClineFormatReader(), home=ClineHome(), documents=ClineDocuments())
