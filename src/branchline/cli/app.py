"""The group of all commands, with the module of each, and the handling of failures.

A command's module is imported when the command runs. Every failure ends here, with one sentence on stderr and
an exit code, never a traceback.
"""

from __future__ import annotations

import errno
import gc
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NoReturn

import click

from branchline._version import __version__
from branchline.cli.options import SETTINGS, ProgramGroup, add_output_options
from branchline.cli.streams import open_streams, stop_writing

__all__ = ["cli"]

_GARBAGE = 50_000
"""Objects that a command makes before garbage is looked for the first time; most make fewer."""
OK, FAILURE, USAGE_ERROR, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 130, 141

_FAMILIES: dict[str, dict[str, tuple[str, str]]] = {
    "Chat": {
        "chat": ("chat", "Chat with a model in a session that branches."),
        "resume": ("resume", "Continue a session in the agent that owns it."),
        "models": ("models", "List the models you can use, and what the others need."),
    },
    "Browse": {
        "browse": ("browse", "Open the full-screen browser."),
        "web": ("web", "Show sessions in a web browser."),
        "search": ("search", "Find words, files and patterns in all sessions."),
        "ls": ("ls", "List the sessions of this directory, or all sessions."),
        "show": ("show", "Show a conversation from its start to the leaf."),
        "tree": ("tree", "Draw all branches of a session."),
        "context": ("context", "Print the model's context."),
        "inspect": ("inspect", "Show the structure of a session."),
        "forest": ("ls", "Show sessions and their forks as a tree."),
        "diff": ("diff", "Compare two branches or two sessions."),
        "stats": ("stats", "Add up messages, tokens and cost."),
        "sql": ("sql", "Query all sessions in SQL."),
    },
    "Edit": {
        "new": ("new", "Start a new session."),
        "append": ("new", "Append a message."),
        "branch": ("branch", "Go back to an entry; the next message continues there."),
        "fork": ("branch", "Copy a path into a new, linked session."),
        "graft": ("operations", "Copy a turn or a range onto another branch or session."),
        "squash": ("operations", "Put a summary in the place of a range, on a new branch."),
        "undo": ("operations", "Take back the last operation."),
        "redo": ("operations", "Do the last undone operation again."),
        "log": ("operations", "Show the operations on a session."),
        "label": ("label", "Label an entry."),
        "name": ("label", "Set the title of a session."),
        "tag": ("tag", "Tag a session of any agent, or write a note about it."),
    },
    "Maintain": {
        "archive": ("archive", "Keep copies of sessions that their agent will delete."),
        "rm": ("trash", "Move sessions to the trash."),
        "restore": ("trash", "Restore a session from the trash."),
        "prune": ("trash", "Move empty sessions to the trash."),
        "check": ("check", "Check sessions for damage."),
        "repair": ("repair", "Write a repaired copy of a damaged session."),
        "export": ("export", "Write a session as JSONL, Markdown or a page."),
        "share": ("share", "Write a session as one page, after a review."),
        "import": ("import_", "Copy a session file into the library."),
        "convert": ("convert", "Convert a session for another agent."),
    },
    "Configure": {
        "demo": ("demo", "Create a demo library."),
        "config": ("config", "Show or change the settings."),
        "completion": ("config", "Print a shell completion script."),
        "index": ("index", "Update the search index, or show its status."),
        "help": ("help", "Show the help of a command."),
        "version": ("help", "Show the version."),
        "formats": ("formats", "List the agents whose sessions are known; start a format."),
        "plugins": ("plugins", "List installed plugins and their problems."),
        "sync": ("sync", "Bring two stores to the same sessions."),
        "store": ("store", "Prepare a database for sessions, or show what a store holds."),
        "mcp": ("mcp", "Serve past sessions to other agents (MCP)."),
    },
}
_COMMANDS = {name: place for family in _FAMILIES.values() for name, place in family.items()}
_ALIASES = {
    "list": "ls",
    "find": "search",
    "delete": "rm",
    "remove": "rm",
    "rename": "name",
    "title": "name",
    "undelete": "restore",
    "compare": "diff",
}
"""Names from other programs for commands with another name here."""


_ENVIRONMENT = {
    "BRANCHLINE_HOME": "directory of sessions and settings",
    "BRANCHLINE_CONFIG": "settings file",
    "BRANCHLINE_CACHE=0": "disables the cache for large sessions",
    "BRANCHLINE_THEME, …": "overrides one setting (`branchline config` lists them)",
    "NO_COLOR": "disables colours",
}


class _PipeClosed(Exception):
    """The reader of the output closed the pipe."""


