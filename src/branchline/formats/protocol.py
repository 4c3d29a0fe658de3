"""What a program's format consists of: plain facts, a reader, a home and, where we write, a writer.

:class:`Format` joins the parts of one program. :class:`FormatReader`, :class:`FormatWriter` and
:class:`FormatHome` are protocols with defaults: derive from them and override what differs. Their type
parameter is the program's own :class:`~branchline.formats.log_index.LogIndex`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from branchline.context import ContextRules, ModelRef
from branchline.context.selection import model_of_answer
from branchline.entries import AssistantMessage, CompactionSummaryMessage, Entry, Header
from branchline.errors import NotSupported
from branchline.formats.entry_text import EntryText
from branchline.formats.log_index import LineChunk, LogIndex
from branchline.formats.suffixes import JSONL
from branchline.tree import ROOT

if TYPE_CHECKING:
    from typing_extensions import TypeVar as DefaultTypeVar

    from branchline.formats.entry_log import EntryLog

    IndexT = DefaultTypeVar("IndexT", bound=LogIndex, default=Any)
else:
    IndexT = TypeVar("IndexT", bound=LogIndex)  # defaults of type variables are younger than Python 3.11
IndexT_co = TypeVar("IndexT_co", bound=LogIndex, covariant=True)
IndexT_contra = TypeVar("IndexT_contra", bound=LogIndex, contravariant=True)

__all__ = [
    "CompressedFiles",
    "Content",
    "DatabaseSessions",
    "DocumentFiles",
    "EntryTexts",
    "ExternalParts",
    "Format",
    "FormatHome",
    "FormatReader",
    "FormatTraits",
    "FormatWriter",
    "ImportedFiles",
    "LinkFields",
    "LogReader",
    "Query",
    "ReadingLimits",
    "SessionVersion",
    "SplitFiles",
    "TitleFiles",
    "header_in",
]


class Content(Protocol):
    """Bytes that can be read at any offset, fewer than ``size`` only at their end."""

    def size(self) -> int: ...

    def read(self, offset: int, size: int) -> bytes: ...


class LogReader(Protocol[IndexT_co]):
    """Turns the lines of one log into an index."""

    @property
    def reading(self) -> IndexT_co: ...

    def feed(self, data: bytes, end: int) -> None:
        """Take the whole lines in ``data[:end]``, each with its newline, that follow what was fed before."""
        ...

    def finish(self, tail: bytes) -> None:
        """Take what follows the last newline, if anything, and settle links and leaf."""
        ...


class FormatReader(Protocol[IndexT]):
    """Recognizes the files of a program and makes native records of their lines."""

    context_rules: ContextRules = ContextRules()
    """How a path becomes a context, where that differs from pi's way."""

    def sniff(self, head: bytes, path: str) -> bool:
        """Whether a file that begins with these bytes is of this format."""
        ...

    def log_reader(self, path: str = "") -> LogReader[IndexT]:
        """A fresh reader of one log; the path helps where a file does not say everything itself."""
        ...

    def decode(self, line: bytes, index: IndexT, position: int) -> Entry:
        """The record of an entry, as the native format would hold it, from the bytes of its line."""
        ...

    def decode_block(self, data: bytes, index: IndexT, block: LineChunk) -> Sequence[Entry] | None:
        """The records of a whole block from its lines, if they can be decoded together; else None.

        No value in them may be nested more than ``json_codec.DEEPEST`` levels deep.
        """
        del data, index, block
        return None

    def peek(self, head: bytes, path: str, *, whole: bool) -> Header | None:
        """The header from the beginning of a file; None if more of the file is needed.

        ``whole`` says that there is no more; otherwise the last line may be cut off.
        """
        return header_in(head, self.log_reader, path, whole=whole)

    def answer_model(self, transcript: EntryLog[IndexT], position: int) -> ModelRef | None:
        """The model of an answer; override it to answer without decoding the whole entry."""
        return model_of_answer(transcript, position)

    def merge_answers(self, before: AssistantMessage, after: AssistantMessage) -> AssistantMessage | None:
        """One answer of two entries that follow each other, where the program writes answers in pieces."""
        del before, after
        return None


