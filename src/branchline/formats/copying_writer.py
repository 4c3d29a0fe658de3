"""Base class for writers that fork and copy a session by copying the lines of its entries."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from branchline.entries import Header
from branchline.formats.protocol import FormatWriter, IndexT_contra

if TYPE_CHECKING:
    from branchline.formats.entry_log import EntryLog

__all__ = ["CopyingWriter"]


class CopyingWriter(FormatWriter[IndexT_contra]):
    """Writes a fork or a copy as a new file with some lines of another one."""

    @abstractmethod
    def copied_lines(
        self, transcript: EntryLog[IndexT_contra], positions: Sequence[int], header: Header
    ) -> Iterable[bytes]:
        """Return a new file with the lines at these positions."""

    def fork(self, transcript: EntryLog[IndexT_contra], leaf: int, header: Header) -> bytes:
        return b"".join(self.copied_lines(transcript, transcript.tree.path_positions(leaf), header))

    def copy(self, transcript: EntryLog[IndexT_contra], header: Header) -> bytes:
        return b"".join(self.copied_lines(transcript, range(len(transcript.tree)), header))
