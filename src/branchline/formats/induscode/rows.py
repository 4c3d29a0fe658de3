"""induscode's lines as typed rows: decoded in bulk, or made from the fields of one object.

The typed decoder rejects a line that does not fit. :func:`row_from` still makes a row of it, without the
values that do not fit, and :func:`bad_values` names these.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, Literal, get_args

import msgspec

from branchline.formats.json_values import dict_of, optional_text, text_of

__all__ = [
    "SCHEMA",
    "EntryRow",
    "HeadRow",
    "InduscodeRow",
    "activity_time",
    "bad_values",
    "decode_lines",
    "finite",
    "messages_of",
    "row_from",
]

SCHEMA: Final = "indus/transcript@1"
_ENDED_WELL = (None, "", "stop", "toolUse")
_LAST_INSTANT = 8.64e15  # the last millisecond that JavaScript dates can represent
_TOKENS = ("input", "output", "cacheRead", "cacheWrite", "totalTokens")
_COSTS = ("input", "output", "cacheRead", "cacheWrite", "total")
_Number = int | float | None


class _TextBlock(msgspec.Struct, tag_field="type", tag="text", gc=False):
    text: str = ""


class _Thought(msgspec.Struct, tag_field="type", tag="thinking", gc=False):
    pass


class _Picture(msgspec.Struct, tag_field="type", tag="image", gc=False):
    pass


class _Object(msgspec.Struct, gc=False):
    """Any object; no fields are kept."""


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
    content: tuple[_TextBlock | _Thought | _Picture | _Call, ...] = ()
    usage: _Usage | None = None
    stopReason: str | None = None  # noqa: N815

    def is_quiet(self) -> bool:
        """Return whether this is a textless answer that ended normally."""
        for part in self.content:
            if type(part) is _TextBlock and part.text.strip():
                return False
        return self.stopReason in _ENDED_WELL


class _Tool(_Message, tag="toolResult", gc=False):
    role: ClassVar[str | None] = "toolResult"


class _Bash(_Message, tag="bashExecution", gc=False):
    role: ClassVar[str | None] = "bashExecution"


class _Custom(_Message, tag="custom", gc=False):
    type: ClassVar[str] = "custom_message"


_NOTE = _Custom()


class _Branch(_Message, tag="branchSummary", gc=False):
    type: ClassVar[str] = "branch_summary"


class _Compaction(_Message, tag="compactionSummary", gc=False):
    role: ClassVar[str | None] = "compactionSummary"
    tokensBefore: _Number = None  # noqa: N815


class _Unknown(msgspec.Struct, gc=False):
    """A message of another role, which the typed decoder rejects."""

    type: ClassVar[str] = "message"
    role: str
    timestamp: _Number = None

    def is_quiet(self) -> bool:
        return False


_KnownMessage = _User | _Assistant | _Tool | _Bash | _Custom | _Branch | _Compaction
_MESSAGES: dict[str, type[_KnownMessage]] = {
    str(message.__struct_config__.tag): message for message in get_args(_KnownMessage)
}


class _Line(msgspec.Struct, tag_field="kind", gc=False):
    schema: Literal["indus/transcript@1"]


class EntryRow(_Line, tag="entry", gc=False):
    """An entry."""

    id: str
    role: str
    at: str
    message: _KnownMessage
    prev: str | None = None


class HeadRow(_Line, tag="head", gc=False):
    """A head line, which names the leaf: None is the root; a head without a leaf names nothing."""

    leaf: str | msgspec.UnsetType | None = msgspec.UNSET


InduscodeRow = EntryRow | HeadRow
decode_lines: Callable[[memoryview], Sequence[InduscodeRow]] = msgspec.json.Decoder(InduscodeRow).decode_lines


def messages_of(rows: Sequence[EntryRow]) -> list[_KnownMessage]:
    """Return the message of each row.

    The role of the node decides whether a user message is a prompt: shell output is one in a node of role
    ``note``.
    """
    return [_NOTE if type(row.message) is _User and row.role != "user" else row.message for row in rows]


# -- one object of any shape ------------------------------------------------------------------------------


def row_from(fields: Mapping[str, Any]) -> InduscodeRow:
    """Return the row of a head, or of an entry whose id and role are strings."""
    if fields["kind"] == "head":
        return HeadRow(schema=SCHEMA, leaf=fields.get("leaf", msgspec.UNSET))
    return EntryRow(
        schema=SCHEMA,
        id=fields["id"],
        role=fields["role"],
        at=text_of(fields.get("at")),
        message=_message(fields.get("message")),  # type: ignore[arg-type]
        prev=optional_text(fields.get("prev")),
    )


def _message(message: Any) -> _KnownMessage | _Unknown:
    fields = dict_of(message)
    role = text_of(fields.get("role"))
    time = activity_time(fields.get("timestamp"))
    known = _MESSAGES.get(role)
    if known is None:
        return _Unknown(role=role, timestamp=time)
    if known is _Assistant:
        content = tuple(_texts(fields.get("content")))
        return _Assistant(timestamp=time, content=content, stopReason=fields.get("stopReason"))
    return known(timestamp=time)


def _texts(content: Any) -> Iterator[_TextBlock]:
    """Yield the texts of an answer."""
    for part in content if isinstance(content, list) else [{"type": "text", "text": content}]:
        if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str):
            yield _TextBlock(text=part["text"])


def activity_time(time: Any) -> float:
    """Return the time of a message in milliseconds; 0 if it is invalid."""
    moment = finite(time) or 0
    return moment if 0 < moment <= _LAST_INSTANT else 0


def bad_values(message: Any) -> Iterator[str]:
    """Yield the names of invalid values; most of them prevent induscode from opening the file."""
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
    return value is not None and not isinstance(value, bool) and finite(value) is None


def finite(value: Any) -> int | float | None:
    """Return a number that other agents can represent; None for anything else."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and abs(value) <= sys.float_info.max else None
