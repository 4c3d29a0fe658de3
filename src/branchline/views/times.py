"""Times in rows, and the notation of times in options."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

from branchline.errors import InvalidArgument

__all__ = ["WRITTEN_AS", "day_of", "instant", "label_time", "time_of"]


def instant(time: str) -> datetime | None:
    """Parse a time of an entry; None if it is invalid. A time without a zone counts as UTC."""
    try:
        moment = datetime.fromisoformat(time)
        return (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def label_time(time: str, now: datetime) -> str:
    """Format the time of a label in the time zone of ``now``: ``HH:MM`` today, otherwise with the date.

    ``M/D HH:MM`` is a day of this year, ``YY/M/D HH:MM`` of another. An invalid time is empty.
    """
    if (parsed := instant(time)) is None:
        return ""
    try:
        moment = parsed.astimezone(now.tzinfo)
    except OverflowError:  # a day at the end of the calendar
        return ""
    clock = f"{moment:%H:%M}"
    if moment.date() == now.date():
        return clock
    day = f"{moment.month}/{moment.day} {clock}"
    return day if moment.year == now.year else f"{moment.year % 100:02d}/{day}"


_AGO = r"(\d{1,6})\s*(m|h|d|w|mo|y)"
_MINUTES = {"m": 1, "h": 60, "d": 1440, "w": 7 * 1440, "mo": 30 * 1440, "y": 365 * 1440}
WRITTEN_AS = "2026-11-01, 2026-11, today, yesterday, 12h, 7d, 2w, 3mo or 1y"
"""The notation of times in options and queries. Units are those of lists: ``3m`` is minutes."""


def time_of(words: str, now: datetime) -> datetime | None:
    """Parse a time: a date or time, ``today``, ``yesterday``, or an age such as ``12h``.

    Dates without a zone are in the zone of ``now``. None if it is invalid.
    """
    text = words.strip().lower()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        if text in ("today", "yesterday"):
            return midnight - timedelta(days=text == "yesterday")
        if ago := re.fullmatch(_AGO, text):
            return now - timedelta(minutes=int(ago[1]) * _MINUTES[ago[2]])
        moment = datetime.fromisoformat(f"{text}-01" if re.fullmatch(r"\d{4}-\d\d", text) else text)
    except (ValueError, OverflowError):
        return None
    return moment.replace(tzinfo=now.tzinfo) if moment.tzinfo is None else moment


def day_of(words: str, now: datetime) -> date:
    """Parse a day. Raises ValueError with the valid notations."""
    moment = time_of(words, now)
    try:
        if moment is not None:
            return moment.astimezone(now.tzinfo).date()
    except OverflowError:  # a day at the end of the calendar, in another zone
        pass
    raise InvalidArgument(f"{words!r} is not a valid date; use {WRITTEN_AS}")
