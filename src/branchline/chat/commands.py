"""The chat commands as one table, from which help, completion and documentation are made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal

import msgspec

from branchline.chat import (
    attach_command,
    attempts,
    costs,
    find_command,
    model_commands,
    operation_commands,
    permissions,
    session_commands,
    tree_commands,
)
from branchline.views.spans import Line, Span, make_line
from branchline.views.wrap import wrap_line

if TYPE_CHECKING:
    from branchline.chat.chat import Chat

__all__ = ["COMMANDS", "Command", "Completes"]

Completes = Literal[
    "entry", "turn", "branch", "session", "operation", "model", "thinking", "tool", "command", "file"
]
"""The kind of completions for the arguments of a command."""


class Command(msgspec.Struct, frozen=True):
    """A command: its name, the function that runs it, and its arguments. Its help is the docstring."""

    name: str
    run: Callable[[Chat, str], Awaitable[None]]
    arguments: str = ""
    completes: Completes | None = None
    aliases: tuple[str, ...] = ()

    @property
    def help(self) -> str:
        return self.run.__doc__ or ""


async def _help(chat: Chat, words: str) -> None:
    """List the commands."""
    named = chat.command(words.lstrip("/"))
    if words and named is None:
        raise LookupError(f"no command /{words.lstrip('/')}; /help lists all")
    rows = [_usage(each) for each in (chat.commands if named is None else (named,))]
    if named is None:
        rows += _OTHER_LINES
    room = min(_USAGE_COLUMNS, max(len(usage) for usage, _ in rows))
    for usage, about in rows:
        for line in _help_lines(usage, about, room, chat.front.columns):
            chat.front.line(*line)


def _usage(command: Command) -> tuple[str, str]:
    also = f" (also {', '.join('/' + alias for alias in command.aliases)})" if command.aliases else ""
    return f"/{command.name} {command.arguments}".rstrip(), f"{command.help}{also}"


def _help_lines(usage: str, about: str, room: int, columns: int | None) -> list[Line]:
    """Return a command and its help text, which is below the command if its arguments are long."""
    head = Span(f"{usage:<{room}}", "heading")
    if columns is None or len(usage) <= room:
        line = make_line(head, f"  {about}")
        return [line] if columns is None else wrap_line(line, columns, indent=room + 2)
    return [make_line(head), *wrap_line(make_line(" " * (room + 2), about), columns, indent=room + 2)]


_USAGE_COLUMNS = 26
_OTHER_LINES = [
    ("@PATH", "In a prompt: send this file or image with it."),
    ("!COMMAND", "Run a shell command and show its output to the model."),
    ("!!COMMAND", "Run a shell command without showing it to the model."),
]


async def _quit(chat: Chat, words: str) -> None:
    """Quit; the session is saved."""
    del words
    chat.left = True


COMMANDS: tuple[Command, ...] = (
    # going somewhere in the tree
    Command("tree", tree_commands.tree, "[ENTRY]", "entry"),
    Command("jump", tree_commands.jump, "[ENTRY]", "turn"),
    Command("find", find_command.find, "WORDS"),
    Command("branch", operation_commands.branch, "[NAME | ENTRY]", "turn"),
    Command("branches", operation_commands.branches, "[NAME]", "branch"),
    Command("fork", tree_commands.fork, "[--native] [ENTRY]", "entry"),
    # another answer
    Command("retry", tree_commands.retry),
    Command("again", attempts.again, "[N] [PROMPT]"),
    # reshaping the tree
    Command("undo", operation_commands.undo),
    Command("redo", operation_commands.redo),
    Command("log", operation_commands.log),
    Command("diff", operation_commands.diff, "[ENTRY [ENTRY]]", "entry"),
    Command("graft", operation_commands.graft, "ENTRY[..ENTRY] [--from SESSION] [--onto ENTRY]", "entry"),
    Command("squash", operation_commands.squash, "ENTRY..ENTRY [SUMMARY]", "entry"),
    Command("label", tree_commands.label, "[TEXT | --clear]"),
    Command("compact", tree_commands.compact, "[FOCUS]"),
    # files
    Command("attach", attach_command.attach, "[PATH... | --clear]", "file"),
    Command("export", session_commands.export, "[FILE]"),
    # models and tools
    Command("model", model_commands.model, "[PROVIDER:MODEL]", "model"),
    Command("providers", model_commands.providers, "[PROVIDER]"),
    Command("thinking", model_commands.thinking, "[LEVEL]", "thinking"),
    Command("tools", permissions.tools, "[allow | ask | deny NAME]", "tool"),
    Command("cost", costs.cost),
    # sessions
    Command("name", session_commands.name, "[TITLE]"),
    Command("session", session_commands.session, "[fork | tree | export [FILE] | import FILE]", "operation"),
    Command("sessions", session_commands.sessions, "[SESSION]", "session"),
    Command("resume", session_commands.resume, "[SESSION]", "session"),
    Command("new", session_commands.new),
    Command("help", _help, "[COMMAND]", "command", aliases=("?",)),
    Command("quit", _quit, aliases=("exit", "q")),
)
