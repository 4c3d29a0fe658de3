"""Feeds a log to a reader in chunks: constant memory for any file, linear time for any line length."""

from __future__ import annotations

from collections.abc import Callable

from branchline.formats.lines import LineReader
from branchline.formats.log_index import LogIndex
from branchline.formats.protocol import LogReader

__all__ = ["feed_log"]

# The lines of one chunk stay in the CPU cache while they are split and decoded; much smaller chunks would
# cost more per chunk, and meet a cold index every few entries.
_CHUNK = 1 << 20
_LONG = 1 << 24


def feed_log(reader: LogReader[LogIndex], read: Callable[[int, int], bytes]) -> None:
    """Feed everything from ``reader.reading.consumed`` on, where ``read(offset, size)`` returns bytes.

    A line that crosses the end of a chunk is read again with the next one, which is cheaper than
    concatenation. The chunk doubles until it holds the line, so a long line costs twice its bytes. It is then
    read separately, so that it is in memory only once.
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
            data = b""  # lets the next chunk reuse the same memory
        elif len(data) < size:
            break
        else:
            size *= 2
            data = b""
    reader.finish(data)
