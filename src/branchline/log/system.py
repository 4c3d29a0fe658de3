"""The system calls of this package, in one object.

The package writes, syncs, links and locks only through it, so a test with its own `System` sees every call in
order and can make any of them fail.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import sys
import time
from collections.abc import Iterator

from branchline.errors import CannotOpen, FileMissing, NotSaved, PermissionDenied, ReadOnly

__all__ = [
    "SYSTEM",
    "UNCHANGED",
    "System",
    "close_quietly",
    "describe_oserror",
    "opening",
    "problem_with",
    "random_name",
    "read_at",
    "read_beginning",
    "write_all",
]


class System:
    """`os` functions under their own names, without wrappers, so that there is no overhead."""

    open = staticmethod(os.open)
    close = staticmethod(os.close)
    write = staticmethod(os.write)
    pwrite = staticmethod(os.pwrite)
    pread = staticmethod(os.pread)
    lseek = staticmethod(os.lseek)
    ftruncate = staticmethod(os.ftruncate)
    fstat = staticmethod(os.fstat)
    stat = staticmethod(os.stat)
    lstat = staticmethod(os.lstat)
    fchmod = staticmethod(os.fchmod)
    fchown = staticmethod(os.fchown)
    chmod = staticmethod(os.chmod)
    mkdir = staticmethod(os.mkdir)
    rmdir = staticmethod(os.rmdir)
    link = staticmethod(os.link)
    rename = staticmethod(os.rename)
    unlink = staticmethod(os.unlink)
    flock = staticmethod(fcntl.flock)
    sleep = staticmethod(time.sleep)
    monotonic = staticmethod(time.monotonic)
    time = staticmethod(time.time)

    if sys.platform == "darwin":

        @staticmethod
        def fsync(descriptor: int) -> None:
            """Flush the drive's cache too, which fsync does not do on macOS."""
            try:
                fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            except OSError as problem:
                if problem.errno not in (errno.ENOTSUP, errno.EINVAL, errno.ENOTTY):
                    raise
                os.fsync(descriptor)

        fdatasync = fsync
    else:
        fsync = staticmethod(os.fsync)
        fdatasync = staticmethod(os.fdatasync)


SYSTEM = System()

UNCHANGED = "nothing was saved, the file is unchanged"
"""The end of a message about a failed append that left no trace."""


def write_all(system: System, descriptor: int, data: bytes) -> None:
    """Write every byte: usually one call, more only after a short or interrupted write."""
    try:
        written = system.write(descriptor, data)
    except InterruptedError:
        written = 0
    if written == len(data):
        return
    view = memoryview(data)
    while written < len(data):
        try:
            count = system.write(descriptor, view[written:])
        except InterruptedError:
            continue
        if count == 0:
            raise OSError(errno.EIO, "the write made no progress")
        written += count


def read_at(system: System, descriptor: int, offset: int, size: int) -> bytes:
    """Read `size` bytes at `offset`; fewer only at the end of the file."""
    data = system.pread(descriptor, size, offset)
    if len(data) == size or not data:
        return data
    # One call reads at most 2 GiB, and less if a signal arrives.
    pieces = [data]
    have = len(data)
    while have < size:
        data = system.pread(descriptor, size - have, offset + have)
        if not data:
            break
        pieces.append(data)
        have += len(data)
    return b"".join(pieces)


def read_beginning(path: str, size: int) -> bytes:
    """Return the first bytes of a regular file. Raises OSError for unreadable files, pipes and devices.

    Checks the file before opening it: opening a pipe blocks, and opening a device can have side effects.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(errno.EINVAL, "not a regular file", path)
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        return os.read(descriptor, min(size, status.st_size))
    finally:
        os.close(descriptor)


def close_quietly(system: System, descriptor: int) -> None:
    """Close a descriptor and ignore errors; it is closed even if the call fails."""
    with contextlib.suppress(OSError):
        system.close(descriptor)


def random_name() -> str:
    """Return sixteen random hex digits."""
    return os.urandom(8).hex()


_WORDS = {
    errno.ENOSPC: "disk full",
    errno.EDQUOT: "disk quota used up",
    errno.EFBIG: "file larger than allowed",
    errno.EIO: "input/output error",
    errno.EACCES: "permission denied",
    errno.EROFS: "read-only file system",
}


def describe_oserror(problem: OSError) -> str:
    """Describe an OSError with the name of its number: "disk full (ENOSPC)"."""
    if problem.errno is None:
        return str(problem)
    words = _WORDS.get(problem.errno) or os.strerror(problem.errno).lower()
    return f"{words} ({errno.errorcode.get(problem.errno, problem.errno)})"


def problem_with(doing: str, problem: OSError, outcome: str) -> NotSaved | ReadOnly:
    """Return the exception for a failed write: not permitted, or not possible."""
    if problem.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        where = f" at {os.fsdecode(problem.filename)}" if problem.filename is not None else ""
        return ReadOnly(f"cannot {doing}: {describe_oserror(problem)}{where}; {outcome}")
    return NotSaved(f"cannot {doing}: {describe_oserror(problem)}; {outcome}")


@contextlib.contextmanager
def opening(name: str) -> Iterator[None]:
    """Convert errors of opening or reading a file to CannotOpen with the name of the file."""
    try:
        yield
    except CannotOpen:
        raise
    except FileNotFoundError as problem:
        raise FileMissing(problem.errno, "no such file", name) from problem
    except PermissionError as problem:
        raise PermissionDenied(problem.errno, describe_oserror(problem), name) from problem
    except OSError as problem:
        raise CannotOpen(problem.errno, describe_oserror(problem), name) from problem
