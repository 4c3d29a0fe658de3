"""Index of a Copilot CLI session."""

from __future__ import annotations

from branchline.formats.log_index import LinkedLogIndex

__all__ = ["CopilotLogIndex"]


class CopilotLogIndex(LinkedLogIndex):
    """Index of a Copilot CLI session, whose results do not contain the name of the tool."""

    def __init__(self) -> None:
        super().__init__("copilot")
