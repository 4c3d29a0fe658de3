"""Typed access to decoded JSON values; a value of another type counts as absent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

__all__ = [
    "LAST_INSTANT",
    "dict_of",
    "iso_time",
    "iso_times",
    "list_of",
    "number_of",
    "optional_flag",
    "optional_number",
    "optional_text",
    "text_of",
    "whole_number",
]

LAST_INSTANT = 253402300799999
"""The end of the year 9999, in milliseconds."""
_NUMBERS = (int, float)  # a union of types would be created for each time


def dict_of(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


def optional_text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def optional_flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def optional_number(value: Any) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def number_of(value: Any) -> int | float:
    return optional_number(value) or 0


def whole_number(value: Any) -> int:
    """Return a count; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1 << 60:
        return 0
    return int(value)


def iso_time(milliseconds: object) -> str:
    """Return a Unix time in milliseconds as ISO text; "" for anything else, or if it is out of range."""
    if not isinstance(milliseconds, _NUMBERS) or not 0 < milliseconds <= LAST_INSTANT:
        return ""
    minutes, rest = divmod(int(milliseconds), 60_000)
    return _minute(minutes) % divmod(rest, 1000)


def iso_times(times: Iterable[object]) -> Iterator[str]:
    """Yield times as ISO text, of which some are text already."""
    for time in times:
        if type(time) is int and 0 < time <= LAST_INSTANT:  # inlined: runs for every entry of a session
            yield _minute(time // 60_000) % divmod(time % 60_000, 1000)
        else:
            yield time if isinstance(time, str) else iso_time(time)


@lru_cache(maxsize=1024)  # many entries share a minute
def _minute(number: int) -> str:
    """Return the times of a minute, with places for seconds and milliseconds."""
    return datetime.fromtimestamp(number * 60, UTC).isoformat()[:16] + ":%02d.%03dZ"
