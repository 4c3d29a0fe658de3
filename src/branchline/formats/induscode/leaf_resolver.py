"""Where an induscode session stands.

A *head* line names the leaf. induscode writes one, as the first line of a complete rewrite, only when
somebody goes back; what is appended later does not change it, so a head is often out of date (*stale*).
Without a head the deepest entry counts, whatever is newest.

A head that stands behind the entry that it names was appended (by us: induscode puts it first). Every entry
below that comes after such a head is newer than it. For a head in the first line only the shape of the tree
tells: it is stale if the newest entry lies below it, but not below its first child, as nobody goes back to an
entry that has nothing below it yet.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from branchline.tree import ROOT, Tree

__all__ = ["DeepestEntry", "Descendants", "HeadLine", "LeafState", "ProgramDepths", "resolve_leaf"]


class HeadLine(NamedTuple):
    """A head line: what it names (None: the beginning), where it lies, how many entries stand before it."""

    leaf: str | None
    line: int
    offset: int
    size: int
    after: int


class LeafState(NamedTuple):
    """Where the session stands, and what lies below the head."""

    leaf: int
    stale: bool = False
    below: int = 0
    newest: int = ROOT


class DeepestEntry:
    """The entry with the longest way to its root; of several the one with the greatest id."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._depths: list[int] = []
        self.deepest = ROOT

    def depth(self, position: int) -> int:
        """How many entries stand on the path to this one, itself included."""
        self.find()
        return self._depths[position] if position != ROOT else 0

    def find(self) -> int:
        """Take in what was added to the tree since; costs as much as that."""
        tree, depths = self._tree, self._depths
        parents, keys, best = tree.parents, tree.keys, self.deepest
        if (
            not tree.run_starts() and not tree.placeholders
        ):  # one line, of which the last entry is the deepest
            depths += range(len(depths) + 1, len(parents) + 1)
            self.deepest = len(parents) - 1
            return self.deepest
        for position in range(len(depths), len(parents)):
            parent = parents[position]
            depth = 1 if parent == ROOT else depths[parent] + 1
            depths.append(depth)
            if position in tree.placeholders:
                continue
            if (
                best == ROOT
                or depth > depths[best]
                or (depth == depths[best] and keys[position] > keys[best])
            ):
                best = position
        self.deepest = best
        return best


class ProgramDepths:
    """Depths in a damaged file as induscode counts them.

    It does not see damaged lines, nor anything else in such a line, and a missing parent ends its walk.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._depths: list[int] = []  # 0 for what induscode does not see
        self.deepest = ROOT

    def catch_up(self, unseen: Container[int], unlinked: Container[int]) -> None:
        """Take in what was added to the tree since: positions not seen, and those with a missing parent."""
        parents, keys, depths = self._tree.parents, self._tree.keys, self._depths
        for position in range(len(depths), len(parents)):
            if position in unseen:
                depths.append(0)
                continue
            parent = ROOT if position in unlinked else parents[position]
            depth = 1 if parent == ROOT else depths[parent] + 1
            depths.append(depth)
            best = self.deepest
            if best == ROOT or (depth, keys[position]) > (depths[best], keys[best]):
                self.deepest = position

    def depth(self, position: int) -> int:
        return self._depths[position] if position != ROOT else 0


class Descendants:
    """What lies below one entry of a tree whose parents stand before their children."""

    def __init__(self, tree: Tree, top: int) -> None:
        self._tree = tree
        self.top = top
        self.count = 0
        self.newest = ROOT
        self.first_child = ROOT
        self._children: list[int] = []  # for each entry after the top: the child of the top that leads to it

    def child_towards(self, position: int) -> int:
        """The child of the top on the way to an entry; ROOT when the entry is not below."""
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
    """Where a session with this head stands; ``below`` is what lies below the entry that the head names."""
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
