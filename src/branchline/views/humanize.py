"""Short texts for numbers, sizes and ages; ``figures`` has those for tokens and cost."""

from __future__ import annotations

from math import inf

__all__ = [
    "age",
    "as_float",
    "count",
    "decoded_size",
    "duration",
    "format_size",
]

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def count(number: int, one: str, many: str | None = None) -> str:
    """``1 entry``, ``3 entries``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def as_float(number: float) -> float:
    """Convert to float; numbers out of range become infinite."""
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf


def age(moment_ms: float, now: float) -> str:
    """Format the time since a moment: ``now``, ``5m``, ``3h``, ``2d``, ``1w``, ``4mo``, ``1y``."""
    seconds = now - moment_ms / 1000
    days = int(seconds // _DAY)
    if seconds < _MINUTE:
        return "now"
    if seconds < _HOUR:
        return f"{int(seconds // _MINUTE)}m"
    if seconds < _DAY:
        return f"{int(seconds // _HOUR)}h"
    if days < 7:
        return f"{days}d"
    if days < 30:
        return f"{days // 7}w"
    return f"{days // 30}mo" if days < 365 else f"{days // 365}y"


def duration(seconds: float) -> str:
    """Format a duration: ``0.3s``, ``12s``, ``2m 5s``, ``1h 3m``."""
    if seconds < 9.95:
        return f"{max(0.0, seconds):.1f}s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole}s"
    if whole < _HOUR:
        return f"{whole // _MINUTE}m {whole % _MINUTE}s"
    return f"{whole // _HOUR:,}h {whole % _HOUR // _MINUTE}m"


def decoded_size(base64: str) -> int:
    """Return the number of bytes that a text in base64 stands for."""
    return max(0, len(base64) * 3 // 4 - base64[-2:].count("="))


def format_size(size: int) -> str:
    """``312 bytes``, ``12.3 kB``, ``4.0 MB``."""
    if size < 1000:
        return count(size, "byte")
    return f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"
