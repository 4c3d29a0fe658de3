"""Export a session to a file: the whole tree, or one path.

Every interface exports through this module. Unless the caller turns redaction off, keys, tokens and
passwords are replaced, the result is scanned again before anything is written, and it must still be the same
tree. Documents never contain control characters or escape sequences. Session files keep their bytes, in which
JSON escapes such characters.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, assert_never

import msgspec

from branchline._arguments import require_choice
from branchline.actions.output_file import files_of, output_directory, write_output
from branchline.actions.redactor import Choices, FoundSecret, Redaction, Redactor
from branchline.actions.reduced_lines import Omissions, reduced_lines
from branchline.actions.secret_places import located, place_of
from branchline.actions.single_file import (
    file_key,
    left_in_page,
    page_of,
    page_parts,
    require_same_tree,
)
from branchline.clock import SystemClock, iso, local_time
from branchline.conversion import branch_tips
from branchline.entries import Entry, Header, encode_header, json_codec, splice
from branchline.errors import NotSupported, SecretsLeft, UnsupportedFormat
from branchline.formats import EntryLog
from branchline.formats.suffixes import JSONL, SUFFIXES
from branchline.formats.zot import ZOT, export_portable
from branchline.plugins.formats import detect
from branchline.session import Session
from branchline.session.forks import fork_position
from branchline.stores import MemoryStore
from branchline.stores.original_files import original_files
from branchline.stores.protocol import is_key
from branchline.views.cards import cards
from branchline.views.html.pieces import PieceOptions
from branchline.views.humanize import count
from branchline.views.markdown import markdown
from branchline.views.text import safe
from branchline.views.trajectories import Trajectory, atif, openai_line, otel, trajectory_of

__all__ = [
    "ENDINGS",
    "Choices",
    "ExportFormat",
    "ExportRequest",
    "ExportResult",
    "Redaction",
    "Redactor",
    "Rendered",
    "export",
    "export_branches",
    "page_lines",
    "redacted_entries",
    "render",
]

ExportFormat = Literal["jsonl", "md", "html", "zotsession", "atif", "otel", "openai"]
ENDINGS: dict[ExportFormat, str] = {
    "jsonl": JSONL,
    "md": ".md",
    "html": ".html",
    "zotsession": ".zotsession",
    "atif": ".atif.json",
    "otel": ".otel.json",
    "openai": ".openai.jsonl",
}
_TRAJECTORIES: dict[ExportFormat, Callable[[Trajectory], dict[str, Any]]] = {
    "atif": atif,
    "otel": otel,
    "openai": openai_line,
}
_BLOCK = 1 << 22
_PARENTS = {"pi": "parentSession", "oh-my-pi": "parentSession", "operator": "parent_session"}
"""The header field with the parent, for formats in which only the header names it."""


class ExportRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to export, and how."""

    format: ExportFormat | None = None
    """Default: by the extension of the file, else ``jsonl``."""
    entry: str | None = None
    """Export the path to this entry (default: everything, or the path to the leaf)."""
    branch: bool = False
    """Export only the path, with its labels. Documents (md, atif, otel) always contain only the path."""
    portable: bool = False
    """Omit the working directory and the parent session; in pages, also mask the home directory, the names of
    user and host, and e-mail addresses."""
    redact: bool = True
    """Replace keys, tokens and passwords."""
    first: str | None = None
    """The first entry of the path to export (pages only; default: its root)."""
    tools: bool = True
    """With tool calls and results (pages only)."""
    thinking: bool = True
    images: bool = True
    choices: Choices = Choices()
    """The decisions of a reviewer: what to keep, what else to replace."""


_DEFAULT = ExportRequest()


class Rendered(msgspec.Struct, frozen=True, kw_only=True):
    """An export as bytes, before it is written."""

    format: ExportFormat
    branch: bool
    data: bytes
    redacted: tuple[Redaction, ...] | None
    """What was replaced; None if redaction was off."""
    withheld: int = 0
    """As for :class:`ExportResult`."""


class ExportResult(msgspec.Struct, frozen=True, kw_only=True):
    """An exported file."""

    session: str
    path: str
    size: int
    format: ExportFormat
    branch: bool
    redacted: tuple[Redaction, ...] | None
    """What was replaced; None if redaction was off."""
    withheld: int = 0
    """Lines of the session file that are never exported, such as the requests that Claude Code records."""
    leaf: str | None = None
    """The last entry of an exported path."""
    replaced: str | None = None
    """Where the replaced session is in the trash; None if nothing that would be lost was replaced."""

    @property
    def secrets(self) -> int:
        """How many secrets were replaced."""
        return sum(each.count for each in self.redacted or ())

    @property
    def summary(self) -> str:
        """The path, and how many secrets were replaced, for a message."""
        return f"{self.path}; {count(self.secrets, 'secret')} redacted" if self.secrets else self.path


