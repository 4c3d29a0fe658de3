"""Content that is produced in chunks and read at any offset: in memory, or in an unlinked temporary file."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate

from branchline.errors import LogError
from branchline.log.system import SYSTEM, close_quietly, describe_oserror, read_at, write_all

__all__ = ["Spool"]

_IN_MEMORY = 1 << 22
_TOGETHER = 1 << 18  # bytes per write


class Spool:
    """The concatenation of ``pieces``, all consumed here.

    Up to ``in_memory`` bytes (4 MiB) stay in memory. Larger content goes to an unlinked file of mode 0600 in
    the directory for temporary files, which is freed with this object. Raises LogError if that file cannot
    be written.
    """

    def __init__(self, pieces: Iterable[bytes], in_memory: int = _IN_MEMORY) -> None:
        self._descriptor = -1
        self._size = 0
        self._pieces: list[bytes] = []
        self._starts: list[int] = []
        kept: list[bytes] = []
        written = 0
        try:
            for piece in pieces:
                self._size += len(piece)
                kept.append(piece)
                if self._size > in_memory and self._size - written >= _TOGETHER:
                    self._write(kept)
                    written = self._size
            if self._size > in_memory:
                self._write(kept)
        except BaseException:
            self.close()
            raise
        self._pieces = kept = [piece for piece in kept if piece]
        self._starts = list(accumulate(map(len, kept[:-1]), initial=0))

    def size(self) -> int:
        return self._size

    def read(self, offset: int, size: int) -> bytes:
        if offset < 0 or size < 0:
            raise ValueError(f"cannot read {size} bytes at {offset}")
        if self._descriptor < 0:
            return self._kept(offset, size)
        return read_at(SYSTEM, self._descriptor, offset, size)

    def close(self) -> None:
        """Free the memory or the disk space. Closing twice is harmless."""
        descriptor, self._descriptor = self._descriptor, -1
        self._pieces = []
        if descriptor >= 0:
            close_quietly(SYSTEM, descriptor)

    def __del__(self) -> None:
        self.close()

    def _kept(self, offset: int, size: int) -> bytes:
        """Return bytes from memory. Joining the chunks first would copy all of them twice."""
        number = bisect_right(self._starts, offset) - 1
        found = []
        while size > 0 and number < len(self._pieces):
            start = offset - self._starts[number]
            piece = self._pieces[number][start : start + size]
            if not piece:
                break
            found.append(piece)
            offset, size, number = offset + len(piece), size - len(piece), number + 1
        return found[0] if len(found) == 1 else b"".join(found)

    def _write(self, pieces: list[bytes]) -> None:
        if self._descriptor < 0:
            self._descriptor = _nameless_file()
        try:
            write_all(SYSTEM, self._descriptor, b"".join(pieces))
        except OSError as problem:
            raise LogError(
                f"cannot write the temporary file for its content: {describe_oserror(problem)}"
            ) from problem
        pieces.clear()


def _nameless_file() -> int:
    import tempfile  # noqa: PLC0415  only needed for large content

    try:
        with tempfile.TemporaryFile(buffering=0) as file:
            return os.dup(file.fileno())
    except OSError as problem:
        raise LogError(
            f"cannot create a temporary file for its content: {describe_oserror(problem)}"
        ) from problem
