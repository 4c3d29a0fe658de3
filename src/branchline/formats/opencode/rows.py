"""What opencode stores as JSON in the rows of a message and of its parts, as far as it is interpreted.

A line holds a message with all its parts. Opening a session needs only their shape (:class:`LineShape`);
:func:`message_in` decodes the rest of a line when an entry of it is wanted.
"""

# Without `from __future__ import annotations`: msgspec would evaluate each of them from its text.

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from branchline.entries import json_codec
from branchline.formats.common.derived_format import RowDecoder, is_nothing, is_string
from branchline.formats.common.derived_lines import value_in
from branchline.formats.json_values import dict_of, list_of, text_of

__all__ = [
    "EventRow",
    "FileRow",
    "LineShape",
    "MessageRow",
    "MessageShape",
    "PartRow",
    "PartShape",
    "RevertRow",
    "State",
    "StateShape",
    "StoredMessage",
    "Tokens",
    "decode_event",
    "decode_message",
    "decode_part",
    "fields_of_line",
    "message_in",
    "messages_in_lines",
]

_NOTHING = msgspec.Raw(b"null")
_Number = int | float


class Cached(msgspec.Struct, frozen=True, gc=False):
    read: _Number = 0
    write: _Number = 0


class Tokens(msgspec.Struct, frozen=True, gc=False):
    """Tokens of one model call; each counter excludes the others."""

    input: _Number = 0
    output: _Number = 0
    reasoning: _Number = 0
    cache: Cached = Cached()


class _ErrorData(msgspec.Struct, frozen=True, gc=False):
    message: str = ""


class ErrorRow(msgspec.Struct, frozen=True, gc=False):
    name: str = ""
    data: _ErrorData = _ErrorData()


class _Moment(msgspec.Struct, frozen=True, gc=False):
    created: _Number = 0


class MessageRow(msgspec.Struct, frozen=True, gc=False):
    """A message without its parts."""

    role: str = ""
    time: _Moment = _Moment()
    modelID: str | None = None  # noqa: N815
    providerID: str | None = None  # noqa: N815
    cost: _Number = 0
    tokens: Tokens | None = None
    finish: str | None = None
    error: ErrorRow | None = None
    summary: msgspec.Raw = _NOTHING
    """``true`` for the summary of a compaction; prompts have an object here."""
    id: str = ""

    @property
    def is_summary(self) -> bool:
        return bytes(self.summary) == b"true"


class _Object(msgspec.Struct, frozen=True, gc=False):
    """Any object; nothing of it is kept."""


class MessageShape(msgspec.Struct, frozen=True, gc=False):
    """What of a message decides which entries it becomes."""

    role: str = ""
    time: _Moment = _Moment()
    finish: str | None = None
    error: _Object | None = None
    summary: bool | _Object | None = None

    @property
    def is_summary(self) -> bool:
        return self.summary is True


class _StateTime(msgspec.Struct, frozen=True, gc=False):
    compacted: _Number | None = None


class _StateSpan(_StateTime, frozen=True, gc=False):
    end: _Number = 0


class FileRow(msgspec.Struct, frozen=True, gc=False):
    """A file that a tool returned."""

    mime: str = ""
    url: msgspec.Raw = _NOTHING


class State(msgspec.Struct, frozen=True, gc=False):
    """How far a tool call has come."""

    status: str = ""
    input: msgspec.Raw = _NOTHING
    output: msgspec.Raw = _NOTHING
    error: msgspec.Raw = _NOTHING
    title: msgspec.Raw = _NOTHING
    metadata: msgspec.Raw = _NOTHING
    time: _StateSpan = _StateSpan()
    attachments: tuple[FileRow, ...] = ()


class PartRow(msgspec.Struct, frozen=True, gc=False):
    """A part of a message, of any type."""

    type: str = ""
    text: msgspec.Raw = _NOTHING
    synthetic: bool = False
    ignored: bool = False
    callID: str = ""  # noqa: N815
    tool: str = ""
    state: State = State()
    mime: str = ""
    url: msgspec.Raw = _NOTHING
    tail_start_id: str | None = None
    tokens: Tokens | None = None
    cost: _Number = 0
    reason: str | None = None
    id: str = ""
    messageID: str = ""  # noqa: N815

    @property
    def has_text(self) -> bool:
        return is_string(self.text) and not is_nothing(self.text)


class StateShape(msgspec.Struct, frozen=True, gc=False):
    """How far a tool call has come, without what it returned."""

    status: str = ""
    time: _StateTime = _StateTime()


class PartShape(msgspec.Struct, frozen=True, gc=False):
    """What of a part decides which entries its message becomes."""

    type: str = ""
    text: str | None = None
    synthetic: bool = False
    ignored: bool = False
    state: StateShape = StateShape()
    tail_start_id: str | None = None
    reason: str | None = None

    @property
    def has_text(self) -> bool:
        return bool(self.text)


