"""The tree as a flat list, depth first, for programs rather than screens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from branchline.tree.index import ROOT, Tree
from branchline.tree.outline_layout import OutlineLayout
from branchline.tree.runs import Runs

__all__ = ["TreeNode", "walk_nodes"]


class TreeNode(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One entry and its position. ``depth`` counts the entries above it, ``level`` only the indentation.

    ``active`` entries are on the path to the leaf, ``is_current`` is that leaf, ``is_leaf`` says that
    the entry has no children.
    """

    id: str
    parent: str | None
    depth: int
    level: int
    type: str
    role: str | None
    label: str | None
    timestamp: str
    active: bool
    is_leaf: bool
    is_current: bool
    children: int
    position: int


def walk_nodes(tree: Tree, leaf: int, labels: Mapping[str, str] | None = None) -> Iterator[TreeNode]:
    """Every entry depth first; the subtree that leads to the leaf comes first, then the oldest."""
    keys, parents, types, roles, times = tree.keys, tree.parents, tree.types, tree.roles, tree.times
    label_of = {} if labels is None else labels
    runs = Runs(tree, leaf)
    layout = OutlineLayout(runs, range(len(tree)), ())
    last_depths: list[int] = []
    for stretch, run in enumerate(layout.runs):
        above = layout.above[stretch]
        depth = 0 if above == ROOT else last_depths[above] + 1
        start, end = runs.starts[run], runs.end(run)
        last_depths.append(depth + end - start)
        active_end = runs.active_end(run)
        level = layout.levels[stretch]
        for position in range(start, end + 1):
            key, parent = keys[position], parents[position]
            count = 1 if position < end else layout.counts[stretch]
            yield TreeNode(
                id=key,
                parent=None if parent == ROOT else keys[parent],
                depth=depth,
                level=level,
                type=types[position],
                role=roles[position],
                label=label_of.get(key),
                timestamp=times[position],
                active=position <= active_end,
                is_leaf=count == 0,
                is_current=position == leaf,
                children=count,
                position=position,
            )
            depth += 1
            level = layout.inner_levels[stretch]
