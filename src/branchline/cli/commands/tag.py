"""``tag``: tags and a note for a session, without changing it."""

from __future__ import annotations

import click

from branchline.cli.failures import usage_errors
from branchline.cli.options import TEXT, command, directory_option
from branchline.cli.output import Output, paint, remark
from branchline.cli.resolver import resolve_row
from branchline.views.humanize import count

__all__ = ["tag_command"]


@command(
    "tag",
    examples="""
    branchline tag @last auth spike
    branchline tag 3f2a "" auth                 these tags in place of the others
    branchline tag @last --note "the version that passed review"
    branchline tag 3f2a                         prints its tags and the note
    branchline search tag:auth login
    """,
)
@click.argument("session", metavar="[SESSION]", required=False)
@click.argument("names", metavar="[NAME...]", nargs=-1, type=TEXT)
@click.option("--note", metavar="TEXT", type=TEXT, help="Write a note about the session; '' removes it.")
@click.option("--list", "list_all", is_flag=True, help="List all tags and how many sessions have each.")
@directory_option
def tag_command(
    out: Output,
    session: str | None,
    names: tuple[str, ...],
    note: str | None,
    list_all: bool,  # noqa: FBT001
    directory: str | None,
) -> None:
    """Add tags or a note to a session of any agent, or print them.

    An empty NAME ('') removes the tags that the session has. Tags and notes are kept in the data directory of
    branchline; nothing is written into the session. `tag:NAME` finds tags in a search, in the browser and
    with `ls --tag NAME`.
    """
    from branchline.library.annotations import Annotations

    known = Annotations()
    if known.problem is not None:
        remark(known.problem)
    if list_all:
        if session is not None or note is not None:
            raise click.UsageError("--list lists all tags; it takes no session and no note")
        if out.json:
            counts = known.tags()
            out.result(
                "tag", {"session": None, "path": None, "tags": list(counts), "counts": counts, "note": None}
            )
            return
        for tag, sessions in known.tags().items():
            out.row(paint("label", tag), "  ", count(sessions, "session"))
        return
    if session is None:
        raise click.UsageError("which session? Give a file, an id or id prefix, or @last, or use --list")
    row = resolve_row(session, directory)
    found = known.of(row)
    with usage_errors():
        if names:
            added = [name for name in names if name]
            found = known.tag(row, added, replace=len(added) < len(names))
        if note is not None:
            found = known.set_note(row, note)
    if out.json:
        fields = {"session": row.id, "path": row.path, "tags": list(found.tags), "counts": None}
        out.result("tag", {**fields, "note": found.note or None})
        return
    if found.tags:
        out.line(" ".join(found.tags))
    if found.note:
        for line in found.note.split("\n"):
            out.line(line)
    if not found:
        remark(f"{row.id} has neither tags nor a note")
