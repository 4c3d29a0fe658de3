"""The lock of one session: threads that share a session use it one at a time.

Every method that reads the tree, or moves the leaf, holds it. It is reentrant. Callbacks that report what was
done run after it is released, so that they may use other sessions, and other threads may use this one.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

__all__ = ["SessionLock", "serialized"]

_FORK_SECONDS = 1.0

_living: weakref.WeakSet[SessionLock] = weakref.WeakSet()
_forking = threading.local()  # several threads may fork


class SessionLock:
    """A reentrant lock that calls back when its holder lets go of it."""

    __slots__ = ("__weakref__", "_depth", "_later", "_lock")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._depth = 0
        self._later: list[Callable[[], object]] = []
        _living.add(self)

    def call_later(self, callback: Callable[[], object]) -> None:
        """Call this once the current thread has released the lock, which it holds now."""
        self._later.append(callback)

    def __enter__(self) -> None:
        self._lock.acquire()
        self._depth += 1

    def __exit__(self, *_exception: object) -> None:
        self._depth -= 1
        if self._depth or not self._later:
            self._lock.release()
            return
        later, self._later = self._later, []
        self._lock.release()
        for callback in later:
            callback()

    def hold_for_fork(self, deadline: float) -> bool:
        """Acquire the lock until then, so that a child process gets the session between two operations."""
        return self._lock.acquire(timeout=max(0.0, deadline - time.monotonic()))

    def end_fork(self) -> None:
        self._lock.release()

    def forget_other_threads(self) -> None:
        """In a child process: the thread that held the lock does not exist here."""
        self._lock = threading.RLock()
        self._depth, self._later = 0, []


V = TypeVar("V", bound=Callable[..., Any])


def serialized(verb: V) -> V:
    """Make a method of a session run under its lock, and refuse to run once the session is closed."""

    @wraps(verb)
    def locked(self: Any, /, *arguments: Any, **options: Any) -> Any:
        with self._lock:
            if self._closed:
                self._refuse_closed()
            return verb(self, *arguments, **options)

    return cast("V", locked)


def _before_fork() -> None:
    deadline = time.monotonic() + _FORK_SECONDS
    _forking.held = [lock for lock in list(_living) if lock.hold_for_fork(deadline)]


def _after_fork_in_parent() -> None:
    for lock in _forking.held:
        lock.end_fork()
    del _forking.held


def _after_fork_in_child() -> None:
    held = set(map(id, _forking.held))
    for lock in list(_living):
        if id(lock) not in held:  # its holder did not let go in time
            lock.forget_other_threads()
    _after_fork_in_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
