"""The write lock of one session file: at most one writer, a time limit, and a record of the holder.

The lock is a `flock` on a separate file, so the kernel releases it when its holder exits. The lock file is
named after the inode of the session file, so that renaming a session in its folder keeps the lock; it is
never removed or replaced here. Holding the lock does not touch the session file.

Another program may have its own lock file next to its sessions. It is locked in the same way, but nothing is
written into it; the system may know its holder.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
import time
import weakref
from typing import Any

from branchline.entries import json_codec
from branchline.errors import LockTimeout
from branchline.log.directories import require_own_sidecars, sidecar_directory, sidecar_path
from branchline.log.lock_holder import holder_of
from branchline.log.system import SYSTEM, UNCHANGED, System, close_quietly, fcntl, problem_with

__all__ = ["FileLock", "is_locked"]

_RECORD = 256
"""Size of the holder's record: fixed, so that one write covers the previous one."""

_FIRST_SLEEP = 0.001
_LONGEST_SLEEP = 0.05

_living: weakref.WeakSet[FileLock] = weakref.WeakSet()


class FileLock:
    """The lock of the session file at `path` with this identity (device, inode).

    `foreign` is the lock file of another program, which is locked instead.
    """

    def __init__(
        self,
        path: str,
        identity: tuple[int, int],
        *,
        name: str,
        timeout: float,
        system: System,
        foreign: str | None = None,
    ) -> None:
        self.owner: object = None
        """The owner of the lock in this process; None if this process does not hold it."""
        self._session_path = path
        self._foreign = foreign is not None
        self._path = _lock_path(path, identity) if foreign is None else foreign
        self._name = name
        self._timeout = timeout
        self._system = system
        self._descriptor = -1
        self._threads = threading.Lock()
        self._who = _who()
        self._signed = -1  # modification time of the lock file after our last write
        self._since = 0.0
        _living.add(self)

    def of_another_program(self, path: str) -> FileLock:
        """Return a lock for the same session file on the lock file of the agent that owns it."""
        return FileLock(
            self._session_path,
            (0, 0),
            name=self._name,
            timeout=self._timeout,
            system=self._system,
            foreign=path,
        )

    def acquire(self, owner: object) -> None:
        """Acquire the lock for `owner`, waiting at most for the timeout."""
        started = 0.0
        if not self._threads.acquire(blocking=False):
            started = self._system.monotonic()
            # flock does not distinguish threads that share a descriptor.
            if not self._threads.acquire(timeout=min(self._timeout, threading.TIMEOUT_MAX)):
                raise self._timed_out(f"another thread of this program (pid {os.getpid()})")
        try:
            self._lock(started)
            self.owner = owner
        except OSError as problem:
            self._abandon()
            raise problem_with(f"append to {self._name}", problem, UNCHANGED) from problem
        except BaseException:
            self._abandon()
            raise

    def release(self, owner: object) -> None:
        """Release the lock; does nothing if `owner` does not hold it."""
        if self.owner is not owner:
            return
        self.owner = None
        try:
            self._system.flock(self._descriptor, fcntl.LOCK_UN)
        except OSError:
            # The append is saved; closing the descriptor releases the lock.
            self._close()
        except BaseException:
            self._close()
            raise
        finally:
            self._threads.release()

    def close(self) -> None:
        self.owner = None
        self._close()

    def forked(self) -> None:
        """Reset the state in a forked child process, which shares the descriptor with its parent.

        The child must neither release the parent's lock nor keep it alive after the parent exits.
        """
        self._close()
        self.owner = None
        self._threads = threading.Lock()
        self._who = _who()
        self._signed = -1

    def _lock(self, started: float) -> None:
        system = self._system
        sleep = _FIRST_SLEEP
        while True:
            descriptor = self._descriptor
            if descriptor < 0:
                descriptor = self._descriptor = self._open()
            try:
                system.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except (BlockingIOError, InterruptedError):
                now = system.monotonic()
                started = started or now
                left = started + self._timeout - now
                if left <= 0:
                    raise self._timed_out(self._holder()) from None
                system.sleep(min(sleep, left))
                sleep = min(sleep * 2, _LONGEST_SLEEP)
                continue
            found = system.fstat(descriptor)
            if found.st_nlink:
                break
            # The lock file was deleted, and other processes may lock a new one.
            self._close()
        if self._foreign:
            return
        now = system.time()
        # The file still names this process unless another holder wrote it; one second of error is fine.
        if found.st_mtime_ns != self._signed or not 0 <= now - self._since < 1:
            self._sign(descriptor, now)

    def _sign(self, descriptor: int, now: float) -> None:
        """Write the holder and the time into the lock file."""
        record = b'%s,"since":%.3f}' % (self._who, now)
        try:
            self._system.pwrite(descriptor, record.ljust(_RECORD - 1) + b"\n", 0)
            self._signed = self._system.fstat(descriptor).st_mtime_ns
            self._since = now
        except OSError:
            # The record is only informative (a full disk prevents it); the lock is held.
            self._signed = -1

    def _open(self) -> int:
        system = self._system
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        if not self._foreign:
            require_own_sidecars(self._session_path, "locks", system)
        try:
            descriptor = system.open(self._path, flags, 0o600)
        except FileNotFoundError:
            if self._foreign:
                raise
            sidecar_directory(self._session_path, "locks", system)
            descriptor = system.open(self._path, flags, 0o600)
        try:
            found = system.fstat(descriptor)
            if stat.S_IMODE(found.st_mode) != 0o600 and found.st_uid == os.geteuid():
                system.fchmod(descriptor, 0o600)
        except BaseException:
            close_quietly(system, descriptor)
            raise
        return descriptor

    def _abandon(self) -> None:
        # It is unknown whether the lock was acquired; closing the descriptor is right in both cases.
        self.owner = None
        try:
            self._close()
        finally:
            self._threads.release()

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            close_quietly(self._system, descriptor)

    def _timed_out(self, holder: str) -> LockTimeout:
        return LockTimeout(
            f"cannot append to {self._name}: the lock is held by {holder}; tried for {self._timeout:.1f} s"
        )

    def _holder(self) -> str:
        if self._foreign:
            return holder_of(self._path) or f"an unknown program, see {self._path}"
        import json  # noqa: PLC0415

        try:
            who: Any = json.loads(self._system.pread(self._descriptor, _RECORD, 0))
            since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(who["since"]))
            return f"pid {who['pid']} ({who['program']}) on host {who['host']} since {since}"
        except (OSError, ValueError, TypeError, LookupError, OverflowError):
            return f"an unknown program, see {self._path}"


def is_locked(path: str, identity: tuple[int, int], system: System = SYSTEM) -> bool:
    """Return whether the session file is locked now. Creates nothing and does not wait."""
    try:
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = system.open(_lock_path(path, identity), flags)
    except OSError:
        return False  # never locked, or its lock file cannot be opened
    try:
        system.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        close_quietly(system, descriptor)
    return False


def _lock_path(path: str, identity: tuple[int, int]) -> str:
    return sidecar_path(path, "locks", f"{identity[0]}-{identity[1]}.lock")


def _who() -> bytes:
    """Return the start of the holder's record; the time is added at each write."""
    # Only the program's name: its arguments may hold secrets.
    program = os.path.basename(sys.argv[0] if sys.argv else "") or "python"
    host = os.uname().nodename
    who = json_codec.dumps({"pid": os.getpid(), "host": host[:60], "program": program[:60]})
    if len(who) > _RECORD - 40:  # non-ASCII characters take several bytes
        who = json_codec.dumps({"pid": os.getpid(), "host": host[:12], "program": program[:12]})
    return who[:-1]


def _after_fork_in_child() -> None:
    for lock in list(_living):
        lock.forked()


os.register_at_fork(after_in_child=_after_fork_in_child)
