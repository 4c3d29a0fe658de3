"""What every format gives: a reading of a log, and lines for what is appended to it.

A *reader* is fed whole lines in order and keeps a :class:`LogIndex`: the tree, where each entry's bytes lie,
labels, title, and what was strange. Payloads stay in the log until somebody asks for an entry.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import compress, count
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from branchline.context import ContextRules, ModelRef
from branchline.context.selection import model_of_answer
from branchline.entries import AssistantMessage, CompactionSummaryMessage, Entry, Header
from branchline.errors import NotSupported
from branchline.formats.suffixes import JSONL
from branchline.tree import ROOT, Finding, Kind, Linker, Tree

if TYPE_CHECKING:
    from branchline.formats.entry_log import EntryLog

_BLOCK = 1 << 17  # what is read for one entry of a block is bounded

__all__ = [
    "ByteRange",
    "Content",
    "Format",
    "LabelState",
    "LineChunk",
    "LinkFields",
    "LogIndex",
    "Reader",
]

_PI_RULES = ContextRules()


class Content(Protocol):
    """Bytes that can be read at any offset, fewer than ``size`` only at their end."""

    def size(self) -> int: ...

    def read(self, offset: int, size: int) -> bytes: ...


class ByteRange(NamedTuple):
    """Where the bytes of one entry lie in the log."""

    offset: int
    size: int


class LineChunk(NamedTuple):
    """Lines that follow each other directly, one entry each."""

    first: int
    """Position of the first entry."""
    offset: int
    """Where its line starts in the log."""
    line: int
    """The number of that line."""
    ends: array[int]
    """For each entry where its line ends, counted from ``offset``."""


class LinkFields(NamedTuple):
    """What the fields of a line are called in which an entry names others; "" where there is none such."""

    parent: str = "parentId"
    target: str = "targetId"
    """Of a move: where to."""
    first_kept: str = "firstKeptEntryId"
    label: str = ""
    """Of a label: what it names, where the nearest entry above with that id is meant and not any."""


class LabelState(msgspec.Struct, frozen=True, gc=False):
    """A label in force: its text, and when it was set."""

    text: str
    time: str


class LogIndex:
    """A session as it was read: shape in memory, payloads in the log.

    ``leaf`` is the position where the file says that it stands, side records included; -1 is before the
    first entry. ``consumed`` is the end of the last whole line. ``read_only`` says why nothing may be
    appended, or is None.
    """

    def __init__(self, format_name: str) -> None:
        self.format = format_name
        self.header: Header | None = None
        self.header_line: bytes = b""
        self.header_end = 0
        self.version = 0
        self.current_version = 0  # what the file is upgraded to before the first append, if it is older
        self.tree = Tree()
        self.linker = Linker(self.tree)
        self.blocks: list[LineChunk] = []
        # The log again, for formats in which an entry tells what it means only beside another one.
        self.read: Callable[[int, int], bytes] = _no_log
        self.labels: dict[str, LabelState] = {}
        self.title: str | None = None
        self.leaf = ROOT
        self.leaf_ambiguous = False  # the program itself would land elsewhere unless it is told where
        self.consumed = 0
        self.mutable_prefix = 0  # bytes at the start that the program itself changes in place
        self.lines = 0
        self.unterminated = False
        self.read_only: str | None = None
        self.last_message_time: float | None = None  # in milliseconds
        self.other_objects: list[
            int
        ] = []  # readable objects that are no entries: the size of the tree at each
        self.notes: list[Finding] = []
        self.end_notes: list[Finding] = []  # true of the file as it ends now; more lines may change that

    def block_of(self, position: int) -> LineChunk:
        return self.blocks[bisect_right(self.blocks, position, key=_first_of) - 1]

    def span(self, position: int) -> ByteRange:
        """Where the bytes of an entry lie."""
        block = self.block_of(position)
        number = position - block.first
        start = block.ends[number - 1] + 1 if number else 0
        return ByteRange(block.offset + start, block.ends[number] - start)

    def line_of(self, position: int) -> int:
        """The line number of an entry, counted from 1."""
        block = self.block_of(position)
        return block.line + position - block.first

    def add_range(self, position: int, offset: int, size: int, line: int) -> None:
        """Say where the entry that was just added lies."""
        if self.blocks:
            _, start, first_line, ends = self.blocks[-1]
            end = ends[-1]
            follows = first_line + len(ends) == line and start + end + 1 == offset
            if follows and end < _BLOCK:
                ends.append(offset - start + size)
                return
        self.blocks.append(LineChunk(position, offset, line, array("q", (size,))))

    @property
    def model(self) -> str | None:
        """The model that the file names for the whole session, whatever its path says; None where none is."""
        return None

    @property
    def subagent_entries(self) -> AbstractSet[int]:
        """The entries in this file that belong to helpers which the session started, not to itself."""
        return frozenset()

    @property
    def inherited_entries(self) -> int:
        """How many entries came with the fork: those that are older than the session itself."""
        header = self.header
        if header is None or header.parent_session is None or not header.timestamp:
            return 0
        return first_after_fork(header.timestamp, self.tree.times)

    def add_finding(self, kind: Kind, message: str, *, line: int = 0, offset: int = 0, size: int = 0) -> None:
        self.notes.append(Finding(kind=kind, message=message, line=line, offset=offset, size=size))

    def add_tail_finding(
        self, kind: Kind, message: str, *, line: int = 0, offset: int = 0, size: int = 0
    ) -> None:
        """Note what is true only until more is appended."""
        self.end_notes.append(Finding(kind=kind, message=message, line=line, offset=offset, size=size))

    @property
    def findings(self) -> list[Finding]:
        """Everything strange that reading showed, in file order."""
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
    raise ValueError(f"{size} bytes at {offset} were read from no log that can be asked again")


def first_after_fork(forked: str, times: Sequence[str]) -> int:
    """Which of these entries is the first that was not there when a session was forked."""
    return next(compress(count(), map(forked.__le__, times)), len(times))


class Reader(Protocol):
    """Turns the lines of a log into an index."""

    @property
    def reading(self) -> LogIndex: ...

    def feed(self, data: bytes, end: int) -> None:
        """Take the whole lines in ``data[:end]``, each with its newline, that follow what was fed before."""
        ...

    def finish(self, tail: bytes) -> None:
        """Take what follows the last newline, if anything, and settle links and leaf."""
        ...


class Format:
    """How one program writes sessions: a base with everything refused that a format does not say it can.

    ``cannot`` maps what a format cannot hold (``label``, ``title``, ``branch`` …) to the reason, for people.
    """

    name: str
    suffix: str = JSONL
    writable: bool = False
    unsupported: Mapping[str, str] = {}
    file_patterns: Sequence[str] = ("*.jsonl", "*/*.jsonl")
    """Where sessions lie below a root: names with ``*`` for any text, ``**`` for any number of folders."""
    subagent_patterns: Sequence[str] = ()
    """The same for sessions of helpers, where these lie apart from the sessions that people hold."""
    header_lines: int = 1
    """How many lines at the beginning of a file tell its header, where nothing is damaged."""
    records_cwd: bool = True
    """Whether files say which working directory they belong to; else only their folder tells."""
    links: LinkFields | None = LinkFields()
    """How lines name other lines; None where they follow each other and name none."""
    metadata_types: frozenset[str] = frozenset()
    """Types of entries that in this program are rows about the session and no part of the conversation."""
    path_types: frozenset[str] = frozenset()
    """Types of side records that in this program are steps on the way of a conversation, like its entries."""
    compaction_embeds_tail: bool = False
    """Whether a compaction carries the messages that it keeps, instead of naming the first of them."""
    compacts_by_fork: bool = False
    """Whether the only compaction is a new session that begins with the summary."""
    copies_companion_folder: bool = False
    """Whether the folder that belongs to a session file is copied with the whole session."""

    # -- reading --------------------------------------------------------------------------------------

    def sniff(self, head: bytes, path: str) -> bool:
        """Whether a file that begins with these bytes is of this format."""
        raise NotImplementedError

    def reader(self, path: str = "") -> Reader:
        """A fresh reader; the path helps where a file does not say everything itself."""
        raise NotImplementedError

    def peek(self, head: bytes, path: str, *, whole: bool) -> Header | None:
        """The header as the beginning of a file tells it; None where more of the file has to be seen.

        ``whole`` says that there is no more; otherwise the last line may be cut off.
        """
        header: Header | None = None
        first, last = 0, head.rfind(b"\n") + 1
        for _ in range(self.header_lines):
            first = head.find(b"\n", first) + 1 or last
        for end in dict.fromkeys((first, last)):
            reader = self.reader(path)
            if end:
                reader.feed(head, end)
            reader.finish(head[last:] if whole and end == last else b"")
            header = reader.reading.header
            if header is not None and (header.cwd or not self.records_cwd):
                return header
        return header if whole else None

    def is_compressed(self, head: bytes) -> bool:
        """Whether a file that begins like this is compressed, so that :meth:`unpack` gives its lines."""
        del head
        return False

    def decompress(self, read: Callable[[int, int], bytes]) -> Iterator[bytes]:
        """Yield the content of the compressed file behind ``read(offset, size)`` in small pieces.

        Produces no more than is consumed: the caller limits how much that is. NotSupported if a required
        package is not installed or the data is corrupt.
        """
        del read
        raise NotSupported(f"sessions of {self.name} are not compressed")

    def has_external_prefix(self, head: bytes) -> bool:
        """Whether a file that begins like this may need others, which hold how the conversation begins."""
        del head
        return False

    def assemble(
        self, content: Content, path: str, find: Callable[[str], Content | None]
    ) -> Iterator[bytes] | None:
        """The content of a file joined with its beginning in other files; None if it is complete itself.

        ``find`` returns the content of the file near this one whose name ends with an id, None if there is
        none.
        """
        del content, path, find
        return None

    def roots_near(self, path: str) -> list[str]:
        """The directories that hold the sessions of the program to which this file belongs."""
        return [os.path.dirname(path)]

    def context_rules(self) -> ContextRules:
        """How a path of this program becomes a context, where that differs from pi's way."""
        return _PI_RULES

    def decode_block(self, data: bytes, reading: LogIndex, block: LineChunk) -> Sequence[Entry] | None:
        """The records of a whole block from its lines, if they can be decoded together; else None."""
        del data, reading, block
        return None

    def decode(self, line: bytes, reading: LogIndex, position: int) -> Entry:
        """The record of an entry, as the native format would hold it, from the bytes of its line."""
        raise NotImplementedError

    def answer_model(self, transcript: EntryLog, position: int) -> ModelRef | None:
        """The model of an answer; formats that know it without decoding the answer say so here."""
        return model_of_answer(transcript, position)

    def merge_answers(self, before: AssistantMessage, after: AssistantMessage) -> AssistantMessage | None:
        """One answer of two entries that follow each other, where the program writes answers in pieces."""
        del before, after
        return None

    # -- writing --------------------------------------------------------------------------------------

    def encode(self, entries: Sequence[Entry], reading: LogIndex) -> bytes:
        """The lines for new entries behind what was read, newlines included.

        NotSupported, before anything is written, for what the format cannot hold.
        """
        del entries, reading
        raise NotSupported(f"sessions of {self.name} are read-only; fork it to continue")

    def encode_header(self, header: Header) -> bytes:
        """The first lines of a new session."""
        del header
        raise NotSupported(f"sessions of {self.name} are read-only")

    def fork(self, transcript: EntryLog, leaf: int, header: Header) -> bytes:
        """A whole new file with the path to an entry (-1: an empty one) that names its parent."""
        del transcript, leaf, header
        raise NotSupported(f"sessions of {self.name} are read-only; fork it into a native session")

    def copy(self, transcript: EntryLog, header: Header) -> bytes:
        """A whole new file with everything that is in this one, under a new header."""
        del transcript, header
        raise NotSupported(f"sessions of {self.name} are read-only")

    def fork_compacted(
        self,
        transcript: EntryLog,
        leaf: int,
        header: Header,
        *,
        summary: CompactionSummaryMessage,
        first_kept: int = ROOT,
    ) -> bytes:
        """A fork in which a summary stands for everything before an entry (-1: for all of it).

        Asked for only of formats that have no other compaction.
        """
        del transcript, leaf, header, summary, first_kept
        raise self.unsupported_error("compaction")

    def upgrade(self, transcript: EntryLog) -> Iterable[bytes]:
        """The file as its current version would hold it; asked for only if the reading says it is older."""
        del transcript
        raise NotSupported(f"{self.name} has no older versions")

    # -- places ---------------------------------------------------------------------------------------

    def session_id(self, fresh: str, timestamp: str) -> str:
        """The id of a new session as the program makes them, from one that nobody has and the time."""
        del timestamp
        return fresh

    def file_key(self, header: Header) -> str:
        """The name of a new session's file, without the suffix."""
        return header.id

    def roots(self, environment: Mapping[str, str], home: str) -> list[str]:
        """The directories below which this program keeps the sessions of all projects."""
        del environment, home
        return []

    def directory(self, cwd: str, environment: Mapping[str, str], home: str) -> str | None:
        """The directory of the sessions of one working directory, where the program has such."""
        del cwd, environment, home
        return None

    def directories(self, cwd: str, environment: Mapping[str, str], home: str) -> list[str]:
        """Every directory in which sessions of one working directory may lie.

        Where projects lie together these are the roots. Several projects may share a directory in any case:
        the header tells.
        """
        directory, roots = self.directory(cwd, environment, home), self.roots(environment, home)
        return roots if directory is None or directory in roots else [directory]

    def key_of(self, path: str) -> str:
        """The key of a file: its name without the suffix."""
        return os.path.basename(path).removesuffix(self.suffix)

    def subagent_of(self, path: str, header: Header | None) -> str | None:
        """For the session of a helper the path or id of the session that started it, empty if nothing tells.

        None for every other session.
        """
        del path, header
        return None

    def titles_file(self, root: str) -> str | None:
        """A file outside the sessions below a root that holds titles for them, if the program has such."""
        del root
        return None

    def titles_near(self, path: str) -> str | None:
        """The same for one session file."""
        del path
        return None

    def titles(self, data: bytes) -> Mapping[str, str]:
        """The titles in such a file, by session id."""
        del data
        return {}

    def lock_file(self, path: str) -> str | None:
        """The file on which the program takes an exclusive ``flock`` around its appends, if it does."""
        del path
        return None

    def parent_link(self, session_id: str, file: str | None) -> str | None:
        """What the header of a new session says about the one that it came from; None where it cannot."""
        return file or session_id

    def unsupported_error(self, what: str) -> NotSupported:
        """The exception for something this format cannot hold, with the way out."""
        reason = self.unsupported.get(what, f"the format has no place for it ({what})")
        return NotSupported(
            f"{self.name} sessions cannot hold this: {reason}. Fork it into a native session."
        )


def _first_of(block: LineChunk) -> int:
    return block.first
