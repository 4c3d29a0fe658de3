"""Notices about events that are not part of an answer, and the status line below the prompt."""

from __future__ import annotations

from branchline.conductor import (
    CompactionFailed,
    CompactionStarted,
    Conductor,
    ContextCompacted,
    Event,
    ForeignAppend,
    MessageAppended,
    RetryScheduled,
    TurnEnded,
)
from branchline.entries import UserMessage
from branchline.models import model_name
from branchline.session import Session
from branchline.views.figures import cost_of, tokens
from branchline.views.humanize import count
from branchline.views.spans import Line, Span, StyleRole, make_line

__all__ = [
    "compacted_into",
    "event_notice",
    "event_problem",
    "forked_because",
    "is_prompt",
    "others_wrote",
    "status_line",
]

_METER = 8
_NEARLY_FULL = 0.8
_ENDINGS = {
    "length": "the answer was cut at the model's length limit",
    "rounds": "turn stopped: tool-call limit reached",
    "aborted": "aborted; partial output was saved",
}


def event_notice(event: Event) -> str | None:
    match event:
        case ForeignAppend():
            return others_wrote(event.entries)
        case CompactionStarted():
            why = (
                "the context is full" if event.reason == "threshold" else "the model rejected it as too long"
            )
            return f"{why}: compacting"
        case ContextCompacted():
            before = (
                "" if event.tokens_before is None else f" (it had about {tokens(event.tokens_before)} tokens)"
            )
            if event.session is not None:
                return compacted_into(event.session)
            return f"the context was compacted{before}"
        case CompactionFailed():
            return f"the context was not compacted: {event.message}"
        case TurnEnded():
            return None if event.error is not None else _ENDINGS.get(event.reason)
        case _:
            return None


def is_prompt(event: Event) -> bool:
    """Whether an event reports that a prompt was saved."""
    return isinstance(event, MessageAppended) and isinstance(event.message, UserMessage)


def event_problem(event: Event) -> str | None:
    """Return why there is no answer; None if there is one. It is not text of the model."""
    match event:
        case RetryScheduled():
            retry = f"retry {event.attempt} of {event.attempts - 1}"
            return f"{retry} in {event.delay:g} s: {event.error}"
        case TurnEnded() if event.error is not None:
            return f"not answered, /retry sends it again: {event.error}"
        case _:
            return None


def forked_because(session: Session) -> str:
    """Say why moving in a session led to a fork."""
    return f"{session.format} sessions have no branches: you continue in the fork"


def compacted_into(session: str) -> str:
    """Say that the conversation continues in a fork, because its format keeps every message."""
    return f"the context was compacted into a fork: you continue in session {session}"


def others_wrote(entries: int) -> str:
    """Say that another writer appended to the session."""
    return (
        f"another writer appended {count(entries, 'entry', 'entries')} in this session; "
        "you continue on your own branch (/tree shows both)"
    )


def status_line(conductor: Conductor) -> Line:
    """Return the status line: model, context use, cost and session title."""
    model = "no model" if conductor.model is None else model_name(conductor.model)
    thinking = "" if conductor.thinking == "off" else f", thinking {conductor.thinking}"
    used, window = conductor.context_tokens, conductor.context_window
    full = f" of {tokens(window)}" if window else ""
    spent = conductor.usage.all.total
    cost = f" · {cost_of(spent).words}" if spent.cost or spent.unpriced else ""
    session = conductor.session
    name = session.title or ("not kept" if session.file is None else f"session {session.id[:8]}")
    return make_line(
        Span(f"{model}{thinking}", "model"),
        Span(" · context ", "dim"),
        *_meter(used / window if window else None),
        Span(f"{tokens(used)}{full}", "number"),
        Span(cost, "cost"),
        Span(" · ", "dim"),
        Span(name, "title"),
    )


def _meter(share: float | None) -> Line:
    """Return the context use as a bar; empty if the size of the window is unknown."""
    if share is None:
        return ()
    filled = max(0, min(_METER, round(share * _METER)))
    role: StyleRole = "warning" if share > _NEARLY_FULL else "bar"
    return make_line(Span("━" * filled, role), Span("┄" * (_METER - filled) + " ", "dim"))
