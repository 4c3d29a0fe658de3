"""Messages of a thread with their parts as lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby, repeat
from operator import contains, itemgetter
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

    def lines(self, heads: Mapping[int, bytes]) -> Iterator[bytes]:
        """Yield the lines of messages, given by their rows.

        ``heads`` has for each row the beginning of its line, up to the parts, after :data:`LINE_END`.
        """
        for run in _runs(list(heads)):
            yield self._lines(list(self._query(_PARTS, run[0], run[-1])), heads)

    def _lines(self, parts: Sequence[_Part], heads: Mapping[int, bytes]) -> bytes:
        try:
            lines = _joined(parts, heads)
        except (TypeError, ValueError, AttributeError):
            pass
        else:
            if not self._has_attachments or _ATTACHED not in lines:
                return lines
        messages = groupby(parts, itemgetter(0))
        return b"".join(self._line(heads[row], list(own)) for row, own in messages)

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
            pieces.append(b"[%b,%b,\t%b\t]" % (_encode(kind), _encode(text), value))
        attached = b',"attachments":' + json_codec.dumps(attachments) if attachments else b""
        return b"%b%b]%b}\n" % (head.removeprefix(LINE_END), b",".join(pieces), attached)

    def _fragment(self, number: int | None) -> str:
        return next((text_of(content) for (content,) in self._query(_FRAGMENT, number)), "")

    def _attachment(self, name: str) -> dict[str, Any]:
        return attachment_block(next(self._query(_ATTACHMENT, name), (name, None, None, None, None)))


def _joined(parts: Sequence[_Part], heads: Mapping[int, bytes]) -> bytes:
    """Return the lines of messages without decoding payloads. Raises an error if a value is unusual."""
    rows, types, texts, given = zip(*parts, strict=True)
    if b"attachment" in types or b"".join(set(types)).translate(None, _PLAIN):
        raise ValueError("a part that needs other tables, or an unusual type")
    if not _WITH_TEXT.isdisjoint(kind for kind, text in zip(types, texts, strict=True) if text is None):
        raise ValueError("a text that refers to fragments")
    payloads = [payload or b"null" for payload in given]
    if any(map(contains, payloads, repeat(_NEWLINE))) or any(map(contains, payloads, repeat(_TAB))):
        raise ValueError("a payload on several lines")
    openings = [
        b"," if row == before else heads[row] for row, before in zip(rows, (None, *rows), strict=False)
    ]
    openings[0] = openings[0].removeprefix(LINE_END)
    pieces = (
        *(openings, repeat(b'["'), types, repeat(b'",')),
        [b"null" if text is None else _encode(text.decode()) for text in texts],
        *(repeat(b",\t"), payloads, repeat(b"\t]")),
    )
    return b"".join(chain(chain.from_iterable(zip(*pieces, strict=False)), (LINE_END,)))


def json_value(value: object) -> bytes:
    """Return the JSON in a column without newlines and tabs."""
    return one_line(value).replace(TAB, b" ") or b"null"


def _runs(rows: Sequence[int]) -> Iterator[Sequence[int]]:
    """Split rows into runs of consecutive ones."""
    start = 0
    for end in range(1, len(rows) + 1):
        if end == len(rows) or rows[end] != rows[end - 1] + 1:
            yield rows[start:end]
            start = end
