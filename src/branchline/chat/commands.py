"""The commands of a chat as one table: help, completion and documentation are read from it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal

import msgspec

from branchline.chat import model_commands, permissions, session_commands, tree_commands
from branchline.views.spans import Span

if TYPE_CHECKING:
    from branchline.chat.chat import Chat

__all__ = ["COMMANDS", "Command", "Completes"]

Completes = Literal["entry", "turn", "session", "operation", "model", "thinking", "tool", "command"]
"""What can be completed behind a command."""


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """One command: its name, what may follow it, a sentence, and what it does with the words behind it."""

    name: str
    help: str
    run: Callable[[Chat, str], Awaitable[None]]
    arguments: str = ""
    aliases: tuple[str, ...] = ()
    completes: Completes | None = None


async def _help(chat: Chat, words: str) -> None:
    """All commands, or the one that is named."""
    named = chat.command(words.lstrip("/"))
    shown = chat.commands if named is None else (named,)
    usages = [f"/{each.name} {each.arguments}".rstrip() for each in shown]
    room = max(map(len, usages))
    for usage, each in zip(usages, shown, strict=True):
        also = f" (also {', '.join('/' + alias for alias in each.aliases)})" if each.aliases else ""
        chat.front.line(Span(f"{usage:<{room}}", "heading"), f"  {each.help}{also}")
    if named is None:
        chat.front.line(
            Span(f"{'!COMMAND':<{room}}", "heading"),
            "  Run a shell command and show its output to the model.",
        )
        chat.front.line(
            Span(f"{'!!COMMAND':<{room}}", "heading"),
            "  Run a shell command without showing it to the model.",
        )


async def _quit(chat: Chat, words: str) -> None:
    del words
    chat.left = True


COMMANDS: tuple[Command, ...] = (
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
        name="branch",
        arguments="[ENTRY]",
        completes="turn",
        run=tree_commands.branch,
        help="Rephrase an earlier prompt in a new session.",
    ),
    Command(
        name="fork",
        arguments="[--native] [ENTRY]",
        completes="entry",
        run=tree_commands.fork,
        help="Copy the conversation, up to a turn or an entry, into a new session and continue there.",
    ),
    Command(
        name="undo",
        run=tree_commands.undo,
        help="Undo the last turn; your prompt is returned for editing.",
    ),
    Command(name="retry", run=tree_commands.retry, help="Get another answer; the old one stays in the tree."),
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
        name="model",
        arguments="[PROVIDER:MODEL]",
        completes="model",
        run=model_commands.model,
        help="Switch models, named or picked.",
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
    Command(
        name="export",
        arguments="[FILE]",
        run=model_commands.export,
        help="Export the conversation as Markdown, or the session as .jsonl, with secrets redacted.",
    ),
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
