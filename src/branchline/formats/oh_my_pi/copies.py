"""The lines of a fork: as in pi, except that a compaction may refer to one more entry."""

from __future__ import annotations

from collections.abc import Iterator

from branchline.entries import json_codec, skeleton, splice
from branchline.formats.common.native_copies import path_lines
from branchline.formats.entry_log import EntryLog
from branchline.tree import ROOT

__all__ = ["forked_lines"]

_THROUGH = "providerReplayThroughEntryId"


def forked_lines(transcript: EntryLog, leaf: int) -> Iterator[bytes]:
    """Yield the lines of one path, relinked around those that are left out.

    A compaction may name the entry up to which the provider holds the history. If that entry is a label, the
    nearest kept ancestor replaces it.
    """
    lines = list(path_lines(transcript, leaf))
    marked = [number for number, line in enumerate(lines) if _THROUGH.encode() in line]
    if not marked:
        yield from lines
        return
    tree = transcript.tree
    kept = {skeleton.links(line)["id"] for line in lines}
    for number in marked:
        fields = json_codec.loads(lines[number])
        through = fields.get(_THROUGH)
        position = tree.positions.get(through, ROOT) if isinstance(through, str) else ROOT
        if fields.get("type") != "compaction" or position == ROOT or through in kept:
            continue
        while position != ROOT and tree.keys[position] not in kept:
            position = tree.parents[position]
        if position != ROOT:
            line = lines[number].removesuffix(b"\n")
            lines[number] = splice.set_fields(line, {_THROUGH: tree.keys[position]}) + b"\n"
    yield from lines
