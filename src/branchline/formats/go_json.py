"""JSON and times as Go programs write them, shared by the formats of such agents.

Their JSON escapes ``<``, ``>`` and ``&``, and writes numbers without an exponent as long as that is short.
Their times have up to nine digits, without trailing zeros, and the local zone. In the tree times are in UTC,
so they can be compared as text.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from branchline.entries import json_codec

__all__ = ["NO_TIME", "dumps", "go_timestamp", "time_text", "utc_time"]

NO_TIME = "0001-01-01T00:00:00Z"
"""Go's zero time, which means that no time was set."""

# -- JSON -------------------------------------------------------------------------------------------------

_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|-?\d[\d.eE+-]*+', re.DOTALL)
_ESCAPES = (
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"&", b"\\u0026"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)


def dumps(value: Any) -> bytes:
    """Encode a value compactly, as ``encoding/json`` does."""
    text = _TOKEN.sub(_number, json_codec.dumps(value))
    for character, escape in _ESCAPES:  # all of them can only occur inside strings
        text = text.replace(character, escape)
    return text


def _number(token: re.Match[bytes]) -> bytes:
    text = token[0]
    if text.startswith(b'"') or not {0x2E, 0x45, 0x65}.intersection(text):
        return text
    return _float_text(float(text)).encode()


def _float_text(number: float) -> str:
    """Return the shortest text of a number; with an exponent only if it is very small or very large."""
    size = abs(number)
    if size and (size < 1e-6 or size >= 1e21):
        return re.sub(r"e-0", "e-", repr(number))
    text = format(Decimal(repr(number)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


# -- times ------------------------------------------------------------------------------------------------

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d)(:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)")
_minutes: dict[str, str] = {}  # local minute and zone -> the same minute in UTC; a session has few of them


def utc_time(text: str) -> str:
    """Return a time from a file in UTC, with at least milliseconds; "" if it is invalid.

    The digits are unchanged; two such times can be compared as text.
    """
    if text[10:20:9] == "T.":
        if text[-1:] == "Z" and (len(text) > 23 or text[20:-1].isdecimal()):
            return f"{text[:-1]:0<23}Z"  # Go omits trailing zeros, in one of ten times
        if len(text) > 28 and (minute := _minutes.get(text[:16] + text[-6:])):
            return f"{minute}{text[16:-6]}Z"
    found = _TIME.fullmatch(text)
    if found is None or text == NO_TIME:
        return ""
    minute = _utc_minute(found[1], found[4])
    return "" if minute is None else f"{minute}{found[2]}.{found[3] or '':0<3}Z"


def _utc_minute(minute: str, zone: str) -> str | None:
    try:
        there = datetime.fromisoformat(minute + zone).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    if len(_minutes) > 10_000:
        _minutes.clear()
    found = _minutes[minute + zone] = there.isoformat(timespec="minutes")[:16]
    return found


def time_text(milliseconds: float | None) -> str:
    """Return Unix milliseconds as a Go program in UTC writes them."""
    try:
        moment = _EPOCH + timedelta(milliseconds=milliseconds or 0)
    except (OverflowError, ValueError):
        return NO_TIME
    if milliseconds is None:
        return NO_TIME
    text = moment.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")
    return text + (f".{moment.microsecond:06}".rstrip("0") if moment.microsecond else "") + "Z"


def go_timestamp(text: str) -> str:
    """Return a time as a Go program in UTC writes it; Go's zero time if it is not valid."""
    time = utc_time(text)
    return time[:19] + time[19:-1].rstrip("0").rstrip(".") + "Z" if time else NO_TIME