def _stem(session: Session, redactor: Redactor) -> str:
    """The file name of an export without its extension; some agents name only the folder of a session."""
    file = session.file
    key = file_key(session, redactor)
    if key != session.key:
        return key
    if file is not None and os.path.isfile(file):
        key = session.transcript.format.traits.key_of(file)
    return key if is_key(key) else "session"  # a database may hold any text as a key


def export(
    session: Session,
    path: str | os.PathLike[str],
    request: ExportRequest = _DEFAULT,
    *,
    force: bool = False,
) -> ExportResult:
    """Write a session to a new file of mode 0600, or to one named after it if the path is a directory.

    A path that ends with a slash is a directory; it is created if it does not exist.

    A pipe or a character device is written to. With ``force``, a regular file is replaced; a session with
    lines that the export lacks goes to the trash first.

    Raises FileExists if the path is taken; NotSaved if ``force`` would replace the session itself, a database
    or anything but a regular file; NotSupported if the session cannot be exported in this form; SecretsLeft
    if secrets are left after redaction. Then nothing is written.
    """
    target = os.path.abspath(os.path.expanduser(path))
    names_directory = os.path.isdir(target) or os.fspath(path).endswith(("/", os.sep))
    draft = _draft(session, request, "" if names_directory else target)
    directory = output_directory(path)
    if directory is not None:
        target = os.path.join(directory, _stem(session, draft.redactor) + _ending(session, draft.format))
    return _written(session, target, request, draft, force=force, streams=directory is None)


def export_branches(
    session: Session,
    path: str | os.PathLike[str],
    request: ExportRequest = _DEFAULT,
    *,
    force: bool = False,
) -> list[ExportResult]:
    """Write one file for each branch into a directory, the active branch first; each is a path to its leaf.

    In trajectories, entries that a branch shares with earlier ones are marked as copied. Raises what
    :func:`export` raises, and NotSupported if the path is not a directory (one that ends with a slash is
    created).
    """
    directory = output_directory(path)
    if directory is None:
        raise NotSupported(f"one file per branch needs a directory, and {os.fspath(path)} is not one")
    results = []
    known: set[str] = set()
    for number, leaf in enumerate(_leaves(session), 1):
        one = msgspec.structs.replace(request, entry=leaf, branch=True)
        draft = _draft(session, one, "", known)
        stem = _stem(session, draft.redactor)
        name = f"{stem}.{leaf}" if is_key(f"{stem}.{leaf}") else f"{stem}.{number}"
        target = os.path.join(directory, name + _ending(session, draft.format))
        results.append(_written(session, target, one, draft, force=force))
    return results


def _leaves(session: Session) -> list[str]:
    """The last entry of each branch, the active one first."""
    tips = [session.index.keys[position] for position in branch_tips(session.transcript)]
    active = session.path()[-1:]
    return active + [tip for tip in tips if tip not in active]


def _ending(session: Session, format_: ExportFormat) -> str:
    return session.transcript.format.traits.suffix if format_ == "jsonl" else ENDINGS[format_]


def _written(
    session: Session,
    target: str,
    request: ExportRequest,
    draft: _Draft,
    *,
    force: bool,
    streams: bool = False,
) -> ExportResult:
    check = None if draft.redactor.off else functools.partial(_scan, session, draft)
    sources = files_of(session)
    written = write_output(target, draft.pieces, check=check, force=force, streams=streams, sources=sources)
    return ExportResult(
        session=session.id,
        path=target,
        size=written.size,
        format=draft.format,
        branch=draft.branch,
        redacted=draft.redacted,
        withheld=_withheld(session, draft),
        leaf=request.entry,
        replaced=written.replaced,
    )


def render(session: Session, request: ExportRequest, *, name: str = "") -> Rendered:
    """Return the bytes of an export after a second scan; ``name`` is the name of the output file."""
    draft = _draft(session, request, name)
    data = b"".join(draft.pieces)
    _require_clean(session, draft.redactor.left_in(_parts(draft.format, data)))
    return Rendered(
        format=draft.format,
        branch=draft.branch,
        data=data,
        redacted=draft.redacted,
        withheld=_withheld(session, draft),
    )


