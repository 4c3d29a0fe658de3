"""Repair a damaged session of the native format.

Every readable entry is copied byte for byte. Only values that the reader had to guess are written: the parent
of an entry whose parent was lost, the id of an entry with a duplicate id, and references to either. All other
bytes of the file are salvaged separately; nothing is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from branchline.context import build_context
from branchline.context.selection import ancestor_with_id
from branchline.entries import (
    Compaction,
    ContextEdit,
    Header,
    Leaf,
    encode_header,
    json_codec,
    skeleton,
    splice,
)
from branchline.errors import NotSaved
from branchline.formats import EntryLog
from branchline.session.ids import check_session_id
from branchline.tree import ROOT

__all__ = [
    "FieldFix",
    "RepairResult",
    "SalvagedBytes",
    "key_at",
    "readable_above",
    "repair_native",
    "require_same",
]

_BOM = b"\xef\xbb\xbf"
_STEP = 1 << 20
"""How many bytes are read at a time, so that a long line costs its own size once."""
_HEADER_FIELD = re.compile(rb'"(id|timestamp|cwd|parentSession)"\s*:\s*("[^"\\\x00-\x1f]*")')
_NAME_ID = re.compile(r"[^_]*_(.+)")


class SalvagedBytes(NamedTuple):
    """Bytes that belong to no entry: their position, and why they were not copied."""

    line: int
    offset: int
    size: int
    reason: str


class FieldFix(NamedTuple):
    """Fields of an entry that were set to the values that the reader had guessed."""

    entry: str
    line: int
    fields: dict[str, Any]


class RepairResult(NamedTuple):
    """The lines of the new file, and how they differ from those of the old one.

    A file of version 1 has no links: its repaired copy is of version 3, which has them.
    """

    data: bytes
    asides: list[SalvagedBytes]
    changes: list[FieldFix]
    entries: int
    header_made: bool
    upgraded: bool
    """Whether entries without ids got ids."""
    lines_split: bool
    """Whether entries that shared a line got separate lines."""

    @property
    def needed(self) -> bool:
        guessed = bool(self.changes) and not self.upgraded
        return self.header_made or self.lines_split or bool(self.asides) or guessed


def repair_native(transcript: EntryLog, *, key: str, spare_id: str) -> RepairResult:
    """Build the repaired file. ``key`` is the old file's name, ``spare_id`` the id if none can be found."""
    reading, tree = transcript.reading, transcript.tree
    lines: list[bytes] = []
    changes: list[FieldFix] = []
    asides = list(_asides(transcript))
    if reading.header is None:
        lines.append(encode_header(_made_header(transcript, asides, key, spare_id)))
    elif reading.version == 1:
        lines.append(splice.set_fields(reading.header_line, {"version": 3}) + b"\n")
    else:
        lines.append(reading.header_line + b"\n")
    for position in range(len(tree)):
        if position in tree.placeholders:
            continue
        line = _with_current_role(transcript, position)
        fields = _guessed(transcript, position, line)
        if fields:
            line = splice.set_fields(line, fields)
            changes.append(FieldFix(tree.keys[position], reading.line_of(position), fields))
        lines.append(line + b"\n")
    return RepairResult(
        data=b"".join(lines),
        asides=asides,
        changes=changes,
        entries=len(lines) - 1,
        header_made=reading.header is None,
        upgraded=reading.version == 1,
        lines_split=any(finding.kind == "glued" for finding in transcript.findings),
    )


def require_same(old: EntryLog, new: EntryLog) -> None:
    """Raise NotSaved if the new file lacks an entry, or reads differently where the old one is readable."""
    missing = set(_readable(old)) - set(new.tree.keys)
    if missing:
        raise NotSaved(f"the repaired file would lack {len(missing)} entries; it was not written")
    readable = _readable(old)
    there = set(readable)  # labels of unreadable entries are not in the new file
    labels = {key: state for key, state in old.reading.labels.items() if key in there}
    same = (
        readable == new.tree.keys[: len(readable)]  # a move to the old leaf may follow
        and _parents(old) == _parents(new)[: len(readable)]
        and old.leaf == new.leaf
        and old.reading.title == new.reading.title
        and all(new.reading.labels.get(key) == state for key, state in labels.items())
        and _said(old) == _said(new)
    )
    if not same:
        raise NotSaved("the repaired file would read differently; it was not written")


def _readable(transcript: EntryLog) -> list[str]:
    tree = transcript.tree
    return [key for position, key in enumerate(tree.keys) if position not in tree.placeholders]


def _parents(transcript: EntryLog) -> list[str | None]:
    tree = transcript.tree
    return [
        key_at(transcript, readable_above(transcript, tree.parents[position]))
        for position in range(len(tree))
        if position not in tree.placeholders
    ]


def _said(transcript: EntryLog) -> list[tuple[str, str]]:
    """Return the role and text of each message in the context at the leaf."""
    leaf = ROOT if transcript.leaf is None else transcript.tree.position(transcript.leaf)
    return [(item.entry, item.message.role) for item in build_context(transcript, leaf).messages]


