"""The tree cut into runs: stretches of neighbouring entries, each the only child of the one before.

A conversation without branches is one run however long it is, so work that is done per run, with the
entries of a run handled in bulk, costs next to nothing for it. A run is known by its number; runs are
numbered in file order, and only the last entry of a run can have several children, or a child elsewhere.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import chain

from branchline.errors import InvalidArgument
from branchline.tree.index import ROOT, Tree

__all__ = ["Runs"]


class Runs:
    """The runs of a tree as it is now, with siblings in the order in which they are shown.

    Siblings are ordered oldest first and roots in file order, but the one that leads to the leaf comes
    first. ``starts`` has the first position of each run and, at its end, the size of the tree;
    ``parents`` the parent position of each run; ``following`` the runs below a position.
    """

    __slots__ = ("_active_ends", "following", "leaf", "parents", "starts", "tree")

    def __init__(self, tree: Tree, leaf: int) -> None:
        size = len(tree)
        if not ROOT <= leaf < size:
            raise InvalidArgument(f"there is no position {leaf} in a tree of {size} entries")
        self.tree = tree
        self.leaf = leaf
        parent_of = tree.parent_position
        heads = tree.run_starts()
        # A run also ends where another one branches off.
        beginnings = {parent_of(head) + 1 for head in heads}
        beginnings.update(heads)
        beginnings.add(0)
        beginnings.add(size)
        self.starts = sorted(beginnings)
        self.parents = [parent_of(start) for start in self.starts[:-1]]
        self.following: dict[int, list[int]] = {}
        following = self.following
        for run, parent in enumerate(self.parents):
            if parent in following:
                following[parent].append(run)
            else:
                following[parent] = [run]
        if groups := [group for parent, group in following.items() if len(group) > 1 and parent != ROOT]:
            self._sort(groups)
        self._active_ends: dict[int, int] = {}
        self._put_active_first()

    def __len__(self) -> int:
        return len(self.starts) - 1

    def of(self, position: int) -> int:
        """The run that an entry belongs to."""
        return bisect_right(self.starts, position) - 1

    def end(self, run: int) -> int:
        """The last position of a run."""
        return self.starts[run + 1] - 1

    def active_end(self, run: int) -> int:
        """The last position of a run that is on the path to the leaf, or ROOT."""
        return self._active_ends.get(run, ROOT)

    def _sort(self, groups: list[list[int]]) -> None:
        """Sort siblings, oldest first; the only use of times."""
        starts, times = self.starts, self.tree.times
        told = [[times[starts[run]] for run in group] for group in groups]
        # Times of one shape can be compared as text, without parsing.
        alike = {(time[4:11:3], time[23:]) for time in chain.from_iterable(told)} <= {("--T", "Z")}
        for group, written in zip(groups, told, strict=True):
            if not alike or written != sorted(written):
                number = {starts[run]: run for run in group}
                group[:] = [number[position] for position in self.tree.oldest_first(list(number))]

    def _put_active_first(self) -> None:
        position = self.leaf
        while position != ROOT:
            run = self.of(position)
            self._active_ends[run] = position
            position = self.parents[run]
            group = self.following[position]
            if group[0] != run:
                group.remove(run)
                group.insert(0, run)
