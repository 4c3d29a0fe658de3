"""Shared parts of commands: output options, help pages, and arguments with completion."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import click
from click.types import StringParamType

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = [
    "EXIT_CODES",
    "INCOMPLETE",
    "SETTINGS",
    "TEXT",
    "HelpPage",
    "ProgramGroup",
    "add_output_options",
    "agent_option",
    "command",
    "cwd_option",
    "directory_option",
    "group",
    "scope_options",
    "session_argument",
    "store_option",
]

SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class _Text(StringParamType):
    """A text argument, which must be UTF-8; paths may have any bytes."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        text = super().convert(value, param, ctx)
        try:
            text.encode()
        except UnicodeEncodeError:
            self.fail(f"{text!r} is not valid UTF-8", param, ctx)
        return text


TEXT = _Text()

INCOMPLETE = 3
"""The exit code of a search that found nothing and was cut short."""
EXIT_CODES: Mapping[str, str] = {
    "0": "done",
    "1": "failure: a file or session is missing, invalid or damaged, or an I/O error",
    "2": "usage error",
    "3": "a search found nothing before its time was up",
    "130": "interrupted",
    "141": "the reader of the output has closed the pipe",
}
_RELATED: Mapping[str, str] = {
    "append": "new, label, show",
    "branch": "tree, fork, new",
    "browse": "ls, tree, show, forest",
    "chat": "resume, tree, fork",
    "check": "repair, inspect",
    "completion": "config",
    "config": "completion",
    "context": "show, stats, inspect",
    "demo": "ls, tree, stats",
    "diff": "tree, show, fork",
    "export": "share, import, show",
    "forest": "ls, fork, tree",
    "fork": "branch, forest, diff",
    "import": "export, check",
    "index": "search, config",
    "inspect": "check, tree, stats",
    "label": "tree, name",
    "ls": "forest, show, stats",
    "mcp": "search, show, plugins",
    "models": "chat, config",
    "name": "ls, label",
    "new": "append, fork",
    "prune": "rm, restore",
    "repair": "check, export",
    "restore": "rm, prune",
    "resume": "chat, ls, fork",
    "rm": "restore, prune",
    "search": "show, ls, index",
    "share": "export, import",
    "show": "tree, diff, export",
    "sql": "stats, search, index",
    "stats": "ls, inspect, sql",
    "store": "ls, import, sync",
    "sync": "store, import, ls",
    "tree": "show, branch, label, diff",
}
_FIRST_STEPS = "ls, show, tree"


class HelpPage:
    """The end of every help page: examples, exit codes, and related commands."""

    name: str | None
    epilog: str | None

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.epilog:
            with formatter.section("Examples"):
                for line in inspect.cleandoc(self.epilog).splitlines():
                    formatter.write(f"{'':{formatter.current_indent}}{line}".rstrip() + "\n")
        with formatter.section("Exit codes"):
            formatter.write_dl(
                [(code, text) for code, text in EXIT_CODES.items() if code != "3" or self.name == "search"]
            )
        names = _RELATED.get(self.name or "") or _RELATED.get(_parent(ctx), _FIRST_STEPS)
        related = ", ".join(f"branchline {name}" for name in names.split(", "))
        with formatter.section("See also"):
            formatter.write_text(related)


def _parent(context: click.Context) -> str:
    return "" if context.parent is None else context.parent.command.name or ""


class ProgramGroup(HelpPage, click.Group):
    """The program: its commands by family, and its environment variables."""

    families: ClassVar[Mapping[str, list[str]]]
    environment: ClassVar[Mapping[str, str]]


class _Command(HelpPage, click.Command):
    """A command with a complete help page."""


class _Group(HelpPage, click.Group):
    """A command with subcommands that also runs without one."""


def command(
    name: str,
    *,
    examples: str,
    paged: bool = False,
    json: bool = True,
    plain: bool = True,
    below: click.Group | None = None,
) -> Callable[[Callable[..., None]], click.Command]:
    """Turn a function with an Output and its own parameters into a click command, or a subcommand.

    The output of a ``paged`` command goes through a pager on a terminal. A command that prints the same text
    with ``--json`` or ``--plain`` does not have the option.
    """

    def decorate(function: Callable[..., None]) -> click.Command:
        run = _run(function, paged=paged)
        made = click.command(name, cls=_Command, epilog=examples, context_settings=SETTINGS)(run)
        if below is not None:
            below.add_command(made)
        return _finished(made, json=json, plain=plain)

    return decorate


