"""The number of branches in a session, and the other branch of a session that has two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from branchline.entries import SIDE_TYPES
from branchline.errors import Ambiguous, EntryNotFound
from branchline.tree import ROOT, Tree

if TYPE_CHECKING:
    from branchline.session import Session

__all__ = ["count_branches", "other_tip"]

_NAMED = 6


def other_tip(session: Session) -> str:
    """Return the end of the only branch besides the one of the leaf.

    Raises EntryNotFound if there is no other branch, Ambiguous if there are several.
    """
    from branchline.conversion import branch_tips  # noqa: PLC0415  lists count only

    keys = session.index.keys
    tips = sorted(branch_tips(session.transcript), reverse=True)
    others = [keys[tip] for tip in tips if keys[tip] != session.leaf]
    if not others:
        raise EntryNotFound(f"{session.id} has only one branch; name another entry or session")
    if len(others) > 1:
        some = ", ".join(others[:_NAMED]) + (" …" if len(others) > _NAMED else "")
        raise Ambiguous(f"{session.id} has {len(others)} other branches; name one of them: {some}")
    return others[0]


def count_branches(tree: Tree) -> int:
    """Return how many ends the conversation has; side records do not count."""
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
