"""The commands that reshape the tree: named branches, graft, squash, undo, redo, log and diff."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from branchline.actions.graft import GraftResult
from branchline.actions.graft import graft as graft_entries
from branchline.actions.graft import squash as squash_entries
from branchline.actions.named_branches import name_branch, named_branches
from branchline.actions.operations import Operation, last_undoable, operations, record_rewind
from branchline.actions.operations import redo as redo_operation
from branchline.actions.operations import undo as undo_operation
from branchline.chat.arguments import split_words
from branchline.chat.tree_commands import (
    branch_to_new_session,
    described,
    described_leaf,
    go_to,
)
from branchline.errors import EntryNotFound, NotSupported
from branchline.library.branch_count import other_tip
from branchline.library.turns import prior_turns
from branchline.session import Session
from branchline.settings import price_list
from branchline.tree import ROOT
from branchline.views.compare import compare_view
from branchline.views.compare_lines import head_lines, side_by_side, totals_table, unified
from branchline.views.humanize import count
from branchline.views.operation_lines import START, branch_line, operation_line, operation_words
from branchline.views.spans import Line, cut_line
from branchline.views.text import one_line

if TYPE_CHECKING:
    from branchline.chat.chat import Chat

__all__ = ["branch", "branches", "diff", "graft", "log", "redo", "squash", "undo"]

_HOME = os.path.expanduser("~")
_SHORTEST_ID = 4
_WIDE = 110
_SHOWN = 30


async def branch(chat: Chat, words: str) -> None:
    """Name the branch that begins here; without NAME, rephrase a prompt in a new session."""
    if not words:
        await branch_to_new_session(chat, "")
        return
    if (entry := _entry_named(chat, words)) is not None:
        await branch_to_new_session(chat, entry)
        return
    made = chat.conductor.apply("name a branch", lambda session: name_branch(session, words))
    place = described(chat.conductor.session, made.start)
    chat.front.notice(f"the branch {one_line(made.name)!r} begins here, at {place}")


def _entry_named(chat: Chat, words: str) -> str | None:
    """Return the entry with this id, label or position; a very short id prefix is a name instead."""
    session = chat.conductor.session
    if any(known.name == words for known in named_branches(session)):
        return None
    if len(words) < _SHORTEST_ID and words not in session.labels.values() and words[0] not in "@~":
        return None
    try:
        return chat.services.entry(session, words)
    except EntryNotFound:
        if words[0] in "@~":
            raise
        return None


async def branches(chat: Chat, words: str) -> None:
    """List the named branches, or go to the end of one."""
    session = chat.conductor.session
    known = named_branches(session)
    if words:
        found = next((one for one in known if one.name == words), None)
        if found is None:
            raise LookupError(f"no branch named {words!r}; /branches lists them")
        await go_to(chat, found.tip)
        return
    for one in known:
        _row(chat, branch_line(one, partial(described, session), time.time()))
    if not known:
        chat.front.notice("no named branches; /branch NAME begins one here")


async def graft(chat: Chat, words: str) -> None:
    """Copy a turn or a range to the end of this branch."""
    part, options = _options(words, "--from", "--onto")
    if not part:
        raise ValueError("which turn? Write /graft ENTRY[..ENTRY] [--from SESSION] [--onto ENTRY]")
    entry = chat.services.entry

    def work(session: Session) -> GraftResult:
        onto = entry(session, options["--onto"]) if "--onto" in options else None
        if "--from" not in options:
            return graft_entries(session, *_range(chat, session, part), onto=onto)
        with chat.services.open(options["--from"]) as source:
            return graft_entries(session, *_range(chat, source, part), source=source, onto=onto)

    _say_written(chat, "grafted", chat.conductor.apply("graft", work))


async def squash(chat: Chat, words: str) -> None:
    """Replace a range by a summary, on a new branch; without SUMMARY the model writes it."""
    part, _, summary = words.partition(" ")
    if not part:
        raise ValueError(
            "which range? Write /squash ENTRY..ENTRY [SUMMARY]; without SUMMARY the model writes it"
        )
    session = chat.conductor.session
    first, last = _range(chat, session, part)
    last = last or first
    text = summary.strip()
    if not text:
        with chat.working():
            text = await chat.conductor.summarize(first, last, on_progress=chat.front.progress)
        chat.front.text(text, role="summary")
    done = chat.conductor.apply("squash", lambda live: squash_entries(live, first, last, text))
    _say_written(chat, "squashed", done)


async def undo(chat: Chat, words: str) -> None:
    """Undo the last operation or turn; your prompt is returned for editing."""
    del words
    session = chat.conductor.session
    operation = last_undoable(session)
    if operation is not None and _is_newest(session, operation):
        _say_inverted(chat, "undid", chat.conductor.apply("undo", undo_operation))
        return
    turns = list(prior_turns(session))
    if not turns:
        chat.front.notice("nothing to undo: no messages yet")
        return
    leaf, entries = session.leaf, len(session.index)
    done = await go_to(chat, turns[-1].id, summarize=False)
    if done and chat.conductor.session is session and session.leaf != leaf:
        with suppress(NotSupported):
            record_rewind(session, leaf, entries)


def _is_newest(session: Session, operation: Operation) -> bool:
    """Whether the path has no message after an operation."""
    tree = session.index
    said = (
        position
        for entry in reversed(session.path())
        if tree.types[position := tree.position(entry)] == "message" and entry not in operation.entries
    )
    return tree.position(operation.id) > next(said, ROOT)


async def redo(chat: Chat, words: str) -> None:
    """Do again what was undone last."""
    del words
    _say_inverted(chat, "redid", chat.conductor.apply("redo", redo_operation))


async def log(chat: Chat, words: str) -> None:
    """List the operations on this session."""
    del words
    session = chat.conductor.session
    done = operations(session)
    for each in list(reversed(done))[:_SHOWN]:
        _row(chat, operation_line(each, partial(described, session), time.time()))
    if len(done) > _SHOWN:
        chat.front.notice(f"{count(len(done) - _SHOWN, 'older operation')}: `branchline log` lists all")
    if not done:
        chat.front.notice("no operations yet: this session has only messages")


async def diff(chat: Chat, words: str) -> None:
    """Compare two branches: files touched and text."""
    session = chat.conductor.session
    names = split_words(words)
    match [chat.services.entry(session, name) for name in names]:
        case []:
            left, right = session.leaf, other_tip(session)
        case [other]:
            left, right = session.leaf, other
        case [first, second]:
            left, right = first, second
        case _:
            raise ValueError("give at most two entries: /diff [ENTRY [ENTRY]]")
    places = [ROOT if entry is None else session.index.position(entry) for entry in (left, right)]
    prices = price_list(chat.services.settings)
    view = compare_view(session.transcript, places[0], session.transcript, places[1], prices=prices)
    if not view.pairs:
        chat.front.notice("nothing to compare: both are the same path")
        return
    home, columns = _HOME, chat.front.columns
    common = described(session, view.common_ancestor) if view.common_ancestor else ""
    for line in head_lines(view, described(session, left), described(session, right), common):
        _row(chat, line)
    lines = side_by_side(view, columns, home=home) if (columns or 0) >= _WIDE else unified(view, home=home)  # type: ignore[arg-type]
    for line in lines:
        chat.front.line(*line)
    for line in totals_table(view, (_name(session, left), _name(session, right)), home=home):
        chat.front.line(*line)


def _name(session: Session, entry: str | None) -> str:
    if entry is None:
        return START
    named = next((one.name for one in named_branches(session) if one.tip == entry), None)
    return one_line(session.label(entry) or named or entry)


# -- inside -----------------------------------------------------------------------------------------------


def _row(chat: Chat, line: Line) -> None:
    """Show one line, cut to the width of the screen."""
    columns = chat.front.columns
    chat.front.line(*(line if columns is None else cut_line(line, columns - 1)))


def _options(words: str, *known: str) -> tuple[str, dict[str, str]]:
    """Return the first word and the options after it."""
    found: dict[str, str] = {}
    rest: list[str] = []
    parts = iter(split_words(words))
    for part in parts:
        if part in known:
            value = next(parts, None)
            if value is None:
                raise ValueError(f"{part} needs a value")
            found[part] = value
        else:
            rest.append(part)
    if len(rest) > 1:
        raise ValueError(f"unexpected {rest[1]!r}; a name with spaces goes in quotes")
    return "".join(rest), found


def _range(chat: Chat, session: Session, part: str) -> tuple[str, str | None]:
    first, dots, last = part.partition("..")
    entry = chat.services.entry
    return entry(session, first), entry(session, last) if dots else None


def _say_written(chat: Chat, verb: str, done: GraftResult) -> None:
    chat.front.notice(
        f"{verb}: {count(len(done.entries), 'entry', 'entries')} appended; "
        f"now at {described_leaf(chat.conductor.session)}; /undo takes it back"
    )
    for reason in done.left_out:
        chat.front.notice(f"left out: {reason}")


def _say_inverted(chat: Chat, verb: str, operation: Operation) -> None:
    session = chat.conductor.session
    if operation.verb == "rewind":
        what = "the turn"
    else:
        what = f"{operation.verb} ({operation_words(operation, partial(described, session))})"
    chat.front.notice(f"{verb} {what}; now at {described_leaf(session)}")
