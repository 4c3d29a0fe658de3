"""Protocols of a log: a name, bytes, and one writer at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol, runtime_checkable

import msgspec

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
    """Path of a copy of the fragment; None where a log keeps no copies."""


class Writer(Protocol):
    """A handle for appending, valid while the lock is held."""

    @property
    def end(self) -> int:
        """Size of the log: as found when the lock was taken, then after each append of this writer.

        Compare it with the end you know: in between are lines that another writer appended.
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
        """How many bytes there are now."""

    def read(self, offset: int, size: int) -> bytes:
        """Bytes from `offset`; fewer than `size` only at the end, none beyond it."""

    def exclusive(self) -> AbstractContextManager[Writer]:
        """Take the lock (with a time limit) for the length of a `with` block."""

    def close(self) -> None:
        """Let go of descriptors. Closing twice is harmless."""


@runtime_checkable
class CompareAndAppendLog(Log, Protocol):
    """A log that can append without a lock, as long as no other writer has appended."""

    def try_append(self, expected_end: int, data: bytes) -> int | None:
        """Append whole lines if the log ends at ``expected_end``, in a newline; return where they begin.

        None, and nothing written, if another writer was faster or the last line is torn: take the lock then.
        Raises what :meth:`Writer.append` raises.
        """
        ...


@runtime_checkable
class LinesLog(Log, Protocol):
    """A log that finds many lines in one step, wherever they are."""

    def read_lines(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes from the first offset of each range up to its second one."""
        ...


@runtime_checkable
class RemovableLog(Log, Protocol):
    """A log that outlives its handle: two handles can be compared, and the log be deleted."""

    @property
    def identity(self) -> object:
        """What two handles of one log have in common, whatever its key."""
        ...

    def unlink(self) -> None:
        """Delete the log for good. Hold the lock around the call."""
        ...


@runtime_checkable
class IndexedLog(Log, Protocol):
    """A log that keeps the index of its lines beside them, so that opening need not read them all.

    The index is derived: it may be lost, and keeping it may fail without harm.
    """

    def saved_index(self) -> tuple[int, bytes] | None:
        """How many bytes of the log the kept index covers, and the index; None if there is none."""
        ...

    def save_index(self, covered: int, index: bytes) -> None:
        """Keep an index, in place of an older one."""
        ...


@runtime_checkable
class FollowableLog(Log, Protocol):
    """A log that knows by itself when it grows."""

    def follow(self, after: int, *, timeout: float | None = None) -> Iterator[int]:
        """The size of the log each time it has grown beyond the last size given, which begins with ``after``.

        Ends when it has not grown for ``timeout`` seconds; never without one.
        """
        ...


def follow(log: Log, after: int, *, timeout: float | None = None, interval: float = 0.25) -> Iterator[int]:
    """As :meth:`FollowableLog.follow`, for every log: one without notifications is polled."""
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
    """Refuse what would leave the log without a newline at its end."""
    if not data or data[-1] != 0x0A:
        raise ValueError("a log is appended in whole lines: the data must end in a newline")
