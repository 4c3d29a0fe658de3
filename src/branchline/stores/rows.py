"""The bytes of a log as rows of a database: one for each line, keyed by the offset where it begins.

The offset is the address of a line, its place in the order, and what an append compares. The log is the rows
one after the other, so that export is byte-exact by construction. Bytes that are no whole lines are rows too:
a torn last line, and the parts of a line that is longer than a database likes its values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from branchline.errors import SessionNotFound
from branchline.log import Durability, Log
from branchline.stores.protocol import FileStamp, Read, StoredLog, hashed

__all__ = ["APPLICATION", "LogRow", "RowStore", "cut", "rows_of"]

APPLICATION = 0x424C4E31
"""By which a SQLite file says that it has the tables of branchline."""
_LARGEST = 1 << 25  # bytes of one row
_PIECE = 1 << 20  # bytes that are cut into rows together


class LogRow(NamedTuple):
    """A line, or a part of a very long one, and where it begins."""

    start: int
    data: bytes


class RowStore(ABC):
    """What stores in databases have in common: how sessions are addressed, listed and reported missing."""

    def __init__(self, name: str) -> None:
        self.name = name
        """What messages call the store: a path, or the address of a server without its password."""
        self._device = hashed((name,))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def path_of(self, key: str) -> str:
        """How a session is addressed."""
        return f"{self.name}#{key}"

    @abstractmethod
    def stat(self, key: str) -> StoredLog | None: ...

    @abstractmethod
    def open(self, key: str, *, durability: Durability = "fsync") -> Log: ...

    @abstractmethod
    def create_from(self, key: str, pieces: Iterable[bytes]) -> object:
        """Make a session of these bytes, in one transaction."""

    @contextmanager
    def snapshot(self, key: str) -> Iterator[Read]:
        yield self.open(key).read

    def load(self, key: str, pieces: Iterable[bytes]) -> StoredLog:
        self.create_from(key, pieces)
        return self._found(key)

    def _found(self, key: str) -> StoredLog:
        found = self.stat(key)
        if found is None:
            raise self._no_session(key)
        return found

    def _stored(self, rows: Iterable[tuple[Any, ...]]) -> list[StoredLog]:
        """The logs of rows with a number, a key, a size and a time in milliseconds."""
        device, start = self._device, self.path_of("")
        # A log only grows, so that its number and its size say what is in it.
        return [
            StoredLog(
                key,
                size,
                modified / 1000,
                start + key,
                FileStamp(device, number, size, modified * 1_000_000, size),
            )
            for number, key, size, modified in rows
        ]

    def _taken(self, doing: str, key: str) -> FileExistsError:
        return FileExistsError(
            f"cannot {doing} in {self.name}: a session {key!r} already exists; rename or remove it first"
        )

    def _no_session(self, key: str) -> SessionNotFound:
        return SessionNotFound(f"no session named {key!r} in {self.name}")


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
