"""A `System` whose calls can be made to fail, one at a time or from some call on.

Every call is counted. A fault strikes at call number N; with `lasting` it strikes at every call from there
on, as on a dead disk, until `heal`. Syncs do not reach the disk: what they promise is proven elsewhere.
"""

from __future__ import annotations

import errno
import os
from functools import partial
from typing import TYPE_CHECKING, Any

from branchline.log import SYSTEM, System

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

CALLS = [
    name for name in vars(System) if not name.startswith("_") and name not in {"time", "sleep", "monotonic"}
]

ERRORS = {
    "EIO": errno.EIO,
    "ENOSPC": errno.ENOSPC,
    "EDQUOT": errno.EDQUOT,
    "EINTR": errno.EINTR,
    "EACCES": errno.EACCES,
}

KINDS = [*ERRORS, "short write", "short write then ENOSPC", "interrupt before", "interrupt after"]


class Unsynced(System):
    """The real system without its syncs, for tests that are not about them."""

    def fsync(self, descriptor: FileDescriptorLike) -> None:
        pass

    def fdatasync(self, descriptor: FileDescriptorLike) -> None:
        pass


class Faulty(System):
    def __init__(self) -> None:
        self.count = 0
        self.struck = False
        self._at = 0
        self._kind = ""
        self._lasting = False
        for name in CALLS:
            setattr(self, name, partial(self._call, name))

    def strike(self, at: int, kind: str, *, lasting: bool = False) -> None:
        self.count = 0
        self.struck = False
        self._at, self._kind, self._lasting = at, kind, lasting

    def heal(self) -> None:
        self._at = 0

    def _real(self, name: str, *arguments: Any) -> Any:
        if name in {"fsync", "fdatasync"}:
            return None
        return getattr(SYSTEM, name)(*arguments)

    def _call(self, name: str, *arguments: Any) -> Any:
        self.count += 1
        if not self._at or (self.count < self._at if self._lasting else self.count != self._at):
            return self._real(name, *arguments)
        kind = self._kind
        if kind.startswith("short write"):
            # The call that is struck may not be a write; the fault waits for the next one that is.
            if name not in {"write", "pwrite"}:
                self._at += not self._lasting
                return self._real(name, *arguments)
            self.struck = True
            if kind == "short write then ENOSPC":
                self._kind, self._at = "ENOSPC", self.count + 1
            descriptor, data, *rest = arguments
            return self._real(name, descriptor, bytes(data)[: max(1, len(data) // 2)], *rest)
        self.struck = True
        if kind == "interrupt before":
            raise KeyboardInterrupt
        if kind == "interrupt after":
            self._real(name, *arguments)
            raise KeyboardInterrupt
        if name == "close":
            SYSTEM.close(*arguments)  # close gives the descriptor back even when it reports an error
        number = ERRORS[kind]
        raise OSError(number, os.strerror(number))
