"""JSON documents of agents: decoded, or the items of their array as lines, without decoding them.

A large document is read in windows, so that only its lines are held in memory. A window ends before an item
that begins like the first one; decoding the items of the window proves that it does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import msgspec

from branchline.entries import json_codec
from branchline.errors import NotASession
from branchline.formats.json_values import dict_of, list_of
from branchline.formats.protocol import Content

__all__ = ["BytesContent", "document_in", "item_lines"]

_BOM = b"\xef\xbb\xbf"
_WINDOW = 1 << 18
_SPACES = 64  # the most that may be between two items
_REFUSED = (msgspec.MsgspecError, ValueError, RecursionError)
_decode_items = msgspec.json.Decoder(tuple[msgspec.Raw, ...]).decode


class BytesContent:
    """Content that is in memory already."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def size(self) -> int:
        return len(self._data)

    def read(self, offset: int, size: int) -> bytes:
        return self._data[offset : offset + size]


def document_in(data: bytes, path: str) -> Any:
    """Return the value of a document. Raises NotASession if it is incomplete or damaged."""
    try:
        return json_codec.loads(data.removeprefix(_BOM))
    except ValueError as problem:
        raise NotASession(f"{path} is not finished or damaged: {problem}") from None


def item_lines(content: Content, path: str, field: str = "") -> Iterator[bytes]:
    """Yield the items of a document as lines of JSON, several at a time.

    The document is an array or, with ``field``, an object that has the array in this field. Raises
    NotASession if it is incomplete or damaged, perhaps after some of its items; items that only a lenient
    decoder accepts are encoded again.
    """
    begins, decode = _shape(field)
    size = content.size()
    head, at, known = b"", 0, 0
    if size > _WINDOW and (found := begins.match(start := _flat(content.read(0, _WINDOW)))) is not None:
        at = found.start(1)
        head = start[:at]
        for items, end in _windows(content, size, at, found[1]):
            yield _lines(items)
            at, known = end, known + len(items)
    try:
        yield _lines(decode(head + _flat(content.read(at, size - at).removeprefix(b"" if at else _BOM))))
    except _REFUSED:
        value = document_in(content.read(0, size), path)
        whole = list_of(value if not field or isinstance(value, list) else dict_of(value).get(field))
        yield _lines([json_codec.dumps(item) for item in whole[known:]])


def _windows(
    content: Content, size: int, at: int, opening: bytes
) -> Iterator[tuple[tuple[msgspec.Raw, ...], int]]:
    """Yield the items from ``at`` on, and where the next ones begin, until one window holds the rest.

    Stops early where the end of a window turns out not to be between two items.
    """
    window = _WINDOW
    while at + window < size:
        data = _flat(content.read(at, window))
        end = _last_comma(data, opening)
        if end is None:
            window *= 2
            continue
        try:
            items = _decode_items(b"".join((b"[", memoryview(data)[:end], b"]")))
        except _REFUSED:
            return
        at, window = at + end + 1, _WINDOW
        yield items, at


def _last_comma(data: bytes, opening: bytes) -> int | None:
    """Return where the last comma is that something follows which begins like an item."""
    end = len(data)
    while (end := data.rfind(opening, 0, end)) > 0:
        before = data[max(end - _SPACES, 0) : end]
        if (rest := before.rstrip()).endswith(b","):
            return end - len(before) + len(rest) - 1
    return None


@cache
def _shape(field: str) -> tuple[re.Pattern[bytes], Any]:
    """Return how a document begins up to its first item, and what decodes its items."""
    if not field:
        return re.compile(rb'\s*\[\s*(\{\s*"[^"\\]*")'), _decode_items
    kind = msgspec.defstruct("Document", [(field, tuple[msgspec.Raw, ...], ())])
    with json_codec.BUILDING:
        decode = msgspec.json.Decoder(kind).decode
    begins = rb'\s*\{(?:[^{}\[\]]|\{[^{}\[\]]*\})*?"%b"\s*:\s*\[\s*(\{\s*"[^"\\]*")' % field.encode()
    return re.compile(begins), lambda data: getattr(decode(data), field)


def _flat(data: bytes) -> bytes:
    """Return JSON on one line: newlines occur only between its values."""
    return data.replace(b"\n", b" ").replace(b"\r", b" ")


def _lines(items: Sequence[Any]) -> bytes:
    return b"\n".join((*items, b""))
