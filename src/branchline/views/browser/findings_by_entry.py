"""Why the line of an entry is damaged: findings by the entry that they are about."""

from __future__ import annotations

from bisect import bisect_left

from branchline.tree import Finding
from branchline.views.session_source import SessionSource

__all__ = ["FindingsByEntry"]


class FindingsByEntry:
    """The findings of a session as it is now, each found by its place in the file."""

    def __init__(self, session: SessionSource) -> None:
        self._reading = session.transcript.reading
        self._findings = sorted(
            (finding for finding in session.findings if finding.line), key=lambda finding: finding.offset
        )
        self._offsets = [finding.offset for finding in self._findings]

    def of(self, position: int) -> Finding | None:
        """What is wrong with the line of an entry, if anything."""
        span = self._reading.span(position)
        place = bisect_left(self._offsets, span.offset)
        if place < len(self._offsets) and self._offsets[place] < span.offset + max(1, span.size):
            return self._findings[place]
        return None
