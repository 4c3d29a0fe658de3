"""``help``, ``man`` and ``version``."""

from __future__ import annotations

import click

from branchline._version import __version__
from branchline.cli.options import command
from branchline.cli.output import Output
from branchline.programs import find_program, safe_environment

__all__ = ["help_command", "man_command", "version_command"]


@command(
    "help",
    paged=True,
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
    if out.json:
        out.result("help", {"command": name, "text": text})
        return
    for line in text.splitlines():
        out.line(line)


def _help_of(program: click.Context, name: str) -> str:
    group = program.command
    assert isinstance(group, click.Group)
    found_name, found, _ = group.resolve_command(program, [name])
    assert found is not None
    with click.Context(found, info_name=found_name, parent=program) as inner:
        return found.get_help(inner)


@command(
    "man",
    examples="""
    branchline man
    branchline man > ~/.local/share/man/man1/branchline.1
    """,
)
@click.pass_context
def man_command(context: click.Context, out: Output) -> None:
    """Show the manual page of all commands; print roff if stdout is not a terminal."""
    from branchline.cli.man_page import man_page

    page = man_page(context.find_root())
    if out.json:
        out.result("man", {"page": page})
    elif not (out.interactive and _shown_by_man(page)):
        out.data(page.encode())


def _shown_by_man(page: str) -> bool:
    """Show a page with the `man` of this system; return whether that worked."""
    import subprocess

    program = find_program("man")
    if program is None:
        return False
    command = [program, "-l", "-"]
    done = subprocess.run(command, input=page, text=True, env=safe_environment(), check=False)  # noqa: S603
    return done.returncode == 0


@command("version", examples="branchline version")
def version_command(out: Output) -> None:
    """Show the version of branchline."""
    if out.json:
        out.result("version", {"version": __version__})
        return
    out.line(f"branchline {__version__}")
