"""``tag`` and ``note``: annotate sessions without changing them."""

from __future__ import annotations

import click

from branchline.cli.failures import usage_errors
from branchline.cli.options import TEXT, command, directory_option, session_argument
from branchline.cli.output import Output, paint, remark
from branchline.cli.resolver import resolve_row
from branchline.views.humanize import count

__all__ = ["note_command", "tag_command"]


@command(
    "tag",
    examples="""
    branchline tag @last auth spike
    branchline tag 3f2a --remove spike
    branchline tag 3f2a                         prints its tags
    branchline search tag:auth login
    """,
)
@click.argument("session", metavar="[SESSION]", required=False)
@click.argument("names", metavar="[NAME...]", nargs=-1, type=TEXT)
@click.option("--remove", is_flag=True, help="Remove these tags.")
@click.option("--list", "list_all", is_flag=True, help="List all tags and how many sessions have each.")
@directory_option
def tag_command(
    out: Output,
    session: str | None,
    names: tuple[str, ...],
    remove: bool,  # noqa: FBT001
    list_all: bool,  # noqa: FBT001
    directory: str | None,
) -> None:
    """Add tags to a session of any agent, or print them.

    Tags are kept in the data directory of branchline; nothing is written into the session. `tag:NAME` finds
    them in a search, in the browser and with `ls --tag NAME`.
    """
    from branchline.library.annotations import Annotations

    known = Annotations()
    if known.problem is not None:
        remark(known.problem)
    if list_all:
        if session is not None:
            raise click.UsageError("--list lists all tags; it takes no session")
        if out.json:
            counts = known.tags()
            out.result("tag", {"session": None, "path": None, "tags": list(counts), "counts": counts})
            return
        for tag, sessions in known.tags().items():
            out.row(paint("label", tag), "  ", count(sessions, "session"))
        return
    if session is None:
        raise click.UsageError("which session? Give a file, an id or id prefix, or @last, or use --list")
    if remove and not names:
        raise click.UsageError("--remove needs the names of tags")
    row = resolve_row(session, directory)
    found = known.of(row)
    if names:
        with usage_errors():
            found = known.untag(row, names) if remove else known.tag(row, names)
    if out.json:
        out.result("tag", {"session": row.id, "path": row.path, "tags": list(found.tags), "counts": None})
    elif found.tags:
        out.line(" ".join(found.tags))
    else:
        remark(f"{row.id} has no tags")


@command(
    "note",
    examples="""
    branchline note @last "the version that passed review"
    branchline note @last --clear
    branchline note @last                       prints the note
    """,
)
@session_argument()
@click.argument("text", required=False, type=TEXT)
@click.option("--clear", is_flag=True, help="Remove the note.")
@directory_option
def note_command(
    out: Output,
    session: str,
    text: str | None,
    clear: bool,  # noqa: FBT001
    directory: str | None,
) -> None:
    """Write a note about a session of any agent, or print it. Nothing is written into the session."""
    from branchline.library.annotations import Annotations

    if clear and text is not None:
        raise click.UsageError("either TEXT or --clear, not both")
    known = Annotations()
    if known.problem is not None:
        remark(known.problem)
    row = resolve_row(session, directory)
    found = known.of(row)
    if clear or text is not None:
        with usage_errors():
            found = known.set_note(row, text or "")
    if out.json:
        out.result("note", {"session": row.id, "path": row.path, "note": found.note or None})
    elif found.note:
        for line in found.note.split("\n"):
            out.line(line)
    else:
        remark(f"{row.id} has no note")
