"""What all commands share: three options about output, help with examples, and how arguments are named."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import click

__all__ = ["SETTINGS", "add_output_options", "command", "directory_option", "session_argument"]

SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class _Command(click.Command):
    """A command whose help ends with examples, printed as they were written."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        if self.epilog:
            with formatter.section("Examples"):
                for line in inspect.cleandoc(self.epilog).splitlines():
                    formatter.write(f"{'':{formatter.current_indent}}{line}".rstrip() + "\n")


def command(name: str, *, examples: str) -> Callable[[Callable[..., None]], click.Command]:
    """Make a click command of a function that takes an Output first, then its own parameters."""

    def decorate(function: Callable[..., None]) -> click.Command:
        @functools.wraps(function)
        def run(*, json: bool, plain: bool, color: str | None, **own: Any) -> None:
            from branchline.cli.output import Output

            function(Output(json=json, plain=plain, color=color), **own)  # type: ignore[arg-type]

        made = click.command(name, cls=_Command, epilog=examples, context_settings=SETTINGS)(run)
        add_output_options(made)
        return made

    return decorate


def add_output_options(target: click.Command) -> None:
    """Give a command the options that say how its result is printed."""
    target.params += [
        click.Option(["--json"], is_flag=True, help="Print the result as JSON, for programs."),
        click.Option(["--plain"], is_flag=True, help="Print as into a pipe: no colours, lines not cut."),
        click.Option(
            ["--color"],
            type=click.Choice(["auto", "always", "never"]),
            help="Colours: auto (the default) means on a terminal, unless NO_COLOR is set.",
        ),
    ]


def session_argument(*, many: bool = False) -> Callable[[Any], Any]:
    """The SESSION argument: a file, an id, the beginning of one, or @last."""
    if many:
        return click.argument("sessions", metavar="SESSION...", nargs=-1, required=True)
    return click.argument("session", metavar="SESSION")


def directory_option(function: Any) -> Any:
    """Where ids are looked up, for people whose sessions lie elsewhere."""
    return click.option(
        "--dir",
        "directory",
        metavar="DIR",
        help="Look for sessions in this directory of .jsonl files.",
    )(function)
