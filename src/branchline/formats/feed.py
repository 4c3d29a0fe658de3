"""Bytes into a reader, in pieces: constant memory however long the file, linear time however long a line."""

from __future__ import annotations

from collections.abc import Callable

from branchline.formats.base import Reader

__all__ = ["feed_from"]

_CHUNK = 1 << 17  # lines of one chunk stay in the processor's cache while they are split and decoded


def feed_from(reader: Reader, read: Callable[[int, int], bytes]) -> None:
    """Feed everything from ``reader.reading.consumed`` on, where ``read(offset, size)`` gives bytes."""
    offset = reader.reading.consumed
    pieces: list[bytes] = []
    while data := read(offset, _CHUNK):
        offset += len(data)
        end = data.rfind(b"\n") + 1
        if not end:
            pieces.append(data)
            continue
        if pieces:
            pieces.append(data[:end])
            reader.feed(b"".join(pieces))
            pieces.clear()
        else:
            reader.feed(data if end == len(data) else data[:end])
        if end < len(data):
            pieces.append(data[end:])
    reader.finish(b"".join(pieces))
