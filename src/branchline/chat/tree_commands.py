"""The commands that move in the tree, or change what the model sees of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from branchline.chat.frontend import Picker
from branchline.chat.notices import compacted_into, forked_because
from branchline.chat.pickers import tree_picker, turn_picker
from branchline.places import NATIVE_AGENT
from branchline.session import Session
from branchline.views.entry_rows import RowTexts
from branchline.views.figures import tokens
from branchline.views.operation_lines import entry_words
from branchline.views.short_ids import short_ids
from branchline.views.spans import Span

if TYPE_CHECKING:
    from branchline.chat.chat import Chat

__all__ = [
    "branch_to_new_session",
    "compact",
    "described",
    "described_leaf",
    "fork",
    "go_to",
    "jump",
    "label",
    "retry",
    "tree",
]

_NOTHING_SAID = "no messages yet"
_SETTINGS = frozenset({"model_change", "thinking_level_change"})
_STAYED = "nothing selected; position unchanged"


async def tree(chat: Chat, words: str) -> None:
    """Go to any entry; a prompt is returned for editing."""
    session, shown = chat.conductor.session, chat.services.settings.filter
    picker = tree_picker(session, "Go where?", shown, label=chat.conductor.label) if len(session) else None
    if (entry := await _picked(chat, words, picker)) is not None:
        await go_to(chat, entry)


async def jump(chat: Chat, words: str) -> None:
    """Go back to an earlier prompt and rephrase it."""
    picker = turn_picker(chat.conductor.session, "Go back to which prompt?")
    if (entry := await _picked(chat, words, picker)) is not None:
        await go_to(chat, entry)


async def branch_to_new_session(chat: Chat, words: str) -> None:
    """Rephrase a prompt in a new session; the setting of double Escape selects the picker."""
    session, question = chat.conductor.session, "Rephrase which prompt in a new session?"
    if chat.services.settings.double_escape == "tree":
        picker = tree_picker(session, question, chat.services.settings.filter) if len(session) else None
    else:
        picker = turn_picker(session, question)
    if (entry := await _picked(chat, words, picker)) is None:
        return
    with chat.working():
        done = await chat.conductor.branch_to_new_session(entry)
    if done.status != "done":
        chat.front.notice(f"{done.status}: {done.reason}")
        return
    chat.front.notice(f"you are in the new session {chat.conductor.session.id}, before that prompt")
    chat.give_back(done.text, done.images)


async def fork(chat: Chat, words: str) -> None:
    """Copy the conversation, up to a turn or an entry, into a new session and continue there."""
    session = chat.conductor.session
    option, _, rest = words.partition(" ")
    native = option == "--native"
    words = rest.strip() if native else words
    entry = await _picked(chat, words, turn_picker(session, "Fork after which turn?"))
    if entry is None:
        return
    if not words:
        entry = _end_of_turn(session, entry)
    with chat.working():
        done = await chat.conductor.fork(entry, to=NATIVE_AGENT if native else None)
    if done.status != "done":
        chat.front.notice(f"{done.status}: {done.reason}")
        return
    made = chat.conductor.session
    chat.front.notice(f"forked {session.id}; you are in the new session {made.id}")


async def retry(chat: Chat, words: str) -> None:
    """Get another answer; the old one stays in the tree."""
    del words
    before = chat.conductor.session
    await chat.show(chat.conductor.retry())
    made = chat.conductor.session
    if made is not before:
        chat.front.notice(f"{forked_because(before)} {made.id}")


async def label(chat: Chat, words: str) -> None:
    """Label the current entry; without TEXT, list labels."""
    session = chat.conductor.session
    if not words:
        texts = RowTexts(session.transcript)
        ids = short_ids(session.labels, session.index.keys)
        for entry, name in session.labels.items():
            words_of = texts(session.index.position(entry))
            chat.front.line(Span(f"{ids[entry]}  ", "id"), Span(f"[{name}] ", "label"), words_of)
        if not session.labels:
            chat.front.notice("no labels; /label TEXT labels the current entry")
        return
    if session.leaf is None:
        chat.front.notice(f"nothing to label: {_NOTHING_SAID}")
        return
    clear = words == "--clear"
    chat.conductor.label(session.leaf, None if clear else words)
    chat.front.notice(
        f"{session.leaf} no longer has a label" if clear else f"labelled {session.leaf}: {words}"
    )


async def compact(chat: Chat, words: str) -> None:
    """Compact the context; nothing is removed."""
    with chat.working():
        done = await chat.conductor.compact(words or None, on_progress=chat.front.progress)
    if done.status != "done":
        chat.front.notice(f"nothing was compacted: {done.reason or done.status}")
        return
    chat.front.text(done.summary or "", role="summary")
    if done.session is not None:
        chat.front.notice(compacted_into(chat.conductor.session.id))
    before = "" if done.tokens_before is None else f" instead of {tokens(done.tokens_before)}"
    chat.front.notice(f"the model sees about {tokens(chat.conductor.context_tokens)} tokens{before} now")


async def _picked(chat: Chat, words: str, picker: Picker | None) -> str | None:
    """Return the named entry, or let the user pick one."""
    if words:
        return chat.services.entry(chat.conductor.session, words)
    if picker is None:
        chat.front.notice(_NOTHING_SAID)
        return None
    entry = await chat.front.pick(picker)
    if entry is None:
        chat.front.notice(_STAYED)
    return entry


async def go_to(chat: Chat, entry: str, *, summarize: bool | None = None) -> bool:
    """Go to an entry and report the new position; return whether it was done.

    By default the user decides whether the abandoned branch is summarized.
    """
    before = chat.conductor.session
    with chat.working():
        done = await chat.conductor.navigate(
            entry, summarize=summarize, choose=chat.choose, on_progress=chat.front.progress
        )
    session = chat.conductor.session
    match done.status:
        case "unchanged":
            chat.front.notice("you are already there")
        case "done" if session is not before:
            chat.front.notice(f"{forked_because(before)} {session.id}, at {described_leaf(session)}")
            chat.give_back(done.text, done.images)
        case "done":
            summed_up = "; the abandoned branch was summarized" if done.summary_entry else ""
            chat.front.notice(f"now at {described_leaf(session)}{summed_up}")
            chat.give_back(done.text, done.images)
        case _:
            chat.front.notice(f"{done.status}, position unchanged: {done.reason}")
    return done.status == "done"


def _end_of_turn(session: Session, prompt: str) -> str:
    """Return the last entry of the path before the next prompt."""
    path, index = session.path(), session.index
    last = prompt
    for entry in path[path.index(prompt) + 1 :]:
        if index.roles[index.position(entry)] == "user":
            break
        last = entry
    return last


def described_leaf(session: Session) -> str:
    """Describe the current position: the last message of the path, ignoring settings after it."""
    index = session.index
    said = (
        entry for entry in reversed(session.path()) if index.types[index.position(entry)] not in _SETTINGS
    )
    return described(session, next(said, None))


def described(session: Session, entry: str | None) -> str:
    """Describe an entry in a few words."""
    name = "" if entry is None else short_ids([entry], session.index.keys)[entry]
    return entry_words(session.transcript, entry, name)
