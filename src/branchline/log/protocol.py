"""Protocols of a log: a name, bytes, and one writer at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol, runtime_checkable

import msgspec

from branchline.errors import InvalidArgument

__all__ = [
    "CompareAndAppendLog",
    "Durability",
    "FollowableLog",
    "IndexedLog",
    "LinesLog",
    "Log",
    "RemovableLog",
    "TornTail",
    "Writer",
    "follow",
    "require_lines",
]

Durability = Literal["fsync", "os"]
"""When `append` returns: "fsync": the bytes are on stable storage; "os": the kernel has them."""


class TornTail(msgspec.Struct, frozen=True):
    """An unfinished last line that was closed before an append. Its bytes are still in the log."""

    offset: int
    size: int
    kept_at: str | None
    """Path of a copy of the fragment; None if the log keeps no copies."""


class Writer(Protocol):
    """A handle for appending, valid while the lock is held."""

    @property
    def end(self) -> int:
        """Size of the log when the lock was acquired, then after each append of this writer.

        If it differs from the end you know, another writer has appended the lines in between.
        """

    @property
    def torn(self) -> TornTail | None:
        """The torn tail that an append of this writer closed, if there was one."""

    def append(self, data: bytes) -> int:
        """Append one or several whole lines in one write; return the offset where `data` begins.

        The offset is larger than `end` was if a tail was closed, or if a writer that does not lock
        came in between. Raises `NotSaved` when nothing was saved, `LogShrank` when the log has lost
        lines that were acknowledged here, `ValueError` when `data` is not whole lines.
        """


class Log(Protocol):
    """One append-only log of lines."""

    @property
    def name(self) -> str:
        """The name used in messages: a path or a key."""

    def size(self) -> int:
        """Return the current size in bytes."""

    def read(self, offset: int, size: int) -> bytes:
        """Return bytes from `offset`; fewer than `size` only at the end, none beyond it."""

    def exclusive(self) -> AbstractContextManager[Writer]:
        """Hold the lock (acquired with a timeout) during a `with` block."""

    def close(self) -> None:
        """Close descriptors. Closing twice is harmless."""


@runtime_checkable
class CompareAndAppendLog(Log, Protocol):
    """A log that can append without a lock, as long as no other writer has appended."""

    def try_append(self, expected_end: int, data: bytes) -> int | None:
        """Append whole lines if the log ends at ``expected_end`` in a newline; return their offset.

        Returns None, with nothing written, if another writer was faster or the last line is torn: use the
        lock then. Raises the same errors as :meth:`Writer.append`.
        """
        ...


@runtime_checkable
class LinesLog(Log, Protocol):
    """A log that reads many lines in one step."""

    def read_lines(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return the bytes of each range, from its first offset up to its second."""
        ...


@runtime_checkable
class RemovableLog(Log, Protocol):
    """A log that outlives its handle: two handles can be compared, and the log be deleted."""

    @property
    def identity(self) -> object:
        """Equal for two handles of the same log, whatever its key."""
        ...

    def unlink(self) -> None:
        """Delete the log permanently. The caller holds the lock."""
        ...


@runtime_checkable
class IndexedLog(Log, Protocol):
    """A log that stores an index of its lines, so that opening need not read all of them.

    The index is derived data: it may be lost, and saving it may fail without harm.
    """

    def saved_index(self) -> tuple[int, bytes] | None:
        """Return how many bytes of the log the saved index covers, and the index; None if there is none."""
        ...

    def save_index(self, covered: int, index: bytes) -> None:
        """Save an index, replacing an older one."""
        ...


@runtime_checkable
class FollowableLog(Log, Protocol):
    """A log that is notified when it grows."""

    def follow(self, after: int, *, timeout: float | None = None) -> Iterator[int]:
        """Yield the size of the log each time it grows beyond the last size, starting with ``after``.

        Ends if it has not grown for ``timeout`` seconds (None: never).
        """
        ...


def follow(log: Log, after: int, *, timeout: float | None = None, interval: float = 0.25) -> Iterator[int]:
    """Follow any log like :meth:`FollowableLog.follow`; logs without notifications are polled."""
    if isinstance(log, FollowableLog):
        yield from log.follow(after, timeout=timeout)
        return
    last = time.monotonic()
    while True:
        if (size := log.size()) > after:
            after, last = size, time.monotonic()
            yield size
        elif timeout is not None and time.monotonic() - last >= timeout:
            return
        else:
            time.sleep(interval if timeout is None else min(interval, timeout))


def require_lines(data: bytes) -> None:
    """Raise ValueError unless the data ends in a newline."""
    if not data or data[-1] != 0x0A:
        raise InvalidArgument("a log is appended in whole lines: the data must end in a newline")
