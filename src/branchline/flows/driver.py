"""Run flows: every step becomes a call of a function that the caller provides.

``run`` blocks, ``arun`` awaits; both share one interpretation of the steps. Every function may be plain or a
coroutine function. ``run`` runs a coroutine in a new event loop, and refuses to do so inside a running loop,
which it would block. ``arun`` runs plain functions and the flow itself in worker threads, so that the event
loop stays free. When the flow is aborted, ``arun`` stops waiting and ignores the result of the thread.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Generator
from functools import partial
from typing import Any, NamedTuple, TypeVar, cast

from branchline.compaction import Summary, SummaryRequest
from branchline.errors import FlowError, NoSummarizer
from branchline.flows.abort import Aborted, AbortSignal
from branchline.flows.hook_context import HookContext
from branchline.flows.hook_events import Cancel
from branchline.flows.hooks import NO_HOOKS, Hooks, PluginProblem
from branchline.flows.steps import (
    Act,
    AskHook,
    Attempt,
    AttemptResult,
    CallPlugin,
    Choose,
    Chosen,
    Flow,
    Gather,
    Notify,
    Step,
    Summarize,
)

__all__ = ["Chooser", "ModelCaller", "Summarizer", "arun", "finished", "interruptible", "run"]

T = TypeVar("T")

Summarizer = Callable[[SummaryRequest], str | Summary | Awaitable[str | Summary]]
"""Returns a summary."""
Chooser = Callable[[Choose], Chosen | Awaitable[Chosen | None] | None]
"""Returns the user's choice; None cancels."""
ModelCaller = Callable[[Attempt], AttemptResult | Awaitable[AttemptResult]]
"""Requests an answer from the model."""

_MAX_DEPTH = 4


def run(
    flow: Flow[T],
    *,
    hooks: Hooks = NO_HOOKS,
    summarizer: Summarizer | None = None,
    choose: Chooser | None = None,
    attempt: ModelCaller | None = None,
) -> T:
    """Run a flow and return its result.

    Without ``summarizer``, a flow that needs a summary raises NoSummarizer before it writes anything.
    Without ``choose``, questions to the user take their defaults.
    """
    return _Runner(hooks, summarizer, choose, attempt).run(flow)


async def arun(
    flow: Flow[T],
    *,
    hooks: Hooks = NO_HOOKS,
    summarizer: Summarizer | None = None,
    choose: Chooser | None = None,
    attempt: ModelCaller | None = None,
) -> T:
    """:func:`run` for code that awaits."""
    return await _Runner(hooks, summarizer, choose, attempt).arun(flow)


class _Call(NamedTuple):
    """A function that the driver calls; it stops waiting on ``abort``.

    If it ``acts``, the driver waits for it even when cancelled. A ``foreign`` function belongs to a plugin,
    and its SystemExit does not end the program.
    """

    function: Callable[[], Any]
    abort: AbortSignal | None = None
    acts: bool = False
    foreign: bool = False


class _Done(NamedTuple):
    """The result of a flow: a StopIteration cannot be raised out of a thread."""

    value: Any


_Calls = Generator[_Call, Any, T]


