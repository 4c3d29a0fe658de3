"""Observers of the entries that a session appends.

They are notified after the log is written and memory has changed. They cannot veto, and an exception in one
is reported, never raised: the entry is saved.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import NamedTuple

__all__ = ["Observer", "Observers", "OnProblem"]

Observer = Callable[[str], object]
"""Called with the id of an entry that was just appended."""
OnProblem = Callable[[Exception], object]


class _Watching(NamedTuple):
    observer: Observer
    on_problem: OnProblem


class Observers:
    """The observers of one session, in subscription order."""

    def __init__(self) -> None:
        self._watching: dict[object, _Watching] = {}
        self._telling: set[int] = set()  # threads that are notifying; appends by other threads still notify

    def add(self, observer: Observer, on_problem: OnProblem | None) -> Callable[[], None]:
        token = object()
        self._watching[token] = _Watching(observer, on_problem or _log)

        def forget() -> None:
            self._watching.pop(token, None)

        return forget

    def notify(self, keys: Iterable[str]) -> None:
        """Notify all observers. Entries that they append meanwhile do not notify again."""
        thread = threading.get_ident()
        if thread in self._telling:
            return
        self._telling.add(thread)
        try:
            for key in keys:
                for watching in list(self._watching.values()):
                    try:
                        watching.observer(key)
                    except Exception as problem:  # noqa: BLE001  the entry is already saved
                        watching.on_problem(problem)
        finally:
            self._telling.discard(thread)


def _log(problem: Exception) -> None:
    import logging  # noqa: PLC0415  only needed when something goes wrong

    logging.getLogger("branchline").error("an observer of a session failed: %s", problem, exc_info=problem)
