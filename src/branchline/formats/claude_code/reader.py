"""Lines of a transcript into a reading: records into the tree, titles and the leaf from those beside it."""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

from branchline.context import milliseconds
from branchline.entries import Header
from branchline.entries.skeleton import Fragment
from branchline.formats.base import Reading
from branchline.formats.claude_code.links import Links
from branchline.formats.claude_code.records import (
    ANSWER,
    ASIDE,
    BOUNDARY,
    ERROR,
    HUMAN,
    META,
    MICRO,
    QUEUED,
    RESULT,
    RESUMED,
    SUMMARY,
    Block,
    Compacted,
    Row,
    decode_rows,
    first_line,
    kind_of,
    row_from,
    text_of,
)
from branchline.formats.lines import LinesReader, bulk
from branchline.tree import ROOT

__all__ = ["ClaudeCodeReader", "ClaudeCodeReading", "agent_of"]

READ_ONLY = "sessions of Claude Code are read here, not written; fork it into a native one to go on"

_TYPES = {
    BOUNDARY: "compact_boundary",
    SUMMARY: "compaction",
    HUMAN: "message",
    QUEUED: "message",
    RESULT: "message",
    ANSWER: "message",
    ERROR: "message",
    RESUMED: "resume_mark",
}
_ROLES = {HUMAN: "user", QUEUED: "user", RESULT: "toolResult", ANSWER: "assistant", ERROR: "assistant"}
_LEAVES = frozenset({HUMAN, QUEUED, RESULT, ANSWER, ERROR, RESUMED})
_SPEAKERS = frozenset({HUMAN, QUEUED, ANSWER, ERROR})
_AGENT_FILE = re.compile(r"(?:^|[/\\])agent-([^/\\]+)\.jsonl$")
_SESSION_FILE = re.compile(r"(?:^|[/\\])([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\.jsonl$")
_UUID = re.compile(rb'"uuid"\s*:\s*"([^"\\]{1,200})"')
_PARENT = re.compile(rb'"parentUuid"\s*:\s*(?:"([^"\\]{0,200})"|null)')
_ASIDES = {"custom-title": "session_info", "ai-title": "session_info", "summary": "session_info"}


class Kept(NamedTuple):
    """What a compaction boundary says about the summary behind it."""

    first: str | None
    tokens_before: int | float | None


class ClaudeCodeReading(Reading):
    """A transcript: beside the tree, what its records say about each other."""

    linker: Links

    def __init__(self) -> None:
        super().__init__("claude-code")
        self.linker = Links(self.tree)
        self.version_text = ""
        self.agent: str | None = None
        """The id of the sub-agent whose file this is."""
        self.session_ids: dict[str, None] = {}
        self.forked_from: dict[str, None] = {}
        self.background = False
        self.own_from: int | None = None
        """The first record that was not copied from the session that this one was branched off from."""
        self.numbers: dict[int, int] = {}
        """Which part of its line an entry is, where a line is several entries."""
        self.tool_names: dict[str, str] = {}
        self.results: dict[str, str] = {}
        """The entry that holds the result of a call."""
        self.kept: dict[int, Kept] = {}
        self.spending: dict[tuple[str, str | None], tuple[int, float]] = {}
        """For every answer the record that tells what it cost, and how much it says was written."""
        self.leaf_named_by = ""
        self.title_from = ""

    @property
    def kinds(self) -> list[int]:
        return self.linker.kinds

    @property
    def inherited(self) -> int:
        if not self.forked_from:
            return 0
        return len(self.tree) if self.own_from is None else self.own_from

    @property
    def active_line(self) -> list[int]:
        """Everything on the line that holds the leaf, from its start to its end."""
        return [] if self.leaf == ROOT else self.tree.chain(self.linker.line_end(self.leaf))

    def spends(self, position: int, answer: tuple[str, str | None] | None) -> bool:
        """Whether the usage in this record counts: once for every answer."""
        return answer is None or self.spending[answer][0] == position


class ClaudeCodeReader(LinesReader):
    """Reads one file; its name tells the session, and whether it is that of a sub-agent."""

    format_name = "claude-code"
    markers = (b'{"parentUuid":', b'{"type":"', b'{"isSidechain":', b'{"uuid":"')
    reading: ClaudeCodeReading

    def __init__(self, path: str = "") -> None:
        super().__init__()
        self.reading = ClaudeCodeReading()
        self._path = path
        self.reading.agent = agent_of(path)
        self._titles: dict[str, str] = {}
        self._summaries: list[tuple[str, str]] = []
        self._last_prompts: list[str] = []
        self._leaf = ROOT
        self._cwd = self._git = self._first_time = self._first_session = self._agent_id = ""
        self._pending: Kept | None = None

    # -- records --------------------------------------------------------------------------------------

    def take_regular(self, data: bytes, end: int, offset: int) -> bool:
        found = bulk(data, end, decode_rows)
        if found is None:
            return False
        reading = self.reading
        first = len(reading.tree)
        ends = found.ends
        sizes = [self._take_row(row) for row in found.values]
        if len(reading.tree) - first == len(ends):
            self.add_block(first, offset, ends)
            return True
        start = 0
        for size, stop in zip(sizes, ends, strict=True):
            reading.lines += 1
            for _ in range(size):
                reading.place(first, offset + start, stop - start, reading.lines)
                first += 1
            start = stop + 1
        return True
