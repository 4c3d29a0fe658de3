"""The manual page, generated from the texts of ``--help``.

`python -m branchline.cli.man_page` prints it; `make install` and `make docs` write it to a file.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Mapping

import click

from branchline._version import __version__
from branchline.cli.options import EXIT_CODES, ProgramGroup

__all__ = ["man_page"]

_SPECIAL = str.maketrans({"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"})


def man_page(group: click.Command) -> str:
    """Return the manual page of the program in roff."""
    assert isinstance(group, ProgramGroup)
    with click.Context(group, info_name="branchline", **group.context_settings) as program:
        return "\n".join(_page(program, group)) + "\n"


def _page(program: click.Context, group: ProgramGroup) -> Iterator[str]:
    yield f'.TH BRANCHLINE 1 "" "branchline {_text(__version__)}" "User Commands"'
    yield ".nh"
    yield ".SH NAME"
    yield r"branchline \- AI\-agent conversations as branchable, append\-only trees"
    yield ".SH SYNOPSIS"
    yield r".B branchline"
    yield r"[\fIOPTIONS\fR] [\fICOMMAND\fR [\fIARGUMENTS\fR]...]"
    yield ".SH DESCRIPTION"
    yield from _paragraphs(group.help or "")
    yield ".SH OPTIONS"
    yield from _options(program)
    yield ".PP"
    yield _line("--json, --plain and --color are also options of the commands whose output they change.")
    for family, names in group.families.items():
        yield f'.SH "{_text(family.upper())} COMMANDS"'
        for name in names:
            command = group.get_command(program, name)
            assert command is not None
            yield from _command(program, command)
    yield ".SH EXAMPLES"
    yield from _example(group.epilog or "")
    yield ".SH EXIT STATUS"
    yield from _definitions(EXIT_CODES)
    yield ".SH ENVIRONMENT"
    yield from _definitions(group.environment)


def _command(parent: click.Context, command: click.Command) -> Iterator[str]:
    with click.Context(command, info_name=command.name, parent=parent) as context:
        usage = " ".join(command.collect_usage_pieces(context))
        yield f'.SS "{_text(f"{context.command_path} {usage}")}"'
        yield from _paragraphs(command.help or "")
        yield from _options(context)
        if command.epilog:
            yield ".PP"
            yield "Examples:"
            yield from _example(command.epilog)
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                inner = command.get_command(context, name)
                assert inner is not None
                yield from _command(context, inner)


def _options(context: click.Context) -> Iterator[str]:
    """The options of a command, without those that every command has."""
    shared = set() if context.parent is None else {"json", "plain", "color"}
    for parameter in context.command.params:
        record = parameter.get_help_record(context)
        if isinstance(parameter, click.Option) and parameter.name not in shared and record is not None:
            yield ".TP"
            yield rf"\fB{_text(record[0])}\fR"
            yield _line(record[1])


def _definitions(items: Mapping[str, str]) -> Iterator[str]:
    for name, about in items.items():
        yield ".TP"
        yield rf"\fB{_text(name)}\fR"
        yield _line(about)


def _paragraphs(text: str) -> Iterator[str]:
    for number, paragraph in enumerate(re.split(r"\n\s*\n", inspect.cleandoc(text))):
        if number:
            yield ".PP"
        yield _line(" ".join(paragraph.split()))


def _example(text: str) -> Iterator[str]:
    yield ".RS 4"
    yield ".nf"
    yield from (_line(line) for line in inspect.cleandoc(text).splitlines())
    yield ".fi"
    yield ".RE"


def _line(text: str) -> str:
    """Escape a line of text that looks like a roff request."""
    shown = _text(text)
    return rf"\&{shown}" if shown.startswith((".", r"\(aq")) else shown


def _text(text: str) -> str:
    return text.translate(_SPECIAL).replace('"', r"\(dq")


if __name__ == "__main__":
    from branchline.cli.app import cli

    sys.stdout.write(man_page(cli))
