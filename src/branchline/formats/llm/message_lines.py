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
from branchline.formats.llm.rows import TAB, PayloadRow, decode_payload
from branchline.formats.llm.values import attachment_block
from branchline.formats.protocol import Query

__all__ = ["LINE_END", "PartLines", "json_value"]

LINE_END = b"]}\n"
"""The end of a line with parts."""

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
_ATTACHMENT = "SELECT id, type, path, url, content FROM attachments WHERE id = ?"
_FRAGMENT = "SELECT content FROM fragments WHERE id = ?"
_PLAIN = b"abcdefghijklmnopqrstuvwxyz_"
_NEWLINE, _TAB = b"\n\t"  # a number is found in bytes without the exception that bytes cost
_WITH_TEXT = frozenset({b"text", b"reasoning"})
_ATTACHED = b'"attachments"'
_encode = msgspec.json.Encoder().encode
_Part = tuple[Any, ...]


class PartLines:
    """Joins messages and their parts, many by one statement and one call.

    ``has_attachments`` is False for a log that has none, so that nothing needs to be searched for them.
    """

    def __init__(self, query: Query, *, has_attachments: bool) -> None:
        self._query = query
        self._has_attachments = has_attachments

    def lines(self, row: int, names: Sequence[Any], heads: Sequence[bytes]) -> bytes:
        """Return the lines of messages in consecutive rows, of which the first is given.

        ``heads`` has for each the beginning of its line, up to the parts, after :data:`LINE_END`.
        """
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

    def _line(self, head: bytes, parts: Sequence[_Part]) -> bytes:
        """Return the line of one message, whatever its values are."""
        pieces: list[bytes] = []
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
                    piece.literal if piece.literal is not None else self._fragment(piece.fragment)
                    for piece in details.text_ref
                )
            wanted = (
                details.attachments
                if details.attachment is None
                else (details.attachment, *details.attachments)
            )
            attachments |= {one.id: self._attachment(one.id) for one in wanted}
            has_text = bool(text and not text.isspace())
            pieces.append(b"[%b,%b,%b,\t%b\t]" % (_encode(kind), _encode(has_text), _encode(text), value))
        attached = b',"attachments":' + json_codec.dumps(attachments) if attachments else b""
        return b"%b%b]%b}\n" % (head.removeprefix(LINE_END), b",".join(pieces), attached)

    def _fragment(self, number: int | None) -> str:
        return next((text_of(content) for (content,) in self._query(_FRAGMENT, number)), "")

    def _attachment(self, name: str) -> dict[str, Any]:
        return attachment_block(next(self._query(_ATTACHMENT, name), (name, None, None, None, None)))


def _joined(parts: Sequence[_Part], names: Sequence[object], heads: Sequence[bytes]) -> bytes:
    """Return the lines of these messages without decoding payloads. Raises an error if a value is unusual."""
    if len(parts) > _USUAL_PARTS * len(names):
        raise ValueError("more parts than were asked for")
    pieces: list[bytes] = []
    add, encode, prefixes = pieces.extend, _encode, _Prefixes()
    openings, holders = iter(heads), iter(names)
    holder, expected = None, 0
    for name, position, kind, text, payload in parts:  # a loop, because columns would cost more
        if position == 0:
            holder, opening = next(holders, None), next(openings, b"")
        else:
            opening = b","
        if name != holder or position not in (0, expected):
            raise ValueError("parts out of order, or of other messages")
        expected = position + 1
        with_text, without_text, with_payload = prefixes[kind]
        if payload is None:
            said = text.decode()
            prefix = with_text if said and not said.isspace() else without_text
            add((opening, prefix, encode(said), b"]"))
        elif _NEWLINE in payload or _TAB in payload or kind in _WITH_TEXT:
            raise ValueError("a payload on several lines, or beside a text")
        else:
            add((opening, with_payload, payload, b"\t]"))
    if next(holders, None) is not None:
        raise ValueError("a message without parts")
    pieces[0] = pieces[0].removeprefix(LINE_END)
    pieces.append(LINE_END)
    return b"".join(pieces)


class _Prefixes(dict[bytes, tuple[bytes, bytes, bytes]]):
    """The beginnings of parts by their type: those with text, with blank text, and with a payload."""

    def __missing__(self, kind: bytes) -> tuple[bytes, bytes, bytes]:
        if kind == b"attachment" or kind.translate(None, _PLAIN):
            raise ValueError("a part that needs other tables, or an unusual type")
        self[kind] = found = b'["%b",true,' % kind, b'["%b",false,' % kind, b'["%b",false,null,\t' % kind
        return found


def json_value(value: object) -> bytes:
    """Return the JSON in a column without newlines and tabs."""
    if type(value) is bytes and _NEWLINE not in value and _TAB not in value:
        return value or b"null"
    return one_line(value).replace(TAB, b" ") or b"null"
