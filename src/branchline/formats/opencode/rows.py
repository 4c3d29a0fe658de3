"""What opencode stores as JSON in the rows of a message and of its parts, as far as it is interpreted."""

from __future__ import annotations

import msgspec

from branchline.formats.common.derived_format import RowDecoder

__all__ = ["EventRow", "MessageRow", "PartRow", "RevertRow", "Tokens", "decode_event", "decode_message"]
__all__ += ["decode_part", "decode_revert"]

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


class _StateTime(msgspec.Struct, frozen=True, gc=False):
    compacted: _Number | None = None


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
    time: _StateTime = _StateTime()
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
decode_revert = RowDecoder(RevertRow)
decode_event = RowDecoder(EventRow)
