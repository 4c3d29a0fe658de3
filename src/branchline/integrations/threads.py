"""Blocking work for asynchronous adapters: in a thread, and finished once it has begun."""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Self, TypeVar

__all__ = ["ClosableAdapter", "Worker", "run_to_end"]

_T = TypeVar("_T")


async def run_to_end(function: Callable[[], _T]) -> _T:
    """Run a function in a thread.

    A task that is cancelled while its function runs waits for the end of it: a write is stored or not, and
    whoever comes next sees which.
    """
    task = asyncio.ensure_future(asyncio.to_thread(function))
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as problem:
            cancelled = cancelled or problem
    if cancelled is not None:
        task.exception()  # looked at, so that nobody reports it as lost
        raise cancelled
    return task.result()


class Worker:
    """Runs functions in threads to their end, never two at once, for any number of event loops."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    async def run(self, function: Callable[[], _T]) -> _T:
        return await run_to_end(lambda: self.call(function))

    def call(self, function: Callable[[], _T]) -> _T:
        """Run a function in this thread, when no other one runs."""
        with self._lock:
            return function()


class ClosableAdapter(ABC):
    """An adapter that is closed by its ``close``, or at the end of an ``async with`` block."""

    @abstractmethod
    async def close(self) -> None:
        """Close what is open, and the store if this object opened it."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.close()
