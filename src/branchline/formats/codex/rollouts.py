"""Relations between rollouts: prefixes in other files, and names.

Nothing here opens a file; the caller passes a function that finds one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from branchline.entries import json_codec
from branchline.formats.codex.log_index import base_of
from branchline.formats.codex.reader import NAME, REVERT_BEGINS, REVERT_ENDS
from branchline.formats.json_values import dict_of
from branchline.formats.protocol import Content

__all__ = ["Name", "assemble_rollout", "rollout_name"]

_PIECE = 1 << 20
_LONGEST_FIRST = 1 << 26


class Name(NamedTuple):
    """The parts of a rollout's file name."""

    time: str
    thread: str
    rollout: str


def rollout_name(path: str) -> Name | None:
    """Parse local time, thread and rollout from a file name; of one thread the greatest name is current."""
    found = NAME.search(path)
    return None if found is None else Name(found[1], found[2], found[3] or found[2])


def assemble_rollout(
    content: Content, rollout: str, find: Callable[[str], Content | None]
) -> Iterator[bytes] | None:
    """Yield the lines of a paginated rollout as a full copy would contain them.

    First come the ``session_meta`` records of this rollout and of all its prefixes, then their other lines,
    oldest first. A prefix that is missing, legacy or refers to itself ends the chain. Turns that a revert
    within the same thread cut off are enclosed in two marker lines. None if the rollout has no usable prefix
    elsewhere.
    """
    heads: list[bytes] = []
    parts: list[_Part] = []
    seen, found, end, thread = {rollout}, content, content.size(), None
    while True:
        head = _first_line(found, end)
        meta = dict_of((json_codec.loads_object(head) or {}).get("payload"))
        base = base_of(meta)
        if heads and meta.get("history_mode") != "paginated":
            break
        heads.append(head + b"\n")
        thread = meta.get("id") if thread is None else thread
        reverted = bool(parts) and meta.get("id") == thread
        parts.append(_Part(found, min(len(head) + 1, end), end, found.size() if reverted else end))
        if base is None or base.rollout in seen or (other := find(base.rollout)) is None:
            break
        seen.add(base.rollout)
        found, end = other, min(base.end_offset, other.size())
    return None if len(heads) == 1 else _joined(heads, parts)


class _Part(NamedTuple):
    """What follows the first line of a rollout: the relevant part, and what was reverted."""

    content: Content
    start: int
    end: int
    reverted_end: int


def _joined(heads: list[bytes], parts: list[_Part]) -> Iterator[bytes]:
    yield from heads
    for number, part in enumerate(reversed(parts), 1):
        own = number == len(parts)
        yield from _lines_between(part.content, part.start, part.end, terminate=not own)
        if part.end < part.reverted_end:
            yield REVERT_BEGINS
            yield from _lines_between(part.content, part.end, part.reverted_end, terminate=True)
            yield REVERT_ENDS


def _lines_between(content: Content, start: int, end: int, *, terminate: bool) -> Iterator[bytes]:
    piece, offset = b"", start
    while data := content.read(offset, min(_PIECE, end - offset)):
        yield data
        piece = data
        offset += len(data)
    if terminate and not piece.endswith(b"\n"):
        yield b"\n"


def _first_line(content: Content, end: int) -> bytes:
    """Return the first line without its newline; empty if it is longer than any real one."""
    size = _PIECE
    while True:
        data = content.read(0, min(size, end))
        line, newline, _ = data.partition(b"\n")
        if newline or len(data) < size:
            return line
        if size >= _LONGEST_FIRST:
            return b""
        size *= 4
