"""The session commands: title, facts, switching, forks, export, import."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from branchline.chat.pickers import forest_picker
from branchline.chat.recent_turns import show_recent_turns
from branchline.chat.session_switcher import SessionSwitcher
from branchline.chat.startup import ensure_writable
from branchline.chat.tree_commands import fork, go_to
from branchline.context import UsageSum
from branchline.library.branch_count import count_branches
from branchline.library.turns import prior_turns
from branchline.models import model_name
from branchline.views.figures import cost_of, messages_on, tokens
from branchline.views.humanize import count
from branchline.views.spans import Span

if TYPE_CHECKING:
    from branchline.chat.chat import Chat

__all__ = [
    "OPERATIONS",
    "export",
    "name",
    "new",
    "resume",
    "say_where",
    "session",
    "sessions",
    "switch_to",
]


async def name(chat: Chat, words: str) -> None:
    """Set or show the title of the session."""
    if words:
        chat.conductor.set_title(words)
    chat.front.line(chat.conductor.session.title or "(no title)")


async def facts(chat: Chat, words: str) -> None:
    del words
    conductor = chat.conductor
    session, usage = conductor.session, conductor.usage
    window, tree = conductor.context_window, session.index
    path = [tree.position(entry) for entry in session.path()]
    rows = [
        ("session", session.id),
        ("title", session.title or "(none)"),
        ("file", session.file or "(not kept)"),
        ("directory", session.cwd),
        ("forked from", session.parent_session or "(none)"),
        ("messages", f"{messages_on(tree, path):,} on this path"),
        ("entries", f"{len(session):,}, {count(count_branches(tree), 'branch', 'branches')}"),
        ("turns", f"{sum(1 for _ in prior_turns(session))} on this path"),
        ("model", "(none)" if conductor.model is None else model_name(conductor.model)),
        ("thinking", conductor.thinking),
        (
            "context",
            f"about {tokens(conductor.context_tokens)} tokens" + (f" of {tokens(window)}" if window else ""),
        ),
        ("spent", _spent_words(usage.all.total)),
    ]
    rows += [(f"  {model}", _spent_words(spent)) for model, spent in usage.all.models.items()]
    rows += [("instructions", file.path) for file in chat.instructions.files]
    if session.is_draft:
        rows.append(("note", "draft: not listed until the first reply"))
    room = max(len(left) for left, _ in rows)
    for left, right in rows:
        chat.front.line(Span(f"{left:<{room}}  ", "dim"), right)


def _spent_words(spent: UsageSum) -> str:
    return f"{tokens(spent.total_tokens)} tokens, {cost_of(spent).words}"


async def session(chat: Chat, words: str) -> None:
    """Show file, entries, tokens and cost; or fork, pick from the tree of forks, export, import."""
    name, _, rest = words.partition(" ")
    operation = OPERATIONS.get(name)
    if not words:
        await facts(chat, "")
    elif operation is None:
        raise ValueError(f"unknown operation {name!r}; /session takes {', '.join(OPERATIONS)}")
    else:
        await operation(chat, rest.strip())


async def sessions(chat: Chat, words: str) -> None:
    """Pick another session of this directory and continue in it."""
    await switch_to(chat, words or await SessionSwitcher(chat.front, chat.services, chat.conductor).pick())


async def forest(chat: Chat, words: str) -> None:
    """Pick a session from the forest of forks of this directory."""
    del words
    picker = forest_picker(
        chat.services.forest(), "Continue which session?", current=chat.conductor.session.file
    )
    if not picker.options:
        chat.front.notice("no sessions in this directory yet")
        return
    await switch_to(chat, await chat.front.pick(picker))


async def resume(chat: Chat, words: str) -> None:
    """Continue another session."""
    await sessions(chat, words)


async def export(chat: Chat, words: str) -> None:
    """Export the conversation as Markdown, or the session as .jsonl, with secrets redacted."""
    _export(chat, words, format=None if words else "md")


async def export_portable(chat: Chat, words: str) -> None:
    """Export the session to a portable file without its working directory and secrets."""
    from branchline.actions.export import ENDINGS  # noqa: PLC0415

    named = words.endswith(tuple(ENDINGS.values()))
    zot = chat.conductor.session.format == "zot" and not named
    _export(chat, words, format="zotsession" if zot else None, portable=not words.endswith(ENDINGS["md"]))


def _export(chat: Chat, path: str, **options: Any) -> None:
    from branchline.actions.export import ExportRequest  # noqa: PLC0415
    from branchline.actions.export import export as export_session  # noqa: PLC0415

    done = export_session(chat.conductor.session, path or ".", ExportRequest(**options))
    chat.front.notice(f"exported to {done.summary}")


async def import_(chat: Chat, words: str) -> None:
    """Copy a session file into the library, under a new id, and continue in it."""
    from branchline.actions.import_ import import_file  # noqa: PLC0415

    if not words:
        raise ValueError("which file? Write /session import FILE")
    file = os.path.expanduser(words)  # noqa: ASYNC240  reads no disk
    done = import_file(file, cwd=chat.services.cwd, new_id=True)
    chat.front.notice(f"imported {done.source} as {done.session}")
    await switch_to(chat, done.path)


async def switch_to(chat: Chat, wanted: str | None, *, entry: str | None = None) -> None:
    """Switch to a session, at an entry of it; None stays here."""
    if wanted is None:
        chat.front.notice("nothing selected; you stay in this session")
        return
    found = chat.services.open(wanted)
    if found.file is not None and found.file == chat.conductor.session.file:
        found.close()
        chat.front.notice("you are already in this session")
        return
    ready = await ensure_writable(found, chat.front, chat.services, entry=entry)
    if ready is None:
        chat.front.notice("you stay in this session")
        return
    with chat.working():
        done = await chat.conductor.resume(lambda: ready)
    if done.status != "done":
        ready.close()
        chat.front.notice(f"{done.status}, you stay in this session: {done.reason}")
        return
    if entry is not None and entry in chat.conductor.session.index and entry != chat.conductor.session.leaf:
        await go_to(chat, entry, summarize=False)
    say_where(chat)
    show_recent_turns(chat.front, chat.conductor.session)


async def new(chat: Chat, words: str) -> None:
    """Start a new session."""
    del words
    with chat.working():
        done = await chat.conductor.new_session()
    if done.status != "done":
        chat.front.notice(f"{done.status}, you stay in this session: {done.reason}")
        return
    chat.front.notice("new session; the previous one is saved")


def say_where(chat: Chat) -> None:
    """Show which session this is, and its last prompt where turns are not shown."""
    session = chat.conductor.session
    turns = list(prior_turns(session))
    title = f" ({session.title})" if session.title else ""
    # On a screen the last turns follow.
    last = f"; last prompt: {turns[-1].preview}" if turns and not chat.front.can_ask else ""
    chat.front.notice(f"session {session.id}{title}, {count(len(turns), 'turn')}{last}")


OPERATIONS: dict[str, Callable[[Chat, str], Awaitable[None]]] = {
    "fork": fork,
    "tree": forest,
    "export": export_portable,
    "import": import_,
}
