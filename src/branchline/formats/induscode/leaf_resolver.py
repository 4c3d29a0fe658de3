"""Finds the leaf of an induscode session.

A *head* line names the leaf. induscode writes one, as the first line of a complete rewrite, only when the
user goes back. Later appends do not update it, so a head is often outdated (*stale*). Without a head the
deepest entry is the leaf, even if another is newer.

A head after the entry that it names was appended by branchline, as induscode writes it first. Every
descendant after such a head is newer than it. For a head in the first line only the shape of the tree shows
whether it is stale: it is if the newest entry is its descendant, but not below its first child, because one
cannot go back to an entry without descendants.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from branchline.tree import ROOT, Tree

__all__ = ["Depths", "Descendants", "HeadLine", "LeafState", "resolve_leaf"]


class HeadLine(NamedTuple):
    """A head line: the entry it names (None: the root), its location, and the number of entries before it."""

    leaf: str | None
    line: int
    offset: int
    size: int
    after: int


class LeafState(NamedTuple):
    """The leaf of a session, and the entries below the head."""

    leaf: int
    stale: bool = False
    below: int = 0
    newest: int = ROOT


class Depths:
    """The distance of each entry from its root, and the deepest entry; the greatest id wins a tie."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._depths: list[int] = []
        self.deepest = ROOT

    def catch_up(self, unseen: Collection[int] = (), unlinked: Collection[int] = ()) -> int:
        """Add the new entries and return the deepest entry.

        In a damaged file, induscode ignores the entries in ``unseen`` and finds no parent for ``unlinked``.
        """
        tree, depths, best = self._tree, self._depths, self.deepest
        parents, keys = tree.parents, tree.keys
        if not unseen and not unlinked and not tree.run_starts() and not tree.placeholders:
            depths += range(len(depths) + 1, len(parents) + 1)  # a chain: its last entry is the deepest
            best = len(parents) - 1
        for position in range(len(depths), len(parents)):
            parent = ROOT if position in unlinked else parents[position]
            depth = 0 if position in unseen else 1 if parent == ROOT else depths[parent] + 1
            depths.append(depth)
            deeper = best == ROOT or (depth, keys[position]) > (depths[best], keys[best])
            if deeper and depth and position not in tree.placeholders:
                best = position
        self.deepest = best
        return best

    def depth(self, position: int) -> int:
        """Return the number of entries on the path to this one, including itself."""
        return self._depths[position] if position != ROOT else 0


class Descendants:
    """The descendants of one entry in a tree whose parents precede their children."""

    def __init__(self, tree: Tree, top: int) -> None:
        self._tree = tree
        self.top = top
        self.count = 0
        self.newest = ROOT
        self.first_child = ROOT
        # for each entry after the top: the child of the top that is its ancestor
        self._children: list[int] = []

    def child_towards(self, position: int) -> int:
        """Return the child of the top on the path to an entry; ROOT if the entry is not a descendant."""
        self._catch_up()
        return self._children[position - self.top - 1] if position > self.top else ROOT

    def _catch_up(self) -> None:
        tree, top, children = self._tree, self.top, self._children
        start = top + 1
        for position in range(start + len(children), len(tree.parents)):
            parent = tree.parents[position]
            if parent == top:
                child = position
                if self.first_child == ROOT:
                    self.first_child = position
            else:
                child = children[parent - start] if parent > top else ROOT
            children.append(child)
            if child != ROOT and position not in tree.placeholders:
                self.count += 1
                self.newest = position


def resolve_leaf(tree: Tree, head: HeadLine, below: Descendants) -> LeafState:
    """Return the leaf of a session with this head; ``below`` holds the descendants of the entry it names."""
    top = below.top
    newest = len(tree) - 1
    while newest in tree.placeholders:
        newest -= 1
    child = below.child_towards(newest)
    damaged = top in tree.placeholders
    known_before = top < head.after if top != ROOT else head.after > 0
    newer = newest >= head.after if known_before else child != below.first_child
    stale = child != ROOT and (damaged or newer)
    leaf = newest if stale else top
    while leaf in tree.placeholders:
        leaf = tree.parents[leaf]
    return LeafState(leaf, stale, below.count, below.newest)
