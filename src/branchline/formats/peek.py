"""Whose log this is and what its header says, without reading the log."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from branchline.entries import Header
from branchline.errors import NotASession
from branchline.formats.base import Format
from branchline.formats.detect import detect

__all__ = ["Peeked", "peek", "peek_header"]

_FIRST, _LIMIT = 4096, 1 << 20


class Peeked(NamedTuple):
    """The format of a log, and its header if one stands in its first megabyte."""

    format: Format
    header: Header | None


def peek(read: Callable[[int, int], bytes], path: str = "") -> Peeked | None:
    """Look at the beginning of a log that ``read(offset, size)`` gives; None when it is no session."""
    size = _FIRST
    found: Peeked | None = None
    while True:
        data = read(0, size)
        whole = len(data) < size
        try:
            format_ = detect(data, path)
        except NotASession:
            pass  # garbage may stand before the first line that tells
        else:
            header = format_.peek(data + b"\n" if whole else data, path)
            found = Peeked(format_, header)
            if header is not None:
                return found
        if whole or size >= _LIMIT:
            return found
        size *= 16


def peek_header(read: Callable[[int, int], bytes], path: str = "") -> Header | None:
    """The header in the first megabyte that ``read(offset, size)`` gives; None when there is none."""
    found = peek(read, path)
    return None if found is None else found.header
