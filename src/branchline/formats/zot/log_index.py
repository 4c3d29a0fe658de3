"""What reading a session of zot keeps: rows mean something only together with the rows before them."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, NamedTuple

from branchline.entries import Header
from branchline.formats.go_json import utc_time
from branchline.formats.log_index import LogIndex
from branchline.formats.zot.rows import User, is_summary
from branchline.formats.zot.running_totals import RunningTotals
from branchline.formats.zot.tool_names import ToolNames

__all__ = ["Meta", "ZotLogIndex"]


class Meta(NamedTuple):
    """A meta row: from which entry on it is in force, and what it says."""

    position: int
    fields: dict[str, Any]


class ZotLogIndex(LogIndex):
    """The reading of a session of zot."""

    def __init__(self) -> None:
        super().__init__("zot")
        self.version = self.current_version = 1
        self.metas: list[Meta] = []
        self.totals = RunningTotals()
        self.numbers: dict[int, int] = {}
        """For each tool result that is not the first of its row: which one it is."""
        self.calls = ToolNames()
        self.calls_open = False
        """Whether that answer is the last message of the file."""
        self.message_rows = 0
        self.own_from: int | None = None
        """The entry of the first message that did not come with the fork."""
        self.started = ""
        self._said: dict[str, Any] = {}

    def meta_at(self, position: int) -> dict[str, Any]:
        """The meta row in force at an entry; the first one for what stands before it."""
        if not self.metas:
            return {}
        return self.metas[max(0, bisect_right(self.metas, position, key=_position_of) - 1)].fields

    def add_meta(self, fields: dict[str, Any]) -> None:
        """Take in a meta row: the last one counts, where it says something."""
        self.metas.append(Meta(len(self.tree), fields))
        before = self._said.get("started")
        self._said.update([item for item in fields.items() if item[1]])
        if isinstance(title := fields.get("title"), str):
            self.title = title.strip() or self.title
        if (started := self._said.get("started")) != before:
            self.started = utc_time(_text(started))

    def set_header(self) -> None:
        """What all meta rows so far say together."""
        said = self._said
        metadata: dict[str, Any] = {
            name: text for name in ("provider", "model", "version") if (text := _text(said.get(name)))
        }
        if self.fork_point:
            metadata["fork_point"] = self.fork_point
        self.header = Header(
            id=_text(said.get("id")),
            timestamp=self.started,
            cwd=_text(said.get("cwd")),
            parent_session=_text(said.get("parent")) or None,
            metadata=metadata or None,
        )

    @property
    def fork_point(self) -> int:
        """How many messages the fork asked for; its parent may have had fewer."""
        count = self._said.get("fork_point")
        return count if isinstance(count, int) and not isinstance(count, bool) and count > 0 else 0

    def is_own(self, message: Any, before: int) -> bool:
        """Whether a fork itself says this, after so many messages: more than it took, or younger than it."""
        if not self.metas or (isinstance(message, User) and is_summary(message.meta)):
            return False
        return before >= self.fork_point or utc_time(message.time) > self.started > ""

    @property
    def inherited_entries(self) -> int:
        """How many entries came with the fork: everything before its first message of its own."""
        if self.header is None or self.header.parent_session is None:
            return 0
        return len(self.tree) if self.own_from is None else self.own_from


def _position_of(meta: Meta) -> int:
    return meta.position


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
