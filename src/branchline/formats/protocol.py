"""The parts of an agent's format: traits, a reader, a home and, if branchline writes it, a writer.

:class:`Format` joins the parts. :class:`FormatReader`, :class:`FormatWriter` and :class:`FormatHome` are
protocols with defaults: derive from them and override what differs. Their type parameter is the agent's own
:class:`~branchline.formats.log_index.LogIndex`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, runtime_checkable

import msgspec

from branchline.context import ContextRules, ModelRef
from branchline.context.selection import model_of_answer
from branchline.entries import AssistantMessage, CompactionSummaryMessage, Entry, Header
from branchline.errors import NotSupported
from branchline.formats.suffixes import JSONL
from branchline.tree import ROOT

if TYPE_CHECKING:
    from typing_extensions import TypeVar as DefaultTypeVar

    from branchline.formats.entry_log import EntryLog
    from branchline.formats.entry_text import EntryText
    from branchline.formats.log_index import LineChunk, LogIndex

    IndexT = DefaultTypeVar("IndexT", bound=LogIndex, default=Any)
else:
    IndexT = TypeVar("IndexT", bound="LogIndex")  # type variable defaults need Python 3.13
IndexT_co = TypeVar("IndexT_co", bound="LogIndex", covariant=True)
IndexT_contra = TypeVar("IndexT_contra", bound="LogIndex", contravariant=True)

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
    "HeadWriter",
    "ImportedFiles",
    "LinkFields",
    "LogReader",
    "Query",
    "ReadingLimits",
    "SessionVersion",
    "SettingsFile",
    "SplitFiles",
    "TitleFiles",
    "header_in",
]


class Content(Protocol):
    """Bytes that can be read at any offset; fewer than ``size`` are returned only at the end."""

    def size(self) -> int: ...

    def read(self, offset: int, size: int) -> bytes: ...


class LogReader(Protocol[IndexT_co]):
    """Reads the lines of one log into an index."""

    @property
    def reading(self) -> IndexT_co: ...

    def feed(self, data: bytes, end: int) -> None:
        """Read the complete lines in ``data[:end]``, which follow those fed before."""
        ...

    def finish(self, tail: bytes) -> None:
        """Read what follows the last newline, if anything, and resolve links and leaf."""
        ...


class FormatReader(Protocol[IndexT]):
    """Recognizes the files of an agent and decodes their lines to native records."""

    context_rules: ContextRules = ContextRules()
    """How a path becomes a context, if that differs from pi."""

    def sniff(self, head: bytes, path: str) -> bool:
        """Return whether a file that begins with these bytes has this format."""
        ...

    def log_reader(self, path: str = "") -> LogReader[IndexT]:
        """Return a new reader for one log; the path may provide facts that the file lacks."""
        ...

    def decode(self, line: bytes, index: IndexT, position: int) -> Entry:
        """Decode the line of an entry to the record that the native format would hold."""
        ...

    def decode_block(self, data: bytes, index: IndexT, block: LineChunk) -> Sequence[Entry] | None:
        """Decode all lines of a block together; None if they must be decoded one by one.

        No value in them may be nested more than ``json_codec.DEEPEST`` levels deep.
        """
        del data, index, block
        return None

    def peek(self, head: bytes, path: str, *, whole: bool) -> Header | None:
        """Return the header from the beginning of a file; None if more of the file is needed.

        ``whole`` means that there is no more; otherwise the last line may be truncated.
        """
        return header_in(head, self.log_reader, path, whole=whole)

    def answer_model(self, transcript: EntryLog[IndexT], position: int) -> ModelRef | None:
        """Return the model of an answer; override it to avoid decoding the whole entry."""
        return model_of_answer(transcript, position)

    def merge_answers(self, before: AssistantMessage, after: AssistantMessage) -> AssistantMessage | None:
        """Merge two consecutive entries of one answer, if the agent writes answers in parts."""
        del before, after
        return None


@runtime_checkable
class HeadWriter(Protocol[IndexT_contra]):
    """A writer of a format whose first lines hold what is decided later, such as a title."""

    def published_head(self, index: IndexT_contra) -> bytes | None:
        """Return other first lines for a draft that becomes a file; None if it keeps its own."""
        ...


class FormatWriter(Protocol[IndexT_contra]):
    """Encodes new lines and whole new files as the agent does.

    Methods raise NotSupported, before anything is written, for anything that the format cannot store.
    """

    def session_id(self, fresh: str, timestamp: str) -> str:
        """Return the id of a new session in the agent's form, derived from a unique id and the time."""
        del timestamp
        return fresh

    def parent_link(self, session_id: str, file: str | None) -> str | None:
        """Return how the header of a new session names its parent; None if it cannot."""
        return file or session_id

    def encode_header(self, header: Header) -> bytes:
        """Return the first lines of a new session."""
        ...

    def encode(self, entries: Sequence[Entry], index: IndexT_contra) -> bytes:
        """Return the lines for new entries, including newlines."""
        ...

    def fork(self, transcript: EntryLog[IndexT_contra], leaf: int, header: Header) -> bytes:
        """Return a new file with the path to an entry (-1: no entries) that names its parent."""
        ...

    def copy(self, transcript: EntryLog[IndexT_contra], header: Header) -> bytes:
        """Return a new file with everything in this one, under a new header."""
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
        """Return a fork in which a summary replaces everything before an entry (-1: all of it).

        Called only for formats with the trait ``compacts_by_fork``.
        """
        del leaf, header, summary, first_kept
        raise transcript.format.traits.unsupported_error("compaction")

    def upgrade(self, transcript: EntryLog[IndexT_contra]) -> Iterable[bytes]:
        """Yield the file in its current version; called only if the index says that it is older."""
        raise NotSupported(f"{transcript.format.name} has no older versions")


