"""Time and new ids: everything that would make a session differ from run to run comes from a clock."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Protocol

__all__ = ["Clock", "FixedClock", "SystemClock", "iso", "local_time"]


class Clock(Protocol):
    """Where time and ids come from."""

    def now(self) -> int:
        """Unix time in milliseconds."""
        ...

    def entry_id(self) -> str:
        """A new id for an entry; the caller checks that it is free."""
        ...

    def session_id(self) -> str:
        """A new id for a session."""
        ...


class SystemClock:
    """The time of this machine; ids are random, session ids sort by time (UUID version 7)."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    def entry_id(self) -> str:
        return os.urandom(8).hex()

    def session_id(self) -> str:
        return _uuid7(self.now(), int.from_bytes(os.urandom(10)) >> 6)


class FixedClock:
    """A clock for tests and demos: it starts where it is told and ticks once per question."""

    def __init__(self, start: int = 1_767_225_600_000, step: int = 1_000, seed: int = 0) -> None:
        self._now = start - step
        self._step = step
        self._count = seed

    def now(self) -> int:
        self._now += self._step
        return self._now

    def entry_id(self) -> str:
        self._count += 1
        return f"{self._count:016x}"

    def session_id(self) -> str:
        self._count += 1
        return _uuid7(self._now, self._count)


def iso(moment: float) -> str:
    """Unix milliseconds as the files write them: UTC with milliseconds and ``Z``."""
    seconds, rest = divmod(int(moment), 1000)
    return f"{_second(seconds)}.{rest:03d}Z"


def local_time(moment: str) -> str:
    """Return a time from a file in this machine's time zone, to the minute; unchanged if unreadable."""
    try:
        return f"{datetime.fromisoformat(moment).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError):
        return moment


@lru_cache(maxsize=16)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").removesuffix("+00:00")


def _uuid7(now: int, noise: int) -> str:
    high, low = divmod(noise, 1 << 62)
    value = (now & (1 << 48) - 1) << 80 | 7 << 76 | (high & 0xFFF) << 64 | 2 << 62 | low
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
