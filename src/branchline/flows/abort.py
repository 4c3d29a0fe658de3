"""An abort signal: set once, from any thread, visible to every waiter.

The same object serves code that blocks (:meth:`AbortSignal.wait`, :meth:`AbortSignal.check`) and code that
awaits (:meth:`AbortSignal.on_abort` lets an event loop cancel what it waits for). It knows no event loop.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

__all__ = ["AbortSignal", "Aborted"]


class Aborted(Exception):
    """Raised where work stops because its :class:`AbortSignal` was set. A summarizer may raise it too."""


class AbortSignal:
    """Set by the user (Escape, Ctrl-C), checked by the flow before and after every question."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._event = threading.Event()
        self._reason = ""
        self._waiting: dict[object, Callable[[], object]] = {}

    @property
    def aborted(self) -> bool:
        return self._event.is_set()

    @property
    def reason(self) -> str:
        """What was given to :meth:`set`; empty before."""
        return self._reason

    def set(self, reason: str = "") -> None:
        """Ask everybody to stop. The first reason stays; setting it again does nothing."""
        with self._lock:
            if self._event.is_set():
                return
            self._reason = reason
            self._event.set()
            waiting, self._waiting = list(self._waiting.values()), {}
        for callback in waiting:
            callback()

    def check(self) -> None:
        """Raise :class:`Aborted` if it was set."""
        if self._event.is_set():
            raise Aborted(self._reason or "aborted")

    def wait(self, seconds: float | None = None) -> bool:
        """Block until it is set, or for so many seconds; whether it is set."""
        return self._event.wait(seconds)

    def on_abort(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call this once when it is set (now, if it is), in the thread that sets it; return the undo."""
        token = object()
        with self._lock:
            if not self._event.is_set():
                self._waiting[token] = callback
                return lambda: _forget(self._waiting, token)
        callback()
        return lambda: None

    def __repr__(self) -> str:
        return f"<Abort {self._reason!r}>" if self.aborted else "<AbortSignal>"


def _forget(waiting: dict[object, Callable[[], object]], token: object) -> None:
    waiting.pop(token, None)
