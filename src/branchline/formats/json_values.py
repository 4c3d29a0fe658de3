"""Values of a decoded JSON object as the type that is wanted; anything else counts as absent."""

from __future__ import annotations

from datetime import date
from functools import lru_cache
from typing import Any

__all__ = ["LAST_INSTANT", "dict_of", "iso_time", "list_of", "text_of", "whole_number"]

LAST_INSTANT = 253402300799999
"""The end of the year 9999, in milliseconds."""
_EPOCH = date(1970, 1, 1).toordinal()


def dict_of(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


def whole_number(value: Any) -> int:
    """A count; 0 for anything that is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1 << 60:
        return 0
    return int(value)


def iso_time(milliseconds: float | None) -> str:
    """A time in milliseconds as text; "" for none, or for one beyond all dates."""
    if milliseconds is None or not 0 < milliseconds <= LAST_INSTANT:
        return ""
    days, rest = divmod(int(milliseconds), 86_400_000)
    seconds, rest = divmod(rest, 1000)
    minutes, seconds = divmod(seconds, 60)
    return f"{_day(days)}T{minutes // 60:02}:{minutes % 60:02}:{seconds:02}.{rest:03}Z"


@lru_cache(maxsize=64)
def _day(number: int) -> str:
    return date.fromordinal(_EPOCH + number).isoformat()
