"""A session of Cline as it was read."""

from __future__ import annotations

from branchline.formats.log_index import LogIndex

__all__ = ["ClineLogIndex"]


class ClineLogIndex(LogIndex):
    """Beside the tree, the calls that entries are results of, and their tools."""

    def __init__(self) -> None:
        super().__init__("cline")
        self.results: dict[int, str] = {}
        """The call of each result; a message may hold several."""
        self.tool_names: dict[str, str] = {}
