"""Index of a piglet session: the tree and the last meta row, which replaces all earlier ones."""

from __future__ import annotations

from typing import Any

from branchline.entries import Header
from branchline.formats.go_json import utc_time
from branchline.formats.json_values import text_of, whole_number
from branchline.formats.log_index import LogIndex

__all__ = ["PigletLogIndex"]


class PigletLogIndex(LogIndex):
    """Index of a piglet session."""

    def __init__(self) -> None:
        super().__init__("piglet")
        self.version = self.current_version = 1
        self.meta: dict[str, Any] | None = None

    def set_meta(self, fields: dict[str, Any]) -> None:
        """Apply a meta row that names the session."""
        self.meta = fields
        self.title = text_of(fields.get("title")).strip() or None
        metadata: dict[str, Any] = {}
        if model := text_of(fields.get("model")):
            metadata["model"] = model
        if self.fork_point:
            metadata["fork_point"] = self.fork_point
        self.header = Header(
            id=text_of(fields.get("id")),
            timestamp=utc_time(text_of(fields.get("createdAt"))),
            cwd=text_of(fields.get("cwd")),
            parent_session=text_of(fields.get("parentId")) or None,
            metadata=metadata or None,
        )

    @property
    def fork_point(self) -> int:
        """The number of messages copied by the fork."""
        return whole_number((self.meta or {}).get("forkPoint"))

    @property
    def model(self) -> str | None:
        """The model of the session, from the last meta row."""
        return text_of((self.meta or {}).get("model")) or None

    @property
    def inherited_entries(self) -> int:
        """The number of entries copied by the fork: those up to the last copied message."""
        left = self.fork_point
        if self.header is None or self.header.parent_session is None or not left:
            return 0
        for position, kind in enumerate(self.tree.types):
            if kind == "message":
                left -= 1
                if not left:
                    return position + 1
        return len(self.tree)