def _withheld(session: Session, draft: _Draft) -> int:
    """Count the lines that a copy of the whole session lacks."""
    whole = draft.format in ("jsonl", "html") and not draft.branch
    return len(session.transcript.reading.withheld) if whole else 0


class _Draft(NamedTuple):
    """An export that is not written yet."""

    format: ExportFormat
    branch: bool
    pieces: Iterable[bytes]
    redactor: Redactor
    redacted: tuple[Redaction, ...] | None


def _draft(session: Session, request: ExportRequest, name: str, known: set[str] | None = None) -> _Draft:
    if request.format is not None:
        require_choice("format", request.format, ExportFormat)
    format_ = request.format or _format_of(name)
    if format_ == "html":
        return _page(session, request)
    if request.first is not None or not (request.tools and request.thinking and request.images):
        raise NotSupported(f"a part of a session can be exported as a page (.html), not as {format_}")
    redactor = Redactor(off=not request.redact, choices=request.choices)
    if format_ != "jsonl":
        redactor.learn(session.transcript.blocks())
    branch = request.branch or request.entry is not None
    match format_:
        case "md":
            data, branch = _markdown(session, redactor, request.entry), True
        case "zotsession":
            if branch:
                raise NotSupported("zot's portable format holds a whole session; omit the entry")
            data = _lines(session, _portable_zot(session), redactor)
        case "jsonl":
            if branch:
                redactor.learn(session.transcript.blocks())
            lines = _branch(session, request) if branch else _whole(session, portable=request.portable)
            data = _lines(session, lines, redactor)
        case "atif" | "otel" | "openai":
            branch = branch or format_ in ("atif", "otel")
            leaves = [request.entry] if branch else _leaves(session)
            data = _trajectories(session, format_, leaves, redactor, set() if known is None else known)
        case _:
            assert_never(format_)
    return _Draft(format_, branch, (data,), redactor, redactor.found())


def _format_of(name: str) -> ExportFormat:
    """The export format for the extension of a file name; ``jsonl`` without an extension."""
    base = os.path.basename(name)
    for format_ in _TRAJECTORIES:
        if base.lower().endswith(ENDINGS[format_]):
            return format_
    ending = os.path.splitext(base)[1].lower()
    if ending in (".md", ".markdown"):
        return "md"
    if ending in (".html", ".htm"):
        return "html"
    if ending == ENDINGS["zotsession"]:
        return "zotsession"
    if ending in ("", *SUFFIXES):
        return "jsonl"
    raise UnsupportedFormat(
        f"cannot export to {base}: unknown export format {ending}; "
        f"choose {', '.join(ENDINGS.values())}, or name the format"
    )


# -- redaction --------------------------------------------------------------------------------------------


_MOST_NAMED = 5


def _scan(session: Session, draft: _Draft, finished: str) -> None:
    """Search a finished file. Raises SecretsLeft if it contains secrets."""
    if draft.format == "html":
        _require_clean(session, left_in_page(finished, draft.redactor))
        return
    with open(finished, "rb") as file:
        _require_clean(session, draft.redactor.left_in(_parts(draft.format, file.read())))


def _require_clean(session: Session, left: list[FoundSecret]) -> None:
    if not left:
        return
    findings = located(session, left)
    named = list(dict.fromkeys(f"{one.kind} in {place_of(one)}" for one in findings))
    more = [f"{len(named) - _MOST_NAMED:,} more"] if len(named) > _MOST_NAMED else []
    problem = SecretsLeft(
        f"cannot export {session.id}: there are still secrets after redaction "
        f"({', '.join([*named[:_MOST_NAMED], *more])}); nothing was written; "
        f"`branchline share {session.id}` asks what to do with each"
    )
    problem.findings = findings
    raise problem


def _parts(format_: ExportFormat, data: bytes) -> Iterator[bytes | str]:
    """The parts of an export for the scan: a document as text, everything else as lines."""
    match format_:
        case "html":
            yield from page_parts(lambda start, size: data[start : start + size])
        case "md":
            yield data.decode("utf-8", "replace")
        case _:
            yield data


# -- pages ------------------------------------------------------------------------------------------------


