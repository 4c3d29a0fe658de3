"""Running a flow: its steps become calls of the functions that the caller brings.

``run`` blocks, ``arun`` awaits; what a step means is written once, in :func:`_calls`. Every function may be
plain or a coroutine function. ``run`` gives a coroutine an event loop of its own, and refuses inside of a
running one, which it would block. ``arun`` calls plain functions, and does the flow's own work, in worker
threads, so that nothing is held up, and stops waiting when the flow is aborted; what a thread still brings
then is not used.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Awaitable, Callable, Generator
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

__all__ = ["Chooser", "ModelCaller", "Summarizer", "arun", "run"]

T = TypeVar("T")

Summarizer = Callable[[SummaryRequest], str | Summary | Awaitable[str | Summary]]
"""Writes a summary."""
Chooser = Callable[[Choose], Chosen | Awaitable[Chosen | None] | None]
"""Asks the user to choose; None cancels."""
ModelCaller = Callable[[Attempt], AttemptResult | Awaitable[AttemptResult]]
"""Asks the model for an answer."""

_DEEPEST = 4


def run(
    flow: Flow[T],
    *,
    hooks: Hooks = NO_HOOKS,
    summarizer: Summarizer | None = None,
    choose: Chooser | None = None,
    attempt: ModelCaller | None = None,
) -> T:
    """Run a flow to its end and give its result.

    Without ``summarizer`` a summary that is wanted is a NoSummarizer error, before anything is written.
    Without ``choose`` a question to the user takes its default.
    """
    return _Helpers(hooks, summarizer, choose, attempt).run(flow)


async def arun(
    flow: Flow[T],
    *,
    hooks: Hooks = NO_HOOKS,
    summarizer: Summarizer | None = None,
    choose: Chooser | None = None,
    attempt: ModelCaller | None = None,
) -> T:
    """:func:`run` for code that awaits."""
    return await _Helpers(hooks, summarizer, choose, attempt).arun(flow)


class _Call(NamedTuple):
    """A function that the driver calls; ``abort`` ends the waiting for it.

    What ``acts`` is never left alone. A ``foreign`` function is that of a plugin, and cannot end the program.
    """

    function: Callable[[], Any]
    abort: AbortSignal | None = None
    acts: bool = False
    foreign: bool = False


class _Done(NamedTuple):
    """What a flow ended with: a StopIteration cannot come out of a thread."""

    value: Any


_Calls = Generator[_Call, Any, T]


class _Helpers:
    """What a flow is run with; also what a plugin runs its own flows with."""

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
                except BaseException as problem:  # noqa: BLE001  the flow decides what it means
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
                call = await _finished(partial(_advanced, advance))
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

    # -- what steps mean ------------------------------------------------------------------------------

    def _calls(self, flow: Flow[T]) -> _Calls[T]:
        """The calls that a flow needs, one after the other; what goes wrong in one is thrown into it."""
        advance: Callable[[], Step] = partial(next, flow)
        try:
            while True:
                try:
                    step = advance()
                except StopIteration as done:
                    return cast("T", done.value)
                try:
                    answer = yield from self._answered(step)
                except GeneratorExit:
                    raise
                except BaseException as problem:  # noqa: BLE001
                    advance = partial(flow.throw, problem)
                else:
                    advance = partial(flow.send, answer)
        finally:
            flow.close()

    def _answered(self, step: Step) -> _Calls[Any]:
        match step:
            case AskHook():
                return (yield from self._asked(step))
            case Notify():
                return (yield from self._told(step))
            case Gather():
                return (yield from self._gathered(step))
            case CallPlugin():
                context = HookContext(step.session, self._deeper(), leave="act")
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

    def _asked(self, step: AskHook) -> _Calls[Any]:
        """One no is a no; else the first plugin that brought something is heard."""
        context = HookContext(step.session, self._deeper(), leave="look")
        found: object = None
        for plugin, call in self._hooks.implementations(step.hook):
            step.abort.check()
            try:
                answer = yield _Call(partial(call, step.event, context), step.abort, foreign=True)
            except (Exception, SystemExit) as problem:  # noqa: BLE001  a plugin that fails has no opinion
                step.abort.check()  # an error caused by the abort is not a failure
                self._report(plugin, step.hook, problem)
                continue
            if isinstance(answer, Cancel):
                return answer
            if answer is None:
                continue
            if wrong := step.refuse(answer):
                self._hooks.report(PluginProblem(plugin=plugin, hook=step.hook, message=wrong))
            elif found is None:
                found = answer
        return found

    def _gathered(self, step: Gather) -> _Calls[list[tuple[str, Any]]]:
        context = HookContext(step.session, self._deeper(), leave="look")
        found: list[tuple[str, Any]] = []
        for plugin, call in self._hooks.implementations(step.hook):
            try:
                answer = yield _Call(partial(call, step.event, context), foreign=True)
            except (Exception, SystemExit) as problem:  # noqa: BLE001
                self._report(plugin, step.hook, problem)
                continue
            if answer is None:
                continue
            if wrong := step.refuse(answer):
                self._hooks.report(PluginProblem(plugin=plugin, hook=step.hook, message=wrong))
            else:
                found.append((plugin, answer))
        return found

    def _told(self, step: Notify) -> _Calls[None]:
        context = HookContext(step.session, self._deeper(), leave="act")
        for plugin, call in self._hooks.implementations(step.hook):
            try:
                yield _Call(partial(call, step.event, context), foreign=True)
            except (Exception, SystemExit) as problem:  # noqa: BLE001
                self._report(plugin, step.hook, problem)

    def _report(self, plugin: str, hook: str, problem: BaseException) -> None:
        message = f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__
        self._hooks.report(PluginProblem(plugin=plugin, hook=hook, message=message))

    def _deeper(self) -> _Helpers:
        """For the flows that a plugin starts from its hook; plugins that answer each other come to an end."""
        if self._depth >= _DEEPEST:
            return _Refusing(self._depth)
        return _Helpers(self._hooks, self._summarizer, self._choose, self._attempt, self._depth + 1)


class _Refusing(_Helpers):
    def __init__(self, depth: int) -> None:
        super().__init__(NO_HOOKS, None, None, None, depth)

    def _calls(self, flow: Flow[T]) -> _Calls[T]:
        flow.close()
        raise FlowError(
            f"plugins have started flows from the hooks of flows {self._depth} deep; this one is not run"
        )
        yield  # a generator, as the others are


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
    """What a call gives: awaited here, or made in a worker thread."""
    import asyncio  # noqa: PLC0415

    if call.acts:
        return await _finished(call.function)
    work = asyncio.ensure_future(_contained(call.function) if call.foreign else _called(call.function))
    if call.abort is None:
        return await work
    loop = asyncio.get_running_loop()

    def cancel() -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile, and the work with it
            loop.call_soon_threadsafe(work.cancel)

    undo = call.abort.on_abort(cancel)
    try:
        return await work
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if call.abort.aborted and not (task is not None and task.cancelling()):
            raise Aborted(call.abort.reason or "aborted") from None
        raise
    finally:
        undo()


def _threaded(function: Callable[[], Any]) -> Any:
    """A StopIteration cannot be raised out of a thread: the awaiting task would never finish."""
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
    """What a function of a plugin gives; a SystemExit in a task would end the event loop."""
    try:
        return await _called(function)
    except SystemExit as problem:
        raise RuntimeError("it called sys.exit(), which plugins may not do") from problem


async def _finished(function: Callable[[], Any]) -> Any:
    """Run a function that must not be interrupted: a task cancelled meanwhile waits for its end."""
    import asyncio  # noqa: PLC0415

    work = asyncio.ensure_future(_called(function))
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError as problem:
            cancelled = problem
    if cancelled is not None:
        work.exception()  # retrieve the exception, or asyncio warns that it was never retrieved
        raise cancelled
    return work.result()
