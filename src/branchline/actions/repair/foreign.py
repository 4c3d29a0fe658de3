"""Repair a damaged session of another agent, in its own format.

As for native files, every readable entry is copied byte for byte, and only values that the reader had to
guess are written. Lines that are complete objects but not entries (headers, meta rows, extension lines) keep
their position, because the agent needs them; an entry whose id is lost is salvaged separately.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from branchline.actions.repair.native import FieldFix, RepairResult, SalvagedBytes, key_at, readable_above
from branchline.context.selection import ancestor_with_id
from branchline.entries import Header, Leaf, json_codec, splice
from branchline.errors import NotSupported
from branchline.formats import EntryLog
from branchline.formats.lines import LineReader, split_records
from branchline.tree import ROOT

__all__ = ["repair_foreign"]

_BOM = b"\xef\xbb\xbf"
_PI_MARK = b'{"type":"'
_SLOT = b'{"type":"title"'


class _Piece(NamedTuple):
    """A part of the file: an entry by its position, or (ROOT) something else."""

    position: int
    line: int
    offset: int
    data: bytes
    alone: bool = True
    """Whether it is the only part of its line."""


def repair_foreign(transcript: EntryLog, *, key: str, spare_id: str, now: str) -> RepairResult:
    """Build the repaired file. ``key`` is the old file's name, ``spare_id`` the id if none can be found."""
    reading, tree, format_ = transcript.reading, transcript.tree, transcript.format
    reasons = {finding.offset: finding.message for finding in transcript.findings if finding.size}
    nameless = {finding.offset for finding in transcript.findings if finding.kind == "no-id"}
    lines: list[bytes] = []
    changes: list[FieldFix] = []
    asides: list[SalvagedBytes] = []
    made = (
        b""
        if reading.header_line
        else format_.required_writer().encode_header(_header(transcript, key, spare_id))
    )
    numbered = False
    for piece in _pieces(transcript):
        if piece.position == ROOT:
            for part in _parts(transcript, piece):
                if part.alone and part.offset not in nameless:
                    lines.append(part.data.strip() + b"\n")
                else:
                    reason = reasons.get(part.offset, "not an entry")
                    asides.append(SalvagedBytes(part.line, part.offset, len(part.data), reason))
            continue
        fields = _guessed(transcript, piece.position, piece.data)
        line = splice.set_fields(piece.data, fields) if fields else piece.data
        if fields:
            numbered = numbered or "id" not in _fields(piece.data)
            changes.append(FieldFix(tree.keys[piece.position], piece.line, fields))
        lines.append(line.rstrip(b"\r") + b"\n")
    data = b"".join(_with_header(lines, made))
    return RepairResult(
        data=data + _move(transcript, data, now),
        asides=asides,
        changes=changes,
        entries=len(tree) - len(tree.placeholders),
        header_made=bool(made),
        upgraded=numbered,
        lines_split=any(finding.kind == "glued" for finding in transcript.findings),
    )


def _pieces(transcript: EntryLog) -> Iterator[_Piece]:
    """Yield the parts of the file in order, without blank lines; entries that share a line come once."""
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
                begins = place == 0 or content[place - 1 : place] == b"\n"
                ends = place + len(part) in (len(content), offset - 1) or place + len(part) < offset
                yield _Piece(ROOT, line, place, part.removeprefix(_BOM), begins and ends)
            place += len(part) + 1
            line += 1
        line -= 1  # the last part continues the line of the entry before it
        if position != ROOT:
            yield _Piece(position, line, offset, content[offset : offset + size])
        start = offset + size


def _parts(transcript: EntryLog, piece: _Piece) -> Iterator[_Piece]:
    """Split a part as the reader did: objects that stay, each on its own line, and the bytes in between."""
    if piece.alone and _is_object(piece.data):
        yield piece
        return
    reader = transcript.format.reader.log_reader(transcript.name)
    found = (
        split_records(piece.data, reader.markers, reader.is_record)
        if isinstance(reader, LineReader)
        else split_records(piece.data, (_PI_MARK,), lambda data: _fields(data).get("type") == "session")
    )
    for part in found:
        yield piece._replace(offset=piece.offset + part.start, data=part.data, alone=part.whole)


