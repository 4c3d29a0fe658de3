"""A session of opencode as it was read."""

from __future__ import annotations

from branchline.formats.common.derived_format import DerivedLogIndex
from branchline.formats.log_index import first_after_fork

__all__ = ["NAME", "ORIGIN", "OpencodeLogIndex"]

NAME = "opencode"
ORIGIN = "branchline"
"""The member of a session's metadata that names the session it was converted from."""


class OpencodeLogIndex(DerivedLogIndex):
    """Beside the tree, what messages became whose ids are not those of entries."""

    renames_copies = True

    def __init__(self) -> None:
        super().__init__(NAME)
        self.aliases: dict[str, str] = {}
        """The entry of a message with another id."""
        self.kept_from: dict[int, str] = {}
        """For compactions, the first message that is kept."""

    @property
    def inherited_entries(self) -> int:
        """The number of entries that are older than the conversion; forks of opencode name no parent."""
        told = (self.header and self.header.metadata) or {}
        return first_after_fork(told["converted"], self.tree.times) if "converted" in told else 0

    def entry_named(self, name: str) -> str | None:
        """The entry that a message or part became first; None if it became none."""
        key = self.aliases.get(name, name)
        return key if self.linker.latest_with_id(key) is not None else None
