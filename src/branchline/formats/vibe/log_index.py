"""Index of a Mistral Vibe session."""

from __future__ import annotations

from branchline.formats.log_index import LogIndex

__all__ = ["VibeLogIndex"]


class VibeLogIndex(LogIndex):
    """Index of a session, a chain of messages."""

    def __init__(self) -> None:
        super().__init__("vibe")
