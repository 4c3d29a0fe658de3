"""Lines of piglet, decoded no further than a tree asks, and what kind of entry each is for us."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Union

import msgspec

from branchline.entries import json_codec

__all__ = [
    "KINDS",
    "MESSAGES",
    "OURS",
    "EntryShape",
    "RowColumns",
    "columns",
    "decode_rows",
    "decode_shapes",
    "facts_of",
    "readable_messages",
]

MESSAGES = {"user": "user", "assistant": "assistant", "tool_result": "toolResult"}
"""The kinds that are messages, and their roles."""

KINDS = frozenset({*MESSAGES, "meta", "compact", "branch_summary", "label", "custom_message"})
"""The kinds that piglet itself knows; any other is data of an extension."""

OURS = "ext:branchline:"
"""How the kinds begin in which we keep entries that piglet does not have."""

_SIMPLE = frozenset({"user", "tool_result"})  # whatever these hold, they are that
_ENDED_WELL = frozenset({None, "", "stop", "toolUse"})


class _Words(msgspec.Struct, gc=False):
    text: str | None = None


class _AnswerData(msgspec.Struct, gc=False):
    content: tuple[_Words, ...] | None = None
    stopReason: str | None = None  # noqa: N815


class _Row(msgspec.Struct, gc=False):
    id: str
    ts: str = ""
    parentId: str | None = None  # noqa: N815


class _User(_Row, tag_field="type", tag="user", gc=False):
    type: ClassVar[str] = "message"
    role: ClassVar[str | None] = "user"


class _Result(_Row, tag_field="type", tag="tool_result", gc=False):
    type: ClassVar[str] = "message"
    role: ClassVar[str | None] = "toolResult"


class _Answer(_Row, tag_field="type", tag="assistant", gc=False, kw_only=True):
    type: ClassVar[str] = "message"
    role: ClassVar[str | None] = "assistant"
    data: _AnswerData

    def is_quiet(self) -> bool:
        """An answer without words for a person that ended well."""
        for block in self.data.content or ():  # a loop, because this runs once for every answer of a session
            if (text := block.text) and not text.isspace():
                return False
        return self.data.stopReason in _ENDED_WELL


class _AnswerShape(_Row, tag_field="type", tag="assistant", gc=False):
    """An answer for a list, which does not ask what it says."""

    type: ClassVar[str] = "message"
    role: ClassVar[str | None] = "assistant"


class _Meta(msgspec.Struct, tag_field="type", tag="meta", gc=False):
    data: dict[str, Any]


_SPECIAL = (
    *sorted(KINDS - MESSAGES.keys() - {"meta"}),
    OURS + "thinking_level_change",
    OURS + "usage",
)
_Special = tuple(
    msgspec.defstruct(
        f"_Special{number}",
        [("data", msgspec.Raw, msgspec.Raw(b"null"))],
        bases=(_Row,),
        tag_field="type",
        tag=kind,
        gc=False,
        namespace={"type": kind, "role": None},
    )
    for number, kind in enumerate(_SPECIAL)
)


class _Other(msgspec.Struct, gc=False):
    """Any line with an id."""

    type: str
    id: str
    ts: str = ""
    parentId: str | None = None  # noqa: N815
    data: msgspec.Raw = msgspec.Raw(b"null")
    role: ClassVar[str | None] = None


_MESSAGE_ROWS = frozenset({_User, _Result, _Answer, _AnswerShape})
_decode_known = msgspec.json.Decoder(Union[(_User, _Result, _Answer, _Meta, *_Special)]).decode_lines
_decode_shapes = msgspec.json.Decoder(Union[(_User, _Result, _AnswerShape, _Meta, *_Special)]).decode_lines
_decode_others = msgspec.json.Decoder(_Other).decode_lines


class EntryShape(NamedTuple):
    """What the tree has to know of one entry."""

    type: str
    role: str | None = None
    quiet: bool = False


class RowColumns(NamedTuple):
    """The columns of many lines; ``others`` are those that are no plain messages, by their number.

    Meta rows are no entries: ``metas`` has what they say, by the numbers of their lines.
    """

    ids: list[str]
    parents: list[str | None]
    times: list[str]
    types: list[str]
    roles: list[str | None]
    quiet: list[int]
    others: dict[int, tuple[str, Any]]
    metas: dict[int, dict[str, Any]]


def decode_rows(data: bytes | memoryview) -> Sequence[Any]:
    """The skeletons of many lines, in the order in which they stand; an error where one has no id."""
    try:
        return _decode_known(data)
    except msgspec.ValidationError:
        return _decode_others(data)


def decode_shapes(data: bytes | memoryview) -> Sequence[Any]:
    """The same for lists, which do not ask what answers say."""
    try:
        return _decode_shapes(data)
    except msgspec.ValidationError:
        return _decode_others(data)


def columns(rows: Sequence[Any]) -> RowColumns:
    """The columns of these skeletons."""
    kinds = set(map(type, rows))
    metas: dict[int, dict[str, Any]] = {}
    if _Meta in kinds:
        metas = {number: row.data for number, row in enumerate(rows) if type(row) is _Meta}
        rows = [row for row in rows if type(row) is not _Meta]
    types, roles = [row.type for row in rows], [row.role for row in rows]
    quiet = []
    if _Answer in kinds:
        quiet = [number for number, row in enumerate(rows) if type(row) is _Answer and row.is_quiet()]
    others: dict[int, tuple[str, Any]] = {}
    if not kinds <= _MESSAGE_ROWS:
        for number, row in enumerate(rows):
            if type(row) in _MESSAGE_ROWS:
                continue
            data = None if row.type in _SIMPLE else json_codec.loads(bytes(row.data))
            facts = facts_of(row.type, data)
            types[number], roles[number] = facts.type, facts.role
            if facts.quiet:
                quiet.append(number)
            if row.type not in MESSAGES:
                others[number] = (row.type, data)
    ids, times = [row.id for row in rows], [row.ts for row in rows]
    return RowColumns(ids, [row.parentId or None for row in rows], times, types, roles, quiet, others, metas)


def facts_of(kind: str, data: Any) -> EntryShape:
    """What an entry of this kind with this payload is."""
    fields = data if isinstance(data, dict) else {}
    match kind:
        case "user" | "tool_result":
            return EntryShape("message", MESSAGES[kind])
        case "assistant":
            return EntryShape("message", "assistant", quiet=_is_quiet(fields))
        case "custom_message":
            if fields.get("role") == "assistant":
                return EntryShape("message", "assistant")
            return EntryShape("custom_message")
        case "compact":
            return EntryShape("compaction" if readable_messages(data) else "compact")
        case "branch_summary":
            return EntryShape("branch_summary" if _text(fields.get("summary")) else "leaf")
        case "label":
            return EntryShape("label")
        case _ if kind in (OURS + "thinking_level_change", OURS + "usage"):
            return EntryShape(kind.removeprefix(OURS))
        case _:
            return EntryShape("custom")


def readable_messages(data: Any) -> list[dict[str, Any]]:
    """The messages that a compaction holds."""
    return [
        message
        for message in (data if isinstance(data, list) else ())
        if isinstance(message, dict)
        and message.get("type") in MESSAGES
        and isinstance(message.get("data"), dict)
    ]


def _is_quiet(fields: dict[str, Any]) -> bool:
    stop, content = fields.get("stopReason"), fields.get("content")
    if not (stop is None or isinstance(stop, str)) or stop not in _ENDED_WELL:
        return False
    return not any(
        isinstance(block, dict) and isinstance(text := block.get("text"), str) and text and not text.isspace()
        for block in (content if isinstance(content, list) else ())
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
