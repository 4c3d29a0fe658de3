"""Index of a Cline session."""

from __future__ import annotations

from branchline.formats.log_index import LogIndex

__all__ = ["ClineLogIndex"]


class ClineLogIndex(LogIndex):
    """Index that also holds the calls that results answer, and their tools."""

    def __init__(self) -> None:
        super().__init__("cline")
        self.results: dict[int, str] = {}
        """The call of each result; a message may hold several."""
        self.tool_names: dict[str, str] = {}
