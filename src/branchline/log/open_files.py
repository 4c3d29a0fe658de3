"""Which files other programs have open, checked before a file is moved away or appended to.

Linux lists them in ``/proc``, for the processes of this user (root sees all). On other systems no file is
known to be open.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec

__all__ = ["OpenFile", "Overwriter", "find_overwriter", "open_files", "program_of"]


class OpenFile(msgspec.Struct, frozen=True):
    """An open descriptor of a process: its file, and the path that describes it in ``/proc``."""

    identity: tuple[int, int]
    """Device and inode."""
    process: str
    descriptor: str


class Overwriter(msgspec.Struct, frozen=True):
    """A process that writes into a file at an offset of its own."""

    pid: int
    program: str


def open_files(suffixes: tuple[str, ...], processes: str = "/proc") -> Iterator[OpenFile]:
    """Yield every open file with one of these suffixes that this user may see."""
    for name in _names(processes):
        if not name.isdigit():
            continue
        process = os.path.join(processes, name)
        for descriptor in _names(os.path.join(process, "fd")):
            link = os.path.join(process, "fd", descriptor)
            try:
                if os.readlink(link).endswith(suffixes):
                    status = os.stat(link)
                    yield OpenFile((status.st_dev, status.st_ino), process, descriptor)
            except OSError:
                continue  # closed meanwhile


def find_overwriter(path: str, identity: tuple[int, int], processes: str = "/proc") -> Overwriter | None:
    """Return the process, if any, that has this file open for writing without append mode.

    Its next write continues at its own offset and overwrites what others have appended since.
    """
    for found in open_files((os.path.splitext(path)[1],), processes):
        if found.identity == identity and _writes_at_offset(found):
            return Overwriter(int(os.path.basename(found.process)), program_of(found.process) or "a program")
    return None


def _writes_at_offset(found: OpenFile) -> bool:
    try:
        with open(os.path.join(found.process, "fdinfo", found.descriptor), encoding="ascii") as file:
            flags = next(int(line.split()[1], 8) for line in file if line.startswith("flags:"))
    except (OSError, ValueError, StopIteration):
        return False  # closed meanwhile
    return flags & os.O_ACCMODE != os.O_RDONLY and not flags & os.O_APPEND


def program_of(process: str) -> str:
    """Return the name of the program that a process runs; "" if unknown."""
    try:
        with open(os.path.join(process, "comm"), encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []  # not Linux, another user's process, or one that has just ended
