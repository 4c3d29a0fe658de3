"""The full check of a log: findings of reading, and of a second pass over every byte.

Reading skips payloads, so it does not notice invalid UTF-8 or duplicate keys in an object. This pass reads
the log once more, line by line; its memory does not grow with the payloads.
"""

from __future__ import annotations

import codecs
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from branchline.entries import SIDE_TYPES, Leaf
from branchline.formats.entry_log import EntryLog
from branchline.tree import ROOT, Finding, Kind

__all__ = ["check_log"]

_CHUNK = 1 << 17
_PIECE = 1 << 22
_BLANK = re.compile(rb"[ \t\r\v\f\n]*\n")


def check_log(transcript: EntryLog) -> list[Finding]:
    """Return all problems found in a log, in line order."""
    found = transcript.findings
    unreadable = {finding.offset for finding in found if finding.kind == "unreadable"}
    watch, parts = _KeyWatch(), transcript.format.external_parts
    apart: set[int] = set()  # where lines begin that may have parts in other files
    for line in _lines(transcript):
        if parts is not None and (line.data is None or parts.mark in line.data):
            apart.add(line.offset)
        problem = _encoding_problem(transcript, line)
        if problem is not None:
            _add(found, line, "encoding", problem)
        if line.offset not in unreadable:
            repeated = watch.repeated(_text(transcript, line))
            if repeated:
                what = f"an object has a duplicate key ({', '.join(repeated)}); the last one counts"
                _add(found, line, "duplicate-key", what)
    found += _two_writers(transcript)
    found += _missing_parts(transcript, apart)
    found.sort(key=lambda finding: finding.line)
    return found


# -- every line -------------------------------------------------------------------------------------------


class _Line(NamedTuple):
    """A line that is not blank, with its bytes unless it is long and read in chunks."""

    number: int
    offset: int
    size: int
    data: bytes | None


def _add(found: list[Finding], line: _Line, kind: Kind, message: str) -> None:
    found.append(Finding(kind=kind, message=message, line=line.number, offset=line.offset, size=line.size))


def _lines(transcript: EntryLog) -> Iterator[_Line]:
    """Yield the lines of the log, including an unfinished last one."""
    end = sys.maxsize if transcript.reading.unterminated else transcript.reading.consumed
    number, offset, start, size = 1, 0, 0, 0  # `size` bytes of a line that begins at `start` came before
    while data := transcript.bytes_between(offset, min(offset + _CHUNK, end)):
        if not size:
            start = offset
        place = 0
        while place < len(data):
            if not size and (blank := _BLANK.match(data, place)):
                number += data.count(b"\n", place, blank.end())
                place = blank.end()
                start = offset + place
                continue
            newline = data.find(b"\n", place)
            if newline < 0:
                size += len(data) - place
                break
            size += newline - place
            whole = data[newline - size : newline] if size <= newline - place else None
            yield _Line(number, start, size, whole)
            number += 1
            size, place = 0, newline + 1
            start = offset + place
        offset += len(data)
    if size:
        yield _Line(number, start, size, None)


def _pieces(transcript: EntryLog, line: _Line) -> Iterator[bytes]:
    if line.data is not None:
        yield line.data
        return
    for offset in range(line.offset, line.offset + line.size, _PIECE):
        yield transcript.bytes_between(offset, min(offset + _PIECE, line.offset + line.size))


def _encoding_problem(transcript: EntryLog, line: _Line) -> str | None:
    decoder, before, pending = codecs.getincrementaldecoder("utf-8")(), 0, 0
    try:
        for piece in _pieces(transcript, line):
            pending = len(decoder.getstate()[0])
            decoder.decode(piece)
            before += len(piece)
        pending = len(decoder.getstate()[0])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as reason:
        place = before - pending + reason.start
        return f"byte {place} of the line is not UTF-8 ({reason.reason}); shown as \ufffd"
    return None


