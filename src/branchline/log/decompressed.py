"""A compressed file as the log of what is in it: to read, never to append to."""

from __future__ import annotations

import os
from collections.abc import Callable

from branchline.errors import NotSupported
from branchline.log.file import FileLog

__all__ = ["DecompressedLog"]


class DecompressedLog(FileLog):
    """The content of one compressed file, which is in memory as long as this is open."""

    def __init__(self, path: str | os.PathLike[str], unpack: Callable[[bytes], bytes]) -> None:
        super().__init__(path, writable=False)
        try:
            self._content = unpack(super().read(0, super().size()))
        except NotSupported as problem:
            self.close()
            raise NotSupported(f"cannot open {self.path}: {problem}") from problem
        except BaseException:
            self.close()
            raise

    def size(self) -> int:
        return len(self._content)

    def read(self, offset: int, size: int) -> bytes:
        if offset < 0 or size < 0:
            raise ValueError(f"cannot read {size} bytes at {offset}")
        return self._content[offset : offset + size]
