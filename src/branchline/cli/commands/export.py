"""``export``: a session as a file for elsewhere, whole or only the path to the leaf.

Credentials do not leave unless somebody asks for it: keys, tokens and passwords are replaced, the result is
looked through again before a byte of it is written, and it must still be the same tree.
"""

from __future__ import annotations

import errno
import os
import sys
from collections import Counter
from typing import TYPE_CHECKING

import click
import msgspec

from branchline.cli.files import write_new
from branchline.cli.options import command, directory_option, session_argument
from branchline.cli.output import Output, remark
from branchline.cli.resolver import resolve_session
from branchline.cli.words import count, format_size, time_words
from branchline.errors import NotSupported, SecretsLeft
from branchline.formats.suffixes import JSONL

if TYPE_CHECKING:
    from branchline.entries import Entry
    from branchline.redaction import Hit
    from branchline.session import Session

__all__ = ["export_command", "export_conversation"]

_PARENTS = {"pi": "parentSession", "oh-my-pi": "parentSession", "operator": "parent_session"}
"""What the field of a header is called that names the parent, where header and nothing else does."""
_ENDINGS = {"jsonl": JSONL, "md": ".md", "zotsession": ".zotsession"}


@command(
    "export",
    examples="""
    branchline export @last --format md -o talk.md
    branchline export 01a1ddf5 --branch -o branch.jsonl
    branchline export @last | gzip > session.jsonl.gz
    branchline export ~/.local/state/zot/sessions/x/y.jsonl -o y.zotsession
    """,
)
@session_argument()
@click.option(
    "--format",
    "kind",
    type=click.Choice(list(_ENDINGS)),
    help="jsonl, Markdown of the path to the leaf, or zot's portable form (default: by the ending of FILE).",
)
@click.option("--branch", "branch_only", is_flag=True, help="Only the path to the leaf, with its labels.")
@click.option("--no-redact", is_flag=True, help="Leave keys, tokens and passwords in.")
@click.option("--portable", is_flag=True, help="Without the working directory and the parent session.")
@click.option("-o", "--output", metavar="FILE", help="A new file, or a directory (default: - is stdout).")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option("-v", "--verbose", is_flag=True, help="Say also that no secrets were found.")
@directory_option
def export_command(
    out: Output,
    session: str,
    kind: str | None,
    branch_only: bool,  # noqa: FBT001
    no_redact: bool,  # noqa: FBT001
    portable: bool,  # noqa: FBT001
    output: str | None,
    force: bool,  # noqa: FBT001
    verbose: bool,  # noqa: FBT001
    directory: str | None,
) -> None:
    """Write a session to FILE (mode 0600) or to standard output.

    Keys, tokens and passwords are replaced by [redacted:KIND], and stderr says how many.
    """
    to_file = output not in (None, "-")
    if out.json and not to_file:
        raise click.UsageError("--json tells about a file; give one with -o FILE")
    kind = kind or _kind_of(output)
    with resolve_session(session, directory) as live:
        redactor = _Redactor(off=no_redact)
        data = _exported(live, kind, redactor, branch_only=branch_only, portable=portable)
        if not to_file:
            if not no_redact:
                _require_clean(live, kind, data)
            out.data(data)
            _tell(redactor, verbose=verbose)
            return
        assert output is not None
        try:
            path = _written(live, kind, data, output, force=force, redacted=not no_redact)
        except FileExistsError as problem:
            raise click.ClickException(f"{problem.filename} exists already; --force replaces it") from None
        if out.json:
            fields = {"session": live.id, "format": kind, "branch": branch_only or kind == "md"}
            redacted = None if no_redact else [{"kind": kind, "count": n} for kind, n in redactor.counts()]
            out.result("export", {**fields, "path": path, "size": len(data), "redacted": redacted})
        else:
            out.line(f"exported {live.id} to {path} ({format_size(len(data))})")
        _tell(redactor, verbose=verbose)


def _kind_of(output: str | None) -> str:
    """What a file of this name is meant to be."""
    name = output or ""
    if name.endswith((".md", ".markdown")):
        return "md"
    return "zotsession" if name.endswith(_ENDINGS["zotsession"]) else "jsonl"


def export_conversation(session: Session, output: str) -> str:
    """Write the path as Markdown, or the session in the form that the ending of FILE says, and tell.

    Without a name it is a new file in this directory. FileExistsError when there is one.
    """
    kind = _kind_of(output) if output else "md"
    redactor = _Redactor(off=False)
    data = _exported(session, kind, redactor)
    path = _written(session, kind, data, os.path.expanduser(output or "."), force=False, redacted=True)
    held = sum(number for _, number in redactor.counts())
    return f"exported to {path}" + (f"; {count(held, 'secret')} left out" if held else "")


