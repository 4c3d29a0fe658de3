"""``/again``: several answers to one prompt, side by side; those that are not picked stay as branches."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from branchline.chat.frontend import Picker, PickerOption
from branchline.chat.notices import forked_because
from branchline.conductor import MessageAppended, TextDelta, ThinkingDelta, ToolCallDelta, TurnEnded
from branchline.context.usage import UsageSum, entry_usage
from branchline.entries import AssistantMessage, MessageEntry, message_text
from branchline.errors import NotSupported
from branchline.settings import price_list
from branchline.views.attempt_columns import AnswerColumn, attempt_lines
from branchline.views.figures import cost_of, tokens
from branchline.views.spans import make_line
from branchline.views.text import one_line

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from branchline.chat.chat import Chat
    from branchline.conductor import Event

__all__ = ["MAX_ATTEMPTS", "again"]

MAX_ATTEMPTS = 9
_DEFAULT = 3


async def again(chat: Chat, words: str) -> None:
    """Get N answers side by side and pick one; the others stay as branches."""
    number, prompt = _wanted(words)
    if not chat.conductor.can_branch:
        raise NotSupported(f"{forked_because(chat.conductor.session)}; they cannot hold several attempts.")
    ends = [] if prompt else _present(chat)
    if not prompt and not chat.conductor.context().messages:
        raise ValueError("nothing to try again: no messages yet; /again 3 PROMPT sends one")
    for attempt in range(1, number + 1):
        ended = await _attempt(chat, attempt, number, prompt if attempt == 1 else "")
        if ended is None or ended.entry is None:
            break
        ends.append(ended.entry)
        if ended.reason in ("aborted", "error"):
            break
    if len(ends) > 1:
        await _pick(chat, ends)
    elif ends:
        _show(chat, ends)


def _wanted(words: str) -> tuple[int, str]:
    first, _, rest = words.partition(" ")
    if not first:
        return _DEFAULT, ""
    if not first.isdecimal():
        return _DEFAULT, words
    number = int(first[:9])
    if not 1 <= number <= MAX_ATTEMPTS:
        raise ValueError(f"/again makes 1 to {MAX_ATTEMPTS} attempts, not {first}")
    return number, rest.strip()


def _present(chat: Chat) -> list[str]:
    """Return the answer at the end of the path, if there is one."""
    session = chat.conductor.session
    if session.leaf is None or session.index.roles[session.index.position(session.leaf)] != "assistant":
        return []
    return [session.leaf]


async def _attempt(chat: Chat, attempt: int, number: int, prompt: str) -> TurnEnded | None:
    """Make one attempt; its text is shown on one transient line, its tool calls as usual."""
    if prompt:
        content = await chat.content(prompt)
        events: AsyncGenerator[Event, None] = chat.conductor.send(content)
    else:
        _leave_attempt(chat)
        events = chat.conductor.retry()
    ended: TurnEnded | None = None
    chat.conductor.tools = chat.tools
    with chat.working():
        async with aclosing(events):
            async for event in events:
                if isinstance(event, TextDelta):
                    chat.front.progress(event.text, f"attempt {attempt} of {number} (Escape stops)")
                elif not isinstance(event, ThinkingDelta | ToolCallDelta) and not _is_answer(event):
                    chat.front.on_event(event)
                chat.comment(event)
                if isinstance(event, TurnEnded):
                    ended = event
    return ended


def _is_answer(event: Event) -> bool:
    return isinstance(event, MessageAppended) and isinstance(event.message, AssistantMessage)


def _leave_attempt(chat: Chat) -> None:
    """Go back to the prompt; an attempt that used tools has several entries after it."""
    session = chat.conductor.session
    tree = session.index
    path = session.path()
    prompt = next((entry for entry in reversed(path) if tree.roles[tree.position(entry)] == "user"), None)
    if prompt is not None and path[-1] != prompt:
        chat.conductor.branch(prompt)


async def _pick(chat: Chat, ends: list[str]) -> None:
    attempts = _show(chat, ends)
    options = [
        PickerOption(
            key=str(number),
            line=make_line(one_line(attempt.text)[:200] or "(no text)"),
        )
        for number, attempt in enumerate(attempts, 1)
    ]
    chosen = await chat.front.pick(
        Picker(
            question="Continue with which answer?",
            options=options,
            selected=len(options) - 1,
            numbered=True,
        )
    )
    here = chat.conductor.session.leaf
    end = here if chosen is None else ends[int(chosen) - 1]
    if end is not None and end != here:
        chat.conductor.branch(end)
    kept = ends.index(end) + 1 if end in ends else len(ends)
    chat.front.notice(f"continuing with answer {kept}; the others stay as branches, /tree shows them")


def _show(chat: Chat, ends: list[str]) -> list[AnswerColumn]:
    session, prices = chat.conductor.session, price_list(chat.services.settings)
    attempts = []
    for number, end in enumerate(ends, 1):
        entry = session.entry(end)
        text, failed = "", False
        if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage):
            text = message_text(entry.message)
            failed = entry.message.stop_reason in ("error", "aborted")
        spent = sum((usage for _model, usage in entry_usage(entry, prices=prices)), UsageSum())
        used = spent.output
        facts = f"{tokens(used)} token{'' if used == 1 else 's'}" if spent.total_tokens else ""
        if spent.cost or spent.unpriced:
            facts += f", {cost_of(spent).words}"
        state = "stopped" if failed else ""
        attempts.append(
            AnswerColumn(heading=f"{number}", facts=", ".join(filter(None, (state, facts))), text=text)
        )
    for line in attempt_lines(attempts, chat.front.columns):
        chat.front.line(*line)
    return attempts
