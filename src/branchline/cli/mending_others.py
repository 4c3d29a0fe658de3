"""A damaged session of another program as the lines of a sound one, in the same format.

As for our own files every readable entry is taken byte for byte, and only what a reader had to guess is
written down. Lines that are no entries and still whole objects (heads, meta rows, what belongs to somebody
else) stay where they are, because the program goes by them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from branchline.cli.mending import Aside, Change, Mended
from branchline.entries import Compaction, Header, Leaf, jsontext, splice
from branchline.formats import Transcript
from branchline.tree import ROOT

__all__ = ["mend_other"]

_BOM = b"\xef\xbb\xbf"


class _Piece(NamedTuple):
    """A part of the file: an entry by its position, or (ROOT) something else."""

    position: int
    line: int
    offset: int
    data: bytes


def mend_other(transcript: Transcript, *, key: str, spare_id: str, now: str) -> Mended:
    """Make the new file. ``key`` is the old file's name, ``spare_id`` the id if none can be found."""
    reading, tree, format_ = transcript.reading, transcript.tree, transcript.format
    reasons = {finding.offset: finding.message for finding in transcript.findings if finding.size}
    lines: list[bytes] = []
    changes: list[Change] = []
    asides: list[Aside] = []
    made = b"" if reading.header_line else format_.encode_header(_header(transcript, key, spare_id))
    if made:
        lines.append(made)
    numbered = False
    for piece in _pieces(transcript):
        if piece.position == ROOT:
            if _is_object(piece.data):
                lines.append(piece.data.strip() + b"\n")
            else:
                reason = reasons.get(piece.offset, "not an entry")
                asides.append(Aside(piece.line, piece.offset, piece.data, reason))
            continue
        fields = _guessed(transcript, piece.position, piece.data)
        line = splice.set_fields(piece.data, fields) if fields else piece.data
        if fields:
            numbered = numbered or "id" not in jsontext.loads(piece.data)
            changes.append(Change(tree.keys[piece.position], piece.line, fields))
        lines.append(line.rstrip(b"\r") + b"\n")
    data = b"".join(lines)
    return Mended(
        data=data + _move(transcript, data, now),
        asides=asides,
        changes=changes,
        entries=len(tree) - len(tree.placeholders),
        header_made=bool(made),
        upgraded=numbered,
        parted=any(finding.kind == "glued" for finding in transcript.findings),
    )


def _pieces(transcript: Transcript) -> Iterator[_Piece]:
    """The file from its beginning to its end, without blanks; entries that share a line come once."""
    reading, tree = transcript.reading, transcript.tree
    content = transcript.bytes_between(0, None)
    taken: dict[int, tuple[int, int]] = {}
    for position in range(len(tree)):
        if position not in tree.placeholders:
            span = reading.span(position)
            taken[span.offset] = (span.size, position)
    start, line = 0, 1
    for offset, (size, position) in [*sorted(taken.items()), (len(content), (0, ROOT))]:
        place = start
        for part in content[start:offset].split(b"\n"):
            if part.removeprefix(_BOM).strip():
                yield _Piece(ROOT, line, place, part.removeprefix(_BOM))
            place += len(part) + 1
            line += 1
        line -= 1  # the last part goes on in the line of what was taken
        if position != ROOT:
            yield _Piece(position, line, offset, content[offset : offset + size])
        start = offset + size


def _guessed(transcript: Transcript, position: int, line: bytes) -> dict[str, Any]:
    """The links that the line does not say as the tree has them."""
    names, tree = transcript.format.links, transcript.tree
    if names is None:
        return {}
    said = jsontext.loads(line)
    first = position
    while first and _offset(transcript, first - 1) == _offset(transcript, position):
        first -= 1  # several entries of one line: the line hangs where the first of them does
    parent = _key(transcript, _above(transcript, tree.parents[first]))
    fields: dict[str, Any] = {}
    if said.get("id") != tree.keys[position]:
        fields["id"] = tree.keys[position]
    if (said.get(names.parent) or None) != parent:
        fields[names.parent] = parent
    match transcript.entry(position):
        case Compaction(first_kept=str() as target) if names.first_kept:
            if (
                isinstance(said.get(names.first_kept), str)
                and (found := _moved(transcript, target)) != target
            ):
                fields[names.first_kept] = found
        case Leaf(target=str() as target) if names.target and isinstance(said.get(names.target), str):
            if (found := _moved(transcript, target)) != said[names.target]:
                fields[names.target] = found
        case _:
            pass
    return fields


def _moved(transcript: Transcript, target: str) -> str | None:
    """What a pointer at this entry must say: the entry, or the nearest readable one above it."""
    position = transcript.tree.positions.get(target)
    return target if position is None else _key(transcript, _above(transcript, position))


def _move(transcript: Transcript, data: bytes, now: str) -> bytes:
    """Lines that lead to where the old file stands, where the new one would stand elsewhere without them."""
    name = transcript.name
    new = Transcript(transcript.format, lambda offset, size: data[offset : offset + size], name)
    leaf = transcript.leaf
    if new.leaf == leaf or transcript.format.links is None:
        return b""
    move = Leaf(id="0" * 15 + "1", parent=leaf, timestamp=now, target=leaf)
    return transcript.format.encode([move], new.reading)


def _header(transcript: Transcript, key: str, spare_id: str) -> Header:
    """A header from what the file's name and its entries say."""
    known = transcript.reading.header
    times = [time for time in transcript.tree.times if time]
    start = times[0] if times else ""
    if known is not None and known.id:
        return Header(version=3, id=known.id, timestamp=known.timestamp or start, cwd=known.cwd)
    named = key.rpartition("_")[2]
    return Header(version=3, id=named or spare_id, timestamp=start)


def _is_object(data: bytes) -> bool:
    try:
        return isinstance(jsontext.loads(data), dict)
    except ValueError:
        return False


def _offset(transcript: Transcript, position: int) -> int:
    return transcript.reading.span(position).offset


def _above(transcript: Transcript, position: int) -> int:
    tree = transcript.tree
    while position in tree.placeholders:
        position = tree.parents[position]
    return position


def _key(transcript: Transcript, position: int) -> str | None:
    return None if position == ROOT else transcript.tree.keys[position]
