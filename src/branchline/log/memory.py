"""A log in memory that behaves like a file: whole lines, one writer at a time, torn tails closed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from branchline.errors import InvalidArgument, LockTimeout
from branchline.log.protocol import TornTail, require_lines
from branchline.log.tail import is_complete_json, read_tail

__all__ = ["MemoryLog", "MemoryWriter"]


class MemoryLog:
    """Lines in memory. Threads may share it."""

    def __init__(
        self,
        data: bytes = b"",
        name: str = "memory",
        *,
        lock_timeout: float = 10.0,
        is_complete: Callable[[bytes], bool] = is_complete_json,
    ) -> None:
        if lock_timeout < 0:
            raise InvalidArgument(f"a time limit cannot be negative: {lock_timeout}")
        self.name = name
        self._data = bytearray(data)
        self._lock = threading.Lock()
        self._lock_timeout = lock_timeout
        self._is_complete = is_complete

    def size(self) -> int:
        return len(self._data)

    def read(self, offset: int, size: int) -> bytes:
        if offset < 0 or size < 0:
            raise InvalidArgument(f"cannot read {size} bytes at {offset}")
        return bytes(self._data[offset : offset + size])

    @contextmanager
    def exclusive(self) -> Iterator[MemoryWriter]:
        if not self._lock.acquire(timeout=min(self._lock_timeout, threading.TIMEOUT_MAX)):
            raise LockTimeout(
                f"cannot append to {self.name}: the lock is held by another thread of this program; "
                f"tried for {self._lock_timeout:.1f} s"
            )
        writer = MemoryWriter(self._data, self.name, self._is_complete)
        try:
            yield writer
        finally:
            writer.close()
            self._lock.release()

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def __repr__(self) -> str:
        return f"MemoryLog(name={self.name!r}, {len(self._data)} bytes)"


class MemoryWriter:
    """Appends to a `MemoryLog` during one `with` block."""

    def __init__(self, data: bytearray, name: str, is_complete: Callable[[bytes], bool]) -> None:
        self.torn: TornTail | None = None
        self._data = data
        self._name = name
        self._is_complete = is_complete
        self._open = True

    @property
    def end(self) -> int:
        return len(self._data)

    def append(self, data: bytes) -> int:
        if not self._open:
            raise RuntimeError(f"cannot append to {self._name}: this writer no longer holds the lock")
        require_lines(data)
        offset = len(self._data)
        if offset and self._data[-1] != 0x0A:
            tail = read_tail(lambda start, size: bytes(self._data[start : start + size]), offset)
            if not self._is_complete(tail):
                self.torn = TornTail(offset - len(tail), len(tail), None)
            self._data += b"\n" + data
            return offset + 1
        self._data += data
        return offset

    def close(self) -> None:
        """Reject further appends."""
        self._open = False