class RevertRow(msgspec.Struct, frozen=True, gc=False):
    """From where on messages are hidden until the next prompt deletes them."""

    messageID: str = ""  # noqa: N815
    partID: str = ""  # noqa: N815


class EventRow(msgspec.Struct, frozen=True, gc=False):
    """One event of the log of a session: a whole object, or the ids of a removed one."""

    info: msgspec.Raw = _NOTHING
    part: msgspec.Raw = _NOTHING
    messageID: str = ""  # noqa: N815
    partID: str = ""  # noqa: N815


decode_message = RowDecoder(MessageRow)
decode_part = RowDecoder(PartRow)
decode_event = RowDecoder(EventRow)


# -- lines ------------------------------------------------------------------------------------------------

TAB = b"\t"
"""Between the values of a database in a line: no JSON of opencode has it, so a bad value harms no other."""


class EndRow(msgspec.Struct, frozen=True, gc=False):
    """What the session itself says, behind its messages."""

    id: str = ""
    time: str = ""
    title: str = ""
    revert: RevertRow | None = None


class LineShape(msgspec.Struct, gc=False):
    """A message, or the end of a session."""

    message: str | None = None
    info: MessageShape = MessageShape()
    ids: list[str] = []
    """The ids of the parts."""
    parts: list[PartShape] = []
    branch: int | None = None
    """For a message that opencode deleted, the number of the removal that it was part of."""
    end: EndRow | None = None


class _Line(msgspec.Struct, gc=False):
    message: str | None = None
    info: MessageRow = MessageRow()
    ids: list[str] = []
    parts: list[PartRow] = []
    end: EndRow | None = None


class StoredMessage(NamedTuple):
    """A message and its parts, in their order."""

    id: str
    row: MessageRow
    ids: Sequence[str]
    parts: Sequence[PartRow]


_decode_lines = msgspec.json.Decoder(_Line).decode_lines


def message_in(line: bytes) -> StoredMessage | EndRow:
    """What a line holds, whatever its values are."""
    (found,) = messages_in_lines(line) or (None,)
    return _lenient(line) if found is None else found


def messages_in_lines(data: bytes) -> list[StoredMessage | EndRow]:
    """What many lines hold; nothing if one of them is unusual."""
    try:
        lines = _decode_lines(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return []
    return [
        line.end or StoredMessage(line.message or "", line.info, part_ids(line), line.parts) for line in lines
    ]


def part_ids(line: LineShape | _Line) -> list[str]:
    """The ids of parts, one for each."""
    ids = line.ids
    return ids if len(ids) == len(line.parts) else _completed(ids, line.message, len(line.parts))


def _completed(ids: Any, message: str | None, count: int) -> list[str]:
    """The ids of this many parts; others if a line does not have as many."""
    if isinstance(ids, list) and len(ids) == count:
        return list(map(text_of, ids))
    return [f"{message}/{number}" for number in range(count)]


def _lenient(line: bytes) -> StoredMessage | EndRow:
    fields = fields_of_line(line)
    if end := dict_of(fields.get("end")):
        return EndRow(text_of(end.get("id")), text_of(end.get("time")), text_of(end.get("title")))
    parts = [decode_part(json_codec.dumps(part)) for part in fields["parts"]]
    return StoredMessage(
        text_of(fields.get("message")),
        decode_message(json_codec.dumps(fields["info"])),
        _completed(fields["ids"], fields["message"], len(parts)),
        parts,
    )


def fields_of_line(line: bytes) -> dict[str, Any]:
    """The object on a line, without parts that are not objects. ValueError if it is none.

    Values of the database that are not JSON cost themselves, not the line.
    """
    try:
        fields = json_codec.loads(line)
    except ValueError:
        fields = _pieced(line)
    if not isinstance(fields, dict) or not isinstance(fields.get("message"), str):
        return dict_of(fields)
    if not isinstance(fields.get("info"), dict):
        fields["info"] = {"role": "damaged", "time": {"created": fields.get("created")}}
    parts = list_of(fields.get("parts"))
    ids = _completed(fields.get("ids"), fields["message"], len(parts))
    kept = [(name, part) for name, part in zip(ids, parts, strict=True) if isinstance(part, dict)]
    fields["ids"], fields["parts"] = [name for name, _ in kept], [part for _, part in kept]
    return fields


def _pieced(line: bytes) -> dict[str, Any]:
    """The object on a line of which some values are not JSON."""
    pieces = line.rstrip().split(TAB)
    if not line.startswith(b'{"message":') or len(pieces) < 5:
        raise ValueError("not a message")
    head, info, ids, _, *parts = pieces
    fields: dict[str, Any] = json_codec.loads(head.removesuffix(b',"info":') + b"}")
    fields["info"] = value_in(info.removesuffix(b","))
    fields["ids"] = dict_of(json_codec.loads(b"{" + ids.removesuffix(b",") + b"}")).get("ids")
    parts[-1] = parts[-1].removesuffix(b"]}")
    fields["parts"] = [value_in(part.removesuffix(b",")) for part in parts]
    return fields