def _exported(
    session: Session, kind: str, redactor: _Redactor, *, branch_only: bool = False, portable: bool = False
) -> bytes:
    if kind == "md":
        return _markdown(session, redactor)
    if kind == "zotsession":
        return _lines(session, _portable_zot(session), redactor)
    whole = _branch(session, portable=portable) if branch_only else _whole(session, portable=portable)
    return _lines(session, whole, redactor)


def _written(session: Session, kind: str, data: bytes, output: str, *, force: bool, redacted: bool) -> str:
    """The path of the file that was written: the one that is named, or a new one in a directory.

    The finished file is searched for secrets once more before it gets its name, and refused if it has one.
    """
    path = os.path.abspath(output)
    if os.path.isdir(path):
        ending = session.transcript.format.suffix if kind == "jsonl" else _ENDINGS[kind]
        path = os.path.join(path, session.key + ending)

    def check(finished: str) -> None:
        with open(finished, "rb") as file:
            _require_clean(session, kind, file.read())

    try:
        write_new(path, data, check=check if redacted else None, force=force)
    except FileExistsError:
        raise FileExistsError(errno.EEXIST, "exists already", path) from None
    return path


# -- what is held back ------------------------------------------------------------------------------------


class _Redactor:
    """Replaces secrets in texts and lines and counts them by kind; off, it changes nothing."""

    def __init__(self, *, off: bool) -> None:
        self.off = off
        self._held: Counter[str] = Counter()

    def text(self, text: str) -> str:
        from branchline.redaction import redact

        if self.off:
            return text
        clean, hits = redact(text)
        self._count(hits)
        return clean

    def lines(self, data: bytes) -> bytes:
        from branchline.redaction import redact_bytes

        if self.off:
            return data
        clean, hits = redact_bytes(data)
        self._count(hits)
        return clean

    def counts(self) -> list[tuple[str, int]]:
        return sorted(self._held.items())

    def _count(self, hits: list[Hit]) -> None:
        self._held.update(hit.kind for hit in hits)


def _tell(redactor: _Redactor, *, verbose: bool) -> None:
    """Say what was held back; that it was nothing, only to a person who looks on or asks."""
    if redactor.off:
        return
    if counts := redactor.counts():
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in counts)
        number = sum(number for _, number in counts)
        remark(f"redacted {count(number, 'secret')}: {kinds}; --no-redact leaves them in")
    elif verbose or sys.stderr.isatty():
        remark("no secrets found")


def _require_clean(session: Session, kind: str, data: bytes) -> None:
    from branchline.redaction import require_clean

    try:
        require_clean(data, lines=kind != "md")
    except SecretsLeft as problem:
        raise SecretsLeft(
            f"cannot export {session.id}: {problem}; nothing was written, and --no-redact exports it as it is"
        ) from None


# -- what is exported -------------------------------------------------------------------------------------


def _lines(session: Session, data: bytes, redactor: _Redactor) -> bytes:
    """The lines of a session file as they may leave."""
    clean = redactor.lines(data)
    if redactor.off:
        return clean
    if clean != data and _shape(session, clean) != _shape(session, data):
        raise click.ClickException(
            f"cannot export {session.id}: without its secrets it would be another tree; "
            "nothing was written, and --no-redact exports it as it is"
        )
    return clean


def _shape(session: Session, data: bytes) -> tuple[object, ...]:
    """What must not change when lines are redacted: the entries, what they hang from, the leaf."""
    from branchline.formats import EntryLog, detect

    name = session.transcript.name
    transcript = EntryLog(detect(data, name), lambda start, size: data[start : start + size], name)
    return transcript.tree.keys, transcript.tree.parents, transcript.leaf


def _whole(session: Session, *, portable: bool) -> bytes:
    """The file as it is; portable, with two fields of the header emptied and nothing else changed."""
    data = session.transcript.bytes_between(0, None)
    if not portable:
        return data
    from branchline.entries import splice

    reading, format_ = session.transcript.reading, session.format
    if format_ == "zot":
        return _portable_zot(session)
    if format_ == "induscode":
        return data  # says neither
    if format_ not in _PARENTS:
        raise NotSupported(
            f"sessions of {format_} name their working directory in more than one place; "
            "fork it into one of ours and export that"
        )
    if reading.header is None or not reading.header_line:
        raise NotSupported(
            f"{session.id} has no header to take the working directory from; export it as it is"
        )
    parent = {} if reading.header.parent_session is None else {_PARENTS[format_]: None}
    fields = {"cwd": ""} | parent
    start = reading.header_end - len(reading.header_line)
    return data[:start] + splice.set_fields(reading.header_line, fields) + data[reading.header_end :]


