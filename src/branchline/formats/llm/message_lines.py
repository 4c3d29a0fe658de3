"""Messages of a thread with their parts as lines."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec

from branchline.entries import json_codec
from branchline.formats.common.derived_lines import one_line
from branchline.formats.common.tables import text_of
from branchline.formats.llm.rows import TAB, PayloadRow, decode_payload, letter_of_part
from branchline.formats.llm.stored_values import StoredValues
from branchline.formats.protocol import Query

__all__ = ["PARTS", "Head", "PartLines", "json_value"]

PARTS = b',"parts":['
"""What a line has between its head and its parts."""

_PARTS = """
SELECT messages.rowid, parts.type, parts.text, parts.payload
FROM messages LEFT JOIN parts ON parts.message_hash = messages.hash
WHERE messages.rowid BETWEEN ? AND ? ORDER BY messages.rowid, parts.position
"""  # in the order of a table and an index, so that nothing has to be sorted
_TOGETHER = """
SELECT message_hash, position, type, text, payload FROM parts
WHERE id BETWEEN (SELECT min(id) FROM parts WHERE message_hash = ?)
    AND (SELECT max(id) FROM parts WHERE message_hash = ?)
ORDER BY id LIMIT ?
"""  # llm writes a message with all its parts: reading them in a row takes less than looking up each message
_USUAL_PARTS = 16  # of a message, at most
_PLAIN = b"abcdefghijklmnopqrstuvwxyz_"
_NEWLINE, _TAB = b"\n\t"  # a number is found in bytes without the exception that bytes cost
_WITH_TEXT = frozenset({b"text", b"reasoning"})
_ATTACHED = b'"attachments"'
_encode = msgspec.json.Encoder().encode
_Part = tuple[Any, ...]
Head = tuple[bytes, ...]
"""The pieces of a line up to its parts."""


class PartLines:
    """Joins messages and their parts, many by one statement and one call.

    ``has_attachments`` is False for a log that has none, so that nothing needs to be searched for them.
    """

    def __init__(self, query: Query, *, has_attachments: bool) -> None:
        self._query = query
        self._has_attachments = has_attachments
        self._stored = StoredValues(query)

    def lines(self, row: int, names: Sequence[Any], heads: Sequence[Head]) -> bytes:
        """Return the lines of messages in consecutive rows, of which the first is given."""
        most = _USUAL_PARTS * len(names) + 1
        try:
            parts = list(self._query(_TOGETHER, text_of(names[0]), text_of(names[-1]), most))
            lines = _joined(parts, names, heads)
        except (TypeError, ValueError, AttributeError):
            pass
        else:
            if not self._has_attachments or _ATTACHED not in lines:
                return lines
        found = groupby(self._query(_PARTS, row, row + len(names) - 1), itemgetter(0))
        return b"".join([self._line(heads[number - row], list(own)) for number, own in found])

    def _line(self, head: Head, parts: Sequence[_Part]) -> bytes:
        """Return the line of one message, whatever its values are."""
        pieces: list[bytes] = []
        shape = b""
        attachments: dict[str, Any] = {}
        for _, raw_kind, raw_text, payload in parts:
            if raw_kind is raw_text is payload is None:
                continue  # a message without parts
            kind, text, value = (
                text_of(raw_kind),
                None if raw_text is None else text_of(raw_text),
                json_value(payload),
            )
            details: PayloadRow = decode_payload(value) or PayloadRow()
            if text is None and details.text_ref:
                text = "".join(
                    piece.literal if piece.literal is not None else self._stored.fragment(piece.fragment)
                    for piece in details.text_ref
                )
            wanted = (
                details.attachments
                if details.attachment is None
                else (details.attachment, *details.attachments)
            )
            attachments |= {one.id: self._stored.attachment(one.id) for one in wanted}
            has_text = bool(text and not text.isspace())
            shape += letter_of_part(kind, has_text=has_text)
            pieces.append(b"[%b,%b,\t%b\t]" % (_encode(kind), _encode(text), value))
        attached = b',"attachments":' + json_codec.dumps(attachments) if attachments else b""
        return b'%b%b],"shape":"%b"%b}\n' % (b"".join(head), b",".join(pieces), shape, attached)


def _joined(parts: Sequence[_Part], names: Sequence[object], heads: Sequence[Head]) -> bytes:
    """Return the lines of these messages without decoding payloads. Raises an error if a value is unusual."""
    if len(parts) > _USUAL_PARTS * len(names):
        raise ValueError("more parts than were asked for")
    pieces: list[bytes] = []
    encode, beginnings, endings = _encode, _Beginnings(), _Endings()
    openings, holders = iter(heads), iter(names)
    holder, expected, shape = None, 0, b""
    for name, position, kind, text, payload in parts:  # a loop, because columns would cost more
        first, further, has_payload, letter, blank = beginnings[kind]
        if position == 0:
            if shape:
                pieces.append(endings[shape])
            pieces += next(openings, ())
            holder, shape = next(holders, None), b""
            beginning = first
        elif position == expected:
            beginning = further
        else:
            raise ValueError("parts out of order")
        if name != holder:
            raise ValueError("a part of another message")
        expected = position + 1
        if has_payload:
            if text is not None or _NEWLINE in payload or _TAB in payload:
                raise ValueError("a text beside a payload, or a payload on several lines")
            shape += blank
            pieces += (beginning, payload)
        elif payload is None:
            said = text.decode()
            shape += letter if said and not said.isspace() else blank
            pieces += (beginning, encode(said))
        else:
            raise ValueError("a payload beside a text")
    if next(holders, None) is not None:
        raise ValueError("a message without parts")
    pieces.append(endings[shape])
    return b"".join(pieces)


_Beginning = tuple[bytes, bytes, bool, bytes, bytes]


class _Beginnings(dict[bytes, _Beginning]):
    """What parts of a type have before their text or payload.

    At first in a message, and after another part; then whether it is a payload, and the letters of a part
    with a text and without.
    """

    def __missing__(self, kind: bytes) -> _Beginning:
        if kind == b"attachment" or kind.translate(None, _PLAIN):
            raise ValueError("a part that needs other tables, or an unusual type")
        name, has_payload = kind.decode(), kind not in _WITH_TEXT
        first = b'["%b",%b\t' % (kind, b"null," if has_payload else b"")
        letters = letter_of_part(name, has_text=True), letter_of_part(name, has_text=False)
        self[kind] = found = (first, b"\t]," + first, has_payload, *letters)
        return found


class _Endings(dict[bytes, bytes]):
    """What a line has behind its last part, by the shape of the message."""

    def __missing__(self, shape: bytes) -> bytes:
        self[shape] = found = b'\t]],"shape":"%b"}\n' % shape
        return found


def json_value(value: object) -> bytes:
    """Return the JSON in a column without newlines and tabs."""
    if type(value) is bytes and _NEWLINE not in value and _TAB not in value:
        return value or b"null"
    return one_line(value).replace(TAB, b" ") or b"null"