def _text(transcript: EntryLog, line: _Line) -> str:
    """Return the text of a line, without the byte order mark of the file."""
    text = b"".join(_pieces(transcript, line)).decode("utf-8", "replace")
    return text.removeprefix("\ufeff") if line.number == 1 else text


class _KeyWatch:
    """Finds duplicate keys within one object."""

    def __init__(self) -> None:
        self._found: dict[str, None] = {}
        # Values do not matter, so long numbers are not converted.
        decoder = json.JSONDecoder(object_pairs_hook=self._look, parse_int=len, parse_float=len)
        self._decode = decoder.decode

    def _look(self, pairs: list[tuple[str, Any]]) -> None:
        keys = [key for key, _ in pairs]
        if len(set(keys)) < len(keys):
            counts = Counter(keys)
            self._found.update((key, None) for key in keys if counts[key] > 1)

    def repeated(self, text: str) -> list[str]:
        """Return the duplicate keys in this JSON text; none if it is not JSON, which reading has reported."""
        self._found.clear()
        try:
            self._decode(text)
        except (ValueError, RecursionError):
            return []
        return list(self._found)


def _missing_parts(transcript: EntryLog, apart: set[int]) -> Iterator[Finding]:
    """Yield a finding for each entry with parts in other files that are missing; ``apart`` may have any."""
    parts, reading = transcript.format.external_parts, transcript.reading
    if parts is None or not apart:
        return
    for position, key in enumerate(transcript.tree.keys):
        span = reading.span(position)
        if span.offset not in apart:
            continue
        if (missing := parts.missing_parts(transcript.raw(position), reading)) is not None:
            yield Finding(
                kind="missing-part",
                message=f"{key}: {missing}",
                line=reading.line_of(position),
                offset=span.offset,
                size=span.size,
            )


# -- concurrent writers ------------------------------------------------------------------------------------


def _two_writers(transcript: EntryLog) -> Iterator[Finding]:
    """Yield branches that grow alternately without a move between them.

    A user who moves between branches leaves leaf entries or starts new branches; a concurrent writer that
    does not catch up continues from its own leaf each time.
    """
    reading, tree = transcript.reading, transcript.tree
    nearest = [ROOT] * len(tree)  # the nearest conversation entry at or above
    branch_of = [0] * len(tree)
    grown = bytearray(len(tree))
    turns: Counter[tuple[int, ...]] = Counter()
    branches, current = 0, ROOT
    for position, parent in enumerate(tree.parents):
        above = ROOT if parent >= position or parent == ROOT else nearest[parent]
        if tree.types[position] == "leaf":
            nearest[position] = above
            current = _target(transcript, position, nearest, above)
            continue
        if tree.types[position] in SIDE_TYPES or position in tree.placeholders:
            nearest[position] = above
            continue
        nearest[position] = position
        if above == ROOT or grown[above]:
            branches += 1
            branch_of[position] = branches
        else:
            branch_of[position] = branch_of[above]
            if current not in (above, ROOT):
                pair = tuple(sorted((branch_of[above], branch_of[current])))
                turns[pair] += 1
                if turns[pair] == 2:
                    span = reading.span(position)
                    yield Finding(
                        kind="two-writers",
                        message=f"{tree.keys[position]} and {tree.keys[current]} end branches that grow by "
                        "turns, as when two programs write at once; both are kept",
                        line=reading.line_of(position),
                        offset=span.offset,
                        size=span.size,
                    )
        if above != ROOT:
            grown[above] = 1
        current = position


def _target(transcript: EntryLog, position: int, nearest: list[int], above: int) -> int:
    """Return the target of a leaf entry, or its parent if the target does not exist."""
    entry = transcript.entry(position)
    if not isinstance(entry, Leaf) or entry.target is None:
        return ROOT
    found = transcript.reading.linker.latest_with_id(entry.target)
    return above if found is None or found >= position else nearest[found]
