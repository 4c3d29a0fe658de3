"""Small plots in a line of text: bars and sparklines.

They consist of block characters of one column each; an ASCII-only screen replaces them one by one. Values
that are not finite are drawn as empty.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["bar", "sparkline"]

_EIGHTHS = "▏▎▍▌▋▊▉█"
_STEPS = "▁▂▃▄▅▆▇█"


def bar(value: float, largest: float, columns: int) -> str:
    """Return a bar proportional to ``value / largest``; a positive value is never empty."""
    share = _share(value, largest)
    if share == 0 or columns <= 0:
        return ""
    eighths = max(1, round(share * columns * 8))
    whole, rest = divmod(eighths, 8)
    return "█" * whole + (_EIGHTHS[rest - 1] if rest else "")


def sparkline(values: Sequence[float], columns: int | None = None) -> str:
    """Return one character per value; if there are too many, one per group of neighbours, by their sum."""
    if columns is not None and len(values) > max(0, columns):
        values = _grouped(values, columns)
    largest = max(filter(math.isfinite, values), default=0)
    return "".join(_step(_share(value, largest)) for value in values)


def _grouped(values: Sequence[float], columns: int) -> list[float]:
    if columns <= 0:
        return []
    size = math.ceil(len(values) / columns)
    first = len(values) % size  # the newest group must be complete
    starts = ([0] if first else []) + list(range(first, len(values), size))
    return [sum(values[start : start + size if start else first or size]) for start in starts]


def _share(value: float, largest: float) -> float:
    if not math.isfinite(value) or not math.isfinite(largest) or value <= 0 or largest <= 0:
        return 0
    return min(1.0, value / largest) or 1e-9  # a positive value is never empty


def _step(share: float) -> str:
    return " " if share == 0 else _STEPS[min(7, math.ceil(share * 8) - 1)]
