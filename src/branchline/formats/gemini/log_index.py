"""A session of Gemini CLI as it was read."""

from __future__ import annotations

import re
from typing import NamedTuple

from branchline.formats.log_index import LogIndex

__all__ = ["EntrySource", "GeminiLogIndex", "parent_of"]

_AGENT_FILE = re.compile(r"[/\\]chats[/\\]([^/\\]+)[/\\][^/\\]+\.jsonl?$")


class EntrySource(NamedTuple):
    """Which part of its line an entry is, where it is not the whole line."""

    message: int | None = None
    """Its place in the list of messages that the line sets."""
    result_of: str | None = None
    """The call whose result it is."""


class GeminiLogIndex(LogIndex):
    """Beside the tree, where the newest version of each message lies and which part of a line an entry is."""

    def __init__(self) -> None:
        super().__init__("gemini")
        self.versions: dict[int, tuple[int, int]] = {}
        """Offset and size of the line with the newest version of an entry."""
        self.sources: dict[int, EntrySource] = {}


def parent_of(path: str) -> str | None:
    """The session whose sub-agent wrote this file; None for other files."""
    found = _AGENT_FILE.search(path)
    return None if found is None else found[1]
