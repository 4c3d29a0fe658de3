"""Typed piglet lines, decoded only as far as the tree needs, with the type of entry that each becomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, get_args

import msgspec

from branchline.entries import json_codec
from branchline.formats.json_values import dict_of, text_of

__all__ = [
    "EXTENSION_PREFIX",
    "KINDS",
    "MESSAGES",
    "Answer",
    "LabelRow",
    "Meta",
    "Row",
    "decode_rows",
    "readable_messages",
    "row_from",
]

MESSAGES = {"user": "user", "assistant": "assistant", "tool_result": "toolResult"}
"""The kinds that are messages, and their roles."""

KINDS = frozenset({*MESSAGES, "meta", "compact", "branch_summary", "label", "custom_message"})
"""The kinds that piglet defines; any other is extension data."""

EXTENSION_PREFIX = "ext:branchline:"
"""Prefix of the kinds in which branchline stores entries that piglet lacks."""

_ENDED_WELL = frozenset({None, "", "stop", "toolUse"})
_UNREADABLE = "unreadable"  # a stop reason that is not a string


class _TextBlock(msgspec.Struct, gc=False):
    text: str | None = None


class _AnswerData(msgspec.Struct, gc=False):
    content: tuple[_TextBlock, ...] | None = None
    stopReason: str | None = None  # noqa: N815


class _Line(msgspec.Struct, gc=False):
    id: str
    ts: str = ""
    parentId: str | None = None  # noqa: N815


class _User(_Line, tag_field="type", tag="user", gc=False):
    type: ClassVar[str] = "message"
    role: ClassVar[str | None] = "user"


class _Result(_Line, tag_field="type", tag="tool_result", gc=False):
    type: ClassVar[str] = "message"
    role: ClassVar[str | None] = "toolResult"


class Answer(_Line, tag_field="type", tag="assistant", gc=False, kw_only=True):
    type: ClassVar[str] = "message"
    role: ClassVar[str | None] = "assistant"
    data: _AnswerData

    def is_quiet(self) -> bool:
        """Return whether this is a textless answer that ended normally."""
        for block in self.data.content or ():  # inlined: runs for every answer of a session
            if (text := block.text) and not text.isspace():
                return False
        return self.data.stopReason in _ENDED_WELL


class _CustomMessage(_Line, tag_field="type", tag="custom_message", gc=False):
    data: Any = None

    @property
    def type(self) -> str:
        return "message" if self.role else "custom_message"

    @property
    def role(self) -> str | None:
        return "assistant" if dict_of(self.data).get("role") == "assistant" else None


class _Compact(_Line, tag_field="type", tag="compact", gc=False):
    role: ClassVar[str | None] = None
    data: Any = None

    @property
    def type(self) -> str:
        return "compaction" if readable_messages(self.data) else "compact"


class _BranchSummary(_Line, tag_field="type", tag="branch_summary", gc=False):
    role: ClassVar[str | None] = None
    data: Any = None

    @property
    def type(self) -> str:
        """Return "leaf" for a summary without text, which only moves the leaf."""
        return "branch_summary" if text_of(dict_of(self.data).get("summary")) else "leaf"


class LabelRow(_Line, tag_field="type", tag="label", gc=False):
    type: ClassVar[str] = "label"
    role: ClassVar[str | None] = None
    data: Any = None

    @property
    def target(self) -> str:
        return text_of(dict_of(self.data).get("targetId"))

    @property
    def label(self) -> str:
        return text_of(dict_of(self.data).get("label"))


class _ThinkingLevel(_Line, tag_field="type", tag=EXTENSION_PREFIX + "thinking_level_change", gc=False):
    type: ClassVar[str] = "thinking_level_change"
    role: ClassVar[str | None] = None


class _Usage(_Line, tag_field="type", tag=EXTENSION_PREFIX + "usage", gc=False):
    type: ClassVar[str] = "usage"
    role: ClassVar[str | None] = None


class _Extension(_Line, gc=False):
    type: ClassVar[str] = "custom"
    role: ClassVar[str | None] = None


class Meta(msgspec.Struct, tag_field="type", tag="meta", gc=False):
    """Session metadata; not an entry."""

    data: dict[str, Any]


class _AnyLine(_Line, gc=False, kw_only=True):
    """Any line with an id."""

    type: str
    data: msgspec.Raw = msgspec.Raw(b"null")


_Known = (
    _User | _Result | Answer | _CustomMessage | _Compact | _BranchSummary | LabelRow | _ThinkingLevel | _Usage
)
Row = _Known | _Extension
_KNOWN: dict[str, Any] = {str(row.__struct_config__.tag): row for row in get_args(_Known)}
_decode_known = msgspec.json.Decoder(_Known | Meta).decode_lines
_decode_any = msgspec.json.Decoder(_AnyLine).decode_lines


def decode_rows(data: memoryview) -> Sequence[Row | Meta]:
    """Return the rows of many lines, in order; raises an error if one has no id."""
    try:
        return _decode_known(data)
    except msgspec.ValidationError:
        return [_row(one.type, one.id, one.ts, one.parentId, one.data) for one in _decode_any(data)]


def row_from(fields: dict[str, Any]) -> Row:
    """Return the row for a JSON object, whatever its payload is. Type, id and parent are strings or None."""
    row = _row(
        fields.get("type") or "",
        fields.get("id") or "",
        text_of(fields.get("ts")),
        fields.get("parentId"),
        fields.get("data"),
    )
    assert not isinstance(row, Meta)
    return row


def _row(kind: str, entry_id: str, written: str, parent_id: str | None, data: Any) -> Row | Meta:
    """Return the row of a line; its payload may be JSON text."""
    known: Any = _KNOWN.get(kind, _Extension)
    held: dict[str, Any] = {}
    if "data" in known.__struct_fields__ or kind == "meta":
        held["data"] = json_codec.loads(bytes(data)) if isinstance(data, msgspec.Raw) else data
    if kind == "meta":
        return Meta(dict_of(held["data"]))
    if known is Answer:
        held["data"] = _answer_data(dict_of(held["data"]))
    row: Row = known(entry_id, written, parent_id, **held)
    return row


def _answer_data(fields: dict[str, Any]) -> _AnswerData:
    stop, content = fields.get("stopReason"), fields.get("content")
    blocks = content if isinstance(content, list) else ()
    return _AnswerData(
        tuple(_TextBlock(text_of(block.get("text"))) for block in blocks if isinstance(block, dict)),
        stop if stop is None or isinstance(stop, str) else _UNREADABLE,
    )


def readable_messages(data: Any) -> list[dict[str, Any]]:
    """Return the messages that a compaction holds."""
    return [
        message
        for message in (data if isinstance(data, list) else ())
        if isinstance(message, dict)
        and text_of(message.get("type")) in MESSAGES
        and isinstance(message.get("data"), dict)
    ]
