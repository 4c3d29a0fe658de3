"""Detects the format of a log and reads its header without reading the whole log."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from branchline.entries import Header
from branchline.errors import NotASession
from branchline.formats.detect import detect
from branchline.formats.protocol import CompressedFiles, Format

__all__ = ["Peek", "is_enough", "peek", "unpacked_head"]

_FIRST, _LIMIT, _LONGEST = 4096, 1 << 20, 1 << 22
_BLANK = b"\xef\xbb\xbf \t\r\n"


class Peek(msgspec.Struct, frozen=True):
    """What the beginning of a log contains."""

    format: Format
    header: Header | None


def peek(
    read: Callable[[int, int], bytes], path: str = "", *, detect: Callable[[bytes, str], Format] = detect
) -> Peek:
    """Return format and header from the first megabyte of ``read(offset, size)``, usually from much less.

    Four megabytes are read if a record fills half of it and tells no format.

    ``detect(head, path)`` raises NotASession if no format recognizes the file.
    """
    size = _FIRST
    while True:
        data = read(0, size)
        whole = len(data) < size
        last = whole or size >= _LIMIT
        try:
            found = detect(data, path)
        except NotASession:
            if whole or (last and (is_enough(data, size) or not data.lstrip(_BLANK).startswith(b"{"))):
                raise
            size = min(16 * size, _LONGEST)
            continue
        size *= 16
        if compression := found.compression_of(data):
            return Peek(found, found.reader.peek(unpacked_head(compression, read), path, whole=True))
        header = found.reader.peek(data, path, whole=whole)
        if header is None and last and not whole:
            header = found.reader.peek(data, path, whole=True)
        if header is not None or last:
            return Peek(found, header)


def is_enough(head: bytes, size: int) -> bool:
    """Return whether the first ``size`` bytes of a log hold what can tell its format.

    They do not if its first line fills half of them, unless they are four megabytes.
    """
    return size >= _LONGEST or b"\n" in head[: size // 2].lstrip(_BLANK)


def unpacked_head(compression: CompressedFiles, read: Callable[[int, int], bytes]) -> bytes:
    """Return at least the first megabyte of a compressed log's content, or all of it."""
    pieces: list[bytes] = []
    size = 0
    for piece in compression.decompress(read):
        pieces.append(piece)
        size += len(piece)
        if size >= _LIMIT:
            break
    return b"".join(pieces)
