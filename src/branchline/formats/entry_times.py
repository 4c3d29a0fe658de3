"""When an entry was made, as programs that write ISO times with milliseconds in UTC record it."""

from __future__ import annotations

import re

from branchline.context import milliseconds
from branchline.entries import Entry, MessageEntry, UnknownMessage
from branchline.formats.json_values import LAST_INSTANT, iso_time

__all__ = ["entry_time", "iso_time"]

_USUAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)


def entry_time(entry: Entry) -> str:
    """When a message was said, or else when its entry was written; "" if neither tells."""
    said = None if not isinstance(entry, MessageEntry) else entry.message
    spoken = None if said is None or isinstance(said, UnknownMessage) else said.timestamp
    if isinstance(spoken, int | float) and 0 < spoken <= LAST_INSTANT:
        return iso_time(spoken)
    if _USUAL.fullmatch(entry.timestamp):
        return entry.timestamp
    written = milliseconds(entry.timestamp)
    return iso_time(written) if written is not None and 0 <= written <= LAST_INSTANT else ""
