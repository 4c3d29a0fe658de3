"""The full check of a log: what reading shows, and what only a second look at every byte shows.

Reading skips over payloads, so it cannot see text that is not UTF-8 or keys that stand twice in one object.
This pass reads the log once more, line by line; what it holds in memory does not grow with the payloads.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from branchline.entries import SIDE_TYPES, Leaf
from branchline.formats.entry_log import EntryLog
from branchline.tree import ROOT, Finding

__all__ = ["check_log"]

_CHUNK = 1 << 17


def check_log(transcript: EntryLog) -> list[Finding]:
    """Everything strange about a log, in the order of its lines."""
    found = transcript.findings
    watch = _KeyWatch()
    for line in _lines(transcript):
        found += _in_line(line, watch)
    found += _two_writers(transcript)
    found.sort(key=lambda finding: finding.line)
    return found


# -- every line -------------------------------------------------------------------------------------------


class _Line(NamedTuple):
    number: int
    offset: int
    data: bytes


def _lines(transcript: EntryLog) -> Iterator[_Line]:
    """The lines of the log that were read, an unfinished last one included."""
    end = sys.maxsize if transcript.reading.unterminated else transcript.reading.consumed
    number, start, offset = 0, 0, 0
    pieces: list[bytes] = []
    while data := transcript.bytes_between(offset, min(offset + _CHUNK, end)):
        offset += len(data)
        *whole, rest = data.split(b"\n")
        for piece in whole:
            line = b"".join([*pieces, piece])
            pieces.clear()
            number += 1
            yield _Line(number, start, line)
            start += len(line) + 1
        if rest:
            pieces.append(rest)
    if pieces:
        yield _Line(number + 1, start, b"".join(pieces))


def _in_line(line: _Line, watch: _KeyWatch) -> Iterator[Finding]:
    try:
        text = line.data.decode()
    except UnicodeDecodeError as reason:
        text = line.data.decode("utf-8", "replace")
        yield Finding(
            kind="encoding",
            message=f"byte {reason.start} of the line is not UTF-8 ({reason.reason}); shown as \ufffd",
            line=line.number,
            offset=line.offset,
            size=len(line.data),
        )
    repeated = watch.repeated(text.removeprefix("\ufeff") if line.number == 1 else text)
    if repeated:
        yield Finding(
            kind="duplicate-key",
            message=f"an object has a duplicate key ({', '.join(repeated)}); the last one counts",
            line=line.number,
            offset=line.offset,
            size=len(line.data),
        )


class _KeyWatch:
    """Looks for keys that one object has more than once."""

    def __init__(self) -> None:
        self._found: dict[str, None] = {}
        # The values do not matter, so numbers of any length cost nothing.
        decoder = json.JSONDecoder(object_pairs_hook=self._look, parse_int=len, parse_float=len)
        self._decode = decoder.decode

    def _look(self, pairs: list[tuple[str, Any]]) -> None:
        keys = [key for key, _ in pairs]
        if len(set(keys)) < len(keys):
            counts = Counter(keys)
            self._found.update((key, None) for key in keys if counts[key] > 1)

    def repeated(self, text: str) -> list[str]:
        """Such keys in this JSON text; none where the text is no JSON, as reading has reported that."""
        self._found.clear()
        try:
            self._decode(text)
        except (ValueError, RecursionError):
            return []
        return list(self._found)


# -- two programs at once ---------------------------------------------------------------------------------


def _two_writers(transcript: EntryLog) -> Iterator[Finding]:
    """Branches that grow by turns: one goes on although the other did last, and back again.

    A person who moves between branches leaves leaf entries, or starts new branches; a program that writes
    without looking goes on from its own tip each time.
    """
    reading, tree = transcript.reading, transcript.tree
    standing = [ROOT] * len(tree)  # the nearest conversation entry at or above
    branch_of = [0] * len(tree)
    grown = bytearray(len(tree))
    turns: Counter[tuple[int, ...]] = Counter()
    branches, current = 0, ROOT
    for position, parent in enumerate(tree.parents):
        above = ROOT if parent >= position or parent == ROOT else standing[parent]
        if tree.types[position] == "leaf":
            standing[position] = above
            current = _target(transcript, position, standing, above)
            continue
        if tree.types[position] in SIDE_TYPES or position in tree.placeholders:
            standing[position] = above
            continue
        standing[position] = position
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


def _target(transcript: EntryLog, position: int, standing: list[int], above: int) -> int:
    """Where a leaf entry moved to: its target, or what it hangs from when there is no such entry."""
    entry = transcript.entry(position)
    if not isinstance(entry, Leaf) or entry.target is None:
        return ROOT
    found = transcript.reading.linker.latest_with_id(entry.target)
    return above if found is None or found >= position else standing[found]
