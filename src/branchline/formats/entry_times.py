"""When an entry was made, as programs that write ISO times with milliseconds in UTC record it."""

from __future__ import annotations

import re

from branchline.context import milliseconds
from branchline.entries import Entry, MessageEntry, UnknownMessage

__all__ = ["NO_TIME", "entry_time", "iso_time", "usual_time"]

NO_TIME = "1970-01-01T00:00:00.000Z"
"""What stands for a time that nobody knows, where a program needs one."""

_USUAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
_LAST = 253402300799999  # the end of the year 9999


def entry_time(entry: Entry) -> str:
    """When a message was said, or else when its entry was written; "" if neither tells."""
    said = None if not isinstance(entry, MessageEntry) else entry.message
    spoken = None if said is None or isinstance(said, UnknownMessage) else said.timestamp
    if isinstance(spoken, int | float) and 0 < spoken <= _LAST:
        return iso_time(spoken)
    return usual_time(entry.timestamp)


def usual_time(time: str) -> str:
    """A time in the usual form; "" if it cannot be read."""
    if _USUAL.fullmatch(time):
        return time
    moment = milliseconds(time)
    return iso_time(moment) if moment is not None and 0 <= moment <= _LAST else ""


def iso_time(moment: float) -> str:
    """Milliseconds since 1970 as such a time."""
    from datetime import UTC, datetime  # noqa: PLC0415

    seconds, rest = divmod(round(moment), 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:03}Z"
