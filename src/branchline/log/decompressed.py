"""Read-only log of a file whose content is elsewhere: decompressed, or assembled from several files."""

from __future__ import annotations

import os

from branchline.log.file import FileLog
from branchline.log.spool import Spool

__all__ = ["DecompressedLog"]


class DecompressedLog(FileLog):
    """The log of a file whose lines are in ``content``, which is closed with it."""

    def __init__(self, path: str | os.PathLike[str], content: Spool) -> None:
        self._content = content
        super().__init__(path, writable=False)

    def size(self) -> int:
        return self._content.size()

    def read(self, offset: int, size: int) -> bytes:
        return self._content.read(offset, size)

    def close(self) -> None:
        super().close()
        self._content.close()
