"""Many rows of zot at once: decoded no further than a tree asks, and turned into columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from branchline.formats.golang import utc_times

__all__ = [
    "SILENCE",
    "Answer",
    "Columns",
    "Message",
    "Results",
    "Silence",
    "Sums",
    "User",
    "Words",
    "decode_rows",
    "is_summary",
]


class Sums(msgspec.Struct, frozen=True, gc=False):
    """The running totals of a usage row."""

    input_tokens: int | float = 0
    output_tokens: int | float = 0
    cache_read_tokens: int | float = 0
    cache_write_tokens: int | float = 0
    cost_usd: int | float = 0


class Words(msgspec.Struct, gc=False):
    """A block of an answer: text, or a call."""

    text: str = ""
    id: str | None = None
    name: str | None = None


class _Result(msgspec.Struct, gc=False):
    call_id: str


class User(msgspec.Struct, tag_field="role", tag="user", gc=False):
    role: ClassVar[str | None] = "user"
    time: str = ""
    meta: Any = None


class Answer(msgspec.Struct, tag_field="role", tag="assistant", gc=False):
    role: ClassVar[str | None] = "assistant"
    content: tuple[Words, ...] | None = None
    time: str = ""


class Results(msgspec.Struct, tag_field="role", tag="tool", gc=False):
    role: ClassVar[str | None] = "toolResult"
    content: tuple[_Result, ...] | None = None
    time: str = ""


class Silence(msgspec.Struct, frozen=True, gc=False):
    """What stands for the message of a row without one."""

    role: ClassVar[str | None] = None
    time: str = ""


Message = User | Answer | Results
SILENCE = Silence()


class _MessageRow(msgspec.Struct, tag_field="type", tag="message", gc=False):
    type: ClassVar[str] = "message"
    message: Message


class _UsageRow(msgspec.Struct, tag_field="type", tag="usage", gc=False):
    type: ClassVar[str] = "usage"
    message: ClassVar[Silence] = SILENCE
    cumulative: Sums


Row = _MessageRow | _UsageRow

decode_rows = msgspec.json.Decoder(Row).decode_lines
"""Messages and usage as zot writes them; anything else is an error."""


class Columns:
    """Rows as the columns of a tree, one value for each row.

    A row without a time has that of the row before it; ``time`` is that of the last row before these.
    """

    __slots__ = ("messages", "roles", "shared", "spent", "times", "types")

    def __init__(self, rows: Sequence[Any], time: str) -> None:
        self.types: list[str] = [row.type for row in rows]
        self.messages: list[Message | Silence] = [row.message for row in rows]
        self.spent: list[Sums] = [row.cumulative for row in rows if row.message is SILENCE]
        self.roles: list[str | None] = [message.role for message in self.messages]
        self.times = utc_times([message.time for message in self.messages])
        for number, message in enumerate(self.messages):
            if message is SILENCE:
                self.times[number] = time
            else:
                time = self.times[number] or time
        self.shared = {
            number: len(message.content)
            for number, message in enumerate(self.messages)
            if type(message) is Results and message.content and len(message.content) > 1
        }
        """The rows with more than one result, and how many."""

    def spread(self) -> None:
        """One value for each entry instead: a row with several results is several entries."""
        for number in sorted(self.shared, reverse=True):
            more = self.shared[number] - 1
            columns: tuple[list[Any], ...] = (self.types, self.roles, self.times, self.messages)
            for column in columns:
                column[number:number] = [column[number]] * more


def is_summary(meta: Any) -> bool:
    """Whether a message with this meta stands for what was said before."""
    return isinstance(meta, dict) and meta.get("compaction") == "true"
