"""The bytes of a log as rows of a database: one for each line, keyed by the offset where it begins.

The offset is the address of a line, its place in the order, and what an append compares. The log is the rows
one after the other, so that export is byte-exact by construction. Bytes that are no whole lines are rows too:
a torn last line, and the parts of a line that is longer than a database likes its values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

__all__ = ["APPLICATION", "LogRow", "cut", "rows_of"]

APPLICATION = 0x424C4E31
"""By which a SQLite file says that it has the tables of branchline."""
_LARGEST = 1 << 25  # bytes of one row
_PIECE = 1 << 20  # bytes that are cut into rows together


class LogRow(NamedTuple):
    """A line, or a part of a very long one, and where it begins."""

    start: int
    data: bytes


def rows_of(data: bytes, start: int) -> list[LogRow]:
    """The rows of bytes that begin at an offset; the last one lacks its newline if the bytes do."""
    rows = []
    for line in data.splitlines(keepends=True) if _is_plain(data) else _lines(data):
        for at in range(0, len(line), _LARGEST):
            part = line if len(line) <= _LARGEST else line[at : at + _LARGEST]
            rows.append(LogRow(start, part))
            start += len(part)
    return rows


def cut(pieces: Iterable[bytes]) -> Iterator[list[LogRow]]:
    """The rows of a log that comes in pieces of any size, some at a time."""
    waiting: list[bytes] = []
    size = start = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size < _PIECE:
            continue
        data = b"".join(waiting)
        end = data.rfind(b"\n") + 1
        if not end and size < _LARGEST:
            continue  # in the middle of a long line
        end = end or size - size % _LARGEST
        yield rows_of(data[:end], start)
        start += end
        waiting, size = [data[end:]], size - end
    if size:
        yield rows_of(b"".join(waiting), start)


def _is_plain(data: bytes) -> bool:
    """Whether `splitlines` of bytes splits at newlines only: it splits at carriage returns too."""
    return b"\r" not in data


def _lines(data: bytes) -> Iterator[bytes]:
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        yield data[start : end + 1]
        start = end + 1
    if start < len(data):
        yield data[start:]
