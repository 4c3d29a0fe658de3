"""Whose file a log is, and its header, without reading the log."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from branchline.entries import Header
from branchline.errors import NotASession
from branchline.formats.detect import detect
from branchline.formats.protocol import Format

__all__ = ["Peek", "decompressed", "peek", "peek_header"]

_FIRST, _LIMIT = 4096, 1 << 20


class Peek(NamedTuple):
    """What the beginning of a log tells."""

    format: Format
    header: Header | None


def peek(read: Callable[[int, int], bytes], path: str = "", *, expected: Format | None = None) -> Peek:
    """Format and header, from the first megabyte that ``read(offset, size)`` gives, mostly from much less.

    ``expected`` is the format of the folder that the file lies in. NotASession when no format knows the file.
    """
    size = _FIRST
    while True:
        data = read(0, size)
        whole = len(data) < size
        last = whole or size >= _LIMIT
        size *= 16
        try:
            found = detect(data, path, expected=expected)
        except NotASession:
            if last:
                raise
            continue
        if found.is_compressed(data):
            return Peek(found, _packed_header(found, read, path))
        header = found.peek(data, path, whole=whole)
        if header is None and last and not whole:
            header = found.peek(data, path, whole=True)
        if header is not None or last:
            return Peek(found, header)


def peek_header(read: Callable[[int, int], bytes], path: str = "") -> Header | None:
    """The header of a log; None when it has none, or is no session."""
    try:
        return peek(read, path).header
    except NotASession:
        return None


def decompressed(
    format: Format,  # noqa: A002
    head: bytes,
    read: Callable[[int, int], bytes],
) -> Callable[[int, int], bytes]:
    """``read`` itself; for a log that is compressed, the same over its content, which is then in memory."""
    if not format.is_compressed(head):
        return read
    data = format.decompress(_everything(read))
    return lambda offset, size: data[offset : offset + size]


def _packed_header(format_: Format, read: Callable[[int, int], bytes], path: str) -> Header | None:
    data = format_.decompress(_everything(read), _LIMIT)
    return format_.peek(data, path, whole=True)


def _everything(read: Callable[[int, int], bytes]) -> bytes:
    pieces: list[bytes] = []
    offset = 0
    while data := read(offset, _LIMIT):
        pieces.append(data)
        offset += len(data)
    return b"".join(pieces)