class FormatWriter(Protocol[IndexT_contra]):
    """Writes new lines and whole new files as the program does.

    Methods raise NotSupported, before anything is written, for what the format cannot hold.
    """

    def session_id(self, fresh: str, timestamp: str) -> str:
        """The id of a new session as the program makes them, from a unique one and the time."""
        del timestamp
        return fresh

    def parent_link(self, session_id: str, file: str | None) -> str | None:
        """How the header of a new session names the one that it came from; None where it cannot."""
        return file or session_id

    def encode_header(self, header: Header) -> bytes:
        """The first lines of a new session."""
        ...

    def encode(self, entries: Sequence[Entry], index: IndexT_contra) -> bytes:
        """The lines for new entries after what was read, newlines included."""
        ...

    def fork(self, transcript: EntryLog[IndexT_contra], leaf: int, header: Header) -> bytes:
        """A whole new file with the path to an entry (-1: an empty one) that names its parent."""
        ...

    def copy(self, transcript: EntryLog[IndexT_contra], header: Header) -> bytes:
        """A whole new file with everything that is in this one, under a new header."""
        ...

    def fork_compacted(
        self,
        transcript: EntryLog[IndexT_contra],
        leaf: int,
        header: Header,
        *,
        summary: CompactionSummaryMessage,
        first_kept: int = ROOT,
    ) -> bytes:
        """A fork in which a summary replaces everything before an entry (-1: all of it).

        Called only for formats whose facts say ``compacts_by_fork``.
        """
        del leaf, header, summary, first_kept
        raise transcript.format.traits.unsupported_error("compaction")

    def upgrade(self, transcript: EntryLog[IndexT_contra]) -> Iterable[bytes]:
        """The file as its current version would hold it; called only if the index says it is older."""
        raise NotSupported(f"{transcript.format.name} has no older versions")


class FormatHome(Protocol):
    """Names the places where a program keeps its sessions. It opens no files."""

    def roots(self, environment: Mapping[str, str], home: str) -> list[str]:
        """The directories below which this program keeps the sessions of all projects."""
        ...

    def directory(self, cwd: str, environment: Mapping[str, str], home: str) -> str | None:
        """The directory for the sessions of one working directory, if the program has one."""
        del cwd, environment, home
        return None

    def profile_patterns(self, environment: Mapping[str, str], home: str) -> Sequence[str]:
        """Glob patterns of directories that new sessions go to, where one is there, rather than elsewhere."""
        del environment, home
        return ()

    def directories(self, cwd: str, environment: Mapping[str, str], home: str) -> list[str]:
        """Every directory in which sessions of one working directory may be.

        Where all projects share a directory, these are the roots; the header tells them apart.
        """
        directory, roots = self.directory(cwd, environment, home), self.roots(environment, home)
        return roots if directory is None or directory in roots else [directory]

    def new_directories(self, header: Header, environment: Mapping[str, str], home: str) -> Sequence[str]:
        """Where a new session may be put: the first directory is created if it does not exist.

        One with ``*`` or ``?`` in it is a pattern, which only a directory that exists can match. None where
        nobody knows.
        """
        directory = self.directory(header.cwd, environment, home)
        return () if directory is None else (directory,)

    def file_key(self, header: Header) -> str:
        """The name of a new session's file, without the suffix."""
        return header.id

    def subagent_of(self, path: str, header: Header | None) -> str | None:
        """For a sub-agent's session the path or id of the session that started it, "" if that is unknown.

        None for every other session.
        """
        del path, header
        return None

    def lock_file(self, path: str) -> str | None:
        """The file on which the program takes an exclusive ``flock`` around its appends, if it does."""
        del path
        return None


# -- for the programs that need them ----------------------------------------------------------------------


class CompressedFiles(Protocol):
    """Session files that may be compressed."""

    def is_compressed(self, head: bytes) -> bool:
        """Whether a file that begins like this is compressed."""
        ...

    def decompress(self, read: Callable[[int, int], bytes]) -> Iterator[bytes]:
        """Yield the content of the compressed file behind ``read(offset, size)`` in small pieces.

        Produces no more than is consumed: the caller limits how much that is. NotSupported if a required
        package is not installed or the data is corrupt.
        """
        ...


