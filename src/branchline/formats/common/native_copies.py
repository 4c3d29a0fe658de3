"""Lines of pi's format for a new file made from an existing one: forks, exports and upgrades.

Existing lines are copied byte for byte. Only fields that must change do: the parent of an entry whose parent
is left out, and the first kept entry of a compaction that referred to one left out.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Any

from branchline.entries import Compaction, skeleton, splice
from branchline.formats.entry_log import EntryLog
from branchline.tree import ROOT

__all__ = ["lines_between", "next_kept", "path_lines", "tree_lines", "upgrade_lines"]

_LEFT_OUT = frozenset({"label", "leaf"})  # rebuilt for the copy, or meaningless in it
_CARRIED = frozenset({"usage", "custom", "session_info"})  # belong to their parent entry


def path_lines(transcript: EntryLog, leaf: int) -> Iterator[bytes]:
    """Yield the lines of one path, root to leaf, relinked around omitted labels and leaf moves.

    Usage, custom data and the newest title whose parent is on the path are copied too. A title that was given
    before the first message is on every path that is not empty.
    """
    tree = transcript.tree
    chain = tree.path_positions(leaf)
    kept = [
        position
        for position in chain
        if tree.types[position] not in _LEFT_OUT and position not in tree.placeholders
    ]
    parents = dict(zip(kept, [ROOT, *kept], strict=False))
    following = next_kept(chain, parents)
    title = ROOT
    for position in _dangling(transcript, set(chain)):
        above = tree.parents[position]
        if tree.types[position] != "session_info":
            if above in parents:
                parents[position] = above
        elif above in parents or (above == ROOT and kept):
            title = position
    if title != ROOT:
        parents[title] = tree.parents[title]
    for position in sorted(parents):
        changes: dict[str, Any] = {}
        first = _first_kept(transcript, position)
        kept_from = None if first is None else following.get(first, first)
        if kept_from is not None and (kept_from != first or transcript.reading.version == 1):
            changes = {"firstKeptEntryId": tree.keys[kept_from]}
        yield _linked(transcript, position, parents[position], changes) + b"\n"


def tree_lines(transcript: EntryLog) -> Iterator[bytes]:
    """Yield everything after the header unchanged, including unreadable lines."""
    reading = transcript.reading
    if reading.version < 3:
        lines = upgrade_lines(transcript)
        next(lines)
        yield from lines
    else:
        yield from lines_between(transcript, reading.header_end, None)


def upgrade_lines(transcript: EntryLog) -> Iterator[bytes]:
    """Yield a version 1 or 2 file as version 3: entries changed where necessary, other lines unchanged."""
    reading, tree = transcript.reading, transcript.tree
    yield splice.set_fields(reading.header_line, {"version": 3}) + b"\n"
    yield from lines_between(transcript, 0, reading.header_end - len(reading.header_line))
    end = reading.header_end
    for position in range(len(tree)):
        span = reading.span(position)
        yield from lines_between(transcript, end, span.offset)
        if reading.version > 1 or position in tree.placeholders:
            yield _with_current_role(transcript, position) + b"\n"
        else:
            first = _first_kept(transcript, position)
            changes = {} if first is None else {"firstKeptEntryId": tree.keys[first]}
            yield _linked(transcript, position, tree.parents[position], changes) + b"\n"
        end = span.offset + span.size
    yield from lines_between(transcript, end, None)


def _linked(transcript: EntryLog, position: int, parent: int, changes: dict[str, Any]) -> bytes:
    """Return the bytes of an entry with its id and parent in the new file."""
    tree = transcript.tree
    line = _with_current_role(transcript, position)
    links = {"id": tree.keys[position], "parentId": None if parent == ROOT else tree.keys[parent]}
    found = skeleton.links(line)
    changes = {name: key for name, key in links.items() if (name, key) not in found.items()} | changes
    return splice.set_fields(line, changes) if changes else line


def _with_current_role(transcript: EntryLog, position: int) -> bytes:
    """Return the bytes of an entry; extension messages had another role before version 3."""
    line = transcript.raw(position)
    if transcript.reading.version < 3 and transcript.tree.roles[position] == "custom":
        spot = splice.field_ranges(line)["message"]
        message = splice.set_fields(line[spot.start : spot.end], {"role": "custom"})
        line = line[: spot.start] + message + line[spot.end :]
    return line


def lines_between(transcript: EntryLog, start: int, end: int | None) -> Iterator[bytes]:
    """Yield the lines in a range of the log, even damaged ones, except for blank ones."""
    data = transcript.bytes_between(start, end)
    for line in (data if start else data.removeprefix(b"\xef\xbb\xbf")).split(b"\n"):
        if line.strip():
            yield line + b"\n"


def _first_kept(transcript: EntryLog, position: int) -> int | None:
    if transcript.tree.types[position] != "compaction":
        return None
    entry = transcript.entry(position)
    if not isinstance(entry, Compaction) or entry.first_kept is None:
        return None
    return transcript.tree.positions.get(entry.first_kept)


def next_kept(path: Sequence[int], kept: Container[int]) -> dict[int, int]:
    """Map each entry of a path to itself if it is kept, else to the next one that is."""
    found: dict[int, int] = {}
    following: int | None = None
    for position in reversed(path):
        if position in kept:
            following = position
        if following is not None:
            found[position] = following
    return found


def _dangling(transcript: EntryLog, on_chain: set[int]) -> list[int]:
    """Return side records beside the path that have no descendants."""
    tree = transcript.tree
    return [
        position
        for position, kind in enumerate(tree.types)
        if kind in _CARRIED and position not in on_chain and not tree.child_positions(position)
    ]
