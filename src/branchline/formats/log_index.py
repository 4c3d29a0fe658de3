"""Parsed state of a log: the tree, the byte ranges of entries, labels, title and findings.

Payloads stay in the log and are decoded on demand.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from itertools import compress, count
from typing import Any, ClassVar, NamedTuple

import msgspec

from branchline.entries import Header
from branchline.tree import ROOT, Finding, Kind, Linker, Tree

__all__ = [
    "ByteRange",
    "LabelState",
    "LineChunk",
    "LinkedLogIndex",
    "LogIndex",
    "entry_fields",
    "first_after_fork",
]

_BLOCK = 1 << 17  # bounds how much is read for one entry of a block


class ByteRange(NamedTuple):
    """The bytes of one entry in the log."""

    offset: int
    size: int


class LineChunk(NamedTuple):
    """Lines that are read together: one entry each, unless ``lines`` says otherwise."""

    first: int
    """Position of the first entry."""
    offset: int
    """Where its line starts in the log."""
    line: int
    """The number of that line."""
    ends: array[int]
    """For each entry, the end of its line relative to ``offset``."""
    starts: array[int] | None = None
    """For each entry, the start of its line; None if every line holds exactly one entry."""
    lines: array[int] | None = None
    """For each entry, its line number relative to ``line``; None if ``starts`` is."""

    def span(self, number: int) -> ByteRange:
        """Return the byte range of one of these entries in the log."""
        if self.starts is not None:
            return ByteRange(self.offset + self.starts[number], self.ends[number] - self.starts[number])
        start = self.ends[number - 1] + 1 if number else 0
        return ByteRange(self.offset + start, self.ends[number] - start)


class LabelState(msgspec.Struct, frozen=True, gc=False):
    """A current label: its text, and when it was set."""

    text: str
    time: str


class LogIndex:
    """Parsed state of a session: tree structure in memory, payloads in the log.

    ``leaf`` is the position of the leaf according to the file, side records included; -1 is before the first
    entry. ``consumed`` is the end of the last complete line. ``read_only`` is the reason why nothing may be
    appended, or None.
    """

    renames_copies: ClassVar[bool] = False
    """Whether entries that came with a fork or a conversion have other ids than in their source."""

    def __init__(self, format_name: str) -> None:
        self.format = format_name
        self.path = ""  # of the log, for formats with parts in other files
        self.header: Header | None = None
        self.header_line: bytes = b""
        self.header_end = 0
        self.version = 0
        # the version that the file is upgraded to before the first append, if it is older
        self.current_version = 0
        self.is_superseded = False
        """Whether the file has an older form of its agent, which is read but not written."""
        self.tree = Tree()
        self.linker = Linker(self.tree)
        self.blocks: list[LineChunk] = []
        # Reads the log, for formats whose entries refer to other lines.
        self.read: Callable[[int, int], bytes] = _no_log
        self.labels: dict[str, LabelState] = {}
        self.title: str | None = None
        self.leaf = ROOT
        self.leaf_ambiguous = False  # the agent would resolve another leaf; write an explicit one
        self.consumed = 0
        self.prefix_recorded = False  # the last recorded change in the file matches the mutable prefix
        self.mutable_prefix = 0  # bytes at the start that the agent itself changes in place
        self.lines = 0
        self.unterminated = False
        self.read_only: str | None = None
        self.last_message_time: float | None = None  # in milliseconds
        self.knows_cost = True  # False if this file, unlike others of its agent, does not record it
        self.other_objects: list[
            int
        ] = []  # the size of the tree at each readable object that is not an entry
        # Entries that never leave this file, because they are copies of API requests: not decoded, exported
        # or converted.
        self.withheld: set[int] = set()
        self.notes: list[Finding] = []
        # findings about the current end of the file, which more lines may change
        self.end_notes: list[Finding] = []

    def block_of(self, position: int) -> LineChunk:
        return self.blocks[bisect_right(self.blocks, position, key=_first_of) - 1]

    def span(self, position: int) -> ByteRange:
        """Return the byte range of an entry."""
        block = self.block_of(position)
        return block.span(position - block.first)

    def ranges(self, positions: Iterable[int]) -> list[tuple[int, int]]:
        """Return start and end of the lines of many entries, in this order."""
        found = []
        first = last = offset = 0
        ends: Sequence[int] = ()
        starts: Sequence[int] = ()
        for position in positions:
            if not first <= position < last:  # most are neighbours
                block = self.block_of(position)
                first, offset, ends, starts = block.first, block.offset, block.ends, block.starts or ()
                last = first + len(ends)
            number = position - first
            start = starts[number] if starts else ends[number - 1] + 1 if number else 0
            found.append((offset + start, offset + ends[number]))
        return found

    def line_of(self, position: int) -> int:
        """Return the line number of an entry, counted from 1."""
        block = self.block_of(position)
        number = position - block.first
        return block.line + (number if block.lines is None else block.lines[number])

    def place_in_line(self, position: int) -> int:
        """Return how many entries of the same line precede an entry."""
        offset = self.span(position).offset
        return position - bisect_left(range(position), offset, key=lambda other: self.span(other).offset)

    def add_range(self, position: int, offset: int, size: int, line: int) -> None:
        """Record the byte range of the entry that was just added."""
        if self.blocks:
            _, start, first_line, ends, starts, _lines = self.blocks[-1]
            end = ends[-1]
            follows = starts is None and first_line + len(ends) == line and start + end + 1 == offset
            if follows and end < _BLOCK:
                ends.append(offset - start + size)
                return
        self.blocks.append(LineChunk(position, offset, line, array("q", (size,))))

    @property
    def model(self) -> str | None:
        """The model that the file names for the whole session, whatever its path says, or None."""
        return None

    @property
    def title_in_agent(self) -> str | None:
        """The title that the agent itself shows; another one was set where it does not look."""
        return self.title

    @property
    def git_branch(self) -> str | None:
        """The git branch that the header names."""
        branch = None if self.header is None else (self.header.metadata or {}).get("gitBranch")
        return branch if isinstance(branch, str) and branch else None

    @property
    def repeats(self) -> Container[int]:
        """Entries that only repeat others, because the agent needs them twice; rarely any."""
        return ()

    @property
    def tasks(self) -> Container[int]:
        """Messages of role ``user`` that an agent wrote for a sub-agent in the same file; rarely any."""
        return ()

    @property
    def answer_ids(self) -> Mapping[int, str]:
        """Keys that copies of an answer share across files, by the entry with its usage; often empty."""
        return {}

    @property
    def counted_elsewhere(self) -> int:
        """The number of entries at the start that are counted in another file, under other ids."""
        return self.inherited_entries if self.renames_copies else 0

    @property
    def inherited_entries(self) -> int:
        """The number of entries copied by the fork: those older than the session itself."""
        header = self.header
        if header is None or header.parent_session is None or not header.timestamp:
            return 0
        return first_after_fork(header.timestamp, self.tree.times)

    def add_finding(self, kind: Kind, message: str, *, line: int = 0, offset: int = 0, size: int = 0) -> None:
        self.notes.append(Finding(kind=kind, message=message, line=line, offset=offset, size=size))

    def add_tail_finding(
        self, kind: Kind, message: str, *, line: int = 0, offset: int = 0, size: int = 0
    ) -> None:
        """Add a finding that holds only until more is appended."""
        self.end_notes.append(Finding(kind=kind, message=message, line=line, offset=offset, size=size))

    @property
    def findings(self) -> list[Finding]:
        """All findings of reading, in file order."""
        found = self.notes + self.end_notes
        for oddity in self.linker.findings():
            span = self.span(oddity.position)
            found.append(
                Finding(
                    kind=oddity.kind,
                    message=oddity.message,
                    line=self.line_of(oddity.position),
                    offset=span.offset,
                    size=span.size,
                )
            )
        found.sort(key=lambda finding: finding.line)
        return found


def _no_log(offset: int, size: int) -> bytes:
    raise ValueError(f"{size} bytes at {offset} cannot be read again: the index has no log")


def first_after_fork(forked: str, times: Sequence[str]) -> int:
    """Return the index of the first entry that was added after the fork."""
    return next(compress(count(), map(forked.__le__, times)), len(times))


def _first_of(block: LineChunk) -> int:
    return block.first


class LinkedLogIndex(LogIndex):
    """Index that also holds the tool name of each call."""

    def __init__(self, format_name: str) -> None:
        super().__init__(format_name)
        self.tool_names: dict[str, str] = {}

    @property
    def converted_entries(self) -> int:
        """The number of entries that came with a conversion: its own record, and those older than it."""
        return 1 + first_after_fork("" if self.header is None else self.header.timestamp, self.tree.times[1:])


def entry_fields(tree: Tree, position: int, timestamp: str | None = None) -> dict[str, Any]:
    """Return the fields that every entry has: id, parent and timestamp.

    Give ``timestamp`` if it is known: the tree converts the times of all entries when it is asked for one.
    """
    parent = tree.parent_position(position)
    return {
        "id": tree.keys[position],
        "parent": None if parent == ROOT else tree.keys[parent],
        "timestamp": tree.times[position] if timestamp is None else timestamp,
    }