class SplitFiles(Protocol):
    """Session files that may begin in other files."""

    def has_external_prefix(self, head: bytes) -> bool:
        """Whether a file that begins like this may need others, which hold how the conversation begins."""
        ...

    def assemble(
        self, content: Content, path: str, find: Callable[[str], Content | None]
    ) -> Iterator[bytes] | None:
        """The content of a file joined with its beginning in other files; None if it is complete itself.

        ``find`` returns the content of the file near this one whose name ends with an id, None if there is
        none.
        """
        ...

    def roots_near(self, path: str) -> list[str]:
        """The directories in which those other files may be."""
        ...

    def superseded(self, paths: Iterable[str]) -> set[str]:
        """Which of these files another of them continues as the same session, so that only that is listed."""
        ...


Query = Callable[..., Iterator[tuple[Any, ...]]]
"""``query(sql, *values)``: the rows of a SELECT statement. Text comes as UTF-8 bytes, never decoded."""


class SessionVersion(NamedTuple):
    """One session of a database, as a list needs it."""

    id: str
    size: int
    """The bytes of its rows."""
    modified_ms: int
    version: tuple[object, ...]
    """Numbers and texts of which one changes whenever the lines of the session do."""
    header: Header | None = None
    """The header, if the table that lists sessions holds it."""


class DatabaseSessions(Protocol):
    """Sessions that a program keeps together in SQLite databases.

    ``branchline.stores`` opens the databases, without disturbing the program, and runs the statements.
    """

    def recognizes(self, tables: Collection[str]) -> bool:
        """Whether a database with these tables is one of this program."""
        ...

    def sessions(self, query: Query) -> Iterable[SessionVersion]:
        """Every session of a database; one statement for all of them, because lists ask for it."""
        ...

    def ids(self, query: Query) -> Iterable[str]:
        """The ids of all sessions."""
        return (one.id for one in self.sessions(query))

    def session(self, query: Query, session_id: str) -> SessionVersion | None:
        """One session; None if there is none with this id."""
        return next((one for one in self.sessions(query) if one.id == session_id), None)

    def lines(self, query: Query, session_id: str) -> Iterator[bytes]:
        """The session as lines of JSON, each with its newline, for the reader of this format.

        The first line is the header and is recognized by ``sniff``. Nothing is yielded for a session that
        does not exist.
        """
        ...


class DocumentFiles(Protocol):
    """Sessions that a program keeps as documents, or in several files each, instead of one file of lines."""

    def recognizes(self, path: str) -> bool:
        """Whether a file with this path holds such a session."""
        ...

    def companions(self, path: str) -> Sequence[str]:
        """The other files that a session consists of, whether they exist or not."""
        del path
        return ()

    def lines(self, content: Content, path: str, companion: Callable[[str], bytes | None]) -> Iterator[bytes]:
        """The session as lines of JSON, each with its newline, for the reader of this format.

        ``companion`` returns the content of one of :meth:`companions`, or of a file in or below the folder of
        this one, for files that never change under their name; None if it cannot be read.
        """
        ...


class ImportedFiles(Protocol[IndexT]):
    """Sessions that a program takes only through a command of its own, as documents."""

    unsupported: Mapping[str, str] = {}
    """What such a session cannot hold, as in :class:`FormatTraits`."""
    command: tuple[str, ...] = ()
    """The command that imports a document; the path of the document follows."""
    writer: FormatWriter[IndexT]
    """Writes lines that the reader of this format reads, and that :meth:`document` understands."""

    def document(self, lines: bytes) -> bytes:
        """The document of a session that the writer has written."""
        ...


class TitleFiles(Protocol):
    """Titles that a program keeps outside the session files."""

    def titles_file(self, root: str) -> str | None:
        """The file with the titles of the sessions below a root."""
        ...

    def titles_near(self, path: str) -> str | None:
        """The file with the title of one session file."""
        ...

    def titles(self, data: bytes) -> Mapping[str, str]:
        """The titles in such a file, by session id."""
        ...

    def title_line(self, session_id: str, title: str, time: str) -> bytes | None:
        """The line that gives a session a title, for the end of such a file; None where none can be added."""
        del session_id, title, time
        return None


class SessionFacts(NamedTuple):
    """What other files say about a session; None where they say nothing."""

    title: str | None = None
    cwd: str | None = None
    parent: str | None = None
    """The session that this one came from."""

    def completed(self, header: Header) -> Header:
        """The header with what it does not say itself."""
        cwd, parent = header.cwd or self.cwd or "", header.parent_session or self.parent
        if (cwd, parent) == (header.cwd, header.parent_session):
            return header
        return msgspec.structs.replace(header, cwd=cwd, parent_session=parent)


