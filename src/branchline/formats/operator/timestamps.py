"""Conversion of Operator's times, float seconds since 1970, to ISO text and milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from branchline.context import milliseconds

__all__ = ["are_times", "instant", "iso_time", "iso_times", "seconds_of"]

_LAST_SECOND = 253_402_300_799  # end of the year 9999
_FIRST_DAY = date(1970, 1, 1).toordinal()
_SECONDS = [f"{second:02d}." for second in range(60)]
_THOUSANDTHS = [f"{thousandth:03d}Z" for thousandth in range(1000)]


def instant(value: object) -> int | None:
    """Return a stored time in milliseconds; None if it is invalid."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LAST_SECOND:
        return None
    return round(value * 1000)


def iso_time(value: object) -> str:
    """Return a stored time as ISO text; "" if it is invalid."""
    return "" if instant(value) is None else iso_times([value])[0]  # type: ignore[list-item]


def are_times(values: Sequence[float]) -> bool:
    """Return whether the values are not empty and all valid times."""
    return bool(values) and min(values) >= 0 and max(values) <= _LAST_SECOND


def iso_times(values: Sequence[float]) -> list[str]:
    """Return many stored times as ISO text. All must be valid."""
    found: list[str] = []
    minute, to_the_minute = -60, ""
    for value in values:
        second, thousandth = divmod(round(value * 1000), 1000)
        second -= minute
        if not 0 <= second < 60:  # entries are in order, several per minute
            minute, second = divmod(second + minute, 60)
            day, rest = divmod(minute, 1440)
            to_the_minute = f"{date.fromordinal(_FIRST_DAY + day)}T{rest // 60:02d}:{rest % 60:02d}:"
            minute *= 60
        found.append(to_the_minute + _SECONDS[second] + _THOUSANDTHS[thousandth])
    return found


def seconds_of(time: str | float | None) -> float:
    """Return a time as Operator stores it; invalid text and times before 1970 become 1970."""
    moment = milliseconds(time) if isinstance(time, str) else time
    return min(max(moment or 0, 0) / 1000, _LAST_SECOND)