class FormatHome(Protocol):
    """Names the locations where an agent stores its sessions. It opens no files."""

    def roots(self, environment: Mapping[str, str], home: str) -> list[str]:
        """Return the directories that contain the sessions of all projects."""
        ...

    def directory(self, cwd: str, environment: Mapping[str, str], home: str) -> str | None:
        """Return the directory for the sessions of one working directory, if the agent has one."""
        del cwd, environment, home
        return None

    def profile_patterns(self, environment: Mapping[str, str], home: str) -> Sequence[str]:
        """Return glob patterns of directories that are preferred for new sessions if their parent exists."""
        del environment, home
        return ()

    def directories(self, cwd: str, environment: Mapping[str, str], home: str) -> list[str]:
        """Return every directory that may contain sessions of one working directory.

        If all projects share a directory, these are the roots; the header tells them apart.
        """
        directory, roots = self.directory(cwd, environment, home), self.roots(environment, home)
        return roots if directory is None or directory in roots else [directory]

    def new_directories(self, header: Header, environment: Mapping[str, str], home: str) -> Sequence[str]:
        """Return where a new session can be stored: the first directory is created if it does not exist.

        An item with ``*`` or ``?`` is a pattern, which only an existing directory can match. Empty if
        unknown.
        """
        directory = self.directory(header.cwd, environment, home)
        return () if directory is None else (directory,)

    def file_key(self, header: Header) -> str:
        """Return the name of a new session's file, without the suffix."""
        return header.id

    def subagent_of(self, path: str, header: Header | None) -> str | None:
        """For a sub-agent's session, return the path or id of the session that started it, "" if unknown.

        None for every other session.
        """
        del path, header
        return None

    def lock_file(self, path: str) -> str | None:
        """Return the file on which the agent takes an exclusive ``flock`` around its appends, if it does."""
        del path
        return None


# -- for the agents that need them ------------------------------------------------------------------------


class CompressedFiles(Protocol):
    """Session files that may be compressed."""

    def is_compressed(self, head: bytes) -> bool:
        """Return whether a file that begins like this is compressed."""
        ...

    def decompress(self, read: Callable[[int, int], bytes]) -> Iterator[bytes]:
        """Yield the content of the compressed file behind ``read(offset, size)`` in small chunks.

        Decompresses only as much as is consumed, which the caller limits. Raises NotSupported if a required
        package is not installed or the data is corrupt.
        """
        ...


class SplitFiles(Protocol):
    """Session files that may begin in other files."""

    def has_external_prefix(self, head: bytes) -> bool:
        """Return whether a file that begins like this may need other files, which hold its beginning."""
        ...

    def assemble(
        self, content: Content, path: str, find: Callable[[str], Content | None]
    ) -> Iterator[bytes] | None:
        """Yield the content of a file joined with its beginning in other files; None if it is complete.

        ``find`` returns the content of the neighbouring file whose name ends with an id, None if there is
        none.
        """
        ...

    def roots_near(self, path: str) -> list[str]:
        """Return the directories that may contain those other files."""
        ...

    def superseded(self, paths: Iterable[str]) -> set[str]:
        """Return the files that another one continues as the same session; only the latter is listed."""
        ...


Query = Callable[..., Iterator[tuple[Any, ...]]]
"""``query(sql, *values)``: the rows of a SELECT statement. Text is UTF-8 bytes, not decoded."""


