"""The commands about sessions: this one, others, a fresh one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from branchline.chat.pickers import session_options, session_picker
from branchline.chat.startup import ensure_writable
from branchline.library.description import count_branches
from branchline.library.turns import prior_turns
from branchline.models import model_name
from branchline.views.humanize import count, money, tokens
from branchline.views.spans import Span

if TYPE_CHECKING:
    from branchline.chat.chat import Chat

__all__ = ["facts", "list_all", "name", "new", "resume", "say_where"]


async def name(chat: Chat, words: str) -> None:
    """Set or show the title of the session."""
    if words:
        chat.conductor.set_title(words)
    chat.front.line(chat.conductor.session.title or "(no title)")


async def facts(chat: Chat, words: str) -> None:
    """What there is to know about this session."""
    del words
    conductor = chat.conductor
    session, usage = conductor.session, conductor.usage
    window = conductor.context_window
    total = usage.all.total
    rows = [
        ("session", session.id),
        ("title", session.title or "(none)"),
        ("file", session.file or "(not kept)"),
        ("directory", session.cwd),
        ("forked from", session.parent_session or "(nothing)"),
        ("entries", f"{len(session):,}, {count(count_branches(session.index), 'branch', 'branches')}"),
        ("turns", f"{sum(1 for _ in prior_turns(session))} on this path"),
        ("model", "(none)" if conductor.model is None else model_name(conductor.model)),
        ("thinking", conductor.thinking),
        (
            "context",
            f"about {tokens(conductor.context_tokens)} tokens" + (f" of {tokens(window)}" if window else ""),
        ),
        ("spent", f"{tokens(total.total_tokens)} tokens, {money(total.cost)}"),
    ]
    rows += [
        (f"  {model}", f"{tokens(spent.total_tokens)} tokens, {money(spent.cost)}")
        for model, spent in usage.all.models.items()
    ]
    if session.is_draft:
        rows.append(("note", "draft: not listed until the first reply"))
    room = max(len(left) for left, _ in rows)
    for left, right in rows:
        chat.front.line(Span(f"{left:<{room}}  ", "dim"), right)


async def list_all(chat: Chat, words: str) -> None:
    """The sessions of this directory."""
    del words
    rows = chat.services.sessions()
    for option in session_options(rows):
        here = option.key == chat.conductor.session.file
        chat.front.line(Span("› " if here else "  ", "cursor"), *option.line)
    if not rows:
        chat.front.notice("no sessions in this directory yet")


async def resume(chat: Chat, words: str) -> None:
    """Go on in another session, named or picked."""
    wanted: str | None = words
    if not words:
        wanted = await chat.front.pick(session_picker(chat.services.sessions(), "Continue which session?"))
    if wanted is None:
        chat.front.notice("nothing selected; you stay in this session")
        return
    found = chat.services.open(wanted)
    if found.file is not None and found.file == chat.conductor.session.file:
        found.close()
        chat.front.notice("you are already in this session")
        return
    ready = await ensure_writable(found, chat.front, chat.services)
    if ready is None:
        chat.front.notice("you stay in this session")
        return
    with chat.working():
        done = await chat.conductor.resume(lambda: ready)
    if done.status != "done":
        ready.close()
        chat.front.notice(f"{done.status}, you stay in this session: {done.reason}")
        return
    say_where(chat)


async def new(chat: Chat, words: str) -> None:
    """Leave this session for a fresh one."""
    del words
    with chat.working():
        done = await chat.conductor.new_session()
    if done.status != "done":
        chat.front.notice(f"{done.status}, you stay in this session: {done.reason}")
        return
    chat.front.notice("new session; the previous one is saved")


def say_where(chat: Chat) -> None:
    """Which session this is, and where it stopped."""
    session = chat.conductor.session
    turns = list(prior_turns(session))
    title = f" ({session.title})" if session.title else ""
    last = f"; last prompt: {turns[-1].preview}" if turns else ""
    chat.front.notice(f"session {session.id}{title}, {count(len(turns), 'turn')}{last}")
