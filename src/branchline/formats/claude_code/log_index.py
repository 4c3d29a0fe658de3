"""Index of a transcript: the tree, and how its records relate to each other."""

from __future__ import annotations

from collections.abc import Container, Mapping
from itertools import islice
from typing import NamedTuple

from branchline.formats.claude_code.kinds import RESULT
from branchline.formats.claude_code.linker import ClaudeCodeLinker
from branchline.formats.log_index import LogIndex
from branchline.tree import ROOT

__all__ = [
    "NOT_SPENT",
    "ClaudeCodeLogIndex",
    "KeptRange",
    "Repeat",
    "answer_key",
    "spent_at",
    "usage_owner",
]

NOT_SPENT = -1
"""Marks an answer without recorded usage."""
_LAST_PLACE = (1 << 40) - 1
_MOST = 1 << 40


class Repeat(NamedTuple):
    """A record that repeats another one: its kind, and its parent in Claude Code's view."""

    kind: int
    parent: str | None


class KeptRange(NamedTuple):
    """What a compaction boundary records about the summary that follows it."""

    first: str | None
    tokens_before: int | float | None


class ClaudeCodeLogIndex(LogIndex):
    """Index of a transcript: the tree, and how its records relate to each other."""

    linker: ClaudeCodeLinker

    def __init__(self) -> None:
        super().__init__("claude-code")
        self.linker = ClaudeCodeLinker(self.tree)
        self.version_text = ""
        self.agent: str | None = None
        """The id of the sub-agent whose file this is."""
        self.session_ids: dict[str, None] = {}
        self.forked_from: dict[str, None] = {}
        self.background = False
        self.own_from: int | None = None
        """The first record that was not copied from the session that this one was branched from."""
        self.numbers: dict[int, int] = {}
        """The index of an entry within its line, for lines with several entries."""
        self.tool_names: dict[str, str] = {}
        self._results: dict[str, str] = {}
        self._looked_at = 0
        self.kept: dict[int, KeptRange] = {}
        self.repeated: dict[int, Repeat] = {}
        self.edits: dict[int, str] = {}
        """The results removed from the context, by the entry that records it."""
        self.spending: dict[str, int] = {}
        """For every answer: the largest output count of its records, and the first record with it."""
        self.converted_from: str | None = None
        """The session that this one was converted from, by path or id."""
        self.leaf_named_by = ""

    @property
    def kinds(self) -> list[int]:
        return self.linker.kinds

    @property
    def repeats(self) -> Container[int]:
        return self.repeated

    @property
    def tasks(self) -> Container[int]:
        return self.linker.sidechain if self.agent is None else range(len(self.tree))

    @property
    def answer_ids(self) -> Mapping[int, str]:
        return {usage_owner(spent): key for key, spent in self.spending.items() if spent != NOT_SPENT}

    @property
    def inherited_entries(self) -> int:
        if self.converted_from is not None:
            return max(super().inherited_entries, max(self.linker.exact, default=ROOT) + 1)
        if not self.forked_from:
            return 0
        return len(self.tree) if self.own_from is None else self.own_from

    @property
    def counted_elsewhere(self) -> int:
        return max(self.linker.exact, default=ROOT) + 1

    @property
    def active_line(self) -> list[int]:
        """Return all entries of the line that contains the leaf."""
        return [] if self.leaf == ROOT else self.tree.path_positions(self.linker.line_end(self.leaf))

    def spends(self, position: int, message: str | None, request: str | None) -> bool:
        """Return whether the usage in this record counts: once for every answer."""
        if not message:
            return True
        spent = self.spending.get(answer_key(message, request))
        return spent is not None and spent != NOT_SPENT and usage_owner(spent) == position

    def result_of(self, call: str) -> str | None:
        """Return the entry that holds the result of a call."""
        calls = self.linker.calls
        for position in islice(calls, self._looked_at, None):
            if self.linker.kinds[position] == RESULT:
                for answered in calls[position].split("\n"):
                    self._results[answered] = self.tree.keys[position]
        self._looked_at = len(calls)
        return self._results.get(call)


def answer_key(message: str, request: str | None) -> str:
    """Return the key that all records of one answer share."""
    return f"{message}\n{request or ''}"


def spent_at(position: int, output: float | None) -> int:
    """Encode record position and output count as one number: larger output first, then the earlier record."""
    written = int(min(max(0, output or 0), _MOST))  # argument order matters: NaN is never the larger one
    return written << 40 | (_LAST_PLACE - position)


def usage_owner(spent: int) -> int:
    """Return the record position encoded in such a number."""
    return _LAST_PLACE - (spent & _LAST_PLACE)
