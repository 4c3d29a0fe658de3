"""Times as a person reads them in a row, and writes them in an option."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

__all__ = ["day_of", "label_time"]


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


_AGO = re.compile(r"(\d{1,5})\s*(d|w|mo|m|y)")
_DAYS = {"d": 1, "w": 7, "m": 30, "mo": 30, "y": 365}


def day_of(words: str, today: date) -> date:
    """The day that a person means: ``2026-11-01``, ``2026-11``, ``today``, ``yesterday``, ``7d``, ``2w``.

    ValueError says what can be written.
    """
    text = words.strip().lower()
    if text in ("today", "yesterday"):
        return today - timedelta(days=text == "yesterday")
    try:
        if ago := _AGO.fullmatch(text):
            return today - timedelta(days=int(ago[1]) * _DAYS[ago[2]])
        return date.fromisoformat(f"{text}-01" if re.fullmatch(r"\d{4}-\d\d", text) else text)
    except (ValueError, OverflowError):
        raise ValueError(
            f"{words!r} is not a valid date; use 2026-11-01, 2026-11, today, yesterday, 7d, 2w, 3m or 1y"
        ) from None
