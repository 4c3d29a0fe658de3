"""What a chat says about itself: events that are no part of an answer, and the line below the prompt."""

from __future__ import annotations

from branchline.conductor import (
    CompactionFailed,
    CompactionStarted,
    Conductor,
    ContextCompacted,
    Event,
    ForeignAppend,
    RetryScheduled,
    TurnEnded,
)
from branchline.models import model_name
from branchline.session import Session
from branchline.views.humanize import count, money, tokens
from branchline.views.spans import Line, Span, make_line

__all__ = ["compacted_into", "event_notice", "forked_because", "others_wrote", "status_line"]

_ENDINGS = {
    "length": "the answer was cut at the model's length limit",
    "rounds": "turn stopped: tool-call limit reached",
    "aborted": "aborted; partial output was saved",
}


def event_notice(event: Event) -> str | None:
    """What is to be said of an event beside the answer; None when there is nothing."""
    match event:
        case ForeignAppend():
            return others_wrote(event.entries)
        case RetryScheduled():
            return f"{event.error}; retrying in {event.delay:g} s ({event.attempt} of {event.attempts})"
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
        case TurnEnded() if event.error is not None:
            return f"{event.error}; /retry sends it again"
        case TurnEnded():
            return _ENDINGS.get(event.reason)
        case _:
            return None


def forked_because(session: Session) -> str:
    """Why going somewhere in a session has led to a fork."""
    return f"{session.format} sessions have no branches: you continue in the fork"


def compacted_into(session: str) -> str:
    """That the conversation goes on in a fork, because its format keeps every message."""
    return f"the context was compacted into a fork: you continue in session {session}"


def others_wrote(entries: int) -> str:
    """That somebody else talks in the same session."""
    return (
        f"another writer appended {count(entries, 'entry', 'entries')} in this session; "
        "you go on from where you stand, as a branch (/tree shows both)"
    )


def status_line(conductor: Conductor) -> Line:
    """Model, how full the context is, what was spent, what the session is called."""
    model = "no model" if conductor.model is None else model_name(conductor.model)
    thinking = "" if conductor.thinking == "off" else f", thinking {conductor.thinking}"
    used, window = conductor.context_tokens, conductor.context_window
    full = f" of {tokens(window)} ({used / window:.0%})" if window else ""
    spent = conductor.usage.all.total
    session = conductor.session
    name = session.title or ("not kept" if session.file is None else f"session {session.id[:8]}")
    return make_line(
        Span(f"{model}{thinking}", "model"),
        Span(f" · context {tokens(used)}{full}", "number"),
        Span(f" · {tokens(spent.total_tokens)} tokens {money(spent.cost)}", "cost"),
        " · ",
        Span(name, "title"),
    )
