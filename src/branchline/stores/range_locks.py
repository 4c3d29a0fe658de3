"""Many locks in one file: each is one byte, which the kernel unlocks when its holder exits.

These are open-file-description locks. Unlike the older record locks, they belong to a descriptor and not to a
process, so closing another descriptor of the same file does not release them. Threads share the descriptor,
so a `threading.Lock` per number separates them. Where the system has no such locks, they are the only ones:
between processes, the end that an append compares inside of its transaction is what remains.
"""

from __future__ import annotations

import os
import struct
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from branchline.errors import LockTimeout, StoreClosed
from branchline.log.system import HAS_FILE_LOCKS, OPEN_FLAGS, fcntl

__all__ = ["RangeLocks"]

_FIRST_SLEEP = 0.0005
# A writer that appends continuously frees the lock only briefly, which a slow poll would miss.
_MAX_SLEEP = 0.002
if sys.platform == "darwin":
    _SET, _GET = 90, 92  # F_OFD_SETLK and F_OFD_GETLK, which Python does not define there
    _FORM, _KIND = "qqihh", 3
elif HAS_FILE_LOCKS:
    _SET, _GET = fcntl.F_OFD_SETLK, fcntl.F_OFD_GETLK
    _FORM, _KIND = "hhqqi", 0


class RangeLocks:
    """Numbered locks in the file at ``path``, which is created on first use."""

    def __init__(self, path: str, timeout: float) -> None:
        self._path = path
        self._timeout = timeout
        self._descriptor = -1
        self._pid = os.getpid()
        self._guard = threading.Lock()
        self._threads: dict[int, threading.Lock] = {}
        self._users: dict[int, int] = {}
        self._is_closed = False

    @contextmanager
    def hold(self, number: int, name: str) -> Iterator[None]:
        """Hold one lock for a ``with`` block. Raises LockTimeout, with the name of the log."""
        if (holder := self.acquire(number, self._timeout)) is not None:
            raise LockTimeout(
                f"cannot append to {name}: the lock is held by {holder}; tried for {self._timeout:.1f} s"
            )
        try:
            yield
        finally:
            self.release(number)

    def acquire(self, number: int, timeout: float) -> str | None:
        """Acquire one lock; return its holder if it did not become free in time, else None."""
        end = time.monotonic() + timeout
        if not self._thread_lock(number).acquire(timeout=min(timeout, threading.TIMEOUT_MAX)):
            self._forget(number)
            return f"another thread of this program (pid {os.getpid()})"
        try:
            is_free = not HAS_FILE_LOCKS or self._wait(self._open(), number, end)
        except BaseException:
            self._leave(number)
            raise
        if is_free:
            return None
        self._leave(number)
        return "another program"

    def release(self, number: int) -> None:
        """Release an acquired lock."""
        try:
            if HAS_FILE_LOCKS:
                self._set(self._open(), number, fcntl.F_UNLCK)
        finally:
            self._leave(number)

    def is_held(self, number: int) -> bool:
        """Return whether a thread or process holds this lock. Does not wait."""
        with self._guard:
            threads = self._threads.get(number)
        if threads is not None and threads.locked():
            return True
        if not HAS_FILE_LOCKS or not os.path.exists(self._path):
            return False
        found = fcntl.fcntl(self._open(), _GET, _record(fcntl.F_WRLCK, number))
        return bool(struct.unpack_from(_FORM, found)[_KIND] != fcntl.F_UNLCK)

    def close(self) -> None:
        """Close the file once no lock is in use, so that nobody loses a lock or fails to release one."""
        self._is_closed = True
        self._close_unused()

    def _close_unused(self) -> None:
        with self._guard:
            if not self._is_closed or self._users:
                return
            descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _thread_lock(self, number: int) -> threading.Lock:
        self._after_fork()
        with self._guard:
            self._users[number] = self._users.get(number, 0) + 1
            return self._threads.setdefault(number, threading.Lock())

    def _leave(self, number: int) -> None:
        self._threads[number].release()
        self._forget(number)

    def _forget(self, number: int) -> None:
        with self._guard:
            left = self._users.get(number, 1) - 1
            if left:
                self._users[number] = left
            else:
                self._users.pop(number, None)
                self._threads.pop(number, None)
        if self._is_closed:
            self._close_unused()

    def _after_fork(self) -> None:
        """Leave the descriptor, and with it the locks, to the parent process."""
        if self._pid != os.getpid():
            self._pid, self._guard = os.getpid(), threading.Lock()
            self._threads, self._users = {}, {}
            descriptor, self._descriptor = self._descriptor, -1
            if descriptor >= 0:
                os.close(descriptor)

    def _open(self) -> int:
        with self._guard:
            if self._descriptor < 0:
                if self._is_closed:
                    raise StoreClosed(f"cannot use {self._path}: the store is closed")
                flags = os.O_RDWR | os.O_CREAT | OPEN_FLAGS.CLOEXEC | OPEN_FLAGS.NOFOLLOW
                self._descriptor = os.open(self._path, flags, 0o600)
            return self._descriptor

    def _wait(self, descriptor: int, number: int, end: float) -> bool:
        """Wait for the lock among processes; return whether it was acquired."""
        sleep = _FIRST_SLEEP
        while True:
            try:
                self._set(descriptor, number, fcntl.F_WRLCK)
            except (BlockingIOError, PermissionError):
                left = end - time.monotonic()
                if left <= 0:
                    return False
                time.sleep(min(sleep, left))
                sleep = min(sleep * 2, _MAX_SLEEP)
            else:
                return True

    @staticmethod
    def _set(descriptor: int, number: int, kind: int) -> None:
        fcntl.fcntl(descriptor, _SET, _record(kind, number))


def _record(kind: int, number: int) -> bytes:
    if sys.platform == "darwin":
        return struct.pack(_FORM, number, 1, 0, kind, os.SEEK_SET)
    return struct.pack(_FORM, kind, os.SEEK_SET, number, 1, 0)
