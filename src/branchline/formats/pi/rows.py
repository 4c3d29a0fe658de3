"""What regular lines say, as columns: one list for each thing that is asked of all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from branchline.context import ContextMessage, milliseconds
from branchline.entries import ACTIVITY_ROLES
from branchline.entries.messages import ROLE_OF
from branchline.entries.skeleton import NO_MESSAGE, Skeleton

__all__ = [
    "LAST_INSTANT",
    "RowColumns",
    "instant",
    "latest_time",
    "line_at",
    "places_of",
    "said_by",
    "skeleton_columns",
    "spoken_columns",
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
        latest: float = max(
            [message.timestamp for message, role in spoken if role in ACTIVITY_ROLES], default=0
        )
        is_time = latest <= LAST_INSTANT
    except TypeError:
        return None
    return latest if is_time else None


class RowColumns(NamedTuple):
    """What regular lines say, one row for each."""

    types: list[str]
    parents: list[str | None]
    messages: list[Any]
    roles: list[str | None]


def skeleton_columns(found: Sequence[Any]) -> RowColumns | None:
    parents, messages = [s.parentId for s in found], [s.message for s in found]
    types = [s.type for s in found]
    if msgspec.UNSET in parents:
        return None
    try:
        roles = [message.role for message in messages]
    except AttributeError:
        return None  # null in the place of a message
    if found and type(found[0]) is Skeleton:  # the only kind that can be of one type and speak as another
        beside = zip(types, messages, strict=True)
        if any((kind == "message") is (message is NO_MESSAGE) for kind, message in beside):
            return None
    return RowColumns(types, parents, messages, roles)


def spoken_columns(found: Sequence[Any]) -> RowColumns | None:
    parents, messages = [s.parentId for s in found], [s.message for s in found]
    types = [s.type for s in found]
    if msgspec.UNSET in parents:
        return None
    return RowColumns(types, parents, messages, list(map(ROLE_OF.get, map(type, messages))))


def said_by(ids: list[str], messages: list[Any], kinds: set[str]) -> list[ContextMessage | None]:
    """The messages with the entries that they come from, and None for entries of other kinds."""
    if kinds == _MESSAGES:
        return list(map(ContextMessage, ids, messages))
    beside = zip(ids, messages, strict=True)
    return [None if message is None else ContextMessage(key, message) for key, message in beside]


def line_at(data: bytes, start: int, stops: list[int], number: int) -> bytes:
    """One of the lines that begin at ``start`` and end at these places."""
    return data[stops[number - 1] + 1 if number else start : stops[number]]


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
