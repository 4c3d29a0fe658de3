"""Index of a Copilot CLI session."""

from __future__ import annotations

from branchline.formats.log_index import LinkedLogIndex

__all__ = ["CopilotLogIndex"]


class CopilotLogIndex(LinkedLogIndex):
    """Index that also locates images and shell commands, which other events refer to."""

    renames_copies = True

    def __init__(self) -> None:
        super().__init__("copilot")
        self.assets: dict[str, int] = {}
        """The position of the event with each asset."""
        self.commands: dict[str, int] = {}
        """The position of the event with each shell command of the user, by the id of the call."""
        self.first_kept: dict[int, int] = {}
        """By compaction: the first message that was said while it ran, which it keeps."""

    @property
    def inherited_entries(self) -> int:
        """The number of entries that are older than the conversion, with the record of it."""
        if self.header is None or self.header.parent_session is None:
            return 0
        return self.converted_entries
