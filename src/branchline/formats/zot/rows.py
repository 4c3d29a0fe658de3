"""Many rows of zot at once: decoded no further than a tree, or a list, asks; and turned into columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, repeat
from typing import Any, ClassVar

import msgspec

__all__ = [
    "NO_MESSAGE",
    "Answer",
    "AnswerBlock",
    "RowColumns",
    "ToolResultsRow",
    "User",
    "decode_rows",
    "decode_shapes",
    "is_summary",
]


class AnswerBlock(msgspec.Struct, gc=False):
    """A block of an answer: text, or a call."""

    text: str = ""
    id: str | None = None
    name: str | None = None


class _Result(msgspec.Struct, gc=False):
    """One result; here only their number counts."""


class User(msgspec.Struct, tag_field="role", tag="user", gc=False):
    role: ClassVar[str | None] = "user"
    time: str = ""
    meta: Any = None


class Answer(msgspec.Struct, tag_field="role", tag="assistant", gc=False):
    role: ClassVar[str | None] = "assistant"
    content: list[AnswerBlock] | None = None
    time: str = ""


class ToolResultsRow(msgspec.Struct, tag_field="role", tag="tool", gc=False):
    role: ClassVar[str | None] = "toolResult"
    content: list[_Result] | None = None
    time: str = ""


class _AnswerShape(msgspec.Struct, tag_field="role", tag="assistant", gc=False):
    """An answer for a list, which does not ask what it says."""

    role: ClassVar[str | None] = "assistant"
    time: str = ""


class _Silence(msgspec.Struct, frozen=True, gc=False):
    """What stands for the message of a row without one."""

    role: ClassVar[str | None] = None
    time: str = ""


NO_MESSAGE = _Silence()


class _MessageRow(msgspec.Struct, tag_field="type", tag="message", gc=False):
    message: User | Answer | ToolResultsRow


class _MessageShape(msgspec.Struct, tag_field="type", tag="message", gc=False):
    message: User | _AnswerShape | ToolResultsRow


class _Numbers(msgspec.Struct, gc=False):
    """The totals of a usage row; nobody asks for them here."""


class _UsageRow(msgspec.Struct, tag_field="type", tag="usage", gc=False):
    message: ClassVar[_Silence] = NO_MESSAGE
    cumulative: _Numbers


decode_rows: Callable[[memoryview], Sequence[Any]] = msgspec.json.Decoder(
    _MessageRow | _UsageRow
).decode_lines
"""Messages and usage as zot writes them; anything else is an error."""

decode_shapes: Callable[[memoryview], Sequence[Any]] = msgspec.json.Decoder(
    _MessageShape | _UsageRow
).decode_lines
"""The same for lists."""


class RowColumns:
    """Rows as columns of a tree, one value for each row; times are those of the file, "" in usage rows."""

    __slots__ = ("messages", "roles", "shared", "times", "types")

    def __init__(self, rows: Sequence[Any]) -> None:
        messages: list[Any] = [row.message for row in rows]
        self.messages = messages
        self.roles: list[str | None] = [message.role for message in messages]
        self.types = ["usage" if role is None else "message" for role in self.roles]
        self.times: list[str] = [message.time for message in messages]
        self.shared: dict[int, int] = {}
        """The rows with more than one result, and how many; filled by who looks at results."""

    @property
    def entries(self) -> int:
        """How many entries the rows are."""
        return len(self.messages) + sum(self.shared.values()) - len(self.shared)

    @property
    def sizes(self) -> list[int]:
        """How many entries each row is."""
        sizes = [1] * len(self.messages)
        for number, count in self.shared.items():
            sizes[number] = count
        return sizes

    def spread(self) -> None:
        """One value for each entry instead: a row with several results is several entries."""
        sizes = self.sizes
        for name in ("types", "roles", "times", "messages"):
            setattr(self, name, list(chain.from_iterable(map(repeat, getattr(self, name), sizes))))


def is_summary(meta: Any) -> bool:
    """Whether a message with this meta stands for what was said before."""
    return isinstance(meta, dict) and meta.get("compaction") == "true"
