"""Index of a zot session: the state that gives a row its meaning, collected from the rows before it."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, NamedTuple

from branchline.entries import Header
from branchline.formats.go_json import utc_time
from branchline.formats.json_values import text_of, whole_number
from branchline.formats.log_index import LogIndex
from branchline.formats.zot.earlier_rows import EarlierRows
from branchline.formats.zot.rows import CumulativeUsage, UsageRow, User, calls_in, is_summary

__all__ = ["Meta", "ZotLogIndex"]


class Meta(NamedTuple):
    """A meta row, with the position of the first entry that it applies to."""

    position: int
    fields: dict[str, Any]


class ZotLogIndex(LogIndex):
    """Index of a zot session."""

    renames_copies = True

    def __init__(self) -> None:
        super().__init__("zot")
        self.version = self.current_version = 1
        self.metas: list[Meta] = []
        self.totals = CumulativeUsage()
        """The totals at the end of the file, to which appended usage is added."""
        self.usage_rows = EarlierRows("usage")
        self.numbers: dict[int, int] = {}
        """For tool results that are not the first in their row: their index in it."""
        self.calls: dict[str, str] = {}
        """The calls of the last answer: id to tool name."""
        self._answers = EarlierRows("assistant")
        self.calls_open = False
        """Whether the last message of the file is an answer, so that results of its calls may follow."""
        self.message_rows = 0
        self.own_from: int | None = None
        """The entry of the first message that was not copied by a fork."""
        self.started = ""
        self._meta_fields: dict[str, Any] = {}

    def meta_at(self, position: int) -> dict[str, Any]:
        """Return the meta row that applies to an entry; before the first meta row, that one."""
        if not self.metas:
            return {}
        return self.metas[max(0, bisect_right(self.metas, position, key=_position_of) - 1)].fields

    def tool_of(self, position: int, call: str) -> str:
        """Return the tool of a result, as named by the last answer before it, or ""."""
        row = self._answers.before(position, self.tree.roles, self)
        return "" if row is None else calls_in(row.message).get(call, "")

    def totals_before(self, position: int) -> CumulativeUsage:
        """Return the totals of the last usage entry before this entry."""
        row = self.usage_rows.before(position, self.tree.types, self)
        return row.cumulative if isinstance(row, UsageRow) else CumulativeUsage()

    def add_meta(self, fields: dict[str, Any]) -> None:
        """Apply a meta row; its empty fields leave earlier values unchanged."""
        self.metas.append(Meta(len(self.tree), fields))
        before = self._meta_fields.get("started")
        self._meta_fields.update([item for item in fields.items() if item[1]])
        if isinstance(title := fields.get("title"), str):
            self.title = title.strip() or self.title
        if (started := self._meta_fields.get("started")) != before:
            self.started = utc_time(text_of(started))

    def set_header(self) -> None:
        """Build the header from all meta rows so far."""
        meta = self._meta_fields
        metadata: dict[str, Any] = {
            name: text for name in ("provider", "model", "version") if (text := text_of(meta.get(name)))
        }
        if self.fork_point:
            metadata["fork_point"] = self.fork_point
        self.header = Header(
            id=text_of(meta.get("id")),
            timestamp=self.started,
            cwd=text_of(meta.get("cwd")),
            parent_session=text_of(meta.get("parent")) or None,
            metadata=metadata or None,
        )

    @property
    def fork_point(self) -> int:
        """The number of messages that the fork asked for; its parent may have had fewer."""
        return whole_number(self._meta_fields.get("fork_point"))

    def is_own(self, message: Any, before: int) -> bool:
        """Return whether a message was written in the fork: it exceeds the fork point or is newer than the
        fork.
        """
        if not self.metas or (isinstance(message, User) and is_summary(message.meta)):
            return False
        return before >= self.fork_point or utc_time(message.time) > self.started > ""

    @property
    def inherited_entries(self) -> int:
        """The number of entries copied by the fork: everything before its first new message."""
        if self.header is None or self.header.parent_session is None:
            return 0
        return len(self.tree) if self.own_from is None else self.own_from


def _position_of(meta: Meta) -> int:
    return meta.position
