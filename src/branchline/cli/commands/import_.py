"""``import``: a session file from elsewhere, copied into the library."""

from __future__ import annotations

import shlex

import click

from branchline.cli.options import command, cwd_option, store_option
from branchline.cli.output import Output, remark
from branchline.views.humanize import count, format_size

__all__ = ["import_command"]


@command(
    "import",
    plain=False,
    examples="""
    branchline import ~/Downloads/session.jsonl
    branchline import old.jsonl --cwd ~/work/shop --new-id
    branchline import logs.db#01jabc             a session of another agent's database
    branchline import talk.zotsession            becomes a zot session for this directory
    """,
)
@click.argument("file", metavar="FILE")
@cwd_option("Working directory for the copy (default: listed here, header unchanged).")
@click.option("--new-id", is_flag=True, help="Give the copy a new id.")
@store_option("Copy into STORE instead.")
def import_command(
    out: Output,
    file: str,
    cwd: str | None,
    new_id: bool,  # noqa: FBT001
    directory: str | None,
) -> None:
    """Copy a session file into the library. FILE is unchanged; DATABASE#ID names a session in a database.

    A portable zot file (.zotsession) becomes a new zot session, stored where zot finds it. Other sessions
    are copied unchanged. An exported page that was changed is refused.
    """
    from branchline.actions.import_ import import_file

    done = import_file(file, cwd=cwd, new_id=new_id, directory=directory)
    if not done.copied:
        remark(f"{done.path} already exists; nothing was copied")
    if out.json:
        fields = {"session": done.session, "path": done.path, "entries": done.entries, "source": done.source}
        out.result("import", fields)
    else:
        out.line(f"imported {done.session} with {count(done.entries, 'entry', 'entries')}: {done.path}")
    if done.unchecked:
        remark(f"{file} is a page of an earlier release without a digest: not checked whether it was changed")
    if done.added:
        remark(f"with {format_size(done.added)} from the files that it continues")
    if done.copied and done.findings:
        found = count(done.findings, "finding")
        remark(f"{found} in it; `branchline check {shlex.quote(done.path)}` lists them")
