"""The system calls of this package, in one object.

The package writes, syncs, links and locks only through it, so a test with its own `System` sees every call in
order and can make any of them fail.

Files and the index need the locks of POSIX. Where Python has none (Windows), everything still imports, and
:func:`require_file_locks` refuses what needs them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Never

from branchline.errors import CannotOpen, FileMissing, NotSaved, NotSupported, PermissionDenied, ReadOnly

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "HAS_FILE_LOCKS",
    "OPEN_FLAGS",
    "SYSTEM",
    "UNCHANGED",
    "System",
    "close_quietly",
    "describe_oserror",
    "fcntl",
    "opening",
    "problem_with",
    "random_name",
    "read_at",
    "read_beginning",
    "require_file_locks",
    "write_all",
]

HAS_FILE_LOCKS = fcntl is not None
"""Whether this system has the file locks of POSIX."""


class _OpenFlags:
    """Flags of `os.open` that not every system has; 0 where there is none."""

    CLOEXEC = getattr(os, "O_CLOEXEC", 0)
    NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
    NONBLOCK = getattr(os, "O_NONBLOCK", 0)
    NOCTTY = getattr(os, "O_NOCTTY", 0)
    DIRECTORY = getattr(os, "O_DIRECTORY", 0)


OPEN_FLAGS = _OpenFlags()


def require_file_locks(doing: str) -> None:
    """Raise NotSupported where the system has no file locks."""
    if not HAS_FILE_LOCKS:
        raise NotSupported(
            f"cannot {doing}: this system has no POSIX file locks (Python has no module fcntl); use WSL, the "
            "Windows Subsystem for Linux, or the library with sessions in memory, SQLite or PostgreSQL"
        )


def _refuse(*_arguments: object) -> Never:
    require_file_locks("use a file")
    raise AssertionError("this system has file locks")


class System:
    """`os` functions under their own names, without wrappers, so that there is no overhead."""

    open = staticmethod(os.open)
    close = staticmethod(os.close)
    write = staticmethod(os.write)
    lseek = staticmethod(os.lseek)
    ftruncate = staticmethod(os.ftruncate)
    fstat = staticmethod(os.fstat)
    stat = staticmethod(os.stat)
    lstat = staticmethod(os.lstat)
    chmod = staticmethod(os.chmod)
    mkdir = staticmethod(os.mkdir)
    rmdir = staticmethod(os.rmdir)
    link = staticmethod(os.link)
    rename = staticmethod(os.rename)
    unlink = staticmethod(os.unlink)
    sleep = staticmethod(time.sleep)
    monotonic = staticmethod(time.monotonic)
    time = staticmethod(time.time)

    if TYPE_CHECKING or HAS_FILE_LOCKS:
        pwrite = staticmethod(os.pwrite)
        pread = staticmethod(os.pread)
        fchmod = staticmethod(os.fchmod)
        fchown = staticmethod(os.fchown)
        flock = staticmethod(fcntl.flock)
    else:
        pwrite = pread = fchmod = fchown = flock = staticmethod(_refuse)

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
        fdatasync = staticmethod(getattr(os, "fdatasync", os.fsync))


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
    flags = os.O_RDONLY | OPEN_FLAGS.CLOEXEC | OPEN_FLAGS.NONBLOCK | OPEN_FLAGS.NOCTTY
    descriptor = os.open(path, flags)
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
