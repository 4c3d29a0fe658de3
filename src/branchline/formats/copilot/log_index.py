"""A session of Copilot CLI as it was read."""

from __future__ import annotations

from branchline.formats.log_index import LogIndex

__all__ = ["CopilotLogIndex"]


class CopilotLogIndex(LogIndex):
    """Beside the tree, which tool each call is of: results do not say it."""

    def __init__(self) -> None:
        super().__init__("copilot")
        self.tool_names: dict[str, str] = {}
