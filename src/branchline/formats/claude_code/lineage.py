"""Forks with a common prefix: which file owns the records that files share.

Nothing here opens a file; the caller passes what was read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from branchline.formats.claude_code.kinds import ASIDE
from branchline.formats.claude_code.log_index import ClaudeCodeLogIndex

__all__ = ["lineage"]

_NO_TIME = "~"  # sorts after every time


def lineage(readings: Sequence[ClaudeCodeLogIndex]) -> list[int | None]:
    """Return the index of every file's fork parent; None if no other file owns its first records.

    A file may name its parent (``/branch`` writes that). Otherwise the owner of shared records is a file
    without ``forkedFrom`` that is not a background session. Of two such files it is the one with other lines
    from before the last shared record, which a copy cannot have, then the one that continued first. Equal
    times prove nothing, as copies keep theirs.
    """
    members = [_uuids(reading) for reading in readings]
    holders: dict[str, list[int]] = {}
    for number, uuids in enumerate(members):
        for uuid in uuids:
            holders.setdefault(uuid, []).append(number)
    overlap = [Counter[int]() for _ in readings]
    for group in holders.values():
        if len(group) > 1:
            for number in group:
                overlap[number].update(other for other in group if other != number)
    ids = {reading.header.id: number for number, reading in enumerate(readings) if reading.header}
    parents: list[int | None] = []
    for number, reading in enumerate(readings):
        if named := [ids[one] for one in reading.forked_from if ids.get(one, number) != number]:
            parents.append(max(named, key=lambda one: overlap[number][one]))
            continue
        owners = [
            other
            for other in overlap[number]
            if _owns(readings, other, number, members[other] & members[number])
        ]
        parents.append(max(owners, key=lambda one: _claim(readings, overlap[number], one), default=None))
    _cut_cycles(parents)
    return parents


def _uuids(reading: ClaudeCodeLogIndex) -> set[str]:
    return {
        key
        for key, kind in zip(reading.tree.keys, reading.kinds, strict=True)
        if kind != ASIDE and not key.startswith("line-")
    }


def _is_copy(reading: ClaudeCodeLogIndex) -> bool:
    return bool(reading.forked_from) or reading.background


def _owns(readings: Sequence[ClaudeCodeLogIndex], one: int, other: int, shared: set[str]) -> bool:
    """Return whether the records that two files share belong to the first."""
    if _is_copy(readings[one]) != _is_copy(readings[other]):
        return _is_copy(readings[other])
    return _age(readings[one], shared, one) < _age(readings[other], shared, other)


def _age(reading: ClaudeCodeLogIndex, shared: set[str], number: int) -> tuple[bool, str, int]:
    """Return a sort key that puts the owner first: by older lines, then by when the file diverged."""
    tree = reading.tree
    end = max((tree.times[tree.positions[uuid]] for uuid in shared), default="")
    own = [
        (time, kind)
        for key, time, kind in zip(tree.keys, tree.times, reading.kinds, strict=True)
        if time and key not in shared
    ]
    older = any(time < end for time, _ in own)
    return not older, min((time for time, kind in own if kind != ASIDE), default=_NO_TIME), number


def _claim(
    readings: Sequence[ClaudeCodeLogIndex], overlap: Mapping[int, int], one: int
) -> tuple[int, bool, int]:
    return overlap[one], not _is_copy(readings[one]), -one


def _cut_cycles(parents: list[int | None]) -> None:
    for start in range(len(parents)):
        seen = {start}
        at = parents[start]
        while at is not None and at not in seen:
            seen.add(at)
            at = parents[at]
        if at == start:
            parents[start] = None