class _Runner:
    """Runs flows with the caller's functions; plugins run their own flows with it too."""

    def __init__(
        self,
        hooks: Hooks,
        summarizer: Summarizer | None,
        choose: Chooser | None,
        attempt: ModelCaller | None,
        depth: int = 0,
    ) -> None:
        self._hooks = hooks
        self._summarizer = summarizer
        self._choose = choose
        self._attempt = attempt
        self._depth = depth

    # -- driving --------------------------------------------------------------------------------------

    def run(self, flow: Flow[T], /) -> T:
        calls = self._calls(flow)
        advance: Callable[[], _Call] = partial(next, calls)
        try:
            while True:
                call = advance()
                try:
                    answer = _settled(call.function())
                except BaseException as problem:  # noqa: BLE001  thrown into the flow
                    advance = partial(calls.throw, problem)
                else:
                    advance = partial(calls.send, answer)
        except StopIteration as done:
            return cast("T", done.value)

    async def arun(self, flow: Flow[T], /) -> T:
        calls = self._calls(flow)
        advance: Callable[[], _Call] = partial(next, calls)
        try:
            while True:
                call = await finished(_called(partial(_advanced, advance)))
                if isinstance(call, _Done):
                    return cast("T", call.value)
                try:
                    answer = await _awaited(call)
                except BaseException as problem:  # noqa: BLE001
                    advance = partial(calls.throw, problem)
                else:
                    advance = partial(calls.send, answer)
        finally:
            calls.close()

    # -- steps ----------------------------------------------------------------------------------------

    def _calls(self, flow: Flow[T]) -> _Calls[T]:
        """Yield the calls that a flow needs, in order; exceptions of a call are thrown into the flow."""
        advance: Callable[[], Step] = partial(next, flow)
        try:
            if self._depth > _MAX_DEPTH:
                raise FlowError(
                    f"cannot run this flow: plugins have started flows from hooks {_MAX_DEPTH} levels deep"
                )
            while True:
                try:
                    step = advance()
                except StopIteration as done:
                    return cast("T", done.value)
                try:
                    answer = yield from self._perform(step)
                except GeneratorExit:
                    raise
                except BaseException as problem:  # noqa: BLE001
                    advance = partial(flow.throw, problem)
                else:
                    advance = partial(flow.send, answer)
        finally:
            flow.close()

    def _perform(self, step: Step) -> _Calls[Any]:
        match step:
            case AskHook():
                answers = yield from self._hook_answers(step)
                return answers[0][1] if answers else None
            case Notify() | Gather():
                return (yield from self._hook_answers(step))
            case CallPlugin():
                context = HookContext(step.session, self._nested(), leave="act")
                return (yield _Call(partial(step.call, context), foreign=True))
            case Summarize():
                if self._summarizer is None:
                    raise NoSummarizer(
                        "a summary was requested but there is no summarizer; nothing was changed: "
                        "pass one, or go without a summary"
                    )
                return (yield _Call(partial(self._summarizer, step.request), step.abort))
            case Choose():
                if self._choose is None:
                    return None if step.default is None else Chosen(key=step.default)
                return (yield _Call(partial(self._choose, step), step.abort))
            case Attempt():
                if self._attempt is None:
                    raise FlowError("this flow needs a model; run it with attempt=")
                return (yield _Call(partial(self._attempt, step)))
            case Act():
                return (yield _Call(step.call, acts=True))
            case _:
                raise TypeError(f"a flow yielded {step!r}, which is not a step")

    def _hook_answers(self, step: AskHook | Gather | Notify) -> _Calls[list[tuple[str, Any]]]:
        """Call all implementations of a hook and return the usable answers with the names of their plugins.

        A Cancel in answer to AskHook is returned alone. A plugin that fails counts as one without an answer.
        """
        context = HookContext(
            step.session, self._nested(), leave="act" if isinstance(step, Notify) else "look"
        )
        abort = step.abort if isinstance(step, AskHook) else AbortSignal()
        answers: list[tuple[str, Any]] = []
        for plugin, call in self._hooks.implementations(step.hook):
            abort.check()
            try:
                answer = yield _Call(partial(call, step.event, context), abort, foreign=True)
            except (Exception, SystemExit) as problem:  # noqa: BLE001
                abort.check()  # an error caused by the abort is not a failure
                self._report(plugin, step.hook, f"{type(problem).__name__}: {problem}".removesuffix(": "))
                continue
            if answer is None or isinstance(step, Notify):
                continue
            if isinstance(answer, Cancel) and isinstance(step, AskHook):
                return [(plugin, answer)]
            if refusal := step.refuse(answer):
                self._report(plugin, step.hook, refusal)
            else:
                answers.append((plugin, answer))
        return answers

    def _report(self, plugin: str, hook: str, message: str) -> None:
        self._hooks.report(PluginProblem(plugin=plugin, hook=hook, message=message))

    def _nested(self) -> _Runner:
        """Return a runner for flows that a plugin starts from its hook."""
        return _Runner(self._hooks, self._summarizer, self._choose, self._attempt, self._depth + 1)


def _settled(answer: Any) -> Any:
    """Return the answer; run a coroutine in an event loop of its own and return its result."""
    if not inspect.isawaitable(answer):
        return answer
    import asyncio  # noqa: PLC0415  only needed when something awaits

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_wrapped(answer))
    if inspect.iscoroutine(answer):
        answer.close()
    raise FlowError("run() cannot await inside of a running event loop; use arun() there")


async def _wrapped(answer: Awaitable[Any]) -> Any:
    return await answer


async def _awaited(call: _Call) -> Any:
    """Return the result of a call: awaited here, or made in a worker thread."""
    if call.acts:
        return await finished(_called(call.function))
    work = _contained(call.function) if call.foreign else _called(call.function)
    return await (work if call.abort is None else interruptible(call.abort, work))


async def interruptible(abort: AbortSignal, work: Coroutine[Any, Any, T]) -> T:
    """Await ``work``; on abort, cancel it and raise Aborted."""
    import asyncio  # noqa: PLC0415  only needed when something awaits

    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)

    def cancel() -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed, and the work has ended with it
            loop.call_soon_threadsafe(task.cancel)

    undo = abort.on_abort(cancel)
    try:
        return await task
    except asyncio.CancelledError:
        current = asyncio.current_task()
        if abort.aborted and not (current is not None and current.cancelling()):
            raise Aborted(abort.reason or "aborted") from None
        raise
    finally:
        undo()


async def finished(work: Awaitable[T]) -> T:
    """Await work that must not be interrupted: a task cancelled meanwhile waits for its end."""
    import asyncio  # noqa: PLC0415

    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as problem:
            cancelled = problem
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # retrieve the exception, or asyncio warns that it was never retrieved
        raise cancelled
    return task.result()


def _threaded(function: Callable[[], Any]) -> Any:
    """Convert a StopIteration: raised out of a thread, it would block the awaiting task forever."""
    try:
        return function()
    except StopIteration as problem:
        raise RuntimeError("a function raised StopIteration") from problem


def _advanced(advance: Callable[[], _Call]) -> _Call | _Done:
    try:
        return advance()
    except StopIteration as done:
        return _Done(done.value)


async def _called(function: Callable[[], Any]) -> Any:
    if inspect.iscoroutinefunction(function):
        return await function()
    import asyncio  # noqa: PLC0415

    answer = await asyncio.to_thread(_threaded, function)
    return await answer if inspect.isawaitable(answer) else answer


async def _contained(function: Callable[[], Any]) -> Any:
    """Call a plugin function; its SystemExit would end the event loop."""
    try:
        return await _called(function)
    except SystemExit as problem:
        raise RuntimeError("it called sys.exit(), which plugins may not do") from problem
