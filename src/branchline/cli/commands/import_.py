"""``import``: a session file from elsewhere, copied into the library."""

from __future__ import annotations

import shlex

import click

from branchline.cli.options import command
from branchline.cli.output import Output, remark
from branchline.cli.words import count

__all__ = ["import_command"]


@command(
    "import",
    examples="""
    branchline import ~/Downloads/session.jsonl
    branchline import old.jsonl --cwd ~/work/shop --new-id
    branchline import talk.zotsession            becomes a zot session for this directory
    """,
)
@click.argument("file", metavar="FILE")
@click.option(
    "--cwd",
    type=click.Path(exists=True, file_okay=False),
    help="Working directory for the copy (default: listed here, header unchanged).",
)
@click.option("--new-id", is_flag=True, help="Give the copy a new id.")
@click.option("--store", "--dir", "directory", metavar="STORE", help="Copy into STORE instead.")
def import_command(
    out: Output,
    file: str,
    cwd: str | None,
    new_id: bool,  # noqa: FBT001
    directory: str | None,
) -> None:
    """Copy a session file into the library. FILE is unchanged.

    A portable zot file (.zotsession) becomes a new zot session, stored where zot finds it. Other sessions
    are copied unchanged.
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
    if done.copied and done.findings:
        found = count(done.findings, "finding")
        remark(f"{found} in it; `branchline check {shlex.quote(done.path)}` tells them")
