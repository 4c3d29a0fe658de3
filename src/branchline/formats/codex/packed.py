"""Compressed rollouts: Zstandard frames, decompressed in bounded chunks.

Memory does not depend on what a file declares: a frame with a window larger than 128 MiB (the limit of the
``zstd`` program) is rejected, and a declared content size is never trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module

from branchline._version import install_extra
from branchline.errors import NotSupported

__all__ = ["unpack"]

_PIECE = 1 << 20
_LARGEST_WINDOW = 1 << 27
_FRAME_HEADER = 18


def unpack(read: Callable[[int, int], bytes]) -> Iterator[bytes]:
    """Yield the content of the compressed rollout behind ``read(offset, size)``, at most 1 MiB at a time.

    A file that ends within a frame yields everything up to there. Raises NotSupported if the zstandard
    package is not installed, the data is corrupt, or a file is cut off before anything can be unpacked.
    """
    try:
        zstandard = import_module("zstandard")  # optional dependency
    except ImportError:
        raise NotSupported(
            "this rollout is compressed with zstd, which needs the package zstandard: "
            + install_extra("zstd")
        ) from None
    empty = True
    try:
        decompressor = zstandard.ZstdDecompressor(max_window_size=_LARGEST_WINDOW)
        with decompressor.stream_reader(_Source(read), read_across_frames=True) as content:
            while piece := content.read(_PIECE):
                empty = False
                yield piece
        if empty and zstandard.frame_content_size(read(0, _FRAME_HEADER)) != 0:
            raise NotSupported("this compressed rollout is cut off, and nothing of it can be unpacked")
    except zstandard.ZstdError as reason:
        raise NotSupported(f"this compressed rollout cannot be unpacked: {reason}") from None


class _Source:
    """The ``read(size)`` of a file object over a ``read(offset, size)``."""

    def __init__(self, read: Callable[[int, int], bytes]) -> None:
        self._read = read
        self._offset = 0

    def read(self, size: int) -> bytes:
        data = self._read(self._offset, size)
        self._offset += len(data)
        return data
