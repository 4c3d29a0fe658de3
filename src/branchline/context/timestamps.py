"""Conversion of entry times (ISO 8601 text) to Unix milliseconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

__all__ = ["milliseconds"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def milliseconds(time: str) -> int | None:
    """Convert a time to milliseconds; None if it is invalid. A time without a zone counts as UTC."""
    try:
        instant = datetime.fromisoformat(time)
    except ValueError:
        return None
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=UTC)
    return (instant - _EPOCH) // _MILLISECOND