def _page(session: Session, request: ExportRequest) -> _Draft:
    redactor = Redactor(off=not request.redact, portable=request.portable, choices=request.choices)
    omit = _omissions(request)
    branch = omit.branches
    unchanged = redactor.off and not request.portable and not _is_part(request)
    unchanged = unchanged and not request.choices.literals
    lines = None if unchanged else page_lines(session, request)
    page = page_of(
        session,
        lines,
        redactor,
        options=PieceOptions(
            tools=request.tools,
            thinking=request.thinking,
            images=request.images,
            home=os.path.expanduser("~"),
        ),
        left_out=tuple(_left_out(omit)),
        whole=not branch and not any((omit.tools, omit.thinking, omit.images)),
        files=_documents(session) if unchanged else None,
    )
    return _Draft("html", branch, page.pieces, redactor, redactor.found())


def _documents(session: Session) -> dict[str, bytes]:
    """The files of a session that its agent keeps in documents, for a page that gives them back."""
    transcript = session.transcript
    if session.file is None or transcript.format.documents is None:
        return {}
    return original_files(
        session.file, transcript.format.documents, lambda: transcript.bytes_between(0, None)
    )


def page_lines(session: Session, request: ExportRequest) -> Iterable[bytes]:
    """Return the lines that go into a page, in blocks of whole lines, before redaction."""
    omit = _omissions(request)
    if request.first is not None or omit.tools or omit.thinking or omit.images:
        return reduced_lines(session, omit)
    if omit.branches:
        return [_branch(session, msgspec.structs.replace(request, portable=False))]
    return _blocks(session, numbered=True)


def _omissions(request: ExportRequest) -> Omissions:
    return Omissions(
        tools=not request.tools,
        thinking=not request.thinking,
        images=not request.images,
        branches=request.branch or request.entry is not None or request.first is not None,
        first=request.first,
        last=request.entry,
    )


def _is_part(request: ExportRequest) -> bool:
    return any(_left_out(_omissions(request)))


def _left_out(omit: Omissions) -> Iterator[str]:
    if omit.branches:
        yield "other branches"
    if omit.first is not None:
        yield "earlier entries"
    if omit.tools:
        yield "tool calls"
    if omit.thinking:
        yield "thinking"
    if omit.images:
        yield "images"


def _blocks(session: Session, *, numbered: bool = False) -> Iterator[bytes]:
    """The lines of a session file without withheld ones, in blocks of whole lines.

    If ``numbered``, withheld lines are empty instead, so that ids made of line numbers stay the same.
    """
    transcript, reading = session.transcript, session.transcript.reading
    gaps = [reading.span(position) for position in sorted(reading.withheld)]
    start = 0
    waiting: list[bytes] = []
    for offset, size in [*gaps, (-1, 0)]:
        while offset < 0 or start < offset:
            end = start + _BLOCK if offset < 0 else min(offset, start + _BLOCK)
            block = transcript.bytes_between(start, end)
            if not block:
                break
            start += len(block)
            cut = block.rfind(b"\n") + 1
            if cut:
                yield b"".join([*waiting, block[:cut]])
                waiting = []
            waiting.append(block[cut:])
        if offset >= 0:
            start = offset + size + (not numbered)
    yield b"".join(waiting)


# -- session files ----------------------------------------------------------------------------------------


def _lines(session: Session, data: bytes, redactor: Redactor) -> bytes:
    """Redact the lines of a session file. Raises NotSaved if that would change the tree."""
    clean = redactor.known_in_lines(redactor.lines(data))
    if clean != data and not redactor.off:
        require_same_tree(session, _read(session, data), _read(session, clean))
    return clean


def _read(session: Session, data: bytes) -> EntryLog:
    name = session.transcript.name
    return EntryLog(detect(data, name), lambda start, size: data[start : start + size], name)


def _whole(session: Session, *, portable: bool) -> bytes:
    """The file without withheld lines; if portable, also without two header fields."""
    data = b"".join(_blocks(session))
    if not portable:
        return data
    reading, format_ = session.transcript.reading, session.format
    if format_ == "zot":
        return _portable_zot(session)
    if format_ == "induscode":
        return data  # its header has neither field
    if format_ not in _PARENTS:
        raise NotSupported(
            f"sessions of {format_} name their working directory in several places; "
            "fork it into a native session and export that"
        )
    if reading.header is None or not reading.header_line:
        raise NotSupported(
            f"{session.id} has no header with a working directory; export it without --portable"
        )
    parent = {} if reading.header.parent_session is None else {_PARENTS[format_]: None}
    fields = {"cwd": ""} | parent
    start = reading.header_end - len(reading.header_line)
    return data[:start] + splice.set_fields(reading.header_line, fields) + data[reading.header_end :]


