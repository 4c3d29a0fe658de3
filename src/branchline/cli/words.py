"""Numbers, sizes and ages for a line of output; ages by this machine's clock."""

from __future__ import annotations

import time

from branchline.views import humanize
from branchline.views.humanize import cost_words, count, format_size, money, tokens

__all__ = ["age", "cost_words", "count", "format_size", "money", "tokens"]


def age(moment_ms: float, now: float | None = None) -> str:
    """How long ago, in one short word: ``now``, ``5m``, ``3h``, ``2d``, ``1w``, ``4mo``, ``1y``."""
    return humanize.age(moment_ms, time.time() if now is None else now)