def readable_above(transcript: EntryLog, position: int) -> int:
    """Return the entry itself if it is readable, or else its nearest readable ancestor."""
    tree = transcript.tree
    while position in tree.placeholders:
        position = tree.parents[position]
    return position


def key_at(transcript: EntryLog, position: int) -> str | None:
    return None if position == ROOT else transcript.tree.keys[position]


def _with_current_role(transcript: EntryLog, position: int) -> bytes:
    """Return the bytes of an entry; extension messages of version 1 get their current role."""
    line = transcript.raw(position)
    if transcript.reading.version == 1 and transcript.tree.roles[position] == "custom":
        spot = splice.field_ranges(line)["message"]
        message = splice.set_fields(line[spot.start : spot.end], {"role": "custom"})
        line = line[: spot.start] + message + line[spot.end :]
    return line


# -- guessed values ---------------------------------------------------------------------------------------


def _guessed(transcript: EntryLog, position: int, line: bytes) -> dict[str, Any]:
    """Return the fields that differ between the line and the tree."""
    tree = transcript.tree
    wanted = {
        "id": tree.keys[position],
        "parentId": key_at(transcript, readable_above(transcript, tree.parents[position])),
    }
    said = skeleton.links(line)
    fields = {name: value for name, value in wanted.items() if name not in said or said[name] != value}
    if tree.types[position] in ("leaf", "compaction", "context_edit"):
        fields |= _pointer(transcript, position)
    return fields


def _pointer(transcript: EntryLog, position: int) -> dict[str, Any]:
    """Return the corrected reference of an entry, if its own is missing or ambiguous."""
    tree = transcript.tree
    match transcript.entry(position):
        case Leaf(target=str() as target):
            found = transcript.reading.linker.latest_with_id(target)
            if found is None:
                found = tree.parents[position]
                if found == ROOT:
                    return {}
            key = key_at(transcript, readable_above(transcript, found))
            return {} if key == target else {"targetId": key}
        case Compaction(first_kept=str() as target):
            chain = tree.path_positions(position)
            start = ancestor_with_id(tree, target, chain, len(chain) - 1)
            if start < 0:
                return {}
            kept = [place for place in chain[start:] if place not in tree.placeholders]
            key = tree.keys[kept[0]]
            said = key == target and transcript.reading.version > 1
            return {} if said else {"firstKeptEntryId": key}
        case ContextEdit(target=target) if f"{target}#2" in tree.positions:
            chain = tree.path_positions(position)
            holder = ancestor_with_id(tree, target, chain, len(chain) - 1)
            key = target if holder < 0 else tree.keys[chain[holder]]
            return {} if key == target else {"targetId": key}
        case _:
            return {}


# -- salvaged bytes ---------------------------------------------------------------------------------------


def _asides(transcript: EntryLog) -> Iterator[SalvagedBytes]:
    """Yield everything in the file that is neither the header nor an entry nor blank."""
    reading, tree = transcript.reading, transcript.tree
    reasons = {finding.offset: finding.message for finding in transcript.findings if finding.size}
    taken: list[tuple[int, int]] = [
        reading.span(position) for position in range(len(tree)) if position not in tree.placeholders
    ]
    if reading.header is not None:
        taken.append((reading.header_end - len(reading.header_line), len(reading.header_line)))
    start, line = 0, 1
    for offset, size in [*sorted(taken), (None, 0)]:
        place = start
        for end in _line_ends(transcript, start, offset):
            piece = transcript.bytes_between(place, end)  # not kept: it may be long
            if piece.removeprefix(_BOM).strip():
                yield SalvagedBytes(line, place, len(piece), reasons.get(place, "not an entry"))
            place = end + 1
            line += 1
        line -= 1  # the last part continues the line of the entry before it
        start = 0 if offset is None else offset + size


def _line_ends(transcript: EntryLog, start: int, end: int | None) -> Iterator[int]:
    """Where the lines between two offsets end: at their newlines, and the last one at the end."""
    while data := transcript.bytes_between(start, start + _STEP if end is None else min(end, start + _STEP)):
        newline = data.find(b"\n")
        while newline >= 0:
            yield start + newline
            newline = data.find(b"\n", newline + 1)
        start += len(data)
    yield start


def _made_header(transcript: EntryLog, asides: list[SalvagedBytes], key: str, spare_id: str) -> Header:
    """Return a header derived from the remains of the old one, from the file name, or from defaults."""
    found: dict[str, str] = {}
    for aside in asides:
        end = aside.offset + aside.size
        if b'"session"' in transcript.bytes_between(aside.offset, min(end, aside.offset + 200)):
            for name, value in _HEADER_FIELD.findall(transcript.bytes_between(aside.offset, end)):
                found.setdefault(name.decode(), json_codec.loads(value))
    named = _NAME_ID.fullmatch(key)
    times = [time for time in transcript.tree.times if time]
    return Header(
        version=3,
        id=found.get("id") or _usable(named[1] if named else "") or spare_id,
        timestamp=found.get("timestamp") or (times[0] if times else ""),
        cwd=found.get("cwd", ""),
        parent_session=found.get("parentSession"),
    )


def _usable(name: str) -> str | None:
    try:
        return check_session_id(name)
    except ValueError:
        return None