class SessionVersion(msgspec.Struct, frozen=True):
    """One session of a database, as a list needs it."""

    id: str
    size: int
    """The bytes of its rows."""
    modified_ms: int
    version: tuple[object, ...]
    """Numbers and texts, one of which changes whenever the lines of the session do."""
    header: Header | None = None
    """The header, if the table that lists sessions contains it."""


class DatabaseSessions(Protocol):
    """Sessions that an agent stores together in SQLite databases.

    ``branchline.stores`` opens the databases without disturbing the agent, and runs the statements.
    """

    def recognizes(self, tables: Collection[str]) -> bool:
        """Return whether a database with these tables belongs to this agent."""
        ...

    def sessions(self, query: Query) -> Iterable[SessionVersion]:
        """Return every session of a database, with one statement for all of them."""
        ...

    def ids(self, query: Query) -> Iterable[str]:
        """The ids of all sessions."""
        return (one.id for one in self.sessions(query))

    def origins(self, query: Query) -> Mapping[str, str]:
        """Return the sessions that copies were made of, by the id of the copy, if no header names them."""
        del query
        return {}

    def session(self, query: Query, session_id: str) -> SessionVersion | None:
        """Return one session; None if there is none with this id."""
        return next((one for one in self.sessions(query) if one.id == session_id), None)

    def lines(self, query: Query, session_id: str) -> Iterator[bytes]:
        """Yield the session as lines of JSON, each with its newline, for the reader of this format.

        The first line is the header and is recognized by ``sniff``. Nothing is yielded for a session that
        does not exist.
        """
        ...


class DocumentFiles(Protocol):
    """Sessions that an agent stores as documents, or in several files each, instead of one file of lines."""

    def recognizes(self, path: str) -> bool:
        """Return whether a file with this path is such a session."""
        ...

    def begins(self, head: bytes) -> bool:
        """Return whether a file with this beginning is such a session, whatever its path is."""
        del head
        return False

    def companions(self, path: str) -> Sequence[str]:
        """Return the other files of a session, whether they exist or not."""
        del path
        return ()

    def continuation(self, path: str) -> str | None:
        """Return where the agent goes on with the session of a document that it no longer writes."""
        del path
        return None

    def shared_file(self, path: str) -> str | None:
        """Return the file in which the agent keeps facts about this session and others, if there is one."""
        del path
        return None

    def own_part(self, shared: bytes, path: str) -> bytes:
        """Return the part of the shared file about one session, as such a file; nothing else is passed on."""
        del path
        return shared

    def lines(self, content: Content, path: str, companion: Callable[[str], bytes | None]) -> Iterator[bytes]:
        """Yield the session as lines of JSON, each with its newline, for the reader of this format.

        ``companion`` returns the content of one of :meth:`companions`, of an immutable file in or below the
        folder of this one, or the session's part of :meth:`shared_file`; None if it cannot be read.
        """
        ...


class ImportedFiles(Protocol[IndexT]):
    """Sessions that an agent accepts only through an import command of its own, as documents."""

    unsupported: Mapping[str, str] = {}
    """What such a session cannot store, as in :class:`FormatTraits`."""
    command: tuple[str, ...] = ()
    """The command that imports a document; the path of the document follows."""
    writer: FormatWriter[IndexT]
    """Writes lines that the reader of this format reads, and that :meth:`document` understands."""

    def document(self, lines: bytes) -> bytes:
        """Return the document of a session that the writer has written."""
        ...


class TitleFiles(Protocol):
    """Titles that an agent stores outside the session files."""

    def titles_near(self, path: str) -> str | None:
        """Return the file with the title of one session file."""
        ...

    def titles(self, data: bytes) -> Mapping[str, str]:
        """Return the titles in such a file, by session id."""
        ...

    def title_line(self, session_id: str, title: str, time: str) -> bytes | None:
        """Return the line that sets a title, to be appended to such a file; None if none can be added."""
        del session_id, title, time
        return None


class SettingsFile(Protocol):
    """Settings of an agent with which its new sessions must agree."""

    def settings_file(self, environment: Mapping[str, str], home: str) -> str:
        """Return the file."""
        ...

    def session_settings(self, settings: bytes) -> dict[str, str]:
        """Return what a new session must repeat of the file, as metadata of its header."""
        ...


