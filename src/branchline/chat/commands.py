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


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A command: its name, arguments and help text, and the function that runs it."""

    name: str
    help: str
    run: Callable[[Chat, str], Awaitable[None]]
    arguments: str = ""
    aliases: tuple[str, ...] = ()
    completes: Completes | None = None


async def _help(chat: Chat, words: str) -> None:
    """List all commands, or describe one."""
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
    del words
    chat.left = True


COMMANDS: tuple[Command, ...] = (
    # going somewhere in the tree
    Command(
        name="tree",
        arguments="[ENTRY]",
        completes="entry",
        run=tree_commands.tree,
        help="Go to any entry; a prompt is returned for editing.",
    ),
    Command(
        name="jump",
        arguments="[ENTRY]",
        completes="turn",
        run=tree_commands.jump,
        help="Go back to an earlier prompt and rephrase it.",
    ),
    Command(
        name="find",
        arguments="WORDS",
        run=find_command.find,
        help="Search all sessions and go to a match.",
    ),
    Command(
        name="branch",
        arguments="[NAME | ENTRY]",
        completes="turn",
        run=operation_commands.branch,
        help="Name the branch that begins here; without NAME, rephrase a prompt in a new session.",
    ),
    Command(
        name="branches",
        arguments="[NAME]",
        completes="branch",
        run=operation_commands.branches,
        help="List the named branches, or go to the end of one.",
    ),
    Command(
        name="fork",
        arguments="[--native] [ENTRY]",
        completes="entry",
        run=tree_commands.fork,
        help="Copy the conversation, up to a turn or an entry, into a new session and continue there.",
    ),
    # another answer
    Command(name="retry", run=tree_commands.retry, help="Get another answer; the old one stays in the tree."),
    Command(
        name="again",
        arguments="[N] [PROMPT]",
        run=attempts.again,
        help="Get N answers side by side and pick one; the others stay as branches.",
    ),
    # reshaping the tree
    Command(
        name="undo",
        run=operation_commands.undo,
        help="Undo the last operation or turn; your prompt is returned for editing.",
    ),
    Command(name="redo", run=operation_commands.redo, help="Do again what was undone last."),
    Command(name="log", run=operation_commands.log, help="List the operations on this session."),
    Command(
        name="diff",
        arguments="[ENTRY [ENTRY]]",
        completes="entry",
        run=operation_commands.diff,
        help="Compare two branches: files touched and text.",
    ),
    Command(
        name="graft",
        arguments="ENTRY[..ENTRY] [--from SESSION] [--onto ENTRY]",
        completes="entry",
        run=operation_commands.graft,
        help="Copy a turn or a range to the end of this branch.",
    ),
    Command(
        name="squash",
        arguments="ENTRY..ENTRY [SUMMARY]",
        completes="entry",
        run=operation_commands.squash,
        help="Replace a range by a summary, on a new branch; without SUMMARY the model writes it.",
    ),
    Command(
        name="label",
        arguments="[TEXT | --clear]",
        run=tree_commands.label,
        help="Label the current entry; without TEXT, list labels.",
    ),
    Command(
        name="compact",
        arguments="[FOCUS]",
        run=tree_commands.compact,
        help="Compact the context; nothing is removed.",
    ),
    # files
    Command(
        name="attach",
        arguments="[PATH... | --clear]",
        completes="file",
        run=attach_command.attach,
        help="Send files or images with the next prompt; @PATH in a prompt does it too.",
    ),
    Command(
        name="export",
        arguments="[FILE]",
        run=model_commands.export,
        help="Export the conversation as Markdown, or the session as .jsonl, with secrets redacted.",
    ),
    # models and tools
    Command(
        name="model",
        arguments="[PROVIDER:MODEL]",
        completes="model",
        run=model_commands.model,
        help="Switch models, named or picked.",
    ),
    Command(
        name="providers",
        arguments="[PROVIDER]",
        run=model_commands.providers,
        help="List the model providers and what each of them needs.",
    ),
    Command(
        name="thinking",
        arguments="[LEVEL]",
        completes="thinking",
        run=model_commands.thinking,
        help="Set the thinking level.",
    ),
    Command(
        name="tools",
        arguments="[allow | ask | deny NAME]",
        completes="tool",
        run=permissions.tools,
        help="List the tools and their permissions, or change one.",
    ),
    Command(name="cost", run=costs.cost, help="Show tokens and cost of each turn and in total."),
    # sessions
    Command(
        name="name",
        arguments="[TITLE]",
        run=session_commands.name,
        help="Set or show the title of the session.",
    ),
    Command(
        name="session",
        arguments="[fork | tree | export [FILE] | import FILE]",
        completes="operation",
        run=session_commands.session,
        help="Show file, entries, tokens and cost; or fork, pick from the tree of forks, export, import.",
    ),
    Command(
        name="sessions",
        arguments="[SESSION]",
        completes="session",
        run=session_commands.sessions,
        help="Pick another session of this directory and continue in it.",
    ),
    Command(
        name="resume",
        arguments="[SESSION]",
        completes="session",
        run=session_commands.resume,
        help="Continue another session.",
    ),
    Command(name="new", run=session_commands.new, help="Start a new session."),
    Command(
        name="help",
        arguments="[COMMAND]",
        aliases=("?",),
        completes="command",
        run=_help,
        help="List the commands.",
    ),
    Command(name="quit", aliases=("exit", "q"), run=_quit, help="Quit; the session is saved."),
)
