"""A session of Mistral Vibe as it was read."""

from __future__ import annotations

from branchline.formats.log_index import LogIndex

__all__ = ["VibeLogIndex"]


class VibeLogIndex(LogIndex):
    """The tree of a session: one line of messages."""

    def __init__(self) -> None:
        super().__init__("vibe")
