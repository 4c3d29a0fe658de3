"""The end of the branch of an entry."""

from __future__ import annotations

from branchline.views.session_source import SessionSource

__all__ = ["branch_end"]


def branch_end(session: SessionSource, entry: str) -> str:
    """Return the leaf if the entry is on the active path, otherwise the end of its newest continuation."""
    tree = session.index
    position = tree.position(entry)
    leaf = session.leaf
    if leaf is not None and position in set(tree.path_positions(tree.position(leaf))):
        return leaf
    end = entry
    for _ in range(len(tree)):  # a tree has no cycles; damage is not trusted
        following = tree.conversation_children(end)
        if not following:
            break
        end = following[-1]
    return end
