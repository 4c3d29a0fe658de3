"""The steps of a flow: its questions, and the single change that it makes at the end.

A flow is a generator. It yields steps and is sent their answers; :mod:`branchline.flows.driver` does that
for code that blocks and for code that awaits. All questions come first. Then comes one :class:`Act`, which
changes something, and after it only :class:`Notify`. So a flow that is stopped at a question (by an
answer, an abort or an exception) has changed nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Literal, TypeVar

import msgspec

from branchline.compaction import Summary, SummaryRequest
from branchline.errors import FlowError, SummaryFailed
from branchline.flows.abort import Aborted, AbortSignal
from branchline.flows.hook_events import Cancel, Event
from branchline.flows.session_protocol import LiveSession

__all__ = [
    "Act",
    "AskHook",
    "Attempt",
    "AttemptResult",
    "CallPlugin",
    "Choice",
    "Choose",
    "Chosen",
    "Flow",
    "Gather",
    "Notify",
    "Status",
    "Step",
    "Summarize",
    "_Cancelled",
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
    """Something that a flow wants from the world."""


class AskHook(Step, frozen=True, kw_only=True):
    """Ask the plugins before something happens. Answer: None, :class:`Cancel`, or a result of their own.

    ``refuse`` says what is wrong with an answer, or None; a wrong answer is a problem of its plugin.
    """

    hook: str
    event: Event
    session: LiveSession
    refuse: Callable[[object], str | None]
    abort: AbortSignal


class Notify(Step, frozen=True, kw_only=True):
    """Tell the plugins what has happened. The answer does not count."""

    hook: str
    event: Event
    session: LiveSession


class Gather(Step, frozen=True, kw_only=True):
    """Ask all plugins. Answer: what each of them brought, with its name; ``refuse`` is as for AskHook."""

    hook: str
    event: Event
    session: LiveSession
    refuse: Callable[[object], str | None]


class CallPlugin(Step, frozen=True, kw_only=True):
    """Call a function of a plugin with a context that may write. Answer: its return value."""

    call: Callable[[Any], Any]
    session: LiveSession


class Summarize(Step, frozen=True, kw_only=True):
    """Have something summed up. Answer: a text or a :class:`~branchline.compaction.Summary`."""

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


class Attempt(Step, frozen=True, kw_only=True):
    """Try to get an answer from the model (see :mod:`branchline.flows.recover`). Answer: AttemptResult.

    ``session`` is another one than before if the conversation continues in a fork.
    """

    number: int
    session: LiveSession
    abort: AbortSignal


class AttemptResult(msgspec.Struct, frozen=True, kw_only=True):
    """How an attempt ended. ``failed`` is the entry of an answer that failed and was recorded."""

    overflow: bool = False
    failed: str | None = None
    message: str = ""


class Act(Step, frozen=True, kw_only=True):
    """Make the change: call this function once. Answer: its return value. It cannot be aborted halfway."""

    verb: str
    call: Callable[[], Any]


Flow = Generator[Step, Any, T]
"""A flow that ends with a ``T``."""


class _Cancelled(Exception):
    """Inside a flow: a question was answered with no. The flow turns it into its result."""

    def __init__(self, cancel: Cancel) -> None:
        super().__init__(cancel.reason)
        self.reason = cancel.reason


def ask(
    hook: str,
    event: Event,
    session: LiveSession,
    kind: type[T],
    abort: AbortSignal,
    wrong: Callable[[T], str | None],
) -> Flow[T | None]:
    """What the plugins bring, of the kind that this hook takes; Stopped when one of them says no.

    ``wrong`` says why an answer of that kind cannot be used.
    """

    def refuse(answer: object) -> str | None:
        if isinstance(answer, kind):
            return wrong(answer)
        return f"answered with a {type(answer).__name__}; {hook} takes a {kind.__name__}, a Cancel or nothing"

    answer = yield from _asked(hook, event, session, refuse, abort)
    assert answer is None or isinstance(answer, kind)
    return answer


def permit(hook: str, event: Event, session: LiveSession, abort: AbortSignal) -> Flow[None]:
    """Ask the plugins whether something may happen; Stopped when one of them says no."""

    def refuse(answer: object) -> str:
        return f"answered with a {type(answer).__name__}; {hook} takes a Cancel or nothing"

    yield from _asked(hook, event, session, refuse, abort)


def _asked(
    hook: str, event: Event, session: LiveSession, refuse: Callable[[object], str | None], abort: AbortSignal
) -> Flow[object]:
    abort.check()
    answer: object = yield AskHook(hook=hook, event=event, session=session, refuse=refuse, abort=abort)
    abort.check()
    if isinstance(answer, Cancel):
        raise _Cancelled(answer)
    return answer


def notify(hook: str, event: Event, session: LiveSession) -> Flow[None]:
    yield Notify(hook=hook, event=event, session=session)


def summarize(request: SummaryRequest, abort: AbortSignal) -> Flow[Summary]:
    """A summary that can be used. SummaryFailed when it is empty, was cut off, or did not come."""
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
    """The user's choice; raises Stopped if there is none."""
    abort.check()
    answer = yield Choose(question=question, choices=choices, default=default, abort=abort)
    abort.check()
    if answer is None:
        raise _Cancelled(Cancel("nothing was selected"))
    assert isinstance(answer, Chosen)
    if answer.key not in {choice.key for choice in choices}:
        raise ValueError(f"{answer.key!r} is not one of the choices of {question!r}")
    return answer


def attempt(number: int, session: LiveSession, abort: AbortSignal) -> Flow[AttemptResult]:
    """How an attempt ended. Who makes it looks at the abort itself, and records what came until then."""
    answer = yield Attempt(number=number, session=session, abort=abort)
    assert isinstance(answer, AttemptResult)
    return answer


def act(verb: str, call: Callable[[], T]) -> Flow[T]:
    """What the function returns that changes something."""
    answer: T = yield Act(verb=verb, call=call)
    return answer