class _Commands(ProgramGroup):
    """Commands that are imported on demand."""

    families: ClassVar[Mapping[str, list[str]]] = {name: list(some) for name, some in _FAMILIES.items()}
    environment: ClassVar[Mapping[str, str]] = _ENVIRONMENT

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        with formatter.section("Environment"):
            formatter.write_dl(list(self.environment.items()))

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        _import_msgspec()
        module = importlib.import_module(f"branchline.cli.commands.{_COMMANDS[cmd_name][0]}")
        found = getattr(module, f"{cmd_name}_command")
        assert isinstance(found, click.Command)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in _ALIASES:
            name = _ALIASES[name]
            args = [name, *args[1:]]
        if name not in _COMMANDS and not name.startswith("-"):
            import difflib

            close = difflib.get_close_matches(name, (*_COMMANDS, *_ALIASES), n=1)
            hint = f"; did you mean {close[0]!r}?" if close else "; `branchline --help` lists all"
            ctx.fail(f"unknown command {name!r}{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        for family, commands in _FAMILIES.items():
            with formatter.section(family):
                formatter.write_dl([(name, about) for name, (_, about) in commands.items()], col_spacing=3)

    def invoke(self, ctx: click.Context) -> Any:
        gc.freeze()
        gc.set_threshold(_GARBAGE)
        gc.enable()
        _require_file_locks()
        try:
            made = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            raise _PipeClosed from None
        except EOFError as problem:  # click takes it for Ctrl-D at a prompt, and would print nothing
            raise RuntimeError(f"unexpected end of data: {problem}") from problem
        return made

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: FBT001, FBT002  as click has it
        windows_expand_args: bool = True,  # noqa: FBT001, FBT002
        **extra: Any,
    ) -> Any:
        """Run a command, and exit with its code."""
        del standalone_mode, windows_expand_args
        open_streams()
        try:
            code = super().main(args, prog_name or "branchline", complete_var, standalone_mode=False, **extra)
        except Exception as problem:  # noqa: BLE001  every failure is reported here
            _exit(_explained(problem))
        except KeyboardInterrupt:
            _exit(INTERRUPTED)
        _exit(code if isinstance(code, int) else OK)


def _require_file_locks() -> None:
    try:
        import fcntl  # noqa: F401  much faster than what says why it is needed
    except ImportError:
        from branchline.log.system import require_file_locks

        require_file_locks("run the command line")


def _import_msgspec() -> None:
    """Import msgspec without typing_extensions, which takes 5 of the 80 ms in which a command starts.

    msgspec imports three names from it where it is installed, and otherwise the same ones from typing.
    """
    name = "typing_extensions"
    if name in sys.modules or "msgspec" in sys.modules:
        return
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        importlib.import_module("msgspec")
    finally:
        del sys.modules[name]


def _exit(code: int) -> NoReturn:
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        # Already reported, or the pipe is closed; keeps the interpreter from reporting it again at exit.
        stop_writing(sys.stdout)
    sys.exit(code)


def _explained(problem: Exception) -> int:
    """Print a failure as one sentence, and return its exit code."""
    from branchline.cli.output import remark
    from branchline.errors import BranchlineError, InvalidArgument, InvalidId

    match problem:
        case _PipeClosed() | BrokenPipeError():
            stop_writing(sys.stdout)
            return PIPE_CLOSED
        case click.Abort():
            return INTERRUPTED
        case click.UsageError():
            context = problem.ctx
            where = "branchline" if context is None else context.command_path
            remark(f"{where}: {problem.format_message().rstrip('.')}")
            remark(f"Try `{where} --help`.")
            return USAGE_ERROR
        case click.ClickException():
            remark(f"branchline: {problem.format_message()}")
            return problem.exit_code
        case InvalidId() | InvalidArgument():
            remark(f"branchline: {problem}")
            return USAGE_ERROR
        case BranchlineError():
            remark(f"branchline: {problem}")
        case OSError():
            remark(f"branchline: {_system_words(problem)}")
        case RecursionError():
            remark("branchline: this session has values nested too deeply to show")
        case MemoryError():
            remark("branchline: not enough memory")
        case _:
            remark(
                f"branchline: internal error in branchline {__version__} (no data was lost): "
                f"{type(problem).__name__}: {problem}"
            )
            if os.environ.get("BRANCHLINE_DEBUG"):
                raise problem
            remark("Set BRANCHLINE_DEBUG=1 to see where it happened, and please report it.")
    return FAILURE


def _system_words(problem: OSError) -> str:
    """Describe an error of the system, with its file."""
    if problem.strerror is None:
        return str(problem)
    words = "no such file" if problem.errno == errno.ENOENT else problem.strerror.lower()
    if problem.filename is None:
        # Only the current directory can be missing without a name.
        return "the current directory no longer exists" if problem.errno == errno.ENOENT else words
    return f"cannot use {os.fsdecode(problem.filename)}: {words}"


@click.group(
    "branchline",
    cls=_Commands,
    invoke_without_command=True,
    context_settings=SETTINGS,
    help="""Keep AI-agent conversations as trees: list, read, branch, fork, label, check, export.

    A SESSION is a file, an id or id prefix, or @last. An ENTRY is an id or id prefix,
    a label, the name of a branch, or @leaf; ~2 after it is two entries above (@leaf~2).""",
    epilog="""
    branchline                         browse the sessions of this directory
    branchline tree @last              all branches of the session used last
    branchline --demo ls               list the demo sessions that come with branchline
    branchline show --help             everything about a command
    """,
)
@click.option("--demo", is_flag=True, help="Work on the demo library instead of your own sessions.")
@click.version_option(__version__, "-V", "--version", message="branchline %(version)s")
@click.pass_context
def cli(context: click.Context, demo: bool, json: bool, plain: bool, color: str | None) -> None:  # noqa: FBT001
    """Without a command, open the browser; without a terminal, list the sessions."""
    if demo:
        from branchline.cli.commands.demo import enter_demo

        enter_demo()
    if context.invoked_subcommand is None:
        from branchline.cli.commands.browse import can_browse, open_home
        from branchline.cli.output import Output

        out = Output(json=json, plain=plain, color=color)  # type: ignore[arg-type]
        if can_browse(out):
            open_home()
        from branchline.cli.welcome import show_home

        show_home(out)


add_output_options(cli)
