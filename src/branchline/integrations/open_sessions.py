"""A pool of open sessions: threads use a session one at a time, and different sessions concurrently.

Opening a session costs more than appending to it, so the limit recently used ones stay open.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from branchline.session import Session

__all__ = ["OpenSessions", "Slot"]

_MAX_OPEN = 256

K = TypeVar("K", bound=Hashable)


class Slot:
    """One session of the pool; None if it is not open."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self.lock = threading.Lock()
        self.users = 0

    def close(self) -> None:
        if self.session is not None:
            self.session.close()
            self.session = None


class OpenSessions(Generic[K]):
    """An LRU pool of sessions. Threads may share it."""

    def __init__(self, limit: int = _MAX_OPEN) -> None:
        self._limit = limit
        self._slots: OrderedDict[K, Slot] = OrderedDict()
        self._guard = threading.Lock()

    @contextmanager
    def hold(self, name: K) -> Iterator[Slot]:
        """Hold the slot of a session exclusively for a ``with`` block."""
        with self._guard:
            slot = self._slots.setdefault(name, Slot())
            self._slots.move_to_end(name)
            slot.users += 1
        try:
            with slot.lock:
                yield slot
        finally:
            with self._guard:
                slot.users -= 1
                closed = self._surplus()
            for one in closed:
                one.close()

    def _surplus(self) -> list[Slot]:
        """Remove the least recently used slots beyond the limit."""
        more = len(self._slots) - self._limit
        if more <= 0:
            return []
        idle = [name for name, slot in self._slots.items() if not slot.users][:more]
        return [self._slots.pop(name) for name in idle]

    def close(self) -> None:
        """Close all sessions, which must no longer be in use."""
        with self._guard:
            slots, self._slots = list(self._slots.values()), OrderedDict()
        for slot in slots:
            slot.close()
