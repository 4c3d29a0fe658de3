"""What reading a session of piglet keeps beside the tree: the last meta row, which counts as a whole."""

from __future__ import annotations

from typing import Any

from branchline.entries import Header
from branchline.formats.go_json import utc_time
from branchline.formats.log_index import LogIndex

__all__ = ["PigletLogIndex"]


class PigletLogIndex(LogIndex):
    """The reading of a session of piglet."""

    def __init__(self) -> None:
        super().__init__("piglet")
        self.version = self.current_version = 1
        self.meta: dict[str, Any] | None = None

    def set_meta(self, fields: dict[str, Any]) -> None:
        """Take in a meta row that names the session."""
        self.meta = fields
        self.title = _text(fields.get("title")).strip() or None
        metadata: dict[str, Any] = {}
        if model := _text(fields.get("model")):
            metadata["model"] = model
        if self.fork_point:
            metadata["fork_point"] = self.fork_point
        self.header = Header(
            id=_text(fields.get("id")),
            timestamp=utc_time(_text(fields.get("createdAt"))),
            cwd=_text(fields.get("cwd")),
            parent_session=_text(fields.get("parentId")) or None,
            metadata=metadata or None,
        )

    @property
    def fork_point(self) -> int:
        """How many messages came with the fork."""
        count = (self.meta or {}).get("forkPoint")
        return count if isinstance(count, int) and not isinstance(count, bool) and count > 0 else 0

    @property
    def model(self) -> str | None:
        """The model of the session, as its last meta row says."""
        return _text((self.meta or {}).get("model")) or None

    @property
    def inherited_entries(self) -> int:
        """How many entries came with the fork: those up to the last message that was copied."""
        left = self.fork_point
        if self.header is None or self.header.parent_session is None or not left:
            return 0
        for position, kind in enumerate(self.tree.types):
            if kind == "message":
                left -= 1
                if not left:
                    return position + 1
        return len(self.tree)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
