"""Values of a decoded JSON object as the type that is wanted; anything else counts as absent."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

__all__ = ["dict_of", "iso_time", "list_of", "text_of", "whole_number"]

_LAST_INSTANT = 253402300799999  # the end of the year 9999, in milliseconds


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
    if milliseconds is None or not 0 < milliseconds <= _LAST_INSTANT:
        return ""
    time = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
