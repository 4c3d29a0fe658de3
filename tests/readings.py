"""A reading as plain facts, to compare two of them, and content to read."""

from __future__ import annotations

from typing import Any

import pytest

from branchline.formats import EntryLog
from branchline.formats import feed as feed_module
from branchline.formats.lines import LineReader


class BytesContent:
    """The content of a file."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def size(self) -> int:
        return len(self.data)

    def read(self, offset: int, size: int) -> bytes:
        return self.data[offset : offset + size]


def facts(found: EntryLog) -> dict[str, Any]:
    """Everything that a reading says, comparable with ``==``."""
    reading, tree = found.reading, found.tree
    return {
        "header": reading.header,
        "header line": reading.header_line,
        "header end": reading.header_end,
        "version": reading.version,
        "keys": list(tree.keys),
        "positions": dict(tree.positions),
        "parents": list(tree.parents),
        "types": list(tree.types),
        "roles": list(tree.roles),
        "times": list(tree.times),
        "quiet": set(tree.textless),
        "placeholders": set(tree.placeholders),
        "roots": tree.roots(),
        "children": {key: tree.children(key) for key in tree.keys[:200]},
        "spans": [reading.span(position) for position in range(len(tree))],
        "line numbers": [reading.line_of(position) for position in range(len(tree))],
        "labels": dict(reading.labels),
        "title": reading.title,
        "leaf": reading.leaf,
        "our leaf": found.leaf,
        "consumed": reading.consumed,
        "lines": reading.lines,
        "unterminated": reading.unterminated,
        "read-only": reading.read_only,
        "last message": reading.last_message_time,
        "findings": found.findings,
    }


def one_line_at_a_time(patch: pytest.MonkeyPatch) -> None:
    """Turn the fast way off: every line is read with care."""
    patch.setattr(LineReader, "_take_chunk", lambda *arguments: False)


def in_chunks_of(patch: pytest.MonkeyPatch, size: int) -> None:
    """Read this many bytes at a time."""
    patch.setattr(feed_module, "_CHUNK", size)
