"""A session of Qwen Code as it was read."""

from __future__ import annotations

import re

from branchline.formats.log_index import LogIndex

__all__ = ["ORIGIN", "QwenLogIndex", "agent_of"]

ORIGIN = "branchline"
"""The subtype of the record with which a file begins that was written here."""

_AGENT_FILE = re.compile(r"[/\\]subagents[/\\]([^/\\]+)[/\\](agent-[^/\\]+)\.jsonl$")


class QwenLogIndex(LogIndex):
    """Beside the tree, how much of it was copied from another session."""

    def __init__(self) -> None:
        super().__init__("qwen")
        self.copied = 0
        """How many entries at the beginning are copies of another session's."""
        self.forked_from: str | None = None
        self.origin: str | None = None
        """The session that this one was converted from."""

    @property
    def inherited_entries(self) -> int:
        return self.copied


def agent_of(path: str) -> tuple[str, str] | None:
    """The session that started a sub-agent, and the name of the sub-agent's file; None for other files."""
    found = _AGENT_FILE.search(path)
    return None if found is None else (found[1], found[2])
