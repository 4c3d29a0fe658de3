"""A session of opencode as it was read."""

from __future__ import annotations

from branchline.formats.log_index import LogIndex

__all__ = ["NAME", "OpencodeLogIndex"]

NAME = "opencode"


class OpencodeLogIndex(LogIndex):
    """Beside the tree, what messages and parts became whose ids are not those of entries."""

    def __init__(self) -> None:
        super().__init__(NAME)
        self.aliases: dict[str, str] = {}
        """The entry of a message or part with another id."""
        self.kept_from: dict[int, str] = {}
        """For compactions, the first message that is kept."""
        self.is_native = True
        """Whether each line is a native entry, as our own writer makes them."""

    def entry_named(self, name: str) -> str | None:
        """The entry that a message or part became first; None if it became none."""
        key = self.aliases.get(name, name)
        return key if self.linker.latest_with_id(key) is not None else None
