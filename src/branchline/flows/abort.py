"""An abort signal: set once, from any thread, visible to every waiter.

The same object serves code that blocks (:meth:`AbortSignal.wait`, :meth:`AbortSignal.check`) and code that
awaits (:meth:`AbortSignal.on_abort` lets an event loop cancel what it waits for). It knows no event loop.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Literal

__all__ = ["AbortSignal", "Aborted"]


class Aborted(Exception):
    """Raised where work stops because its :class:`AbortSignal` was set. A summarizer may raise it too."""

    status: Literal["aborted"] = "aborted"
    """The status of a flow that ends with it."""


class AbortSignal:
    """Set by the user (Escape, Ctrl-C), checked by the flow before and after every question."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._event = threading.Event()
        self._reason = ""
        self._callbacks: dict[object, Callable[[], object]] = {}

    @property
    def aborted(self) -> bool:
        return self._event.is_set()

    @property
    def reason(self) -> str:
        """The reason given to :meth:`set`; empty before that."""
        return self._reason

    def set(self, reason: str = "") -> None:
        """Request an abort. The first reason is kept; later calls do nothing."""
        with self._lock:
            if self._event.is_set():
                return
            self._reason = reason
            self._event.set()
            callbacks, self._callbacks = list(self._callbacks.values()), {}
        for callback in callbacks:
            callback()

    def check(self) -> None:
        """Raise :class:`Aborted` if the signal is set."""
        if self._event.is_set():
            raise Aborted(self._reason or "aborted")

    def wait(self, seconds: float | None = None) -> bool:
        """Block until the signal is set or ``seconds`` have passed; return whether it is set."""
        return self._event.wait(seconds)

    def on_abort(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Register a callback and return a function that removes it.

        The callback runs once, in the thread that sets the signal, or at once if the signal is already set.
        """
        token = object()
        with self._lock:
            if not self._event.is_set():
                self._callbacks[token] = callback
                return lambda: _remove(self._callbacks, token)
        callback()
        return lambda: None

    def __repr__(self) -> str:
        return f"<AbortSignal {self._reason!r}>" if self.aborted else "<AbortSignal>"


def _remove(callbacks: dict[object, Callable[[], object]], token: object) -> None:
    callbacks.pop(token, None)
