"""Times in the few words that fit a line, by the clock and the time zone of this machine."""

from __future__ import annotations

import time
from datetime import datetime

from branchline.views import humanize
from branchline.views.humanize import count, format_size, money, tokens

__all__ = ["age", "count", "format_size", "money", "time_words", "tokens"]


def age(moment_ms: float, now: float | None = None) -> str:
    """How long ago, in one short word: ``now``, ``5m``, ``3h``, ``2d``, ``1w``, ``4mo``, ``1y``."""
    return humanize.age(moment_ms, time.time() if now is None else now)


def time_words(moment: str) -> str:
    """A time of a file in the time zone of this machine, to the minute; as it is when it is unreadable."""
    try:
        return f"{datetime.fromisoformat(moment).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError):
        return moment