class SessionFacts(msgspec.Struct, frozen=True):
    """Facts about a session from other files; None if unknown."""

    title: str | None = None
    cwd: str | None = None
    parent: str | None = None
    """The session that this one came from."""

    def completed(self, header: Header) -> Header:
        """Return the header with missing fields filled in."""
        cwd, parent = header.cwd or self.cwd or "", header.parent_session or self.parent
        if (cwd, parent) == (header.cwd, header.parent_session):
            return header
        return msgspec.structs.replace(header, cwd=cwd, parent_session=parent)


class CompanionFile(Protocol):
    """A small file near a session file with facts that the session file lacks."""

    def companion(self, path: str) -> str | None:
        """Return the path of that file, for the path of a session file."""
        ...

    def facts(self, data: bytes) -> SessionFacts:
        """Return the facts in its content; nothing if it is damaged."""
        ...

    def content_for(self, header: Header, title: str) -> bytes | None:
        """Return the content for a new session with a title; None if branchline writes no such file."""
        del header, title
        return None


class ExternalParts(Protocol[IndexT_contra]):
    """Parts of entries that an agent stores in other files."""

    mark: bytes
    """What every line with such a part contains."""

    def missing_parts(self, line: bytes, index: IndexT_contra) -> str | None:
        """Describe the parts of the entry on a line whose files are missing; None if none are."""
        ...


class EntryTexts(Protocol[IndexT_contra]):
    """Bulk extraction of text, for agents whose lines contain much else."""

    def texts(self, data: bytes, index: IndexT_contra, block: LineChunk) -> Sequence[EntryText | None] | None:
        """Return the text of the entries of a block; the same as that of the decoded entries.

        None for an entry that has to be decoded, or instead of all of them.
        """
        ...


class ReadingLimits(Protocol):
    """What an agent ignores although its files can hold it, for the fidelity report."""

    def unread(self, entry: Entry) -> tuple[str, ...]:
        """Describe what the agent ignores in an entry."""
        ...

    def line_problem(self, size: int) -> str | None:
        """Describe what the agent cannot do with a session that has a line of this size, newline included."""
        del size
        return None


# -- the facts, and everything together -------------------------------------------------------------------


class LinkFields(msgspec.Struct, frozen=True):
    """Names of the fields in which an entry refers to others; "" if there is none."""

    parent: str = "parentId"
    target: str = "targetId"
    """The target of a move."""
    first_kept: str = "firstKeptEntryId"
    label: str = ""
    """The target of a label, if that is the nearest ancestor with the id rather than any entry."""


_LONG_TIME = 100_000  # days


