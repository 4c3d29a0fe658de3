"""``export``: a session as a file for elsewhere, whole or only the path to the leaf."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from branchline.cli.files import write_new
from branchline.cli.options import command, directory_option, session_argument
from branchline.cli.output import Output
from branchline.cli.showing import conversation_cards
from branchline.cli.targets import open_named
from branchline.cli.words import size_words, time_words
from branchline.errors import NotSupported

if TYPE_CHECKING:
    from branchline.session import Session

__all__ = ["export_command"]

_ENDINGS = {"jsonl": ".jsonl", "md": ".md"}


@command(
    "export",
    examples="""
    branchline export @last --format md -o talk.md
    branchline export 01a1ddf5 --branch -o branch.jsonl
    branchline export @last | gzip > session.jsonl.gz
    """,
)
@session_argument()
@click.option(
    "--format",
    "kind",
    type=click.Choice(list(_ENDINGS)),
    help="jsonl, or Markdown of the path to the leaf (default: by the ending of FILE, else jsonl).",
)
@click.option("--branch", "branch_only", is_flag=True, help="Only the path to the leaf, with its labels.")
@click.option("--portable", is_flag=True, help="Without the working directory and the parent session.")
@click.option("-o", "--output", metavar="FILE", help="A new file, or a directory (default: - is stdout).")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@directory_option
def export_command(
    out: Output,
    session: str,
    kind: str | None,
    branch_only: bool,  # noqa: FBT001
    portable: bool,  # noqa: FBT001
    output: str | None,
    force: bool,  # noqa: FBT001
    directory: str | None,
) -> None:
    """Write a session to FILE (mode 0600) or to standard output."""
    to_file = output not in (None, "-")
    if out.json and not to_file:
        raise click.UsageError("--json tells about a file; give one with -o FILE")
    if kind is None:
        kind = "md" if output is not None and output.endswith((".md", ".markdown")) else "jsonl"
    with open_named(session, directory) as live:
        if kind == "md":
            data = _markdown(live)
        else:
            data = _branch(live, portable=portable) if branch_only else _whole(live, portable=portable)
        if not to_file:
            out.data(data)
            return
        assert output is not None
        path = os.path.abspath(output)
        if os.path.isdir(path):
            path = os.path.join(path, live.key + _ENDINGS[kind])
        try:
            write_new(path, data, force=force)
        except FileExistsError:
            raise click.ClickException(f"{path} exists already; --force replaces it") from None
        if out.json:
            fields = {"session": live.id, "format": kind, "branch": branch_only or kind == "md"}
            out.result("export", {**fields, "path": path, "size": len(data)})
        else:
            out.line(f"exported {live.id} to {path} ({size_words(len(data))})")


def _whole(session: Session, *, portable: bool) -> bytes:
    """The file as it is; portable, with two fields of the header emptied and nothing else changed."""
    data = session.transcript.bytes_between(0, None)
    if not portable:
        return data
    from branchline.entries import splice

    reading = session.transcript.reading
    if reading.header is None:
        raise NotSupported(
            f"{session.id} has no header to take the working directory from; export it as it is"
        )
    fields = {"cwd": ""} | ({} if reading.header.parent_session is None else {"parentSession": None})
    start = reading.header_end - len(reading.header_line)
    return data[:start] + splice.set_fields(reading.header_line, fields) + data[reading.header_end :]


def _branch(session: Session, *, portable: bool) -> bytes:
    """The path to the leaf as a session with the same id: entries re-chained, labels and title kept."""
    from branchline.clock import SystemClock, iso
    from branchline.entries import Header, encode_header
    from branchline.stores import MemoryStore

    if session.transcript.format.name != "pi":
        raise NotSupported(
            f"a path of {session.id} cannot be exported as JSONL: it is a file of another program"
        )
    header = Header(
        version=3,
        id=session.id,
        timestamp=iso(SystemClock().now()),
        cwd="" if portable else session.cwd,
    )
    with session.fork(store=MemoryStore()) as copy:
        if session.title and copy.title != session.title:
            copy.set_title(session.title)
        body = copy.transcript.bytes_between(copy.transcript.reading.header_end + 1, None)
    return encode_header(header) + body


def _markdown(session: Session) -> bytes:
    from branchline.views.markdown import markdown
    from branchline.views.text import safe

    header = session.header
    model = session.context().model
    facts = [f"Session {session.id}"]
    facts += [f"Directory {session.cwd}"] if session.cwd else []
    facts += [f"Begun {time_words(header.timestamp)}"] if header.timestamp else []
    facts += [f"Model {model.provider}/{model.id}"] if model is not None else []
    text = markdown(
        conversation_cards(session, session.path()), title=session.title or "Conversation", facts=facts
    )
    return safe(text).encode("utf-8", "replace")