class CompanionFile(Protocol):
    """A small file near a session file that says what the session file does not."""

    def companion(self, path: str) -> str | None:
        """The path of that file, for the path of a session file."""
        ...

    def facts(self, data: bytes) -> SessionFacts:
        """What its content says; damage says nothing."""
        ...


class ExternalParts(Protocol[IndexT_contra]):
    """Parts of entries that a program keeps in other files."""

    def missing_parts(self, transcript: EntryLog[IndexT_contra], position: int) -> str | None:
        """What of an entry is kept in other files that are not there, in words; None if nothing is."""
        ...


class EntryTexts(Protocol[IndexT_contra]):
    """The words of many entries at once, for programs that write much beside them into each line."""

    def texts(self, data: bytes, index: IndexT_contra, block: LineChunk) -> Sequence[EntryText | None] | None:
        """What the entries of a block say, from its lines; the same as the decoded entries say.

        None for an entry that has to be decoded, or instead of all of them.
        """
        ...


class ReadingLimits(Protocol):
    """What a program does not read although its files hold it, for the report of a conversion."""

    def unread(self, entry: Entry) -> tuple[str, ...]:
        """What of an entry the program does not read, in words."""
        ...

    def line_problem(self, size: int) -> str | None:
        """What the program cannot do with a session that has a line of this size, newline included."""
        del size
        return None


# -- the facts, and everything together -------------------------------------------------------------------


class LinkFields(NamedTuple):
    """What the fields of a line are called in which an entry names others; "" where there is none such."""

    parent: str = "parentId"
    target: str = "targetId"
    """Of a move: where to."""
    first_kept: str = "firstKeptEntryId"
    label: str = ""
    """Of a label: what it names, where the nearest entry above with that id is meant and not any."""


class FormatTraits(msgspec.Struct, frozen=True, kw_only=True):
    """Plain facts about a format."""

    name: str
    """The name of the program."""
    suffix: str = JSONL
    compressed_suffix: str = ""
    """What follows the suffix in the names of compressed files."""
    file_patterns: tuple[str, ...] = ("*.jsonl", "*/*.jsonl")
    """Session files below a root: names with ``*`` for any text, ``**`` for any number of folders."""
    subagent_patterns: tuple[str, ...] = ()
    """The same for the sessions of sub-agents, where these are kept apart."""
    unsupported: Mapping[str, str] = {}
    """What a session cannot hold (``label``, ``title``, ``branch`` …), with a readable reason."""
    links: LinkFields | None = LinkFields()
    """How lines name other lines; None where they follow each other and name none."""
    native_entries: bool = False
    """Whether entries are written as in the native format, so that readers of that understand them."""
    metadata_types: frozenset[str] = frozenset()
    """Types of entries that in this program describe the session and are not part of the conversation."""
    path_types: frozenset[str] = frozenset()
    """Types of side records that in this program are steps of a path, as conversation entries are."""
    compaction_embeds_tail: bool = False
    """Whether a compaction holds the messages that it keeps, instead of naming the first of them."""
    records_cost: bool = True
    """Whether files say what answers cost; otherwise the cost is unknown, not zero."""
    records_cwd: bool = True
    """Whether sessions say their working directory; otherwise it is unknown, not empty."""
    compacts_by_fork: bool = False
    """Whether the only compaction is a new session that begins with the summary."""
    rounds_integers: bool = False
    """Whether the program reads whole numbers as floating-point ones, exact up to 2 ** 53 only."""
    keeps_lone_surrogates: bool = True
    """Whether the program keeps lone surrogates; else it reads U+FFFD for them."""
    removes_empty_sessions: bool = False
    """Whether the program deletes sessions without a message that it finds in its directory."""
    leaves_stubs: bool = False
    """Whether the program leaves files without messages under the id of another session."""
    lists_last_prompt: bool = False
    """Whether its own lists show the last prompt of a session that has no title, and not the first."""
    title_in_header: bool = False
    """Whether the title of a new session belongs in its first lines (``Header.metadata["title"]``)."""
    overwrites_appends: bool = False
    """Whether a running program may write at an offset of its own, over what others append meanwhile."""
    keeps_days: float | None = None
    """How many days after their last change the agent deletes sessions, by default; None if it does not."""
    keeps_days_setting: str = ""
    """The name of that number in ``settings.json`` beside the folder of the sessions, if it is there."""
    copies_companion_folder: bool = False
    """Whether the folder that belongs to a session file is copied with the whole session."""
    appendable: bool = True
    """Whether sessions can be appended to. If not, only whole new files are written."""
    active_branch_last: bool = False
    """Whether a new file has the active branch after all others, each branch in one piece."""
    rolls_back_turns: bool = False
    """Whether branches are turns that were rolled back: each begins with a prompt and holds no compaction."""
    splits_answers: bool = False
    """Whether one answer may be written as several entries."""
    ends_with_position: bool = False
    """Whether a new file ends with lines that record the leaf."""

    def stem_of(self, path: str) -> str:
        """The name of a file without the suffix."""
        return posixpath.basename(path).removesuffix(self.compressed_suffix).removesuffix(self.suffix)

    def key_of(self, path: str) -> str:
        """The key of a session: the name of its file, unless a program names the folder for the session."""
        return self.stem_of(path)

    def unsupported_error(self, what: str) -> NotSupported:
        """The exception for something this format cannot hold, with the way out."""
        reason = self.unsupported.get(what, f"the format has no place for it ({what})")
        return NotSupported(
            f"{self.name} sessions cannot hold this: {reason}. Fork it into a native session."
        )


