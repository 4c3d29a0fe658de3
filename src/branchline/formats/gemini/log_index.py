"""Index of a Gemini CLI session."""

from __future__ import annotations

import re
from typing import NamedTuple

from branchline.formats.log_index import LogIndex

__all__ = ["EntryPart", "GeminiLogIndex", "parent_of"]

_AGENT_FILE = re.compile(r"[/\\]chats[/\\]([^/\\]+)[/\\][^/\\]+\.jsonl?$")


class EntryPart(NamedTuple):
    """The part of its line that an entry is, if it is not the whole line."""

    message: int | None = None
    """Its index in the list of messages that the line sets."""
    result_of: str | None = None
    """The call whose result it is."""


class GeminiLogIndex(LogIndex):
    """Index that also locates the newest version of each message, and entries that are parts of a line."""

    def __init__(self) -> None:
        super().__init__("gemini")
        self.versions: dict[int, tuple[int, int]] = {}
        """Offset and size of the line with the newest version of an entry."""
        self.sources: dict[int, EntryPart] = {}


def parent_of(path: str) -> str | None:
    """Return the session whose sub-agent wrote this file; None for other files."""
    found = _AGENT_FILE.search(path)
    return None if found is None else found[1]
