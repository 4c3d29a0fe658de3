"""The sessions that a service has open: each is used by one thread at a time, different ones at once.

Opening a session costs more than appending to it, so those that were used last stay open.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from branchline.session import Session

__all__ = ["OpenSessions", "Slot"]

_MOST = 256

K = TypeVar("K", bound=Hashable)


class Slot:
    """The place of one session; None if it is not open."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self.lock = threading.Lock()
        self.users = 0

    def close(self) -> None:
        """Close the session, if it is open."""
        if self.session is not None:
            self.session.close()
            self.session = None


class OpenSessions(Generic[K]):
    """Slots by name. Threads may share it."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._slots: OrderedDict[K, Slot] = OrderedDict()
        self._guard = threading.Lock()

    @contextmanager
    def hold(self, name: K) -> Iterator[Slot]:
        """The slot of a session for a ``with`` block, which no other thread enters meanwhile."""
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
        """Take out the slots that are too many, those that were not used for longest first."""
        more = len(self._slots) - self._most
        if more <= 0:
            return []
        idle = [name for name, slot in self._slots.items() if not slot.users][:more]
        return [self._slots.pop(name) for name in idle]

    def close(self) -> None:
        """Close all sessions; nobody must use one any more."""
        with self._guard:
            slots, self._slots = list(self._slots.values()), OrderedDict()
        for slot in slots:
            slot.close()
