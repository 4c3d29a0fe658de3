"""Lines of a thread, and JSON values that llm stores in columns, as far as they are interpreted.

A line holds a message with all its parts. Opening a session needs only their shape (:class:`LineShape`);
:func:`line_in` decodes the rest of a line when an entry of it is wanted.
"""

# Without `from __future__ import annotations`: msgspec would evaluate each of them from its text.

from typing import Any

import msgspec

from branchline.entries import json_codec
from branchline.formats.common.derived_format import RowDecoder
from branchline.formats.json_values import dict_of
from branchline.formats.typed_rows import row_from

__all__ = [
    "RESULT",
    "TAB",
    "TEXT",
    "EndRow",
    "Line",
    "LineShape",
    "PartRow",
    "PayloadRow",
    "TokenDetails",
    "TurnRow",
    "UsageRow",
    "decode_details",
    "decode_payload",
    "decode_turn",
    "fields_of_line",
    "letter_of_part",
    "line_in",
    "lines_in",
]

_NOTHING = msgspec.Raw(b"null")
_Number = int | float


# -- columns ----------------------------------------------------------------------------------------------


class _Reference(msgspec.Struct, frozen=True, gc=False):
    id: str = ""


class _TextPiece(msgspec.Struct, frozen=True, gc=False):
    literal: str | None = None
    fragment: int | None = None


class PayloadRow(msgspec.Struct, frozen=True, gc=False):
    """A part of a message, without the fields that have columns of their own."""

    name: str = ""
    arguments: msgspec.Raw = _NOTHING
    output: msgspec.Raw = _NOTHING
    tool_call_id: str | None = None
    exception: str | None = None
    redacted: bool = False
    text_ref: tuple[_TextPiece, ...] = ()
    """Text that refers to fragments."""
    attachment: _Reference | None = None
    attachments: tuple[_Reference, ...] = ()


class _Cached(msgspec.Struct, frozen=True, gc=False):
    cached_tokens: _Number | None = 0


class _Reasoned(msgspec.Struct, frozen=True, gc=False):
    reasoning_tokens: _Number | None = 0


class TokenDetails(msgspec.Struct, frozen=True, gc=False):
    """Details of a model call, in the provider's own terms."""

    prompt_tokens_details: _Cached | None = None
    input_tokens_details: _Cached | None = None
    completion_tokens_details: _Reasoned | None = None
    output_tokens_details: _Reasoned | None = None
    cachedContentTokenCount: _Number | None = 0  # noqa: N815
    thoughtsTokenCount: _Number | None = 0  # noqa: N815
    cache_read_input_tokens: _Number | None = 0
    cache_creation_input_tokens: _Number | None = 0

    @property
    def cached(self) -> float:
        """Cached tokens that the provider also counts as input."""
        for details in (self.prompt_tokens_details, self.input_tokens_details):
            if details is not None and details.cached_tokens:
                return details.cached_tokens
        return self.cachedContentTokenCount or 0

    @property
    def reasoning(self) -> float:
        """Output tokens used for thinking."""
        for details in (self.completion_tokens_details, self.output_tokens_details):
            if details is not None and details.reasoning_tokens:
                return details.reasoning_tokens
        return self.thoughtsTokenCount or 0


decode_payload = RowDecoder(PayloadRow)
decode_details = RowDecoder(TokenDetails)


# -- lines ------------------------------------------------------------------------------------------------

TAB = b"\t"
"""Around JSON values of the database in a line, which have no tabs: an invalid value harms no other."""
TEXT, RESULT = "tr"
"""The letters of parts with a text that is not blank, and with the result of a tool."""


def letter_of_part(kind: str, *, has_text: bool) -> bytes:
    """Return what the shape of a message says about a part; ``has_text`` if its text is not blank."""
    if kind == "text" and has_text:
        return TEXT.encode()
    return RESULT.encode() if kind == "tool_result" else b"."


class PartRow(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A part of a message, of any type."""

    type: str = ""
    text: str | None = None
    payload: msgspec.Raw = _NOTHING


class TurnRow(msgspec.Struct, frozen=True, gc=False):
    """The model call that ended with a message."""

    model: str = ""
    given: _Number | None = None
    made: _Number | None = None


class UsageRow(msgspec.Struct, frozen=True, gc=False):
    """A model call without a message of its own."""

    id: str = ""
    time: str = ""
    model: str = ""
    usage: msgspec.Raw = _NOTHING
    parent: str | msgspec.UnsetType | None = msgspec.UNSET
    """The message that it ended with; UNSET for a call that no turn records."""


class EndRow(msgspec.Struct, frozen=True, gc=False):
    """The title of a thread, and its tip if that is not the last message."""

    id: str = ""
    time: str = ""
    title: str = ""
    leaf: str | None = None


class LineShape(msgspec.Struct, gc=False):
    """A message, a model call without one, or the end of a thread."""

    message: str | None = None
    parent: str | msgspec.UnsetType | None = msgspec.UNSET
    """The message above; UNSET for the one on the line before."""
    role: str = ""
    time: str = ""
    shape: str = ""
    """A letter for each part, which decide which entries the message becomes."""
    usage: UsageRow | None = None
    end: EndRow | None = None


class Line(msgspec.Struct, gc=False):
    """The same with everything that entries contain."""

    message: str | None = None
    role: str = ""
    time: str = ""
    turn: TurnRow | None = None
    details: msgspec.Raw = _NOTHING
    """What the provider says about the tokens of the turn."""
    parts: list[PartRow] = []
    shape: str = ""
    attachments: dict[str, Any] = {}
    """Content blocks of attachments that parts refer to."""
    usage: UsageRow | None = None
    end: EndRow | None = None


decode_turn = RowDecoder(TurnRow)
_decode_lines = msgspec.json.Decoder(Line).decode_lines


def line_in(line: bytes) -> Line:
    """Return the content of a line, whatever its values are."""
    (found,) = lines_in(line) or (None,)
    return row_from(dict_of(fields_of_line(line)), Line) if found is None else found


def lines_in(data: bytes) -> list[Line]:
    """Return the content of many lines; nothing if one of them is unusual."""
    try:
        return _decode_lines(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return []


def fields_of_line(line: bytes) -> Any:
    """Return the object on a line; values of the database that are not JSON are null. Raises ValueError."""
    try:
        return json_codec.loads(line)
    except ValueError:
        pieces = line.split(TAB)
        pieces[1::2] = [piece if _is_json(piece) else b"null" for piece in pieces[1::2]]
        return json_codec.loads(b"".join(pieces))


def _is_json(data: bytes) -> bool:
    try:
        json_codec.loads(data)
    except ValueError:
        return False
    return True
