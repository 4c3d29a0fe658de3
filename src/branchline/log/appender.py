"""Atomic appends to one file.

The bytes are written in one call and, if requested, synced to stable storage. After any failure the file is
truncated to its previous size, through a descriptor that has not failed. If even that is impossible, the
uncertain bytes are removed before the next append, unless another writer has appended after them.

The caller holds the lock. This module assumes nothing else about other writers: it never truncates bytes of
others, and it asks the kernel where its own bytes are.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

import msgspec

from branchline.errors import LogError, LogGone, LogReplaced, LogShrank
from branchline.log.protocol import Durability, TornTail
from branchline.log.system import (
    UNCHANGED,
    System,
    close_quietly,
    describe_oserror,
    problem_with,
    read_at,
    write_all,
)
from branchline.log.tail import keep_fragment, read_tail

__all__ = ["Appender"]


class _UncertainTail(msgspec.Struct, frozen=True, gc=False):
    """Unacknowledged bytes that may be, wholly or in part, at the end of the file."""

    start: int
    payload: bytes


class Appender:
    """Appends to the file at `path` (symlinks resolved) with this identity; `reader` is open on it."""

    def __init__(
        self,
        path: str,
        identity: tuple[int, int],
        *,
        name: str,
        reader: int,
        durability: Durability,
        is_complete: Callable[[bytes], bool],
        system: System,
    ) -> None:
        self.acknowledged = -1
        """The end of the last successful append; the file must never be shorter."""
        self.torn: TornTail | None = None
        """The torn tail that the last append closed."""
        self._path = path
        self._identity = identity
        self.name = name
        self._reader = reader
        self._sync = durability == "fsync"
        self._is_complete = is_complete
        self._system = system
        self._descriptor = -1
        self._line_end = -1
        """A size at which the file is known to end in a newline."""
        self._doubt: _UncertainTail | None = None
        self._kept: TornTail | None = None

    def append(self, size: int, data: bytes) -> int:
        """Append whole lines to a file of `size` bytes; return the new size."""
        system = self._system
        torn = None
        if size != self._line_end or self._doubt is not None:
            size = self.size()  # another writer appended, or an append failed, meanwhile
        if size < self.acknowledged:
            raise LogShrank(
                f"cannot append to {self.name}: the file ends at {size}, "
                f"expected at least {self.acknowledged}; it was truncated by another program"
            )
        try:
            if self._descriptor < 0:
                self._descriptor = self._open()
            if size not in (self._line_end, 0) and read_at(system, self._reader, size - 1, 1) != b"\n":
                torn = self._torn_tail(size)
                data = b"\n" + data
        except OSError as problem:
            raise self._failed(problem, UNCHANGED) from problem
        self._doubt = _UncertainTail(size, data)
        try:
            write_all(system, self._descriptor, data)
            if self._sync:
                system.fdatasync(self._descriptor)
            # Not size + len(data): a writer that does not lock may have appended meanwhile.
            end = system.lseek(self._descriptor, 0, os.SEEK_CUR)
        except OSError as problem:
            raise self._failed(problem, self._roll_back()) from problem
        except BaseException:
            self._roll_back()
            raise
        self._doubt = None
        self.acknowledged = self._line_end = end
        self.torn = torn
        return end

    def begin(self, size: int) -> None:
        """Record that the file was just created with `size` bytes of whole lines."""
        self.acknowledged = self._line_end = size

    def size(self) -> int:
        """Check that the file is still the same, and return its size.

        Unacknowledged bytes of an earlier append are removed here, before a caller uses this size.
        """
        system = self._system
        try:
            try:
                found = system.stat(self._path)
            except FileNotFoundError:
                # Renamed or deleted. The inode is the session: a renamed file is still appended to.
                found = system.fstat(self._reader)
        except OSError as problem:
            raise self._failed(problem, UNCHANGED) from problem
        self._require_ours(found)
        if found.st_nlink == 0:
            raise LogGone(f"cannot append to {self.name}: the file was deleted while open")
        if self._doubt is None:
            return found.st_size
        try:
            self._take_back(self._doubt)
            return system.fstat(self._reader).st_size
        except OSError as problem:
            outcome = "an earlier, unsaved record could not be removed; nothing was written"
            raise self._failed(problem, outcome) from problem

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            close_quietly(self._system, descriptor)

    def _open(self) -> int:
        system = self._system
        # O_NONBLOCK has no effect on a regular file, and avoids blocking on a pipe put in its place.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            descriptor = system.open(self._path, flags | os.O_NOFOLLOW)
        except OSError as problem:
            # Renamed since it was opened: the reading descriptor still refers to it.
            behind = f"/proc/self/fd/{self._reader}"
            if problem.errno not in (errno.ENOENT, errno.ELOOP) or not os.path.exists(behind):
                raise
            descriptor = system.open(behind, flags)
        try:
            self._require_ours(system.fstat(descriptor))
        except BaseException:
            close_quietly(system, descriptor)
            raise
        return descriptor

    def _require_ours(self, found: os.stat_result) -> None:
        if (found.st_dev, found.st_ino) != self._identity:
            raise LogReplaced(f"cannot append to {self.name}: the file was replaced; open it again")

    def _torn_tail(self, size: int) -> TornTail | None:
        tail = read_tail(lambda start, count: read_at(self._system, self._reader, start, count), size)
        if self._is_complete(tail):
            return None
        kept = self._kept
        # After a failed append the same tail is found again; one copy is enough.
        if kept is None or (kept.offset, kept.size) != (size - len(tail), len(tail)):
            kept = self._kept = keep_fragment(self._path, size - len(tail), tail, self._system)
        return kept

    def _roll_back(self) -> str:
        """Undo a failed append, and return a description of the outcome."""
        assert self._doubt is not None
        try:
            taken_back = self._take_back(self._doubt)
        except (OSError, LogError) as problem:
            why = describe_oserror(problem) if isinstance(problem, OSError) else str(problem)
            return (
                f"removing the record failed too ({why}), so it may or may not be there; "
                "the next append looks again"
            )
        if taken_back:
            return UNCHANGED
        return "another program wrote at the same time, so the record may or may not be there"

    def _take_back(self, doubt: _UncertainTail) -> bool:
        """Truncate the file to where the uncertain bytes begin, unless something else follows."""
        system = self._system
        # A descriptor that has failed is not used again: after a failed sync the kernel may have
        # dropped the pages, and the next sync on it would falsely report success.
        self.close()
        self._line_end = -1
        descriptor = self._open()
        try:
            size = system.fstat(descriptor).st_size
            rest = size - doubt.start
            ours = rest <= len(doubt.payload) and (
                rest <= 0 or read_at(system, self._reader, doubt.start, rest) == doubt.payload[:rest]
            )
            if ours and rest > 0:
                system.ftruncate(descriptor, doubt.start)
            system.fsync(descriptor)
        except BaseException:
            close_quietly(system, descriptor)
            raise
        self._descriptor = descriptor
        self._doubt = None
        return ours

    def _failed(self, problem: OSError, outcome: str) -> Exception:
        return problem_with(f"append to {self.name}", problem, outcome)
