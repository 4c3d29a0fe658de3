"""Operator's times are seconds since 1970 as floats; ours are ISO text and milliseconds."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

from branchline.context import milliseconds

__all__ = ["instant", "iso_time", "seconds_of"]

_LAST_SECOND = 253_402_300_799  # the end of the year 9999


def instant(value: object) -> int | None:
    """A stored time in milliseconds; None when it is no time."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LAST_SECOND:
        return None
    return round(value * 1000)


def iso_time(value: object) -> str:
    """A stored time as text; empty when it is no time."""
    moment = instant(value)
    if moment is None:
        return ""
    second, thousandths = divmod(moment, 1000)
    return f"{_second(second)}.{thousandths:03d}Z"


@lru_cache(maxsize=1024)  # the lines of a turn share their seconds
def _second(second: int) -> str:
    return datetime.fromtimestamp(min(second, _LAST_SECOND), UTC).strftime("%Y-%m-%dT%H:%M:%S")


def seconds_of(time: str | float | None) -> float:
    """ISO text or milliseconds as Operator stores them; what cannot be read is 1970."""
    moment = milliseconds(time) if isinstance(time, str) else time
    return (moment or 0) / 1000
