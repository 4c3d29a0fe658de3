"""``formats``: the supported agents, and a template for another format."""

from __future__ import annotations

import click

from branchline.cli.failures import usage_errors
from branchline.cli.options import command, group
from branchline.cli.output import Output, paint, remark
from branchline.views.humanize import count

__all__ = ["formats_command"]

_COLUMNS = ("name", "read", "written", "continued", "searched", "followed", "cost")


@group(
    "formats",
    examples="""
    branchline formats
    branchline formats --json
    branchline formats new tiny             a package that reads the sessions of tiny, with tests
    """,
)
def formats_command(out: Output) -> None:
    """List the agents whose sessions branchline knows, and what it can do with them."""
    import msgspec

    from branchline.actions.format_support import supported_formats

    rows = [msgspec.to_builtins(one) for one in supported_formats()]
    if out.json:
        out.result("formats", {"formats": rows})
        return
    table = [dict(zip(_COLUMNS, _COLUMNS, strict=True)), *rows]
    widths = {name: max(len(row[name] or "-") for row in table) for name in _COLUMNS}
    for number, row in enumerate(table):
        words = [f"{row[name] or '-':<{widths[name]}}" for name in _COLUMNS]
        out.row(paint("title" if number else "dim", words[0]), "  " + "  ".join(words[1:]).rstrip())


@command(
    "new", below=formats_command, examples="branchline formats new tiny\nbranchline formats new my-agent src"
)
@click.argument("name")
@click.argument("directory", default=".", type=click.Path(exists=True, file_okay=False))
def new_command(out: Output, name: str, directory: str) -> None:
    """Write a package for the format of the agent NAME into a new directory in DIRECTORY."""
    from branchline.actions.format_template import new_format

    with usage_errors():
        made = new_format(name, directory)
    if out.json:
        out.result("formats", {"directory": made.directory, "files": list(made.files)})
        return
    out.line(made.directory)
    remark(f"{count(len(made.files), 'file')} written; README.md describes the next steps")
