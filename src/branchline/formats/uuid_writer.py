"""Base classes for writers of agents that identify a session, and its parent, by UUID."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence

from branchline.entries import Header
from branchline.formats.derived_ids import uuid4_from
from branchline.formats.entry_log import EntryLog
from branchline.formats.protocol import FormatWriter, IndexT_contra
from branchline.tree import ROOT

__all__ = ["CopyingWriter", "UuidWriter"]


class UuidWriter(FormatWriter[IndexT_contra]):
    """Gives a new session a UUID and names its parent by id."""

    def session_id(self, fresh: str, timestamp: str) -> str:
        del timestamp
        return uuid4_from(fresh)

    def parent_link(self, session_id: str, file: str | None) -> str | None:
        del file
        return session_id


class CopyingWriter(UuidWriter[IndexT_contra]):
    """Forks and copies a session by copying the lines of its entries."""

    @abstractmethod
    def copied_lines(
        self, transcript: EntryLog[IndexT_contra], positions: Sequence[int], header: Header
    ) -> Iterable[bytes]:
        """Return a new file with the lines at these positions."""

    def fork(self, transcript: EntryLog[IndexT_contra], leaf: int, header: Header) -> bytes:
        path = [] if leaf == ROOT else transcript.tree.path_positions(leaf)
        return b"".join(self.copied_lines(transcript, path, header))

    def copy(self, transcript: EntryLog[IndexT_contra], header: Header) -> bytes:
        return b"".join(self.copied_lines(transcript, range(len(transcript.tree)), header))
