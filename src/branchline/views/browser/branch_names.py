"""Branch names in the tree: the label at the end of a branch, shown at its start."""

from __future__ import annotations

from branchline.tree import ROOT
from branchline.views.session_source import SessionSource

__all__ = ["BranchNames"]

_FURTHEST = 5_000
"""The longest branch, in entries, whose name is looked up."""


class BranchNames:
    """The names of branches, by any entry of a branch up to its next fork."""

    def __init__(self, session: SessionSource) -> None:
        self._index = session.index
        self._names: dict[int, str] = {}
        for key, label in session.transcript.reading.labels.items():
            end = self._index.positions.get(key)
            if end is None or self._index.conversation_children(key):
                continue
            start = self._start(end)
            if start is not None:
                self._names[start] = label.text

    def of(self, position: int) -> str | None:
        """Return the name of the branch of an entry; None if its end has no label."""
        start = self._start(position) if self._names else None
        return None if start is None else self._names.get(start)

    def _start(self, position: int) -> int | None:
        """The first entry after the nearest fork above, or the root; None if that is too far."""
        index = self._index
        for _ in range(_FURTHEST):
            above = index.parents[position]
            above = index.nearest_conversation_entry(above) if above != ROOT else ROOT
            if above == ROOT or len(index.conversation_children(index.keys[above])) > 1:
                return position
            position = above
        return None
