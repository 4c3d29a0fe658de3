"""Growing lists stored as paths in a tree of segments: each version of a list stores only its new items.

A segment holds serialized items. It follows the first ``base`` items of the path that ends with its parent,
so a list that forks in the middle shares everything before. The items are joined after one msgpack array
header and decoded at once.
"""

from __future__ import annotations

import random
import struct
import time
from array import array
from collections.abc import Mapping, Sequence
from typing import NamedTuple

__all__ = ["ListPath", "Segment", "joined", "new_segment", "new_segment_id", "split_items"]


class Segment(NamedTuple):
    """Items that follow a path."""

    id: int
    parent: int | None
    base: int
    """The number of items of the parent's path before this segment."""
    sizes: bytes
    """The length of each item, as 32-bit numbers."""
    data: bytes


class ListPath(NamedTuple):
    """The first ``length`` items of the path that ends with a segment."""

    segment: int
    length: int


def new_segment(items: Sequence[bytes], parent: ListPath | None, common: int) -> Segment:
    """Create a segment for the items after the first ``common`` ones of a path."""
    fresh = items[common:]
    return Segment(
        new_segment_id(),
        parent.segment if parent is not None and common else None,
        common,
        array("I", map(len, fresh)).tobytes(),
        b"".join(fresh),
    )


def joined(path: ListPath, segments: Mapping[int, Segment]) -> bytes:
    """Return a list in msgpack. Raises KeyError if a segment of its path is missing."""
    parts = [part for part, _sizes in reversed(_parts(path, segments))]
    return b"".join([_array_header(path.length), *parts])


def split_items(path: ListPath, segments: Mapping[int, Segment]) -> list[bytes]:
    """Return the serialized items of a list."""
    items: list[bytes] = []
    for part, sizes in reversed(_parts(path, segments)):
        start = 0
        for size in sizes:
            items.append(part[start : start + size])
            start += size
    return items


def _parts(path: ListPath, segments: Mapping[int, Segment]) -> list[tuple[bytes, Sequence[int]]]:
    """Return the part of each segment on a path, last segment first."""
    parts: list[tuple[bytes, Sequence[int]]] = []
    here: int | None = path.segment
    wanted = path.length
    while here is not None and wanted:
        segment = segments[here]
        if wanted > segment.base:
            sizes = array("I", segment.sizes)[: wanted - segment.base]
            whole = len(sizes) * sizes.itemsize == len(segment.sizes)
            parts.append((segment.data if whole else segment.data[: sum(sizes)], sizes))
            wanted = segment.base
        here = segment.parent
    return parts


def _array_header(count: int) -> bytes:
    if count < 16:
        return bytes([0x90 | count])
    return b"\xdc" + struct.pack(">H", count) if count < 1 << 16 else b"\xdd" + struct.pack(">I", count)


_last = 0


def new_segment_id() -> int:
    """Return a unique number that grows with time, so that rows are written in order."""
    global _last  # noqa: PLW0603  two in one microsecond
    made = (time.time_ns() // 1000) << 12 | random.getrandbits(12)
    _last = made if made > _last else _last + 1
    return _last
