"""Index of a Copilot CLI session."""

from __future__ import annotations

from branchline.formats.log_index import LogIndex

__all__ = ["CopilotLogIndex"]


class CopilotLogIndex(LogIndex):
    """Index that also holds the tool name of each call, which results do not contain."""

    def __init__(self) -> None:
        super().__init__("copilot")
        self.tool_names: dict[str, str] = {}
