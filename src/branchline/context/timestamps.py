"""Entry times, which are ISO 8601 text, as the Unix milliseconds that messages carry."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

__all__ = ["milliseconds"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def milliseconds(time: str) -> int | None:
    """The instant in milliseconds, None when it cannot be read. A time without a zone counts as UTC."""
    try:
        instant = datetime.fromisoformat(time)
    except ValueError:
        return None
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=UTC)
    return (instant - _EPOCH) // _MILLISECOND
