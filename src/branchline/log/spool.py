"""Content that is produced in chunks and read at any offset: in memory, or in an unlinked temporary file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from branchline.errors import InvalidArgument, LogError
from branchline.log.system import SYSTEM, close_quietly, describe_oserror, read_at, write_all

if TYPE_CHECKING:
    from mmap import mmap

__all__ = ["Spool"]

_IN_MEMORY = 1 << 22
_TOGETHER = 1 << 16  # bytes that are copied or written at once
_BLOCK = 1 << 22  # bytes of a block of memory: a multiple of a huge page


class Spool:
    """The concatenation of ``pieces``, all consumed here.

    Up to ``in_memory`` bytes (4 MiB) stay in memory. Larger content goes to an unlinked file of mode 0600 in
    the directory for temporary files, which is freed with this object. Raises LogError if that file cannot
    be written.
    """

    def __init__(self, pieces: Iterable[bytes], in_memory: int = _IN_MEMORY) -> None:
        self._descriptor = -1
        self._size = 0
        self._small = b""
        """The content, if it is too small for a block."""
        self._blocks: list[mmap | bytearray] = []
        waiting: list[bytes] = []
        stored = 0
        try:
            for piece in pieces:
                self._size += len(piece)
                waiting.append(piece)
                if self._size - stored >= _TOGETHER:
                    self._store(stored, b"".join(waiting), in_memory)
                    waiting, stored = [], self._size
            if stored or self._size > in_memory:
                self._store(stored, b"".join(waiting), in_memory)
            else:
                self._small = b"".join(waiting)
        except BaseException:
            self.close()
            raise

    def size(self) -> int:
        return self._size

    def read(self, offset: int, size: int) -> bytes:
        if offset < 0 or size < 0:
            raise InvalidArgument(f"cannot read {size} bytes at {offset}")
        if self._descriptor >= 0:
            return read_at(SYSTEM, self._descriptor, offset, size)
        if not self._blocks:
            return self._small[offset : offset + size]
        found = []
        end = min(offset + size, self._size)
        while offset < end:
            number, start = divmod(offset, _BLOCK)
            found.append(bytes(self._blocks[number][start : min(start + end - offset, _BLOCK)]))
            offset += len(found[-1])
        return found[0] if len(found) == 1 else b"".join(found)

    def close(self) -> None:
        """Free the memory or the disk space. Closing twice is harmless."""
        descriptor, self._descriptor = self._descriptor, -1
        self._small, self._blocks = b"", []
        if descriptor >= 0:
            close_quietly(SYSTEM, descriptor)

    def __del__(self) -> None:
        self.close()

    def _store(self, offset: int, data: bytes, in_memory: int) -> None:
        """Add bytes after the first ``offset`` ones, which are stored already."""
        if self._size <= in_memory:
            self._copy(offset, memoryview(data))
            return
        try:
            if self._descriptor < 0:
                self._descriptor = _nameless_file()
                for start, block in zip(range(0, offset, _BLOCK), self._blocks, strict=True):
                    write_all(SYSTEM, self._descriptor, bytes(block[: offset - start]))
                self._blocks = []
            write_all(SYSTEM, self._descriptor, data)
        except OSError as problem:
            raise LogError(
                f"cannot write the temporary file for its content: {describe_oserror(problem)}"
            ) from problem

    def _copy(self, offset: int, data: memoryview) -> None:
        while data:
            start = offset % _BLOCK
            if not start:
                self._blocks.append(_block())
            part = data[: _BLOCK - start]
            self._blocks[-1][start : start + len(part)] = part
            offset, data = offset + len(part), data[len(part) :]


def _block() -> mmap | bytearray:
    """Return memory in huge pages where the system has them: mapping small ones takes longer than copying."""
    import mmap  # noqa: PLC0415  only needed for large content

    # glibc gives freed memory back to the system once it is twice the largest buffer that was ever freed, and
    # the chunks that are copied here would be mapped again and again. This buffer is never touched.
    bytes(_BLOCK)
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return bytearray(_BLOCK)
    block = mmap.mmap(-1, _BLOCK, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a kernel without huge pages
        block.madvise(mmap.MADV_HUGEPAGE)
    return block


def _nameless_file() -> int:
    import tempfile  # noqa: PLC0415  only needed for large content

    try:
        with tempfile.TemporaryFile(buffering=0) as file:
            return os.dup(file.fileno())
    except OSError as problem:
        raise LogError(
            f"cannot create a temporary file for its content: {describe_oserror(problem)}"
        ) from problem
