"""The time of an entry in ISO format with milliseconds in UTC, for agents that write it so."""

from __future__ import annotations

import re

from branchline.context import milliseconds
from branchline.entries import Entry, MessageEntry, UnknownMessage
from branchline.formats.json_values import LAST_INSTANT, iso_time

__all__ = ["NO_TIME", "entry_time", "iso_time", "usual_time"]

NO_TIME = "1970-01-01T00:00:00.000Z"
"""The time written if an agent requires one and none is known."""

_USUAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)


def entry_time(entry: Entry) -> str:
    """Return the time of a message, or else of its entry; "" if neither has one."""
    message = None if not isinstance(entry, MessageEntry) else entry.message
    timestamp = None if message is None or isinstance(message, UnknownMessage) else message.timestamp
    if isinstance(timestamp, int | float) and 0 < timestamp <= LAST_INSTANT:
        return iso_time(timestamp)
    return usual_time(entry.timestamp)


def usual_time(time: str) -> str:
    """Return a time in the usual form; "" if it cannot be parsed."""
    if _USUAL.fullmatch(time):
        return time
    moment = milliseconds(time)
    return iso_time(moment) if moment is not None and 0 <= moment <= LAST_INSTANT else ""