def _portable_zot(session: Session) -> bytes:
    """A zot session in the form that zot imports."""
    if session.format != "zot":
        raise NotSupported(
            f"only zot sessions can be exported as zotsession; {session.id} is a {session.format} session"
        )
    data = session.transcript.bytes_between(0, None)
    return export_portable(EntryLog(ZOT, lambda start, size: data[start : start + size], session.key))


def _branch(session: Session, request: ExportRequest) -> bytes:
    """A path as a session with the same id: entries re-chained, labels and title kept.

    It has the format of its agent; for agents whose sessions are only read, ours.
    """
    format_ = session.transcript.format
    if format_.is_appendable and not format_.traits.native_entries:
        return _own_branch(session, request)
    header = Header(
        version=3,
        id=session.id,
        timestamp=iso(SystemClock().now()),
        cwd="" if request.portable else session.cwd,
    )
    with session.fork(request.entry, store=MemoryStore()) as copy:
        if session.title and copy.title != session.title:
            copy.set_title(session.title)
        reading = copy.transcript.reading
        body = copy.transcript.bytes_between(reading.header_end + 1, None)
        if copy.format == "pi":
            return encode_header(header) + body
        fields = {"id": header.id, "timestamp": header.timestamp, "cwd": header.cwd, "parentSession": None}
        slot = copy.transcript.bytes_between(0, reading.header_end - len(reading.header_line))
    return slot + splice.set_fields(reading.header_line, fields) + b"\n" + body


def _own_branch(session: Session, request: ExportRequest) -> bytes:
    """A path in the format of its agent, with labels and title if the format has them."""
    if request.portable and session.header.cwd:
        raise NotSupported(
            f"a {session.format} path is exported with its working directory; "
            "fork it into a native session, or export all of it"
        )
    known, leaf = session.header, fork_position(session, request.entry, "at")
    header = Header(version=3, id=known.id, timestamp=known.timestamp, cwd=known.cwd)
    format_ = session.transcript.format
    data = format_.required_writer().fork(session.transcript, leaf, header)
    if format_.name != "piglet":
        return data
    with Session.in_memory(data=data) as copy:
        for key, label in session.labels.items():
            if key in copy:
                copy.append_label(key, label)
        if session.title:
            copy.set_title(session.title)
        return copy.transcript.bytes_between(0, None)


# -- trajectories ------------------------------------------------------------------------------------------


def _trajectories(
    session: Session,
    format_: ExportFormat,
    leaves: Sequence[str | None],
    redactor: Redactor,
    known: set[str],
) -> bytes:
    """One line of JSON per path; ``known`` has the entries of the paths that were exported before."""
    inherited = set(session.index.keys[: session.inherited_entries])
    lines = []
    for leaf in leaves:
        path = session.path(leaf)
        trajectory = trajectory_of(
            redacted_entries(session, path, redactor),
            session=session.id,
            agent="branchline" if session.format == "pi" else session.format,
            title=None if session.title is None else redactor.text(session.title),
            inherited=inherited | known,
        )
        known.update(path)
        line = json_codec.dumps(_TRAJECTORIES[format_](trajectory), surrogates="replace")
        lines.append(redactor.lines(line + b"\n"))
    return b"".join(lines)


# -- documents --------------------------------------------------------------------------------------------


def _markdown(session: Session, redactor: Redactor, entry: str | None) -> bytes:
    """A path as a Markdown document.

    Secrets are replaced in the lines first, where they are complete: a heading may show only the beginning of
    one. They are replaced in the document again, because it encodes JSON anew.
    """
    header = session.header
    model = session.context(entry).model
    facts = [f"Session {session.id}"]
    facts += [f"Up to entry {entry}"] if entry is not None else []
    facts += [f"Directory {session.cwd}"] if session.cwd else []
    facts += [f"Begun {local_time(header.timestamp)}"] if header.timestamp else []
    facts += [f"Model {model.name}"] if model is not None else []
    labels = {
        key: msgspec.structs.replace(state, text=redactor.text(state.text))
        for key, state in session.transcript.reading.labels.items()
    }
    text = markdown(
        cards(
            redacted_entries(session, session.path(entry), redactor),
            labels=labels,
            home=os.path.expanduser("~"),
        ),
        title=redactor.text(session.title or "Conversation"),
        facts=map(redactor.text, facts),
    )
    text = redactor.text(safe(text))
    return text.encode("utf-8", "replace")


def redacted_entries(session: Session, keys: Sequence[str], redactor: Redactor) -> list[Entry]:
    """Return entries with secrets replaced in their lines, where they are complete."""
    if redactor.off:
        return session.entries(keys)
    return redactor.entries(session.transcript, [session.index.position(key) for key in keys])
