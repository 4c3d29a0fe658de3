"""The header of a log, without reading the log."""

from __future__ import annotations

from collections.abc import Callable

from branchline.entries import Header, codec, jsontext

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
            try:
                fields = jsontext.loads(line)
            except ValueError:
                continue  # blank or damaged
            if (
                isinstance(fields, dict) and fields.get("type") != "title"
            ):  # which oh-my-pi puts before its header
                return codec.header_from_fields(fields)
        if whole or size >= _LIMIT:
            return None
        size *= 16
