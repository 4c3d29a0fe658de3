"""The header of a log, without reading the log."""

from __future__ import annotations

from collections.abc import Callable

from branchline.entries import Header, decode_header

__all__ = ["peek_header"]

_FIRST, _LIMIT = 4096, 1 << 20


def peek_header(read: Callable[[int, int], bytes]) -> Header | None:
    """The header in the first megabyte that ``read(offset, size)`` gives; None when there is none."""
    size = _FIRST
    while True:
        data = read(0, size)
        whole = len(data) < size
        lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
        for line in lines if whole else lines[:-1]:
            if (header := decode_header(line)) is not None:
                return header
            if line.startswith(b'{"type":"title",'):
                continue  # the title slot of oh-my-pi stands before its header
            if line.strip().startswith(b"{") and line.strip().endswith(b"}"):
                return None  # an entry comes first: there is no header
        if whole or size >= _LIMIT:
            return None
        size *= 16
