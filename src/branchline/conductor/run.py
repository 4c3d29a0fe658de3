"""One action in progress, and its event stream.

The work runs in a task of its own and hands its events over one by one: it is never ahead of the listener by
more than one event. Whoever stops listening aborts the work, and waits until it has put away what it had.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, TypeVar

from branchline.compaction import Summary
from branchline.conductor.events import Event
from branchline.context import UsageSum
from branchline.errors import FlowError
from branchline.flows import Aborted, AbortSignal

__all__ = ["Run", "interruptible", "stream_events", "summary_text"]

T = TypeVar("T")


class Run:
    """What belongs to one turn, one compaction, one move: its abort, its listener, its sums."""

    def __init__(self) -> None:
        self.abort = AbortSignal()
        self.steering: deque[str] = deque()
        self.spent = UsageSum()
        self.over = False
        self.cannot_compact = False
        self.others_told = 0
        self._line: asyncio.Queue[Event | None] = asyncio.Queue(1)
        self._heard = True
        self._handled = True  # what the listener got last
        self.task: asyncio.Task[None] | None = None

    async def emit(self, event: Event) -> None:
        """Say something to the listener; nothing happens when there is none any more."""
        if self._heard:
            await self._line.put(event)

    async def end(self) -> None:
        if self._heard:
            await self._line.put(None)

    async def next(self) -> Event | None:
        """The next event; None at the end. Asking for it means that the one before was handled."""
        if not self._handled:
            self._handled = True
            self._line.task_done()
        event = await self._line.get()
        self._handled = False
        return event

    async def caught_up(self) -> None:
        """Wait until the listener has handled everything that was emitted."""
        if self._heard:
            await self._line.join()

    async def stop(self) -> None:
        """Abort the work, let go of an event that it may be holding out, and wait for its end."""
        self.abort.set("the event iterator was closed")
        if self.task is None:
            return
        self._heard = False
        self._drain()
        await _settled(self.task)
        self._drain()
        self._line.put_nowait(None)  # for a listener who comes back

    def _drain(self) -> None:
        while not self._line.empty():
            self._line.get_nowait()
            self._line.task_done()


async def stream_events(
    run: Run, work: Callable[[], Coroutine[Any, Any, None]]
) -> AsyncGenerator[Event, None]:
    """The events of an action. Its exception is raised at the end, even if the iterator was closed."""

    async def whole() -> None:
        try:
            await work()
        finally:
            await run.end()

    task = run.task = asyncio.create_task(whole())
    try:
        while (event := await run.next()) is not None:
            yield event
    finally:
        await run.stop()
        if not task.cancelled() and (problem := task.exception()) is not None:
            raise problem


async def interruptible(abort: AbortSignal, work: Coroutine[Any, Any, T]) -> T:
    """What some work gives; Aborted when it is aborted before, in which case the work is cancelled."""
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    undo = abort.on_abort(lambda: loop.call_soon_threadsafe(task.cancel))
    try:
        return await task
    except asyncio.CancelledError:
        current = asyncio.current_task()
        if abort.aborted and not (current is not None and current.cancelling()):
            raise Aborted(abort.reason or "aborted") from None
        raise
    finally:
        undo()


async def summary_text(abort: AbortSignal, work: Coroutine[Any, Any, Summary]) -> str:
    """The text of a summary that is being written; FlowError if it is aborted or cannot be used."""
    try:
        written = await interruptible(abort, work)
    except Aborted:
        raise FlowError("cannot summarize: it was aborted") from None
    if (why := written.why_unusable()) is not None:
        raise FlowError(f"cannot summarize: {why}")
    return written.text


async def _settled(task: asyncio.Task[None]) -> None:
    """Wait for the end of a task, also while being cancelled: what was shown has to be put away first."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as problem:
            cancelled = problem
    if cancelled is not None:
        raise cancelled
