"""Findings by the entry that they concern."""

from __future__ import annotations

from bisect import bisect_left

from branchline.tree import Finding
from branchline.views.session_source import SessionSource

__all__ = ["FindingsByEntry"]


class FindingsByEntry:
    """The present findings of a session, looked up by their offset in the file."""

    def __init__(self, session: SessionSource) -> None:
        self._reading = session.transcript.reading
        self._findings = sorted(
            (finding for finding in session.findings if finding.line), key=lambda finding: finding.offset
        )
        self._offsets = [finding.offset for finding in self._findings]

    def of(self, position: int) -> Finding | None:
        """Return the finding for the line of an entry, or None."""
        span = self._reading.span(position)
        place = bisect_left(self._offsets, span.offset)
        if place < len(self._offsets) and self._offsets[place] < span.offset + max(1, span.size):
            return self._findings[place]
        return None
