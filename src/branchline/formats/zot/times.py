"""Times of rows, brought into UTC when somebody first asks for one: most who open a session never do."""

from __future__ import annotations

from typing import NamedTuple

from branchline.formats.go_json import utc_times

__all__ = ["LazyTimestamps"]


class _Stretch(NamedTuple):
    first: int
    end: int
    time: str
    """The last time before these entries."""


class LazyTimestamps:
    """The entries whose times are still those of the file; called with the column, it puts them in order.

    It knows the types of the entries and nothing else of their tree, which refers to it.
    """

    def __init__(self, types: list[str]) -> None:
        self._types = types
        self._stretches: list[_Stretch] = []

    def add(self, first: int, end: int, time: str) -> None:
        """Let entries wait; ``time`` is the last one before them."""
        if self._stretches and self._stretches[-1].end == first:
            first, _, time = self._stretches.pop()
        self._stretches.append(_Stretch(first, end, time))

    def __call__(self, times: list[str]) -> None:
        for first, end, time in self._stretches:
            times[first:end] = _settled(times[first:end], self._types[first:end], time)
        self._stretches.clear()


def _settled(texts: list[str], types: list[str], time: str) -> list[str]:
    """The times of rows as our trees have them.

    A usage row is as old as the row before it that has a time; ``time`` is the last one before these rows.
    """
    times = utc_times(texts)
    silent = [number for number, kind in enumerate(types) if kind == "usage"]
    if times.count("") == len(silent):
        for number in silent:
            times[number] = times[number - 1] if number else time
        return times
    for number, kind in enumerate(types):
        if kind == "usage":
            times[number] = time
        else:
            time = times[number] or time
    return times
