"""Base class for writers of agents that identify a session, and its parent, by UUID."""

from __future__ import annotations

from branchline.formats.derived_ids import uuid4_from
from branchline.formats.protocol import FormatWriter, IndexT_contra

__all__ = ["UuidWriter"]


class UuidWriter(FormatWriter[IndexT_contra]):
    """Gives a new session a UUID and names its parent by id."""

    def session_id(self, fresh: str, timestamp: str) -> str:
        del timestamp
        return uuid4_from(fresh)

    def parent_link(self, session_id: str, file: str | None) -> str | None:
        del file
        return session_id