def _portable_zot(session: Session) -> bytes:
    """A session of zot in the form that zot imports."""
    from branchline.formats.zot import export_portable

    if session.format != "zot":
        raise NotSupported(
            f"only a session of zot has its portable form; {session.id} is of {session.format}"
        )
    return export_portable(session.transcript)


def _branch(session: Session, *, portable: bool) -> bytes:
    """The path to the leaf as a session with the same id: entries re-chained, labels and title kept.

    It has the form of its program; of a program whose sessions are only read here, ours.
    """
    from branchline.clock import SystemClock, iso
    from branchline.entries import Header, encode_header, splice
    from branchline.stores import MemoryStore

    format_ = session.transcript.format
    if format_.writable and format_.name not in ("pi", "oh-my-pi"):
        return _own_branch(session, portable=portable)
    header = Header(
        version=3,
        id=session.id,
        timestamp=iso(SystemClock().now()),
        cwd="" if portable else session.cwd,
    )
    with session.fork(store=MemoryStore()) as copy:
        if session.title and copy.title != session.title:
            copy.set_title(session.title)
        reading = copy.transcript.reading
        body = copy.transcript.bytes_between(reading.header_end + 1, None)
        if copy.format == "pi":
            return encode_header(header) + body
        fields = {"id": header.id, "timestamp": header.timestamp, "cwd": header.cwd, "parentSession": None}
        slot = copy.transcript.bytes_between(0, reading.header_end - len(reading.header_line))
    return slot + splice.set_fields(reading.header_line, fields) + b"\n" + body


def _own_branch(session: Session, *, portable: bool) -> bytes:
    """The path as its program would hold it; what that leaves out and can hold is said again."""
    from branchline.entries import Header
    from branchline.session import Session

    if portable and session.header.cwd:
        raise NotSupported(
            f"a path of a session of {session.format} is exported with its working directory; "
            "fork it into one of ours, or export all of it"
        )
    known, leaf = session.header, -1 if session.leaf is None else session.index.position(session.leaf)
    header = Header(version=3, id=known.id, timestamp=known.timestamp, cwd=known.cwd)
    format_ = session.transcript.format
    data = format_.fork(session.transcript, leaf, header)
    if format_.name != "piglet":
        return data
    with Session.in_memory(data=data) as copy:
        for key, label in session.labels.items():
            if key in copy:
                copy.append_label(key, label)
        if session.title:
            copy.set_title(session.title)
        return copy.transcript.bytes_between(0, None)


def _markdown(session: Session, redactor: _Redactor) -> bytes:
    """The path as a document.

    Credentials are taken out of the lines, where they are whole: a heading may show the beginning of one
    only. They are taken out of the document once more, because JSON is written anew in it.
    """
    from branchline.views.cards import cards
    from branchline.views.markdown import markdown
    from branchline.views.text import safe

    header = session.header
    model = session.context().model
    facts = [f"Session {session.id}"]
    facts += [f"Directory {session.cwd}"] if session.cwd else []
    facts += [f"Begun {time_words(header.timestamp)}"] if header.timestamp else []
    facts += [f"Model {model.name}"] if model is not None else []
    labels = {
        key: msgspec.structs.replace(state, text=redactor.text(state.text))
        for key, state in session.transcript.reading.labels.items()
    }
    text = markdown(
        cards(_entries(session, redactor), labels=labels, home=os.path.expanduser("~")),
        title=redactor.text(session.title or "Conversation"),
        facts=map(redactor.text, facts),
    )
    return redactor.text(safe(text)).encode("utf-8", "replace")


def _entries(session: Session, redactor: _Redactor) -> list[Entry]:
    """The records of the path."""
    path = session.path()
    if redactor.off:
        return session.entries(path)
    transcript = session.transcript
    entries = []
    for entry, entry_id in zip(session.entries(path), path, strict=True):
        position = session.index.position(entry_id)
        line = transcript.raw(position)
        clean = redactor.lines(line)
        # Not all that a record holds need stand in its line, so what is clean stays as it was read.
        entries.append(
            entry if clean == line else transcript.format.decode(clean, transcript.reading, position)
        )
    return entries
