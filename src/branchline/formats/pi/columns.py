"""What regular lines say, as columns: one list for each thing that is asked of all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from branchline.context import milliseconds
from branchline.entries import SPEAKERS, MessageEntry, skeleton
from branchline.entries.messages import ROLE_OF

__all__ = [
    "LAST_INSTANT",
    "Columns",
    "instant",
    "latest_time",
    "line_at",
    "places_of",
    "record_columns",
    "skeleton_columns",
]

LAST_INSTANT = 8.64e15  # the last millisecond that a date of JavaScript can hold
_MESSAGES = frozenset({"message"})


def instant(said: float | None, written: str) -> float:
    """When a message was said, in milliseconds: its own time, else that of its entry, else 0."""
    found = milliseconds(written) or 0 if said is None else said
    return found if 0 < found <= LAST_INSTANT else 0


def latest_time(messages: Sequence[Any], roles: Sequence[str | None]) -> float | None:
    """When somebody spoke last, 0 if nobody did; None where that takes a closer look."""
    spoken = zip(messages, roles, strict=True)
    try:  # who does not tell the time stops the comparison
        latest: float = max([message.timestamp for message, role in spoken if role in SPEAKERS], default=0)
        is_time = latest <= LAST_INSTANT
    except TypeError:
        return None
    return latest if is_time else None


class Columns(NamedTuple):
    """What regular lines say, one row for each."""

    parents: list[str | None]
    messages: list[Any]
    roles: list[str | None]


def skeleton_columns(found: Sequence[Any], types: list[str], kinds: set[str]) -> Columns | None:
    messages = [s.message for s in found]
    parents = [s.parentId for s in found]
    if msgspec.UNSET in parents:
        return None
    if kinds == _MESSAGES:  # nearly always
        try:
            return Columns(parents, messages, [message.role for message in messages])
        except AttributeError:
            return None  # a message without one
    roles = [None if message is None else message.role for message in messages]
    silent = [number for number, message in enumerate(messages) if message is None]
    if len(silent) != len(types) - types.count("message") or any(types[at] == "message" for at in silent):
        return None  # an entry of another type with a message, or a message without one
    return Columns(parents, messages, roles)


def record_columns(
    found: Sequence[Any], kinds: set[str], data: bytes, start: int, ends: list[int]
) -> Columns | None:
    if kinds == _MESSAGES:
        messages = [s.message for s in found]
    else:
        messages = [s.message if type(s) is MessageEntry else None for s in found]
    parents = [s.parent for s in found]
    for number in [number for number, parent in enumerate(parents) if parent is None]:
        # A root says that it hangs from nothing; what does not say it is odd.
        if skeleton.decode(line_at(data, start, ends, number)).parentId is not None:
            return None
    return Columns(parents, messages, list(map(ROLE_OF.get, map(type, messages))))


def line_at(data: bytes, start: int, ends: list[int], number: int) -> bytes:
    """One of the lines that begin at ``start``, from which their ends are counted."""
    return data[start + (ends[number - 1] + 1 if number else 0) : start + ends[number]]


def places_of(kinds: Iterable[str], types: list[str]) -> list[int]:
    """Where entries of these few types stand, in file order."""
    found = []
    for kind in kinds:
        place = -1
        for _ in range(types.count(kind)):
            place = types.index(kind, place + 1)
            found.append(place)
    found.sort()
    return found
