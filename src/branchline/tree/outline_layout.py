"""Order and indentation of the shown entries of a tree, one record per unbranched stretch.

A *stretch* is the shown part of one run. Within a stretch every row is the only shown child of the row
before, so that two levels describe all of it: that of its first row and that of the rest.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence

from branchline.tree.index import ROOT
from branchline.tree.runs import Runs

__all__ = ["OutlineLayout"]


class OutlineLayout:
    """Stretches in the order in which they are shown, as columns; ``order`` has the positions of all rows.

    ``rows`` is the first row of each stretch (and, at its end, the number of all rows), ``runs`` the run it
    belongs to, ``above`` the stretch whose last row is its parent, ``counts`` its number of children.
    """

    __slots__ = (
        "_carrier",
        "_first_shown",
        "_shown",
        "_stretch_of_run",
        "above",
        "counts",
        "inner_levels",
        "is_last",
        "levels",
        "order",
        "roots",
        "rows",
        "runs",
    )

    def __init__(self, runs: Runs, shown: Sequence[int], folded: Collection[int]) -> None:
        self._shown = shown
        self.order: list[int] = []
        self.rows: list[int] = []
        self.runs: list[int] = []
        self.above: list[int] = []
        self.counts: list[int] = []
        self.roots = 0
        self._stretch_of_run = [ROOT] * len(runs)
        self._arrange(runs, _cuts(runs, shown, folded))
        self.levels: list[int] = []
        self.inner_levels: list[int] = []
        self.is_last: list[bool] = []
        self._carrier: list[int] = []
        self._indent()

    def _arrange(self, runs: Runs, cuts: dict[int, int]) -> None:
        """Go through the runs depth first and take what is shown of each."""
        shown, order, rows, above, counts = self._shown, self.order, self.rows, self.above, self.counts
        starts, following, stretch_of_run = runs.starts, runs.following, self._stretch_of_run
        first_shown = self._first_shown = [bisect_left(shown, start) for start in starts]
        waiting = list(reversed(following.get(ROOT, ())))
        hangs_from = [ROOT] * len(waiting)
        while waiting:
            run = waiting.pop()
            stretch = hangs_from.pop()
            low, high = first_shown[run], first_shown[run + 1]
            if cuts and run in cuts:
                high = cuts[run]
                group = None
            else:
                group = following.get(starts[run + 1] - 1)
            if low < high:
                if stretch == ROOT:
                    self.roots += 1
                else:
                    counts[stretch] += 1
                above.append(stretch)
                stretch = len(rows)
                stretch_of_run[run] = stretch
                rows.append(len(order))
                self.runs.append(run)
                counts.append(0)
                order += shown[low:high]
            if group is not None:
                waiting += reversed(group)
                hangs_from += [stretch] * len(group)
        rows.append(len(order))

    def _indent(self) -> None:
        """Levels as they are drawn: a level is added at a branch, and once more for what follows a branch."""
        above, counts, rows = self.above, self.counts, self.rows
        levels, inner_levels, carrier, is_last = self.levels, self.inner_levels, self._carrier, self.is_last
        # Several roots are children of one invisible node, a level further left.
        below_root = 1 if self.roots > 1 else 0
        missing = [*counts, self.roots]  # how many siblings have not been seen; the last one is for ROOT
        for stretch, parent in enumerate(above):
            left = missing[parent] = missing[parent] - 1
            is_last.append(left == 0)
            if parent == ROOT:
                levels.append(0)
                inner_levels.append(below_root)
                carrier.append(ROOT)
            elif counts[parent] > 1:
                level = 1 + (inner_levels[parent] if rows[parent + 1] - rows[parent] > 1 else levels[parent])
                levels.append(level)
                inner_levels.append(level + 1)
                carrier.append(stretch)
            else:
                levels.append(inner_levels[parent])
                inner_levels.append(inner_levels[parent])
                carrier.append(carrier[parent])

    def size(self, stretch: int) -> int:
        """How many rows a stretch has."""
        return self.rows[stretch + 1] - self.rows[stretch]

    def siblings(self, stretch: int) -> int:
        """How many stretches have the same parent, this one included."""
        parent = self.above[stretch]
        return self.roots if parent == ROOT else self.counts[parent]

    def segment_at(self, index: int) -> int:
        return bisect_right(self.rows, index) - 1

    def row_at_or_before(self, run: int, position: int) -> int | None:
        """The last row of a run that does not come after this position of the run."""
        stretch = self._stretch_of_run[run]
        if stretch == ROOT:
            return None
        first = self._first_shown[run]
        offset = bisect_right(self._shown, position, first, first + self.size(stretch)) - first
        return None if offset == 0 else self.rows[stretch] + offset - 1

    def gutters(self, index: int) -> list[int]:
        """The columns in which an ancestor with a connector has later siblings, from the left."""
        stretch = self.segment_at(index)
        carrier = self._carrier
        if index == self.rows[stretch]:
            stretch = self.above[stretch]
        columns = []
        while stretch != ROOT and (stretch := carrier[stretch]) != ROOT:
            if not self.is_last[stretch]:
                columns.append(self.levels[stretch] - 1)
            stretch = self.above[stretch]
        columns.reverse()
        return columns


def _cuts(runs: Runs, shown: Sequence[int], folded: Collection[int]) -> dict[int, int]:
    """For each run with a folded entry that is shown, the place in ``shown`` where the run is cut off."""
    cuts: dict[int, int] = {}
    for position in folded:
        place = bisect_left(shown, position)
        if place < len(shown) and shown[place] == position:
            run = runs.of(position)
            cuts[run] = min(place + 1, cuts.get(run, len(shown)))
    return cuts
