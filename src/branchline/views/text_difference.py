"""Two texts compared line by line."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from itertools import repeat
from typing import Literal, NamedTuple

__all__ = ["Difference", "text_difference"]

_LONGEST = 40_000  # lines of one side times lines of the other

_Mark = Literal[" ", "-", "+"]
Difference = tuple[tuple[_Mark, str], ...]
"""Lines of a text: in both, only left, only right."""


class _Trimmed(NamedTuple):
    before: list[str]
    left: list[str]
    right: list[str]
    after: list[str]


def text_difference(left: str, right: str) -> Difference:
    """Return the lines of two texts in order, each marked as common, only left or only right.

    If the texts are too long to compare quickly, everything between the common beginning and the common end
    counts as replaced.
    """
    before, one, other, after = _trimmed(_lines(left), _lines(right))
    return (*_marked(" ", before), *_changes(one, other), *_marked(" ", after))


def _lines(text: str) -> list[str]:
    return text.split("\n") if text else []


def _trimmed(left: list[str], right: list[str]) -> _Trimmed:
    """Separate the common beginning and end, which need no comparison."""
    shorter = min(len(left), len(right))
    start = next((n for n in range(shorter) if left[n] != right[n]), shorter)
    rest = shorter - start
    end = next((n for n in range(rest) if left[-1 - n] != right[-1 - n]), rest)
    return _Trimmed(
        left[:start],
        left[start : len(left) - end],
        right[start : len(right) - end],
        left[len(left) - end :],
    )


def _marked(mark: _Mark, lines: list[str]) -> Iterator[tuple[_Mark, str]]:
    return zip(repeat(mark), lines)


def _changes(left: list[str], right: list[str]) -> Iterator[tuple[_Mark, str]]:
    if len(left) * len(right) > _LONGEST or set(left).isdisjoint(right):
        yield from _marked("-", left)
        yield from _marked("+", right)
        return
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    for kind, start, end, other_start, other_end in matcher.get_opcodes():
        if kind == "equal":
            yield from _marked(" ", left[start:end])
        else:
            yield from _marked("-", left[start:end])
            yield from _marked("+", right[other_start:other_end])
