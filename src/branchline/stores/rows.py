"""The bytes of a log as rows of a database: one row per line, keyed by the byte offset of the line.

The offset identifies a line, orders the lines, and is compared by appends. A log is the concatenation of its
rows, so export is byte-exact by construction. A torn last line is a row too, and a very long line is several
rows.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol, runtime_checkable

from branchline.log import Durability, Log, TornTail
from branchline.log.protocol import require_lines
from branchline.stores.protocol import FileStamp, Read, StoredLog, hashed, no_session
from branchline.tree import Finding

__all__ = [
    "APPLICATION",
    "CheckedRows",
    "CheckedStore",
    "LogRow",
    "RowStore",
    "RowWriter",
    "StoredRow",
    "checksum",
    "cut",
    "row_findings",
    "rows_of",
]

APPLICATION = 0x424C4E31
"""The ``application_id`` of branchline's SQLite databases."""
_MAX_ROW = 1 << 25  # maximum bytes of a row
_BATCH = 1 << 20  # bytes split into rows at once


class LogRow(NamedTuple):
    """A line, or a part of a very long one, and its offset."""

    start: int
    data: bytes


class StoredRow(NamedTuple):
    """A row as it is in the database."""

    start: int
    data: bytes
    checksum: int | None
    """None where the database has none."""


@runtime_checkable
class CheckedRows(Protocol):
    """A log whose rows can be compared with what the database says of them."""

    def check_rows(self) -> list[Finding]:
        """Return what is wrong with the rows. Reads all of them."""
        ...

    def saved_index(self) -> tuple[int, bytes] | None: ...

    def stored_data(self) -> bytes:
        """Return the bytes of all rows, without a gap where one is missing."""
        ...


@runtime_checkable
class CheckedStore(Protocol):
    """A database that can be checked as a whole."""

    @property
    def name(self) -> str: ...

    def check(self) -> list[str]:
        """Return what is wrong beside single sessions."""
        ...

    def restore_lost(self) -> list[str]:
        """Make lines without a session sessions again; return their keys."""
        ...


def checksum(row: LogRow) -> int:
    """Return a checksum of a row and its place; it is stored outside of the bytes."""
    return zlib.crc32(row.data, row.start & 0xFFFFFFFF)


def row_findings(rows: Iterable[StoredRow], size: int, *, torn: bool) -> list[Finding]:
    """Compare the rows of a log with its size and their checksums.

    An append compares the size with the end of the rows: a session where they differ takes none.
    """
    found: list[Finding] = []
    end, line, unsummed, data = 0, 1, 0, b""
    for start, data, expected in rows:
        if start != end:
            what = f"{start - end:,} bytes are missing" if start > end else "two rows overlap"
            message = f"{what} before byte {start:,}"
            found.append(Finding(kind="rows", message=message, line=line, offset=min(start, end)))
        if expected is None:
            unsummed += 1
        elif expected != checksum(LogRow(start, data)):
            message = "the stored bytes differ from their checksum"
            found.append(Finding(kind="changed", message=message, line=line, offset=start, size=len(data)))
        end = start + len(data)
        line += data.count(b"\n")
    if end != size:
        message = f"the rows end at byte {end:,}, the session at {size:,}; no append is possible"
        found.append(Finding(kind="rows", message=message, line=line, offset=min(end, size)))
    elif torn != bool(data and not data.endswith(b"\n")):
        message = "the session does not say whether its last line is complete; an append may be glued to it"
        found.append(Finding(kind="rows", message=message, line=line, offset=end))
    if unsummed:
        message = f"{unsummed:,} lines have no checksum"
        found.append(Finding(kind="no-checksum", message=message))
    return found


class RowStore(ABC):
    """Base class of database stores: addresses, listings and errors."""

    def __init__(self, name: str) -> None:
        self.name = name
        """The display name: a path, or the address of a server without its password."""
        self._device = hashed((name,))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def path_of(self, key: str) -> str:
        """Return the path of a session."""
        return f"{self.name}#{key}"

    @abstractmethod
    def stat(self, key: str) -> StoredLog | None: ...

    @abstractmethod
    def open(self, key: str, *, durability: Durability = "fsync") -> Log: ...

    @abstractmethod
    def create_from(self, key: str, pieces: Iterable[bytes]) -> object:
        """Create a session from these bytes in one transaction."""

    @contextmanager
    def snapshot(self, key: str) -> Iterator[Read]:
        yield self.open(key).read

    def load(self, key: str, pieces: Iterable[bytes]) -> StoredLog:
        self.create_from(key, pieces)
        return self._found(key)

    def _found(self, key: str) -> StoredLog:
        found = self.stat(key)
        if found is None:
            raise no_session(key, self.name)
        return found

    def _stored(self, rows: Iterable[tuple[Any, ...]]) -> list[StoredLog]:
        """Convert rows of number, key, size and time in milliseconds to logs."""
        device, start = self._device, self.path_of("")
        # A log only grows, so its number and size identify its content.
        return [
            StoredLog(
                key,
                size,
                modified / 1000,
                start + key,
                FileStamp(device, number, size, modified * 1_000_000, size),
                derived=True,
            )
            for number, key, size, modified in rows
        ]


class RowWriter(ABC):
    """Appends to a log during one ``with`` block."""

    def __init__(self, name: str, end: int, *, unfinished: bool) -> None:
        self.end = end
        self.torn: TornTail | None = None
        self._name = name
        self._unfinished = unfinished
        self._open = True

    @abstractmethod
    def _save(self, data: bytes) -> TornTail | None:
        """Append lines; return the torn tail that this closed."""

    def append(self, data: bytes) -> int:
        if not self._open:
            raise RuntimeError(f"cannot append to {self._name}: this writer no longer holds the lock")
        require_lines(data)
        self.torn = self._save(data) or self.torn
        offset = self.end + self._unfinished
        self._unfinished = False
        self.end = offset + len(data)
        return offset

    def close(self) -> None:
        """Reject further appends."""
        self._open = False


def rows_of(data: bytes, start: int) -> list[LogRow]:
    """Split bytes that start at an offset into rows; the last one may lack its newline."""
    rows = []
    for line in data.splitlines(keepends=True) if _is_plain(data) else _lines(data):
        for at in range(0, len(line), _MAX_ROW):
            part = line if len(line) <= _MAX_ROW else line[at : at + _MAX_ROW]
            rows.append(LogRow(start, part))
            start += len(part)
    return rows


def cut(pieces: Iterable[bytes]) -> Iterator[list[LogRow]]:
    """Split a log that arrives in chunks of any size into rows, in batches."""
    waiting: list[bytes] = []
    size = start = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size < _BATCH:
            continue
        data = b"".join(waiting)
        end = data.rfind(b"\n") + 1
        if not end and size < _MAX_ROW:
            continue  # in the middle of a long line
        end = end or size - size % _MAX_ROW
        yield rows_of(data[:end], start)
        start += end
        waiting, size = [data[end:]], size - end
    if size:
        yield rows_of(b"".join(waiting), start)


def _is_plain(data: bytes) -> bool:
    """Return whether ``splitlines`` is safe: it also splits at carriage returns."""
    return b"\r" not in data


def _lines(data: bytes) -> Iterator[bytes]:
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        yield data[start : end + 1]
        start = end + 1
    if start < len(data):
        yield data[start:]
