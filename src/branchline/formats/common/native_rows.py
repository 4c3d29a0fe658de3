"""Facts about many rows: the latest message time, and the positions of some types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from branchline.context import milliseconds
from branchline.entries import ACTIVITY_ROLES

__all__ = ["instant", "latest_time", "positions_of"]

_LAST_INSTANT = 8.64e15  # the last millisecond that a JavaScript date can hold


def latest_time(messages: Sequence[Any], roles: Sequence[str | None], written: Sequence[str]) -> float:
    """Return the time of the latest message in milliseconds; 0 if there is none.

    A message without a time has that of its entry.
    """
    spoken = zip(messages, roles, strict=True)
    try:  # a message without a time makes the comparison fail
        latest: float = max(
            [message.timestamp for message, role in spoken if role in ACTIVITY_ROLES], default=0
        )
        if latest <= _LAST_INSTANT:
            return latest
    except TypeError:
        pass
    times = zip(messages, roles, written, strict=True)
    return max(
        [instant(message.timestamp, time) for message, role, time in times if role in ACTIVITY_ROLES],
        default=0,
    )


def instant(said: float | None, written: str) -> float:
    """Return the time of a message in milliseconds: its own, else that of its entry, else 0."""
    time = milliseconds(written) or 0 if said is None else said
    return time if 0 < time <= _LAST_INSTANT else 0


def positions_of(kinds: Iterable[str], types: list[str]) -> list[int]:
    """Return the positions of the rows of these types, in file order."""
    found = []
    for kind in kinds:
        index = -1
        for _ in range(types.count(kind)):
            index = types.index(kind, index + 1)
            found.append(index)
    found.sort()
    return found