class FormatTraits(msgspec.Struct, frozen=True, kw_only=True):
    """Plain facts about a format."""

    name: str
    """The name of the agent."""
    suffix: str = JSONL
    compressed_suffix: str = ""
    """The additional suffix of compressed files."""
    file_patterns: tuple[str, ...] = ("*.jsonl", "*/*.jsonl")
    """Session files below a root: names with ``*`` for any text, ``**`` for any number of folders."""
    subagent_patterns: tuple[str, ...] = ()
    """The same for sub-agent sessions, if they are stored separately."""
    unsupported: Mapping[str, str] = {}
    """What a session cannot store (``label``, ``title``, ``branch`` …), with a readable reason."""
    links: LinkFields | None = LinkFields()
    """How lines refer to other lines; None if they only follow each other."""
    native_entries: bool = False
    """Whether entries are written as in the native format, so that native readers understand them."""
    metadata_types: frozenset[str] = frozenset()
    """Entry types that describe the session in this agent and are not part of the conversation."""
    path_types: frozenset[str] = frozenset()
    """Types of side records that are steps of a path in this agent, like conversation entries."""
    compaction_embeds_tail: bool = False
    """Whether a compaction contains the messages that it keeps, instead of naming the first of them."""
    records_cost: bool = True
    """Whether files record the cost of answers; otherwise the cost is unknown, not zero."""
    records_cwd: bool = True
    """Whether sessions record their working directory; otherwise it is unknown, not empty."""
    compacts_by_fork: bool = False
    """Whether the only compaction is a new session that begins with the summary."""
    rounds_integers: bool = False
    """Whether the agent reads integers as floating-point numbers, exact only up to 2 ** 53."""
    keeps_lone_surrogates: bool = True
    """Whether the agent preserves lone surrogates; otherwise it reads them as U+FFFD."""
    removes_empty_sessions: bool = False
    """Whether the agent deletes sessions without a message in its directory."""
    leaves_stubs: bool = False
    """Whether the agent leaves files without messages under the id of another session."""
    dated_by_file: bool = False
    """Whether the agent lists its sessions by the time of their files, not by that of their last message."""
    lists_last_prompt: bool = False
    """Whether the agent lists the last prompt of a session without a title, not the first."""
    title_in_header: bool = False
    """Whether the title of a new session belongs in its first lines (``Header.metadata["title"]``)."""
    overwrites_appends: bool = False
    """Whether a running agent may write at its own offset, over what others appended meanwhile."""
    keeps_days: float | None = None
    """After how many days without a change the agent deletes sessions by default; None for never."""
    keeps_days_setting: str = ""
    """The name of that setting in ``settings.json`` beside the sessions folder, if there is one."""
    own_blocks: frozenset[str] = frozenset()
    """Types of blocks that only this agent writes; a message with them is stored whole."""
    copies_companion_folder: bool = False
    """Whether the folder that belongs to a session file is copied with the session."""
    appendable: bool = True
    """Whether sessions can be appended to. If not, only whole new files are written."""
    active_branch_last: bool = False
    """Whether a new file has the active branch last, with each branch contiguous."""
    rolls_back_turns: bool = False
    """Whether branches are rolled-back turns: each begins with a prompt and contains no compaction."""
    splits_answers: bool = False
    """Whether one answer may be written as several entries."""
    ends_with_position: bool = False
    """Whether a new file ends with lines that record the leaf."""
    continues_own_files: bool = False
    """Whether a session that names itself as its parent continues an earlier file of its own."""

    def parent_of(self, header: Header) -> str | None:
        """Return the other session that one with this header was made from."""
        own = self.continues_own_files and header.parent_session == header.id
        return None if own else header.parent_session

    def days_kept(self, settings: Mapping[str, Any]) -> float | None:
        """Return after how many days the agent with these settings deletes sessions; None for never."""
        days = settings.get(self.keeps_days_setting)
        if isinstance(days, int | float) and not isinstance(days, bool) and 0 <= days < _LONG_TIME:
            return float(days)
        return self.keeps_days

    def stem_of(self, path: str) -> str:
        """Return the name of a file without the suffix."""
        return posixpath.basename(path).removesuffix(self.compressed_suffix).removesuffix(self.suffix)

    def key_of(self, path: str) -> str:
        """Return the key of a session: its file name, unless the agent names the folder after the session."""
        return self.stem_of(path)

    def unsupported_error(self, what: str) -> NotSupported:
        """Return the exception for something that this format cannot store, with the way out."""
        reason = self.unsupported.get(what, f"the format cannot store it ({what})")
        return NotSupported(
            f"{self.name} sessions cannot hold this: {reason}. Fork it into a native session."
        )


class Format(msgspec.Struct, Generic[IndexT], frozen=True, kw_only=True, eq=False):
    """How one agent stores sessions."""

    traits: FormatTraits
    reader: FormatReader[IndexT]
    home: FormatHome
    writer: FormatWriter[IndexT] | None = None
    """None for an agent whose sessions are read-only."""
    compression: CompressedFiles | None = None
    splitting: SplitFiles | None = None
    titles: TitleFiles | None = None
    companion: CompanionFile | None = None
    external_parts: ExternalParts[IndexT] | None = None
    texts: EntryTexts[IndexT] | None = None
    limits: ReadingLimits | None = None
    settings: SettingsFile | None = None
    database: DatabaseSessions | None = None
    documents: DocumentFiles | None = None
    imports: ImportedFiles[IndexT] | None = None

    @property
    def name(self) -> str:
        """The name of the agent."""
        return self.traits.name

    def required_writer(self) -> FormatWriter[IndexT]:
        """The writer. Raises NotSupported for an agent whose sessions are read-only."""
        if self.writer is None:
            raise NotSupported(f"sessions of {self.name} are read-only; fork one to continue it")
        return self.writer

    def for_import(self) -> Format[IndexT]:
        """Return the format with the writer for the agent's import documents, if it imports any."""
        if self.imports is None:
            return self
        unsupported = self.imports.unsupported
        traits = msgspec.structs.replace(self.traits, unsupported=unsupported, appendable=False)
        return msgspec.structs.replace(self, writer=self.imports.writer, traits=traits)

    @property
    def is_appendable(self) -> bool:
        """Whether entries can be appended to a session of this agent."""
        return self.writer is not None and self.traits.appendable

    def compression_of(self, head: bytes) -> CompressedFiles | None:
        """Return how to decompress a file that begins like this; None if it is not compressed."""
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
    """Return the header that a reader finds in the first lines of a file, or else in all available bytes.

    ``lines`` is how many lines usually suffice. The header is complete when it names the working directory,
    unless ``needs_cwd`` is False. None if more of the file is needed.
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
