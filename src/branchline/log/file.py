"""A log in one file: read at any offset, append under the lock.

Opening reads nothing, writes nothing and never blocks; only regular files are accepted. The file is
identified by its inode. It may be renamed while it is open; if it is deleted or replaced, the next append
raises instead of writing to an unlinked file.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Self

from branchline.errors import InvalidArgument, IsADirectory, NotASession, ReadOnly
from branchline.log.appender import Appender
from branchline.log.directories import create_directory, sync_directory
from branchline.log.locks import FileLock
from branchline.log.protocol import Durability, TornTail, require_lines
from branchline.log.system import (
    SYSTEM,
    System,
    close_quietly,
    describe_oserror,
    opening,
    problem_with,
    read_at,
    require_file_locks,
    write_all,
)
from branchline.log.tail import is_complete_json

__all__ = ["FileLog", "FileWriter"]


class FileLog:
    """One session file.

    `durability` defines when an append is acknowledged, `lock_timeout` how many seconds a writer waits.
    `writable=False` refuses writers immediately, `writable=True` refuses to open a file without write
    permission, and `None` defers the check to the first append. `is_complete` returns whether a last line
    without a newline is complete rather than torn.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durability: Durability = "fsync",
        lock_timeout: float = 10.0,
        writable: bool | None = None,
        system: System = SYSTEM,
        is_complete: Callable[[bytes], bool] = is_complete_json,
    ) -> None:
        self._reader = -1
        if durability not in ("fsync", "os"):
            raise InvalidArgument(f'durability is "fsync" or "os", not {durability!r}')
        if lock_timeout < 0:
            raise InvalidArgument(f"a time limit cannot be negative: {lock_timeout}")
        self.path = os.path.abspath(os.fspath(path))
        require_file_locks(f"open {self.path}")
        # Sidecars are stored beside the resolved file, so that every symlink to it shares one lock.
        self._real_path = os.path.realpath(self.path)
        self._system = system
        self._writable = writable is not False
        self._reader, found = _open_regular(self._real_path, self.path, system)
        self.identity = (found.st_dev, found.st_ino)
        self._lock = FileLock(
            self._real_path, self.identity, name=self.path, timeout=lock_timeout, system=system
        )
        self._other_lock: FileLock | None = None
        self._appender = Appender(
            self._real_path,
            self.identity,
            name=self.path,
            reader=self._reader,
            durability=durability,
            is_complete=is_complete,
            system=system,
        )
        if writable and not os.access(self._real_path, os.W_OK):
            self.close()
            raise ReadOnly(f"cannot open {self.path} for appending: permission denied")

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        data: bytes,
        *,
        durability: Durability = "fsync",
        lock_timeout: float = 10.0,
        system: System = SYSTEM,
        is_complete: Callable[[bytes], bool] = is_complete_json,
    ) -> Self:
        """Create a durable file with these lines, and the directories it needs.

        Raises `FileExistsError` if the path exists; after any failure no new file remains. A new file is
        synced whatever the durability of later appends. It may be empty, for formats without a header.
        """
        if data:
            require_lines(data)
        path = os.path.abspath(os.fspath(path))
        with _new_file(path, data, system):
            log = cls(
                path,
                durability=durability,
                lock_timeout=lock_timeout,
                system=system,
                is_complete=is_complete,
            )
        log._appender.begin(len(data))
        return log

    @property
    def name(self) -> str:
        return self.path

    def add_lock(self, path: str) -> None:
        """Make every writer also hold another program's lock: an exclusive `flock` on this file.

        The file is created (mode 0600) on first use, and never written to or removed.
        """
        self._other_lock = self._lock.of_another_program(path)

    def status(self) -> os.stat_result:
        """Return the status of the open file."""
        if self._reader < 0:
            raise self._closed()
        return self._system.fstat(self._reader)

    def size(self) -> int:
        return self.status().st_size

    def read(self, offset: int, size: int) -> bytes:
        if offset < 0 or size < 0:
            raise InvalidArgument(f"cannot read {size} bytes at {offset}")
        if self._reader < 0:
            raise self._closed()
        return read_at(self._system, self._reader, offset, size)

    def exclusive(self) -> FileWriter:
        if self._reader < 0:
            raise self._closed()
        if not self._writable:
            raise ReadOnly(f"cannot append to {self.path}: it was opened for reading only")
        return FileWriter(self._lock, self._appender, self._other_lock)

    def unlink(self) -> None:
        """Delete the file, if it is still the one that was opened. The caller holds the lock."""
        status = os.lstat(self.path)
        if (status.st_dev, status.st_ino) == self.identity:
            self._system.unlink(self.path)
            sync_directory(os.path.dirname(self.path), self._system)

    def close(self) -> None:
        descriptor, self._reader = self._reader, -1
        if descriptor >= 0:
            self._lock.close()
            if self._other_lock is not None:
                self._other_lock.close()
            self._appender.close()
            close_quietly(self._system, descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # When the interpreter exits, modules may be empty; the kernel closes the descriptors.
        if not is_finalizing():
            self.close()

    def __repr__(self) -> str:
        return f"FileLog({self.path!r})"

    def _closed(self) -> ValueError:
        return ValueError(f"{self.path} is closed")


class FileWriter:
    """Appends to a `FileLog` during one `with` block."""

    __slots__ = ("_appender", "_lock", "_other_lock", "end", "torn")

    def __init__(self, lock: FileLock, appender: Appender, other_lock: FileLock | None) -> None:
        self._lock = lock
        self._other_lock = other_lock
        self._appender = appender
        self.end = 0
        self.torn: TornTail | None = None

    def append(self, data: bytes) -> int:
        if self._lock.owner is not self:
            name = self._appender.name
            raise RuntimeError(f"cannot append to {name}: this writer no longer holds the lock")
        require_lines(data)
        appender = self._appender
        end = self.end = appender.append(self.end, data)
        if appender.torn is not None:
            self.torn = appender.torn
        return end - len(data)

    def __enter__(self) -> Self:
        try:
            self._lock.acquire(self)
            if self._other_lock is not None:
                self._other_lock.acquire(self)
            self.end = self._appender.size()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if self._other_lock is not None:
                self._other_lock.release(self)
        finally:
            self._lock.release(self)


def _open_regular(real_path: str, name: str, system: System) -> tuple[int, os.stat_result]:
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
    with opening(name):
        # Checked before it is opened, because opening a device can have side effects, and again after.
        _require_regular(system.stat(real_path), name)
        descriptor = system.open(real_path, flags)
    try:
        found = system.fstat(descriptor)
        _require_regular(found, name)
    except BaseException:
        close_quietly(system, descriptor)
        raise
    return descriptor, found


_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def _require_regular(found: os.stat_result, name: str) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectory(errno.EISDIR, "it is a directory, not a regular file", name)
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "something else")
        raise NotASession(f"cannot open {name}: it is {kind}, not a regular file")


@contextlib.contextmanager
def _new_file(path: str, data: bytes, system: System) -> Iterator[None]:
    """Create a durable new file; remove it if this or the `with` block fails."""
    directory = os.path.dirname(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    outcome = "nothing was saved"
    try:
        create_directory(directory, system)
        descriptor = system.open(path, flags, 0o600)
        try:
            try:
                system.fchmod(descriptor, 0o600)
                write_all(system, descriptor, data)
                system.fsync(descriptor)
            finally:
                system.close(descriptor)
            sync_directory(directory, system)
            yield
        except BaseException:
            try:
                system.unlink(path)
                sync_directory(directory, system)
            except OSError as problem:
                outcome = f"an unfinished file may remain there ({describe_oserror(problem)})"
            raise
    except FileExistsError:
        raise
    except OSError as problem:
        raise problem_with(f"create {path}", problem, outcome) from problem
