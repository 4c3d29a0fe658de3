"""Many rows of zot at once: decoded no further than a tree asks, and turned into columns."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, ClassVar

import msgspec

from branchline.formats.golang import utc_times

__all__ = [
    "Answer",
    "Columns",
    "Message",
    "Results",
    "Sums",
    "User",
    "Words",
    "columns",
    "decode_rows",
    "digest",
    "is_summary",
]

_TAIL = 128  # the part of a row that its id is made of


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
    time: str = ""
    meta: Any = None


class Answer(msgspec.Struct, tag_field="role", tag="assistant", gc=False):
    content: tuple[Words, ...] | None = None
    time: str = ""


class Results(msgspec.Struct, tag_field="role", tag="tool", gc=False):
    content: tuple[_Result, ...] | None = None
    time: str = ""


Message = User | Answer | Results


class _MessageRow(msgspec.Struct, tag_field="type", tag="message", gc=False):
    type: ClassVar[str] = "message"
    message: Message


class _UsageRow(msgspec.Struct, tag_field="type", tag="usage", gc=False):
    type: ClassVar[str] = "usage"
    message: ClassVar[None] = None
    cumulative: Sums


Row = _MessageRow | _UsageRow

decode_rows = msgspec.json.Decoder(Row).decode_lines
"""Messages and usage as zot writes them; anything else is an error."""

_ROLE_OF = {User: "user", Answer: "assistant", Results: "toolResult", type(None): None}


class Columns:
    """Rows as the columns of a tree, one value for each row."""

    __slots__ = ("messages", "roles", "said", "shared", "spent", "times", "types")

    def __init__(self, rows: Sequence[Any]) -> None:
        self.types: list[str] = [row.type for row in rows]
        self.messages: list[Message | None] = [row.message for row in rows]
        self.spent: list[Sums] = [row.cumulative for row in rows if row.message is None]
        self.roles: list[str | None] = [_ROLE_OF[type(message)] for message in self.messages]
        self.said = ["" if message is None else message.time for message in self.messages]
        self.times = utc_times(self.said)
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
            for column in (self.types, self.roles, self.times, self.messages):
                column[number:number] = [column[number]] * more  # type: ignore[call-overload]


def columns(rows: Sequence[Any]) -> Columns:
    return Columns(rows)


def digest(row: bytes) -> str:
    """What the id of a row is made of: its end, where its time stands."""
    return blake2b(row[-_TAIL:], digest_size=8).hexdigest()


def digests(data: bytes, starts: Sequence[int], ends: Sequence[int]) -> list[str]:
    """What the ids of many rows are made of."""
    return [
        blake2b(data[start if start > end - _TAIL else end - _TAIL : end], digest_size=8).hexdigest()
        for start, end in zip(starts, ends, strict=True)
    ]


def is_summary(meta: Any) -> bool:
    """Whether a message with this meta stands for what was said before."""
    return isinstance(meta, dict) and meta.get("compaction") == "true"
