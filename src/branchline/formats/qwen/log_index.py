"""Index of a Qwen Code session."""

from __future__ import annotations

import re

from branchline.formats.log_index import LinkedLogIndex

__all__ = ["ORIGIN", "QwenLogIndex", "agent_of"]

ORIGIN = "branchline"
"""The subtype of records that branchline adds: the first of a file, and one that marks the leaf."""

_AGENT_FILE = re.compile(r"[/\\]subagents[/\\]([^/\\]+)[/\\](agent-[^/\\]+)\.jsonl$")


class QwenLogIndex(LinkedLogIndex):
    """Index that also tracks which entries were copied from another session."""

    def __init__(self) -> None:
        super().__init__("qwen")
        self.copied = 0
        """The number of entries at the start that were copied from another session."""
        self.forked_from: str | None = None
        self.origin: str | None = None
        """The session that this one was converted from."""

    @property
    def counted_elsewhere(self) -> int:
        return 0 if self.origin is None else self.inherited_entries

    @property
    def inherited_entries(self) -> int:
        if self.origin is None or self.header is None:
            return self.copied
        return max(self.copied, self.converted_entries)


def agent_of(path: str) -> tuple[str, str] | None:
    """Return the session that started a sub-agent and the name of its file; None for other files."""
    found = _AGENT_FILE.search(path)
    return None if found is None else (found[1], found[2])
