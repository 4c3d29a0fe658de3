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
    "optional_text",
    "text_of",
    "whole_number",
]

LAST_INSTANT = 253402300799999
"""The end of the year 9999, in milliseconds."""


def dict_of(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


def optional_text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def whole_number(value: Any) -> int:
    """Return a count; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1 << 60:
        return 0
    return int(value)


def iso_time(milliseconds: object) -> str:
    """Return a Unix time in milliseconds as ISO text; "" for anything else, or if it is out of range."""
    if not isinstance(milliseconds, int | float) or not 0 < milliseconds <= LAST_INSTANT:
        return ""
    minutes, rest = divmod(int(milliseconds), 60_000)
    return f"{_minute(minutes)}:{rest // 1000:02}.{rest % 1000:03}Z"


def iso_times(times: Iterable[object]) -> Iterator[str]:
    """Yield times as ISO text, of which some are text already."""
    for time in times:
        yield time if isinstance(time, str) else iso_time(time)


@lru_cache(maxsize=1024)  # many entries share a minute
def _minute(number: int) -> str:
    return datetime.fromtimestamp(number * 60, UTC).isoformat()[:16]
