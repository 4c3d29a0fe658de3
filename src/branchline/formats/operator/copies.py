"""One path of an Operator session as a new file, relinked around the lines that are left out.

Like Operator, it omits labels and moves and sets the labels again at the end. Operator orphans the children
of the lines it omits; here they become children of the nearest kept ancestor.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec

from branchline.entries import Header, Label, json_codec, splice
from branchline.formats.common.native_copies import lines_between, next_kept
from branchline.formats.entry_log import EntryLog
from branchline.formats.operator.log_index import OperatorLogIndex
from branchline.formats.operator.parts import Refuse
from branchline.formats.operator.writer import entry_line, header_line
from branchline.tree import ROOT

__all__ = ["fork_lines", "whole_lines"]

_LEFT_OUT = frozenset({"label", "leaf"})


def fork_lines(
    transcript: EntryLog[OperatorLogIndex], leaf: int, header: Header, refuse: Refuse
) -> Iterator[bytes]:
    """Yield the header, the path to an entry, and the labels on it."""
    reading, tree = transcript.reading, transcript.tree
    if reading.is_superseded:
        yield from _upgraded_lines(transcript, leaf, header, refuse)
        return
    if leaf in reading.inner:
        raise refuse("part")
    # The latest title may be a child of the leaf; a fork at the leaf keeps it.
    chain = tree.path_positions(
        reading.leaf if tree.nearest_conversation_entry(reading.leaf) == leaf else leaf
    )
    kept = [position for position in chain if _is_kept(reading, position)]
    following = next_kept(chain, set(kept))
    yield header_line(header)
    last: str | None = None
    for position in kept:
        yield _linked(transcript, position, last, following) + b"\n"
        last = tree.keys[position]
    for number, (key, state) in enumerate(reading.labels.items()):
        labelled = tree.positions.get(key, ROOT)
        if following.get(labelled) == labelled:
            name = hashlib.sha256(f"label {header.id} {number}".encode()).hexdigest()[:16]
            label = Label(id=name, timestamp=state.time, target=key, label=state.text)
            yield entry_line(label, last, name=lambda named: named, refuse=refuse)
            last = label.id


def whole_lines(transcript: EntryLog[OperatorLogIndex], header: Header, refuse: Refuse) -> Iterator[bytes]:
    """Yield the new header, then everything after the old one unchanged, including damaged lines."""
    if transcript.reading.is_superseded:
        yield from _upgraded_lines(transcript, transcript.reading.leaf, header, refuse)
        return
    yield header_line(header)
    yield from lines_between(transcript, transcript.reading.header_end, None)


def _upgraded_lines(
    transcript: EntryLog[OperatorLogIndex], leaf: int, header: Header, refuse: Refuse
) -> Iterator[bytes]:
    """Yield a session of the older store in today's form; its entries get the time of the session."""
    parent: str | None = None
    yield header_line(header)
    for position in transcript.tree.path_positions(leaf):
        if position in transcript.tree.placeholders:
            continue
        entry = msgspec.structs.replace(transcript.entry(position), timestamp=header.timestamp)
        yield entry_line(entry, parent, name=lambda named: named, refuse=refuse)
        parent = entry.id


def _is_kept(reading: OperatorLogIndex, position: int) -> bool:
    tree = reading.tree
    return (
        tree.types[position] not in _LEFT_OUT
        and position not in tree.placeholders
        and position not in reading.inner
    )


def _linked(
    transcript: EntryLog[OperatorLogIndex], position: int, parent: str | None, following: dict[int, int]
) -> bytes:
    """Return the bytes of an entry with its id and parent in the new file."""
    tree = transcript.tree
    line = transcript.raw(position)
    fields = json_codec.loads(line)
    changes: dict[str, Any] = {}
    if fields["id"] != tree.keys[position]:
        changes["id"] = tree.keys[position]
    if fields.get("parent_id") != parent:
        changes["parent_id"] = parent
    if fields["type"] == "compaction" and isinstance(first := fields.get("first_kept_entry_id"), str):
        found = transcript.reading.linker.latest_with_id(first)
        moved = tree.keys[following[found]] if found in following else first
        if moved != first:
            changes["first_kept_entry_id"] = moved
    return splice.set_fields(line, changes) if changes else line
