"""Times as a person reads them in a row."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["label_time"]


def label_time(time: str, now: datetime) -> str:
    """When a label was set, in the time zone of ``now``: ``HH:MM`` today, with the date before that.

    ``M/D HH:MM`` is a day of this year, ``YY/M/D HH:MM`` one of another. An unreadable time is empty.
    """
    try:
        instant = datetime.fromisoformat(time)
        if instant.tzinfo is None:
            instant = instant.replace(tzinfo=UTC)
        instant = instant.astimezone(now.tzinfo)
    except (ValueError, OverflowError):
        return ""
    clock = f"{instant:%H:%M}"
    if instant.date() == now.date():
        return clock
    day = f"{instant.month}/{instant.day} {clock}"
    return day if instant.year == now.year else f"{instant.year % 100:02d}/{day}"
