"""A log read through a format: the tree in memory, entries decoded from the log on demand."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from operator import gt
from typing import TYPE_CHECKING, Generic, TypeVar

from branchline.context import ContextRules, ModelRef
from branchline.entries import Entry, json_codec
from branchline.errors import LogReplaced, LogShrank
from branchline.formats.feed import feed_log
from branchline.formats.log_index import LineChunk, LogIndex
from branchline.formats.protocol import Format, LogReader, SessionFacts
from branchline.formats.saved_index import dump, load
from branchline.tree import ROOT, Finding, Tree

__all__ = ["EntryLog", "whole_lines"]

_MARK = 4096  # bytes before the end of reading that are compared to detect a rewrite
_GATHER = 1 << 20  # neighbouring lines are read together up to this many bytes
_GAP = 1 << 14  # reading this many bytes between two lines is cheaper than a second read
_BLOCK = 1 << 22
_PLAIN_ID = re.compile(r"[0-9A-Za-z_-]+")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_T = TypeVar("_T")
if TYPE_CHECKING:
    from typing_extensions import TypeVar as DefaultTypeVar

    IndexT_co = DefaultTypeVar("IndexT_co", bound=LogIndex, default=LogIndex, covariant=True)
else:
    IndexT_co = TypeVar("IndexT_co", bound=LogIndex, covariant=True)


def whole_lines(read: Callable[[int, int], bytes]) -> Iterator[bytes]:
    """Yield everything that can be read, in blocks of whole lines."""
    offset = 0
    waiting: list[bytes] = []
    while block := read(offset, _BLOCK):
        offset += len(block)
        cut = block.rfind(b"\n") + 1
        if cut:
            yield b"".join([*waiting, block[:cut]])
            waiting = []
        waiting.append(block[cut:])
    yield b"".join(waiting)


class EntryLog(Generic[IndexT_co]):
    """Reads a log through ``read(offset, size)``, which returns fewer bytes only at the end.

    It never writes. :meth:`catch_up` reads what other writers append.
    """

    def __init__(
        self,
        format: Format[IndexT_co],  # noqa: A002
        read: Callable[[int, int], bytes],
        name: str = "session",
        *,
        saved: bytes | memoryview | None = None,
    ) -> None:
        """Open a log. ``saved`` comes from :meth:`save` of the same log: only what follows it is read."""
        self.format = format
        self.name = name
        self._facts = SessionFacts()
        self._read = read
        self.read_lines: Callable[[Sequence[tuple[int, int]]], list[bytes]] | None = None
        """Reads many ranges at once, for logs that can find them in one step."""
        self._mark = (0, b"")  # where reading stopped, and the bytes before it
        reader = format.reader.log_reader(name)
        reader.reading.read = read
        self.is_restored = saved is not None and load(reader, memoryview(saved))
        """Whether a part of the index was restored instead of read from the log."""
        self.on_stale: Callable[[], None] = _nothing
        """Called when a line shows that the log was rewritten since the index was saved."""
        self._adopt(reader)
        if not self.is_restored or read(self.reading.consumed, 1):
            self._feed()
        else:
            self._set_mark()

    def _adopt(self, reader: LogReader[IndexT_co]) -> None:
        # Plain attributes, because every append reads them several times.
        self._reader = reader
        self.reading: IndexT_co = reader.reading
        self.tree: Tree = reader.reading.tree
        self.reading.read = self._read  # a plain function, not a bound method: avoids a reference cycle
        self._complete_header()

    @property
    def context_rules(self) -> ContextRules:
        return self.format.reader.context_rules

    @property
    def records_cost(self) -> bool:
        """Whether the agent records the cost of answers."""
        return self.format.traits.records_cost and self.reading.knows_cost

    @property
    def session_model(self) -> str | None:
        """The model that the file names for the whole session, if any."""
        return self._reader.reading.model

    @property
    def title(self) -> str | None:
        """The title of the session, if it has one."""
        return self._facts.title or self.reading.title

    def describe(self, facts: SessionFacts) -> None:
        """Add facts about the session from other files."""
        self._facts = facts
        self._complete_header()

    def _complete_header(self) -> None:
        if self.reading.header is not None:
            self.reading.header = self._facts.completed(self.reading.header)

    @property
    def findings(self) -> list[Finding]:
        return self.reading.findings

    @property
    def leaf(self) -> str | None:
        """The id of the conversation entry that is the leaf of the file."""
        position = self.tree.nearest_conversation_entry(self.reading.leaf)
        return None if position == ROOT else self.tree.keys[position]

    def catch_up(self) -> int:
        """Read what was appended since; return the number of new entries."""
        before = len(self.tree)
        if self.reading.unterminated:
            # The unfinished last line may have grown or been completed: read everything again.
            self.reload()
        else:
            self._feed()
        return len(self.tree) - before

    def take(self, data: bytes) -> None:
        """Add complete lines that were just appended to the log."""
        reading, reader = self.reading, self._reader
        header = reading.header
        reader.feed(data, len(data))
        reader.finish(b"")
        if reading.header is not header:
            self._complete_header()
        self._mark = (reading.consumed, (self._mark[1] + data)[-_MARK:])

    def is_unchanged(self) -> bool:
        """Return whether the last bytes read are unchanged, that is, the log was not rewritten."""
        end, mark = self._mark
        return self._read(end - len(mark), len(mark)) == mark

    def save(self) -> bytes | None:
        """Return the index as bytes for :class:`EntryLog` of the same log; None if it cannot be saved."""
        return dump(self._reader)

    def rebind(self, read: Callable[[int, int], bytes], name: str) -> None:
        """Read the same lines from another place, after a draft was published or a file replaced."""
        self._read = self.reading.read = read
        self.read_lines = None
        self.name = name

    def adopt(self, other: EntryLog[IndexT_co]) -> None:
        """Adopt the index of another EntryLog of the same log."""
        self._adopt(other._reader)
        self._mark = other._mark

    def reload(self) -> None:
        """Read again from the start; if that fails, nothing is changed."""
        reader = self.format.reader.log_reader(self.name)
        reader.reading.read = self._read
        feed_log(reader, self._read)
        self._adopt(reader)
        self._set_mark()
        self.is_restored = False

    def bytes_between(self, start: int, end: int | None) -> bytes:
        """Return the bytes between two offsets, to the end if ``end`` is None."""
        if end is not None:
            return self._read(start, max(0, end - start))
        pieces = []
        while data := self._read(start, _GATHER):
            pieces.append(data)
            start += len(data)
        return b"".join(pieces)

    def blocks(self) -> Iterator[bytes]:
        """Yield everything, in blocks of whole lines."""
        return whole_lines(self._read)

    def raw(self, position: int) -> bytes:
        """Return the bytes of an entry's line, without the newline."""
        offset, size = self.reading.span(position)
        data = self._read(offset, size)
        if len(data) != size:
            raise LogShrank(
                f"cannot read entry {self.tree.keys[position]} of {self.name}: "
                f"the file ends at {offset + len(data)}, expected at least {offset + size}"
            )
        return data

    def raws(self, positions: Sequence[int]) -> list[bytes]:
        """Return the lines of many entries, in this order; neighbouring lines are read together."""
        ranges = self.reading.ranges(positions)
        lines = (self.read_lines or self._gather)(ranges)
        return [
            line if len(line) == end - start else self.raw(position)
            for line, (start, end), position in zip(lines, ranges, positions, strict=True)
        ]

    def _gather(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Read neighbouring ranges together."""
        order: Sequence[int] = range(len(ranges))
        if any(map(gt, ranges, ranges[1:])):
            order = sorted(order, key=ranges.__getitem__)
        found = [b""] * len(ranges)
        done = 0
        while done < len(order):
            first = done
            origin = until = ranges[order[done]][0]
            while done < len(order):
                start, end = ranges[order[done]]
                if done > first and (start - until > _GAP or end - origin > _GATHER):
                    break
                until = max(until, end)
                done += 1
            data = self._read(origin, until - origin)
            for number in order[first:done]:
                start, end = ranges[number]
                found[number] = data[start - origin : end - origin]
        return found

    def entry(self, position: int) -> Entry:
        line = self.raw(position)
        if self.is_restored:
            self._require_line(position, line)
        return self.format.reader.decode(json_codec.bounded(line), self.reading, position)

    def answer_model(self, position: int) -> ModelRef | None:
        """Return the model that an answer names, or that the file names for it."""
        return self.format.reader.answer_model(self, position)

    def entries(self, positions: Sequence[int]) -> list[Entry]:
        """Decode many entries, in the order of ``positions``."""
        return list(self.iter_entries(positions))

    def iter_entries(self, positions: Sequence[int]) -> Iterator[Entry]:
        """Decode many entries in turn; in file order only one chunk of lines is in memory at a time."""
        # in a file whose lines are out of order, paths may descend
        if any(map(gt, positions, positions[1:])):
            ordered = sorted(set(positions))
            decoded = dict(zip(ordered, self.iter_entries(ordered), strict=True))
            yield from map(decoded.__getitem__, positions)
            return
        number = 0
        while number < len(positions):
            block = self.reading.block_of(positions[number])
            wanted = self._in_block(positions, number, block)
            number += len(wanted)
            yield from self._decode(block, wanted)

    def _decode(self, block: LineChunk, wanted: Sequence[int]) -> Sequence[Entry]:
        """Return the entries at these positions of one block."""
        reading, decode = self.reading, self.format.reader.decode
        first, ends = block.first, block.ends
        if 16 * len(wanted) < len(ends):
            lines = zip(self.raws(wanted), wanted, strict=True)
            return [decode(json_codec.bounded(line), reading, position) for line, position in lines]
        data = self._lines_of(block)
        if 2 * len(wanted) > len(ends):
            records = self.format.reader.decode_block(data, reading, block)
            if records is not None:
                return _taken(records, wanted, first)
        found = []
        for position in wanted:
            offset, size = block.span(position - first)
            offset -= block.offset
            line = data[offset : offset + size]
            if self.is_restored:
                self._require_line(position, line)
            found.append(decode(json_codec.bounded(line), reading, position))
        return found

    def _require_line(self, position: int, line: bytes) -> None:
        """Raise an error if a line is not the one in the saved index: the log was rewritten since."""
        key = self.tree.keys[position]
        if position in self.tree.placeholders:
            return
        in_line = _PLAIN_ID if self.format.traits.native_entries else _UUID  # others may be derived
        if in_line.fullmatch(key) and key.encode() not in line:
            self.on_stale()
            raise LogReplaced(
                f"cannot read entry {key} of {self.name}: its lines were rewritten in place; open it again"
            )

    @staticmethod
    def _in_block(positions: Sequence[int], number: int, block: LineChunk) -> Sequence[int]:
        """Return the positions from ``number`` on that are in this block; they ascend."""
        return positions[number : bisect_left(positions, block.first + len(block.ends), number)]

    def _lines_of(self, block: LineChunk) -> bytes:
        size = block.ends[-1]
        data = self._read(block.offset, size)
        if len(data) != size:
            self.raw(block.first + len(block.ends) - 1)  # raises with the full message
        return data

    def _feed(self) -> None:
        feed_log(self._reader, self._read)
        self._complete_header()
        self._set_mark()

    def _set_mark(self) -> None:
        end = self.reading.consumed
        size = min(max(0, end - self.reading.mutable_prefix), _MARK)
        self._mark = (end, self._read(end - size, size))


def _nothing() -> None:
    pass


def _taken(rows: Sequence[_T], wanted: Sequence[int], first: int) -> Sequence[_T]:
    """Return the rows of a block, which starts at ``first``, at the wanted ascending positions."""
    start, end = wanted[0] - first, wanted[-1] - first + 1
    if end - start == len(wanted):
        return rows[start:end]
    return [rows[position - first] for position in wanted]
