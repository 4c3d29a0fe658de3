"""Bytes into a reader, in pieces: constant memory however long the file, linear time however long a line."""

from __future__ import annotations

from collections.abc import Callable

from branchline.formats.lines import LineReader
from branchline.formats.log_index import LogIndex
from branchline.formats.protocol import LogReader

__all__ = ["feed_log"]

# Lines of one chunk stay in the processor's cache while they are split and decoded; much smaller ones would
# spend more on each chunk, and meet a cold index for every few entries.
_CHUNK = 1 << 20
_LONG = 1 << 24


def feed_log(reader: LogReader[LogIndex], read: Callable[[int, int], bytes]) -> None:
    """Feed everything from ``reader.reading.consumed`` on, where ``read(offset, size)`` gives bytes.

    A line that goes over the end of a chunk is read again with the next one: cheaper than gluing pieces. The
    chunk doubles until it holds the line, so that a long line costs twice its bytes. It is then read by
    itself, so that it is in memory once.
    """
    offset = reader.reading.consumed
    size = _CHUNK
    while data := read(offset, size):
        end = data.rfind(b"\n") + 1
        if end and size >= _LONG and isinstance(reader, LineReader):
            end = data.index(b"\n")
            data = b""
            reader.feed_line(read(offset, end))
            offset += end + 1
            size = _CHUNK
        elif end:
            reader.feed(data, end)
            offset += end
            size = _CHUNK
            data = b""  # so that the next chunk gets the same memory
        elif len(data) < size:
            break
        else:
            size *= 2
            data = b""
    reader.finish(data)
