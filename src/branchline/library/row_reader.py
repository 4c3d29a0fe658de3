"""Reads one stored log into a list row, at one of three depths: directory, header, whole file.

The whole file is read once, in file order, and only payloads that a row shows are decoded. Nothing here
writes, locks or caches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from branchline.catalog.record import FileRecord
from branchline.context import ModelRef
from branchline.context.selection import model_of
from branchline.entries import Header, MessageEntry, message_text
from branchline.errors import BranchlineError, NotASession
from branchline.formats import CompressedFiles, Format, Peek
from branchline.library.branch_count import count_branches
from branchline.log.system import describe_oserror
from branchline.plugins.formats import detect_in as detect
from branchline.plugins.formats import format_named, peek
from branchline.stores import Listed, Read, Store, StoredLog, unpacked_for_listing
from branchline.stores.activity import last_activity, last_use
from branchline.stores.protocol import SizedContent, id_in_key
from branchline.views.figures import messages_on
from branchline.views.session_row import SessionRow

if TYPE_CHECKING:
    from branchline.formats import EntryLog
    from branchline.tree import Tree

__all__ = [
    "ReadLog",
    "completed_row",
    "continue_row",
    "deep_row",
    "first_prompt_line",
    "header_row",
    "one_line",
    "peek_file",
    "problem_row",
    "read_log",
    "read_row",
    "shallow_row",
]

_HEAD = 1 << 16
_LEAST = 4095
_AT_ONCE = 1 << 20
"""Files up to this size are read with one call."""
_PREVIEW = 200
_SELF_CONTAINED = frozenset({"", "pi"})
"""Formats whose sessions say everything themselves, as nearly all rows do."""


def one_line(text: str) -> str:
    """Return the beginning of a text on one line, with runs of white space collapsed."""
    words = text.lstrip()[: 4 * _PREVIEW]
    if not words.isprintable() or "  " in words:
        words = " ".join(words.split())
    return words.rstrip() if len(words) <= _PREVIEW else words[: _PREVIEW - 1] + "…"


def shallow_row(stored: StoredLog, *, draft: bool = False) -> SessionRow:
    """Return the row with what the directory tells."""
    return SessionRow(
        key=stored.key,
        id=id_in_key(stored.key),
        path=stored.path,
        size=stored.size,
        modified_ms=round(stored.modified * 1000),
        draft=draft,
    )


def header_row(stored: StoredLog, header: Header, format_: Format) -> SessionRow:
    """Return the row with what directory and header tell."""
    return _row(stored, header, format_, None, format=format_.name, version=header.version)


def problem_row(stored: StoredLog, problem: Exception, *, draft: bool = False) -> SessionRow:
    """Return the row of a file that cannot be read as a session."""
    return msgspec.structs.replace(shallow_row(stored, draft=draft), problem=_reason(problem))


class ReadLog(msgspec.Struct, frozen=True):
    """The row of a file that was read completely."""

    row: SessionRow
    format: Format
    header: Header | None
    transcript: EntryLog | None
    """None if only the beginning of a compressed file was read."""
    is_packed: bool = False
    """Whether the file is compressed, so that offsets refer to its content."""


class _Log(msgspec.Struct, frozen=True):
    """A log, its beginning and its size."""

    name: str
    format: Format
    read: Read
    start: bytes
    size: int
    compression: CompressedFiles | None


def read_row(
    read: Read,
    stored: StoredLog,
    *,
    known: Format | None = None,
    expected: Format | None = None,
    store: Store | None = None,
    draft: bool = False,
) -> ReadLog:
    """Return the row of a log. Raises NotASession if the log has no session.

    ``known`` is its format, if the caller knows it; ``expected`` is tried before all others. ``store`` holds
    the log, if it is not known to be a file.
    """
    log = _open(read, stored, known, expected)
    if log.compression:
        return _look_unpacked(
            log, stored, unpacked_for_listing(log.compression, log.read, stored.size), store, draft=draft
        )
    transcript = _transcript(_assembled(log, store))
    row = deep_row(stored, transcript, draft=draft)
    return ReadLog(row, log.format, transcript.reading.header, transcript)


def continue_row(read: Read, stored: StoredLog, format_name: str, saved: bytes) -> ReadLog | None:
    """Return the row of a log that grew since its index was saved; None if the index cannot be used."""
    from branchline.formats import EntryLog  # noqa: PLC0415  a list from the catalog reads no file

    format_ = format_named(format_name)
    if format_.companion is not None or format_.documents is not None:
        return None  # other files may have changed too
    transcript = EntryLog(format_, read, stored.path or stored.key, saved=saved)
    splitting, first = format_.splitting, transcript.reading.header_line + b"\n"
    if not transcript.is_restored or (splitting is not None and splitting.has_external_prefix(first)):
        return None
    return ReadLog(deep_row(stored, transcript), format_, transcript.reading.header, transcript)


def read_log(read: Read, stored: StoredLog, store: Store | None = None) -> EntryLog:
    """Return the session in a log. Raises NotASession if the log has none."""
    return _transcript(_assembled(_open(read, stored, None, None), store))


def peek_file(read: Read, path: str, expected: Format | None = None) -> Peek:
    """Return format and header of a file, with what its companion adds to the header."""
    found = peek(read, path, expected=expected)
    if found.header is None or found.format.companion is None:
        return found
    from branchline.stores.whole_sessions import external_facts  # noqa: PLC0415  few formats need it

    facts = external_facts(found.format, path, found.header)
    return Peek(found.format, facts.completed(found.header))


def completed_row(record: FileRecord) -> SessionRow:
    """Return the row of a session with what its path and its agent's other files tell.

    They may change while the session does not, so the catalog does not decide this.
    """
    row, starter = record.row, record.starter
    if starter is not None:
        row = msgspec.structs.replace(
            row, subagent=True, parent_session=row.parent_session or starter or None
        )
    if record.format in _SELF_CONTAINED or row.path is None:
        return row
    try:
        format_ = format_named(record.format)
    except ValueError:
        return row  # the package that knows it is gone
    if row.cwd and format_.companion is None and format_.titles is None:
        return row
    from branchline.stores.whole_sessions import external_facts, folder_cwd  # noqa: PLC0415  few formats need it

    header = None
    if record.has_header:
        header = Header(id=row.id, timestamp=row.created or "", cwd=row.cwd or "")
    facts = external_facts(format_, row.path, header)
    return msgspec.structs.replace(
        row,
        title=facts.title or row.title,
        cwd=row.cwd or facts.cwd or folder_cwd(format_, header, row.path) or row.cwd,
        parent_session=row.parent_session or facts.parent,
    )


def _open(read: Read, stored: StoredLog, known: Format | None, expected: Format | None) -> _Log:
    name = stored.path or stored.key
    # One extra byte: a short read means the whole log. Sizes of sessions in databases are estimates.
    wanted = min(max(stored.size, _LEAST) + 1, _AT_ONCE)
    start = read(0, wanted)
    whole = len(start) < wanted
    if whole:

        def read(offset: int, size: int) -> bytes:
            return start[offset : offset + size]

    head = start[:_HEAD]
    format_ = detect(read, name, expected=expected) if known is None else known
    return _Log(name, format_, read, start, stored.size, format_.compression_of(head))


def _assembled(log: _Log, store: Store | None) -> _Log:
    """The log together with its beginning in other logs, unpacked."""
    if log.compression is None and log.format.splitting is None:
        return log
    from branchline.stores.whole_sessions import assembled_content  # noqa: PLC0415  few formats need it

    content = assembled_content(
        log.format, SizedContent(log.read, log.size), log.name, log.start[:_HEAD], store
    )
    return log if content is None else msgspec.structs.replace(log, read=content.read)


def _look_unpacked(
    log: _Log, stored: StoredLog, listed: Listed, store: Store | None, *, draft: bool
) -> ReadLog:
    """The row of a compressed log; if it is too large, from its beginning and without counts."""
    content = listed.content
    log = msgspec.structs.replace(log, read=content.read, start=content.read(0, _HEAD), size=content.size())
    try:
        transcript = _transcript(_assembled(log, store) if listed.whole else log)
    except NotASession as problem:
        raise listed.problem or problem from None
    row = deep_row(stored, transcript, draft=draft)
    if not listed.whole:
        row = msgspec.structs.replace(
            row,
            last_activity_ms=None,
            used_ms=None,
            messages=None,
            prompts=None,
            branches=None,
            total_messages=None,
            findings=None,
            problem=None if listed.problem is None else _reason(listed.problem),
        )
    return ReadLog(
        row,
        log.format,
        transcript.reading.header,
        transcript if listed.whole else None,
        is_packed=True,
    )


def _transcript(log: _Log) -> EntryLog:
    from branchline.formats import EntryLog  # noqa: PLC0415  as above
    from branchline.stores.whole_sessions import completed  # noqa: PLC0415  as above

    return completed(EntryLog(log.format, log.read, log.name), log.name)


def deep_row(stored: StoredLog, transcript: EntryLog, *, draft: bool = False) -> SessionRow:
    """Return the row with what the whole file tells."""
    reading, tree = transcript.reading, transcript.tree
    header = reading.header
    path = tree.path_positions(reading.leaf)
    on_path = list(map(tree.roles.__getitem__, path))
    return _row(
        stored,
        header,
        transcript.format,
        model_of(transcript, path),
        draft=draft,
        title=transcript.title,
        last_activity_ms=last_activity(transcript, stored),
        used_ms=last_use(transcript, stored),
        messages=messages_on(tree, path),
        prompts=on_path.count("user"),
        branches=count_branches(tree),
        git_branch=reading.git_branch,
        total_messages=tree.types.count("message") - _pieces(tree),
        first_prompt=first_prompt_line(transcript),
        format=reading.format,
        version=reading.version if header is None else header.version,
        findings=len(reading.findings),
    )


def _row(
    stored: StoredLog, header: Header | None, format_: Format, model: ModelRef | None, **told: Any
) -> SessionRow:
    """Make a row from the directory entry, the header and the given columns."""
    return SessionRow(
        key=stored.key,
        id=header.id if header is not None and header.id.strip() else id_in_key(stored.key),
        path=stored.path,
        size=stored.size,
        modified_ms=round(stored.modified * 1000),
        cwd=None if header is None else header.cwd,
        created=None if header is None else header.timestamp or None,
        parent_session=None if header is None else format_.traits.parent_of(header),
        provider=None if model is None else model.provider,
        model=None if model is None else model.id,
        **told,
    )


def first_prompt_line(transcript: EntryLog) -> str | None:
    """Return the first prompt of the user on one line; in a fork, preferably the first of its own."""
    start = transcript.reading.inherited_entries
    return _first_words(transcript, start, len(transcript.tree)) or _first_words(transcript, 0, start)


def _first_words(transcript: EntryLog, position: int, end: int) -> str | None:
    tree = transcript.tree
    while position < end:
        try:
            position = tree.roles.index("user", position, end)
        except ValueError:
            break
        entry = transcript.entry(position)
        if isinstance(entry, MessageEntry):
            text = message_text(entry.message, " ")
            if "<" in text or text[:1] in "#C[T":
                from branchline.library.harness_text import spoken_text  # noqa: PLC0415  compiles long patterns

                text = spoken_text(text)
            if words := one_line(text):
                return words
        position += 1
    return None


def _pieces(tree: Tree) -> int:
    """The number of messages that only continue another answer."""
    return sum(tree.types[position] == "message" for position in tree.continuations)


def _reason(problem: Exception) -> str:
    if isinstance(problem, OSError):
        return describe_oserror(problem)
    if isinstance(problem, BranchlineError):
        return str(problem)
    return f"{type(problem).__name__}: {problem}"
