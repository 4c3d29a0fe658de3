"""Every call that the log room makes to the system can be made to fail, one at a time, under a whole session.

A fault strikes at call number N. «killed» ends the process there and then, so it is for `in_a_child`.
"""

from __future__ import annotations

import errno
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from branchline.log import SYSTEM, System

CALLS = [
    name for name in vars(System) if not name.startswith("_") and name not in {"time", "sleep", "monotonic"}
]
ERRORS = {"EIO": errno.EIO, "ENOSPC": errno.ENOSPC, "EDQUOT": errno.EDQUOT}
KINDS = [*ERRORS, "short write", "short write then ENOSPC", "interrupt", "killed"]


class Faults:
    """What strikes, and when."""

    def __init__(self, at: int, kind: str) -> None:
        self.count = 0
        self.struck = ""
        self._at = at
        self._kind = kind

    def call(self, name: str, *arguments: Any) -> Any:
        self.count += 1
        real = getattr(System, name)
        if self.count != self._at:
            return real(*arguments)
        if self._kind.startswith("short write"):
            # The call that is struck may not be a write; the fault waits for the next one that is.
            if name not in {"write", "pwrite"}:
                self._at += 1
                return real(*arguments)
            if self._kind == "short write then ENOSPC":
                self._kind, self._at = "ENOSPC", self.count + 1
            self.struck = name
            descriptor, data, *rest = arguments
            return real(descriptor, bytes(data)[: max(1, len(data) // 2)], *rest)
        self.struck = name
        if self._kind == "killed":
            os._exit(9)
        if self._kind == "interrupt":
            raise KeyboardInterrupt
        if name == "close":
            real(*arguments)  # close gives the descriptor back even when it reports an error
        number = ERRORS[self._kind]
        raise OSError(number, os.strerror(number))


@contextmanager
def striking(at: int, kind: str) -> Iterator[Faults]:
    """Let call number `at` of this block fail."""
    faults = Faults(at, kind)
    for name in CALLS:
        setattr(SYSTEM, name, partial(faults.call, name))
    try:
        yield faults
    finally:
        for name in CALLS:
            delattr(SYSTEM, name)


def in_a_child(act: Callable[[], object]) -> bool:
    """Do something in a copy of this process; say whether it came to its end there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons dislike forks beside threads
        child = os.fork()
    if not child:
        try:
            act()
        finally:
            os._exit(0)  # nothing of the test's own must happen twice
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0
