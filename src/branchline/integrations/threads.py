"""Runs the blocking work of async adapters in threads, to its end."""

from __future__ import annotations

import asyncio
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Self, TypeVar

from branchline.errors import Closed
from branchline.flows.driver import finished
from branchline.library import SessionLibrary
from branchline.stores import Store

__all__ = ["ClosableAdapter", "LibraryAdapter", "Worker", "run_to_end"]

_T = TypeVar("_T")


async def run_to_end(function: Callable[[], _T]) -> _T:
    """Run a function in a thread.

    A task that is cancelled meanwhile waits for the end of the function, so that later calls see whether its
    write was stored.
    """
    return await finished(asyncio.to_thread(function))


class Worker:
    """Runs functions in threads to their end, one at a time, for any number of event loops."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    async def run(self, function: Callable[[], _T]) -> _T:
        return await run_to_end(lambda: self.call(function))

    def call(self, function: Callable[[], _T]) -> _T:
        """Run a function in this thread when no other one is running."""
        with self._lock:
            return function()


class ClosableAdapter(ABC):
    """An adapter that is closed by ``close``, or at the end of an ``async with`` block."""

    @abstractmethod
    async def close(self) -> None:
        """Close all sessions, and the store if this object opened it."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.close()


class LibraryAdapter(ClosableAdapter):
    """An adapter over the sessions of one library."""

    def _open_library(self, where: str | os.PathLike[str] | Store | SessionLibrary) -> None:
        self._owns_library = not isinstance(where, SessionLibrary)
        self._where = where if isinstance(where, SessionLibrary) else SessionLibrary(where)
        self._is_closed = False

    @property
    def _library(self) -> SessionLibrary:
        """The library; closed means closed, also where the library belongs to the caller."""
        if self._is_closed:
            raise Closed(f"{type(self).__name__} is closed")
        return self._where

    @property
    def _store(self) -> Store:
        """The only store of the library."""
        (store,) = self._library.stores
        return store

    async def close(self) -> None:
        await run_to_end(self._close)

    def _close(self) -> None:
        self._is_closed = True
        self._close_sessions()
        if self._owns_library:
            self._where.close()

    @abstractmethod
    def _close_sessions(self) -> None: ...