def group(name: str, *, examples: str) -> Callable[[Callable[..., None]], click.Group]:
    """Like :func:`command`, for a command with subcommands; without one, the function runs."""

    def decorate(function: Callable[..., None]) -> click.Group:
        run = _run(function)

        @functools.wraps(function)
        @click.pass_context
        def run_alone(context: click.Context, /, **options: Any) -> None:
            if context.invoked_subcommand is None:
                run(**options)

        made = click.group(
            name, cls=_Group, epilog=examples, context_settings=SETTINGS, invoke_without_command=True
        )(run_alone)
        _finished(made)
        return made

    return decorate


def _run(function: Callable[..., None], *, paged: bool = False) -> Callable[..., None]:
    @functools.wraps(function)
    def run(*, json: bool = False, plain: bool = False, color: str | None, **own: Any) -> None:
        from branchline.cli.output import Output
        from branchline.cli.streams import PagerClosed

        if (inner := own.pop("inner", None)) is not None:
            own["session"] = inner if own["session"] is None else f"{own['session']}#{inner}"
        said = click.get_current_context().find_root().params  # options before the command
        output = Output(
            json=json or bool(said.get("json")),
            plain=plain or bool(said.get("plain")),
            color=color or said.get("color"),  # type: ignore[arg-type]
            paged=paged,
        )
        with contextlib.closing(output), contextlib.suppress(PagerClosed):
            function(output, **own)

    return run


def _finished(made: click.Command, *, json: bool = True, plain: bool = True) -> click.Command:
    for parameter in made.params:
        if parameter.type is click.STRING and parameter.name in _COMPLETED:
            parameter.type = _Completed(_COMPLETED[parameter.name])
    add_output_options(made, json=json, plain=plain)
    return made


_COMPLETED = {
    "session": "session",
    "sessions": "session",
    "others": "session_or_entry",
    "entry": "entry",
    "at": "entry",
    "start": "entry",
    "branch": "entry",
    "onto": "entry",
    "part": "entry",
    "directory": "directory",
    "file": "file",
    "servers": "file",
    "output": "file",
    "agent": "program",
    "agents": "program",
    "target": "target",
    "program": "target",
    "key": "setting",
    "model": "model",
}
"""The kind of completion for parameters of these names."""


class _Completed(StringParamType):
    """A text with shell completion: a session, an entry, a directory …"""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        del param
        from branchline.cli.shell_completion import offers

        return offers(self.kind, ctx, incomplete)


def add_output_options(target: click.Command, *, json: bool = True, plain: bool = True) -> None:
    if json:
        target.params.append(click.Option(["--json"], is_flag=True, help="Print the result as JSON."))
    if plain:
        about = "Print plain text: no symbols, no colours, no truncated lines."
        target.params.append(click.Option(["--plain"], is_flag=True, help=about))
    target.params.append(
        click.Option(
            ["--color"],
            type=click.Choice(["auto", "always", "never"]),
            help="Use colours (default: auto, on a terminal unless NO_COLOR is set).",
        )
    )


def session_argument(*, many: bool = False, picked: bool = False) -> Callable[[Any], Any]:
    """The SESSION argument: a file, an id or id prefix, or @last; with ``picked`` it is optional."""
    if many:
        return click.argument("sessions", metavar="SESSION...", nargs=-1, required=True)
    metavar = "[SESSION]" if picked else "SESSION"
    argument = click.argument("session", metavar=metavar, required=not picked)
    option = click.option(
        "--session", "inner", metavar="ID", help="Use session ID of the database SESSION (SESSION#ID)."
    )
    return lambda function: argument(option(function))


def scope_options(function: Any) -> Any:
    """Add the options that choose sessions: ``--all``, ``--store`` and ``--agent``."""
    everywhere = click.option(
        "--all", "everywhere", is_flag=True, help="Include the sessions of all working directories."
    )
    store = store_option("Use the sessions in STORE, of any agent.")
    return everywhere(store(agent_option(function)))


def agent_option(function: Any) -> Any:
    """Add ``--agent``, which may be repeated and takes lists."""
    return click.option(
        "--agent",
        "agents",
        metavar="NAMES",
        multiple=True,
        help="Only sessions of these agents, for example pi,zot.",
    )(function)


def cwd_option(about: str) -> Callable[[Any], Any]:
    """Add ``--cwd``, the working directory of a session."""
    return click.option("--cwd", type=click.Path(exists=True, file_okay=False), help=about)


def store_option(about: str) -> Callable[[Any], Any]:
    """Add ``--store``, also called ``--dir``."""
    return click.option("--store", "--dir", "directory", metavar="STORE", help=about)


directory_option = store_option("Look up sessions in STORE: a directory, a database file or postgresql://….")
"""``--store`` of commands that take a SESSION."""
