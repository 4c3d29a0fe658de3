"""The first line of each part of a long list, while most heights are estimates (a Fenwick tree).

Setting a height and finding the part at a line both take O(log n), so a long conversation is laid out as it
is read.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["HeightIndex"]


class HeightIndex:
    """Heights of parts, in lines."""

    __slots__ = ("_heights", "_sums", "_top")

    def __init__(self, guesses: Sequence[int]) -> None:
        self._heights = list(guesses)
        sums = [0, *guesses]
        for place in range(1, len(sums)):
            above = place + (place & -place)
            if above < len(sums):
                sums[above] += sums[place]
        self._sums = sums
        self._top = 1
        while self._top * 2 <= len(guesses):
            self._top *= 2

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, part: int) -> int:
        return self._heights[part]

    def __setitem__(self, part: int, height: int) -> None:
        change = height - self._heights[part]
        self._heights[part] = height
        place = part + 1
        while change and place < len(self._sums):
            self._sums[place] += change
            place += place & -place

    @property
    def total(self) -> int:
        return self.start(len(self._heights))

    def start(self, part: int) -> int:
        """Return the first line of a part."""
        total = 0
        while part > 0:
            total += self._sums[part]
            part -= part & -part
        return total

    def at(self, line: int) -> tuple[int, int]:
        """Return the part with a line, and the line within it; beyond the end, those of the last line."""
        if not self._heights:
            raise IndexError("there are no parts")
        line = max(0, min(line, self.total - 1))
        place, step, left = 0, self._top, line
        while step:
            if place + step < len(self._sums) and self._sums[place + step] <= left:
                place += step
                left -= self._sums[place]
            step //= 2
        return place, left
