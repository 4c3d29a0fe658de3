"""What reading needs of induscode's lines, decoded many at a time when all of them are in good order.

A line that does not fit is looked at with care, and :func:`bad_values` says what is wrong with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import msgspec

__all__ = ["SCHEMA", "InduscodeRow", "MessageShape", "bad_values", "decode_lines", "seen_in", "spoken_at"]

SCHEMA = "indus/transcript@1"
_ENDED_WELL = (None, "", "stop", "toolUse")
_LAST_INSTANT = 8.64e15  # the last millisecond that programs of this family can hold
_TOKENS = ("input", "output", "cacheRead", "cacheWrite", "totalTokens")
_COSTS = ("input", "output", "cacheRead", "cacheWrite", "total")
_Number = int | float | None


class _Words(msgspec.Struct, tag_field="type", tag="text", gc=False):
    text: str = ""


class _Thought(msgspec.Struct, tag_field="type", tag="thinking", gc=False):
    pass


class _Picture(msgspec.Struct, tag_field="type", tag="image", gc=False):
    pass


class _Object(msgspec.Struct, gc=False):
    """Any object; nothing of it is kept."""


class _Call(msgspec.Struct, tag_field="type", tag="toolCall", gc=False):
    arguments: _Object | None = None


class _Cost(msgspec.Struct, gc=False):
    input: _Number = None
    output: _Number = None
    cacheRead: _Number = None  # noqa: N815
    cacheWrite: _Number = None  # noqa: N815
    total: _Number = None


class _Usage(_Cost, gc=False):
    totalTokens: _Number = None  # noqa: N815
    cost: _Cost | None = None


class _Message(msgspec.Struct, tag_field="role", gc=False):
    type: ClassVar[str] = "message"
    role: ClassVar[str | None] = None
    timestamp: _Number = None

    def is_quiet(self) -> bool:
        return False


class _User(_Message, tag="user", gc=False):
    role: ClassVar[str | None] = "user"


class _Assistant(_Message, tag="assistant", gc=False):
    role: ClassVar[str | None] = "assistant"
    content: tuple[_Words | _Thought | _Picture | _Call, ...] = ()
    usage: _Usage | None = None
    stopReason: str | None = None  # noqa: N815

    def is_quiet(self) -> bool:
        """An answer without words for a person that ended well."""
        for part in self.content:
            if type(part) is _Words and part.text.strip():
                return False
        return self.stopReason in _ENDED_WELL


class _Tool(_Message, tag="toolResult", gc=False):
    role: ClassVar[str | None] = "toolResult"


class _Bash(_Message, tag="bashExecution", gc=False):
    role: ClassVar[str | None] = "bashExecution"


class _Custom(_Message, tag="custom", gc=False):
    type: ClassVar[str] = "custom_message"


class _Branch(_Message, tag="branchSummary", gc=False):
    type: ClassVar[str] = "branch_summary"


class _Compaction(_Message, tag="compactionSummary", gc=False):
    role: ClassVar[str | None] = "compactionSummary"
    tokensBefore: _Number = None  # noqa: N815


class InduscodeRow(msgspec.Struct, gc=False):
    """An entry, which has ``id``, ``role``, ``at`` and ``message``; or a head, which may have a ``leaf``."""

    schema: Literal["indus/transcript@1"]
    kind: Literal["entry", "head"]
    id: str | msgspec.UnsetType = msgspec.UNSET
    prev: str | None = None
    role: str | msgspec.UnsetType = msgspec.UNSET
    at: str | msgspec.UnsetType = msgspec.UNSET
    message: _User | _Assistant | _Tool | _Bash | _Custom | _Branch | _Compaction | None = None
    leaf: str | msgspec.UnsetType | None = msgspec.UNSET


decode_lines: Callable[[memoryview], Sequence[InduscodeRow]] = msgspec.json.Decoder(InduscodeRow).decode_lines


# -- one line, with care ----------------------------------------------------------------------------------


class MessageShape(NamedTuple):
    """What the tree wants to know of a message."""

    type: str
    role: str | None
    quiet: bool = False


_TYPES = {"custom": "custom_message", "branchSummary": "branch_summary"}


def seen_in(message: Any) -> MessageShape:
    """What can be told of a message of any shape."""
    role = message.get("role") if isinstance(message, dict) else None
    if not isinstance(role, str):
        return MessageShape("message", "")
    if role in _TYPES:
        return MessageShape(_TYPES[role], None)
    return MessageShape("message", role, role == "assistant" and _is_quiet(message))


def _is_quiet(message: dict[str, Any]) -> bool:
    content, reason = message.get("content"), message.get("stopReason")
    if reason not in _ENDED_WELL:
        return False
    if isinstance(content, str):
        return not content.strip()
    return not any(
        isinstance(part, dict)
        and part.get("type") == "text"
        and isinstance(text := part.get("text"), str)
        and text.strip()
        for part in (content if isinstance(content, list) else ())
    )


def spoken_at(time: Any) -> float:
    """The time of a message in milliseconds; 0 when it is none."""
    return time if _is_number(time) and 0 < time <= _LAST_INSTANT else 0


def bad_values(message: Any) -> Iterator[str]:
    """The names of values that are not what they should be; most keep induscode from opening the file."""
    if not isinstance(message, dict):
        return
    if _is_bad(message.get("timestamp")):
        yield "timestamp"
    if message.get("role") == "compactionSummary" and _is_bad(message.get("tokensBefore")):
        yield "tokensBefore"
    if message.get("role") != "assistant":
        return
    usage, content = message.get("usage"), message.get("content")
    if isinstance(usage, dict):
        cost = usage.get("cost")
        numbers = [usage.get(name) for name in _TOKENS]
        numbers += [cost.get(name) for name in _COSTS] if isinstance(cost, dict) else []
        if any(map(_is_bad, numbers)):
            yield "usage"
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and part.get("type") == "toolCall":
            arguments = part.get("arguments")
            if arguments is not None and not isinstance(arguments, dict):
                yield "arguments"


def _is_bad(value: Any) -> bool:
    return value is not None and not isinstance(value, bool) and not _is_number(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
