"""How many branches a session has, and where they end."""

from __future__ import annotations

from branchline.entries import SIDE_TYPES
from branchline.tree import ROOT, Tree

__all__ = ["branch_tips", "count_branches"]


def branch_tips(tree: Tree) -> list[str]:
    """The ends of all branches, the newest first."""
    return [
        tree.keys[position]
        for position in range(len(tree) - 1, -1, -1)
        if tree.types[position] not in SIDE_TYPES
        and position not in tree.placeholders
        and not tree.conversation_children(tree.keys[position])
    ]


def count_branches(tree: Tree) -> int:
    """How many ends the conversation has, side records left out."""
    types, placeholders = tree.types, tree.placeholders
    if not placeholders and not tree.run_starts():
        return int(not SIDE_TYPES.issuperset(types))  # one path from the root to the end
    parents = tree.parents
    above: dict[int, int] = {}  # side record -> the conversation entry that it leads up to
    continued: set[int] = set()
    count = 0
    for position, kind in enumerate(types):
        if kind in SIDE_TYPES or position in placeholders:
            continue
        count += 1
        walked = []
        parent = parents[position]
        while (
            parent != ROOT and parent not in above and (types[parent] in SIDE_TYPES or parent in placeholders)
        ):
            walked.append(parent)
            parent = parents[parent]
        parent = above.get(parent, parent)
        above.update(dict.fromkeys(walked, parent))
        continued.add(parent)
    return count - len(continued - {ROOT})