class Format(msgspec.Struct, Generic[IndexT], frozen=True, kw_only=True, eq=False):
    """How one program keeps sessions."""

    traits: FormatTraits
    reader: FormatReader[IndexT]
    home: FormatHome
    writer: FormatWriter[IndexT] | None = None
    """None for a program whose sessions are only read."""
    compression: CompressedFiles | None = None
    splitting: SplitFiles | None = None
    titles: TitleFiles | None = None
    companion: CompanionFile | None = None
    external_parts: ExternalParts[IndexT] | None = None
    texts: EntryTexts[IndexT] | None = None
    limits: ReadingLimits | None = None
    database: DatabaseSessions | None = None
    documents: DocumentFiles | None = None
    imports: ImportedFiles[IndexT] | None = None

    @property
    def name(self) -> str:
        """The name of the program."""
        return self.traits.name

    def required_writer(self) -> FormatWriter[IndexT]:
        """The writer. NotSupported for a program whose sessions are only read."""
        if self.writer is None:
            raise NotSupported(f"sessions of {self.name} are read-only; fork one to continue it")
        return self.writer

    def for_import(self) -> Format[IndexT]:
        """The format with the writer of the documents that the program imports, where it imports any."""
        if self.imports is None:
            return self
        traits = msgspec.structs.replace(self.traits, unsupported=self.imports.unsupported)
        return msgspec.structs.replace(self, writer=self.imports.writer, traits=traits)

    @property
    def is_appendable(self) -> bool:
        """Whether entries can be added to a session of this program."""
        return self.writer is not None and self.traits.appendable

    def compression_of(self, head: bytes) -> CompressedFiles | None:
        """How to decompress a file that begins like this; None if it is not compressed."""
        return self.compression if self.compression and self.compression.is_compressed(head) else None


def header_in(
    head: bytes,
    log_reader: Callable[[str], LogReader[LogIndex]],
    path: str,
    *,
    whole: bool,
    lines: int = 1,
    needs_cwd: bool = True,
) -> Header | None:
    """The header that a reader finds in the first lines of a file, or else in all that is there of it.

    ``lines`` is how many lines usually tell it. It is complete when it names the working directory, unless
    ``needs_cwd`` is False. None where more of the file has to be seen.
    """
    header: Header | None = None
    first, last = 0, head.rfind(b"\n") + 1
    for _ in range(lines):
        first = head.find(b"\n", first) + 1 or last
    for end in dict.fromkeys((first, last)):
        reader = log_reader(path)
        if end:
            reader.feed(head, end)
        reader.finish(head[last:] if whole and end == last else b"")
        header = reader.reading.header
        if header is not None and (header.cwd or not needs_cwd):
            return header
    return header if whole else None
