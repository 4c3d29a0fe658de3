"""Small plots in a line of text: bars and sparklines.

They are drawn with block characters of one column each; a screen that has only ASCII replaces them one by
one. Numbers that are no numbers are drawn as nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["bar", "sparkline"]

_EIGHTHS = "▏▎▍▌▋▊▉█"
_STEPS = "▁▂▃▄▅▆▇█"


def bar(value: float, largest: float, columns: int) -> str:
    """A bar from the left, as long as the value is a part of the largest; something is never nothing."""
    share = _share(value, largest)
    if share == 0 or columns <= 0:
        return ""
    eighths = max(1, round(share * columns * 8))
    whole, rest = divmod(eighths, 8)
    return "█" * whole + (_EIGHTHS[rest - 1] if rest else "")


def sparkline(values: Sequence[float], columns: int | None = None) -> str:
    """One character per value; where there are more than fit, one per group of neighbours, by their sum."""
    if columns is not None and len(values) > max(0, columns):
        values = _grouped(values, columns)
    largest = max(filter(math.isfinite, values), default=0)
    return "".join(_step(_share(value, largest)) for value in values)


def _grouped(values: Sequence[float], columns: int) -> list[float]:
    if columns <= 0:
        return []
    size = math.ceil(len(values) / columns)
    first = len(values) % size  # the newest group is the one that must be whole
    starts = ([0] if first else []) + list(range(first, len(values), size))
    return [sum(values[start : start + size if start else first or size]) for start in starts]


def _share(value: float, largest: float) -> float:
    if not math.isfinite(value) or not math.isfinite(largest) or value <= 0 or largest <= 0:
        return 0
    return min(1.0, value / largest) or 1e-9  # something is never nothing


def _step(share: float) -> str:
    return " " if share == 0 else _STEPS[min(7, math.ceil(share * 8) - 1)]