def _with_header(lines: list[bytes], made: bytes) -> list[bytes]:
    """Insert a new header into the lines; oh-my-pi's title slot stays before it."""
    if made and lines and lines[0].startswith(_SLOT) and made.startswith(_SLOT):
        return [lines[0], made.split(b"\n", 1)[1], *lines[1:]]
    return [made, *lines]


def _guessed(transcript: EntryLog, position: int, line: bytes) -> dict[str, Any]:
    """Return the links that differ between the line and the tree."""
    names, tree = transcript.format.traits.links, transcript.tree
    if names is None:
        return {}
    said = _fields(line)
    first = position
    while first and _offset(transcript, first - 1) == _offset(transcript, position):
        first -= 1  # several entries on one line: its parent is that of the first
    parent = key_at(transcript, readable_above(transcript, tree.parents[first]))
    fields: dict[str, Any] = {}
    if said.get("id") != tree.keys[position]:
        fields["id"] = tree.keys[position]
    if (said.get(names.parent) or None) != parent:
        fields[names.parent] = parent
    pointers = {"leaf": names.target, "compaction": names.first_kept, "label": names.label}
    name = pointers.get(tree.types[position], "")
    if name and isinstance(target := said.get(name), str):
        kept = tree.types[position] == "compaction"
        found = (_first_kept if kept else _meant)(transcript, target, position)
        if found not in (None, target):
            fields[name] = found
    return fields


def _meant(transcript: EntryLog, name: str, position: int) -> str | None:
    """Return the id that a pointer must have: of the nearest ancestor with this id, or a readable one."""
    tree, key, count, best = transcript.tree, name, 1, ROOT
    while (holder := tree.positions.get(key)) is not None:
        if holder < position or best == ROOT:
            best = holder
        count += 1
        key = f"{name}#{count}"
    if best == ROOT or (best in tree.placeholders and tree.types[position] == "label"):
        return None  # a label of an unreadable entry is dropped, not moved
    return key_at(transcript, readable_above(transcript, best))


def _first_kept(transcript: EntryLog, name: str, position: int) -> str | None:
    """Return the first readable entry that a compaction keeps."""
    tree = transcript.tree
    chain = tree.path_positions(position)
    start = ancestor_with_id(tree, name, chain, len(chain) - 1)
    kept = (place for place in chain[start:] if place not in tree.placeholders)
    return None if start < 0 else tree.keys[next(kept)]


def _move(transcript: EntryLog, data: bytes, now: str) -> bytes:
    """Return lines that restore the leaf of the old file, if the new one would resolve another."""
    name = transcript.name
    new = EntryLog(transcript.format, lambda offset, size: data[offset : offset + size], name)
    leaf = transcript.leaf
    if transcript.format.traits.links is None or (new.leaf == leaf and not new.reading.leaf_ambiguous):
        return b""
    move = Leaf(id="0" * 15 + "1", parent=leaf, timestamp=now, target=leaf)
    try:
        return transcript.format.required_writer().encode([move], new.reading)
    except NotSupported:
        return b""  # the new file would read differently, and is refused later


def _header(transcript: EntryLog, key: str, spare_id: str) -> Header:
    """Return a header derived from the file name and the entries."""
    known = transcript.reading.header
    times = [time for time in transcript.tree.times if time]
    start = times[0] if times else ""
    if known is not None and known.id:
        return Header(version=3, id=known.id, timestamp=known.timestamp or start, cwd=known.cwd)
    named = key.rpartition("_")[2]
    return Header(version=3, id=named or spare_id, timestamp=start)


def _fields(line: bytes) -> dict[str, Any]:
    fields: dict[str, Any] = json_codec.loads(line)
    return fields


def _is_object(data: bytes) -> bool:
    try:
        return isinstance(json_codec.loads(data), dict)
    except ValueError:
        return False


def _offset(transcript: EntryLog, position: int) -> int:
    return transcript.reading.span(position).offset
