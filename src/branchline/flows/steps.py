"""The steps of a flow: its questions, and the single change that it makes at the end.

A flow is a generator. It yields steps and receives their answers from :mod:`branchline.flows.driver`, which
has a blocking and an asynchronous form. All questions come first, then one :class:`Act`, which makes the
change, and after it only :class:`Notify`. So a flow that is stopped at a question (by an answer, an abort or
an exception) has changed nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Literal, TypeVar

import msgspec

from branchline.compaction import Summary, SummaryRequest
from branchline.entries import Usage
from branchline.errors import FlowError, InvalidArgument, SummaryFailed
from branchline.flows.abort import Aborted, AbortSignal
from branchline.flows.hook_events import Cancel, Event
from branchline.flows.session_protocol import LiveSession

__all__ = [
    "Act",
    "AskHook",
    "Attempt",
    "AttemptResult",
    "CallPlugin",
    "Cancelled",
    "Choice",
    "Choose",
    "Chosen",
    "CompactResult",
    "Flow",
    "Gather",
    "Notify",
    "Status",
    "Step",
    "Summarize",
    "act",
    "ask",
    "attempt",
    "choose",
    "notify",
    "permit",
    "summarize",
]

T = TypeVar("T")
Status = Literal["done", "unchanged", "cancelled", "aborted"]
"""How a flow ended: done, nothing to do, cancelled, or aborted."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """Base class of the requests that a flow yields."""


class AskHook(Step, frozen=True, kw_only=True):
    """Call a hook before an operation. Answer: None, :class:`Cancel`, or a result of a plugin.

    ``refuse`` returns what is wrong with an answer, or None; invalid answers are reported as plugin problems.
    """

    hook: str
    event: Event
    session: LiveSession
    refuse: Callable[[object], str | None]
    abort: AbortSignal


class Notify(Step, frozen=True, kw_only=True):
    """Notify plugins after an operation. The answer is ignored."""

    hook: str
    event: Event
    session: LiveSession


class Gather(Step, frozen=True, kw_only=True):
    """Collect the results of all plugins. Answer: (plugin, result) pairs; ``refuse`` is as for AskHook."""

    hook: str
    event: Event
    session: LiveSession
    refuse: Callable[[object], str | None]


class CallPlugin(Step, frozen=True, kw_only=True):
    """Call a plugin function with a context that may write. Answer: its return value."""

    call: Callable[[Any], Any]
    session: LiveSession


class Summarize(Step, frozen=True, kw_only=True):
    """Request a summary. Answer: a text or a :class:`~branchline.compaction.Summary`."""

    request: SummaryRequest
    abort: AbortSignal


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """One option for the user; ``wants_text`` asks for a text with it."""

    key: str
    label: str
    wants_text: bool = False


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """The user's choice."""

    key: str
    text: str | None = None


class Choose(Step, frozen=True, kw_only=True):
    """Ask the user to choose. Answer: :class:`Chosen`, or None, which cancels.

    ``default`` is used where the user cannot be asked.
    """

    question: str
    choices: tuple[Choice, ...]
    default: str | None
    abort: AbortSignal


class CompactResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a compaction ended; ``entry`` is the compaction entry if one was written.

    ``session`` is the fork in which the conversation continues, for formats that compact into one.
    """

    status: Status
    session: LiveSession | None = None
    entry: str | None = None
    summary: str | None = None
    first_kept: str | None = None
    tokens_before: int | None = None
    usage: Usage | None = None
    from_hook: bool = False
    reason: str = ""


class Attempt(Step, frozen=True, kw_only=True):
    """Request an answer from the model (see :mod:`branchline.flows.recover`). Answer: AttemptResult.

    ``session`` differs from the previous attempt if the conversation continues in a fork.
    """

    number: int
    session: LiveSession
    abort: AbortSignal
    compacted: CompactResult | None = None
    """The compaction before a second attempt."""


class AttemptResult(msgspec.Struct, frozen=True, kw_only=True):
    """How an attempt ended. ``failed`` is the entry of a recorded failed answer."""

    overflow: bool = False
    failed: str | None = None
    message: str = ""


class Act(Step, frozen=True, kw_only=True):
    """Make the change: call this function once. Answer: its return value. It cannot be aborted halfway."""

    verb: str
    call: Callable[[], Any]


Flow = Generator[Step, Any, T]
"""A flow that ends with a ``T``."""


class Cancelled(Exception):
    """Raised inside a flow, with the reason, when a question is answered with a cancellation."""

    status: Literal["cancelled"] = "cancelled"


def ask(
    hook: str,
    event: Event,
    session: LiveSession,
    kind: type[T],
    abort: AbortSignal,
    problem: Callable[[T], str | None],
) -> Flow[T | None]:
    """Call a hook and return its result of type ``kind``, or None. Raises Cancelled if a plugin cancels.

    ``problem`` returns why a result cannot be used, or None.
    """

    def refuse(answer: object) -> str | None:
        if isinstance(answer, kind):
            return problem(answer)
        return f"answered with a {type(answer).__name__}; {hook} takes a {kind.__name__}, a Cancel or nothing"

    answer = yield from _ask(hook, event, session, refuse, abort)
    assert answer is None or isinstance(answer, kind)
    return answer


def permit(hook: str, event: Event, session: LiveSession, abort: AbortSignal) -> Flow[None]:
    """Call a hook that may only cancel. Raises Cancelled if a plugin cancels."""

    def refuse(answer: object) -> str:
        return f"answered with a {type(answer).__name__}; {hook} takes a Cancel or nothing"

    yield from _ask(hook, event, session, refuse, abort)


def _ask(
    hook: str, event: Event, session: LiveSession, refuse: Callable[[object], str | None], abort: AbortSignal
) -> Flow[object]:
    abort.check()
    answer: object = yield AskHook(hook=hook, event=event, session=session, refuse=refuse, abort=abort)
    abort.check()
    if isinstance(answer, Cancel):
        raise Cancelled(answer.reason)
    return answer


def notify(hook: str, event: Event, session: LiveSession) -> Flow[None]:
    yield Notify(hook=hook, event=event, session=session)


def summarize(request: SummaryRequest, abort: AbortSignal) -> Flow[Summary]:
    """Request a summary. Raises SummaryFailed if it is empty, truncated or missing."""
    abort.check()
    try:
        answer = yield Summarize(request=request, abort=abort)
    except (Aborted, FlowError):
        raise
    except Exception as problem:
        abort.check()  # an error caused by the abort is not a failure
        raise SummaryFailed(f"the {request.kind} summary failed, nothing was written: {problem}") from problem
    abort.check()
    summary = answer if isinstance(answer, Summary) else Summary(text=answer)
    if why := summary.why_unusable():
        raise SummaryFailed(f"the {request.kind} summary failed, nothing was written: {why}")
    return summary


def choose(
    question: str, choices: tuple[Choice, ...], default: str | None, abort: AbortSignal
) -> Flow[Chosen]:
    """Return the user's choice. Raises Cancelled if there is none."""
    abort.check()
    answer = yield Choose(question=question, choices=choices, default=default, abort=abort)
    abort.check()
    if answer is None:
        raise Cancelled("nothing was selected")
    assert isinstance(answer, Chosen)
    if answer.key not in {choice.key for choice in choices}:
        raise InvalidArgument(f"{answer.key!r} is not one of the choices of {question!r}")
    return answer


def attempt(
    number: int, session: LiveSession, abort: AbortSignal, compacted: CompactResult | None = None
) -> Flow[AttemptResult]:
    """Request an answer. The attempt itself watches the abort signal and records partial output."""
    answer = yield Attempt(number=number, session=session, abort=abort, compacted=compacted)
    assert isinstance(answer, AttemptResult)
    return answer


def act(verb: str, call: Callable[[], T]) -> Flow[T]:
    """Make the change and return the function's result."""
    answer: T = yield Act(verb=verb, call=call)
    return answer
