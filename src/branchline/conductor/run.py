"""One action in progress, and its event stream.

The work runs in its own task and passes on its events through a queue of length one. Closing the iterator
aborts the work and waits until it has saved its partial output.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any

from branchline.compaction import Summary
from branchline.conductor.events import Event
from branchline.context import UsageSum
from branchline.errors import FlowError
from branchline.flows import Aborted, AbortSignal
from branchline.flows.driver import finished, interruptible

__all__ = ["Run", "stream_events", "summary_text"]


class Run:
    """State of one action (a turn, a compaction, a move): abort signal, event queue and usage."""

    def __init__(self) -> None:
        self.abort = AbortSignal()
        self.steering: deque[str] = deque()
        self.spent = UsageSum()
        self.ended = False
        self.cannot_compact = False
        self.reported_appends = 0
        self._events: asyncio.Queue[Event | None] = asyncio.Queue(1)
        self._listening = True
        self._handled = True  # whether the listener is done with the last event
        self.task: asyncio.Task[None] | None = None
        self.over = asyncio.Event()

    async def emit(self, event: Event) -> None:
        """Send an event to the listener; does nothing after the iterator was closed."""
        if self._listening:
            await self._events.put(event)

    async def end(self) -> None:
        if self._listening:
            await self._events.put(None)

    async def next(self) -> Event | None:
        """Return the next event, None at the end. This marks the previous event as handled."""
        if not self._handled:
            self._handled = True
            self._events.task_done()
        event = await self._events.get()
        self._handled = False
        return event

    async def wait_until_handled(self) -> None:
        """Wait until the listener has handled all events."""
        if self._listening:
            await self._events.join()

    async def stop(self) -> None:
        """Abort the work, discard its pending event, and wait for its end."""
        self.abort.set("the event iterator was closed")
        if self.task is None:
            return
        self._listening = False
        self._drain()
        await finished(asyncio.wait([self.task]))  # its exception is raised where the events are read
        self._drain()
        self._events.put_nowait(None)  # ends another call of next()

    def _drain(self) -> None:
        while not self._events.empty():
            self._events.get_nowait()
            self._events.task_done()


async def stream_events(
    run: Run, work: Callable[[], Coroutine[Any, Any, None]]
) -> AsyncGenerator[Event, None]:
    """Run an action and yield its events. Raises its exception at the end, even if closed early."""

    async def run_to_end() -> None:
        try:
            await work()
        finally:
            await run.end()

    task = run.task = asyncio.create_task(run_to_end())
    try:
        while (event := await run.next()) is not None:
            yield event
    finally:
        await run.stop()
        if not task.cancelled() and (problem := task.exception()) is not None:
            raise problem


async def summary_text(abort: AbortSignal, work: Coroutine[Any, Any, Summary]) -> str:
    """Await a summary and return its text. Raises FlowError if it is aborted or unusable."""
    try:
        written = await interruptible(abort, work)
    except Aborted:
        raise FlowError("cannot summarize: it was aborted") from None
    if (why := written.why_unusable()) is not None:
        raise FlowError(f"cannot summarize: {why}")
    return written.text
