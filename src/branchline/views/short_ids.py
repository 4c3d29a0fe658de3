"""Shortest unique prefixes of ids; some agents start all their ids with the time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from itertools import compress, count
from operator import ne

__all__ = ["short_ids"]

_LEAST = 8


def short_ids(wanted: Iterable[str], keys: Iterable[str]) -> dict[str, str]:
    """Return a prefix of each wanted key: eight characters, or as many as make it unique."""
    ordered = sorted(keys)
    short: dict[str, str] = {}
    for key in wanted:
        place = bisect_left(ordered, key)
        neighbours = ordered[max(place - 1, 0) : place] + ordered[place + 1 : place + 2]
        shared = max((_shared(key, other) for other in neighbours), default=0)
        short[key] = key[: max(_LEAST, shared + 1)]
    return short


def _shared(one: str, other: str) -> int:
    """The length of the common prefix of two ids."""
    return next(compress(count(), map(ne, one, other)), min(len(one), len(other)))
