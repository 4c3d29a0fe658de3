"""Decompression of session files, with limits against decompression bombs.

One setting, ``max_unpacked`` (default 2 GiB), scales all limits. Compressed data may unpack to:

- no more than ``max_unpacked``;
- no more than 1/64 of it (32 MiB) plus 100 times its compressed size, and beyond 1/4 of it (512 MiB) no more
  than 4 times its compressed size;
- no more than one line for each KiB, and one JSON array or object for each 64 bytes, of the above;
- no line longer than 1/64 of ``max_unpacked`` (32 MiB).

Real sessions compress 5 to 20 times, rarely 100 times; decompression bombs 10,000 times and more. Lines and
values are limited too, because each costs far more memory and time than its bytes. Every command reads half a
gigabyte of ordinary content in 20 seconds and 1.5 GB; only a file larger than 128 MiB may hold more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from branchline import log
from branchline.errors import BranchlineError, TooLarge
from branchline.formats import CompressedFiles, Content, unpacked_head
from branchline.stores.protocol import Read
from branchline.views.humanize import format_size

if TYPE_CHECKING:
    from branchline.log import Spool

__all__ = ["Allowance", "Listed", "unpacked", "unpacked_for_listing"]

_MIB = 1 << 20
_ANY_RATIO, _RATIO = 64, 100
_MUCH, _RATIO_OF_MUCH = 4, 4
_PER_LINE, _PER_VALUE = 1024, 64
_LONGEST_LINE = 64
_LISTED = 8


class Allowance:
    """A limit on the decompressed size; files that belong together share one.

    ``limit`` is in bytes, by default the setting ``max_unpacked``.
    """

    def __init__(self, limit: int | None = None) -> None:
        self.limit = max_unpacked() if limit is None else limit
        self._packed = 0
        self._unpacked = 0
        self._lines = 0
        self._values = 0

    def check(self, chunks: Iterable[bytes], packed: int) -> Iterator[bytes]:
        """Yield the chunks that a file of ``packed`` bytes unpacks to. Raises TooLarge beyond a limit."""
        self._packed += packed
        little = min(self.limit // _MUCH, self.limit // _ANY_RATIO + _RATIO * self._packed)
        size = min(self.limit, max(little, _RATIO_OF_MUCH * self._packed))
        lines, values, longest = size // _PER_LINE, size // _PER_VALUE, self.limit // _LONGEST_LINE
        line = 0
        for chunk in chunks:
            self._unpacked += len(chunk)
            self._lines += chunk.count(b"\n")
            self._values += chunk.count(b"[") + chunk.count(b"{")
            end = chunk.rfind(b"\n") + 1
            line = len(chunk) - end if end else line + len(chunk)
            if self._unpacked > size:
                raise self._too_large(_amount(size), size)
            if self._lines > lines:
                raise self._too_large(f"{lines:,} lines", size)
            if self._values > values:
                raise self._too_large(f"{values:,} arrays and objects", size)
            if line > longest:
                way_out = f"a line may have 1/{_LONGEST_LINE} of the setting max_unpacked ({self._setting})"
                raise TooLarge(f"it unpacks to more than {_amount(longest)} in one line; {way_out}")
            yield chunk

    def _too_large(self, most: str, size: int) -> TooLarge:
        if size == self.limit:
            return TooLarge(
                f"it unpacks to more than {most}; raise the setting max_unpacked ({self._setting}) to open it"
            )
        way_out = f"raise the setting max_unpacked ({self._setting}), which scales this limit, to open it"
        return TooLarge(f"it unpacks to more than {most} from {format_size(self._packed)}; {way_out}")

    @property
    def _setting(self) -> str:
        return f"{self.limit // _MIB} MiB"


def max_unpacked() -> int:
    """Return the setting ``max_unpacked`` in bytes."""
    from branchline.settings import load  # noqa: PLC0415  only compressed files need it

    return load().settings.max_unpacked * _MIB


def unpacked(
    compression: CompressedFiles, read: Read, size: int, allowance: Allowance | None = None
) -> Spool:
    """Unpack the compressed file of ``size`` bytes behind ``read``: in memory if small, else on disk.

    Raises TooLarge if a limit is exceeded, and NotSupported like :meth:`CompressedFiles.decompress`.
    """
    allowance = Allowance() if allowance is None else allowance
    return log.Spool(allowance.check(compression.decompress(read), size))


class Listed(msgspec.Struct, frozen=True):
    """The part of a compressed file that a listing reads."""

    content: Content
    whole: bool
    problem: BranchlineError | None = None
    """Why the file cannot be opened; the content is then only its start."""


def unpacked_for_listing(compression: CompressedFiles, read: Read, size: int) -> Listed:
    """Unpack a file of up to 1/8 of ``max_unpacked`` (256 MiB), or else its first megabyte.

    Raises NotSupported if even that fails.
    """
    allowance = Allowance()
    chunks = allowance.check(compression.decompress(read), size)
    try:
        return Listed(log.Spool(_limited(chunks, allowance.limit // _LISTED)), whole=True)
    except _TooLong:
        return Listed(log.Spool([unpacked_head(compression, read)]), whole=False)
    except BranchlineError as problem:
        return Listed(log.Spool([unpacked_head(compression, read)]), whole=False, problem=problem)


class _TooLong(Exception):
    """The content exceeds the limit of a listing."""


def _limited(chunks: Iterable[bytes], most: int) -> Iterator[bytes]:
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > most:
            raise _TooLong
        yield chunk


def _amount(size: int) -> str:
    return f"{size >> 30} GiB" if size and not size & (1 << 30) - 1 else f"{size / _MIB:.0f} MiB"
