"""``help`` and ``version``."""

from __future__ import annotations

import click

from branchline._version import __version__
from branchline.cli.options import command
from branchline.cli.output import Output

__all__ = ["help_command", "version_command"]


@command(
    "help",
    paged=True,
    json=False,
    plain=False,
    examples="""
    branchline help
    branchline help export
    """,
)
@click.argument("name", metavar="[COMMAND]", required=False)
@click.pass_context
def help_command(context: click.Context, out: Output, name: str | None) -> None:
    """Show the help of a command, or of the program."""
    program = context.find_root()
    text = program.get_help() if name is None else _help_of(program, name)
    for line in text.splitlines():
        out.line(line)


def _help_of(program: click.Context, name: str) -> str:
    group = program.command
    assert isinstance(group, click.Group)
    found_name, found, _ = group.resolve_command(program, [name])
    assert found is not None
    with click.Context(found, info_name=found_name, parent=program) as inner:
        return found.get_help(inner)


@command("version", plain=False, examples="branchline version")
def version_command(out: Output) -> None:
    """Show the version of branchline."""
    if out.json:
        out.result("version", {"version": __version__})
        return
    out.line(f"branchline {__version__}")
