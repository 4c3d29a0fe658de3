"""The companion folder of a session file: the folder next to it with its name without the suffix.

oh-my-pi and Claude Code store long tool output and sub-agent sessions there. It is moved with the file.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

from branchline.errors import LogError
from branchline.formats.suffixes import without_suffix
from branchline.log import SYSTEM, System, sync_directory, write_file
from branchline.log.system import OPEN_FLAGS, describe_oserror

__all__ = [
    "FolderFile",
    "companion_folder",
    "copy_folder",
    "files_in_folder",
    "move_folder",
    "read_pieces",
]

_PIECE = 1 << 20
_FLAGS = os.O_RDONLY | OPEN_FLAGS.CLOEXEC | OPEN_FLAGS.NONBLOCK | OPEN_FLAGS.NOCTTY


class FolderFile(NamedTuple):
    """A file that belongs to a session file, or the session file itself."""

    path: str
    inside: str
    """The path relative to the directory of the session file; empty for the session file."""
    session: str
    """The path of the session file."""

    def beside(self, copy: str) -> str:
        """Return the path that this file has for a copy of the session file."""
        if not self.inside:
            return copy
        folder = without_suffix(os.path.basename(self.session))
        first, separator, rest = self.inside.partition(os.sep)
        name = os.path.basename(copy)
        first = without_suffix(name) if first == folder and separator else first
        return os.path.join(os.path.dirname(copy), first + separator + rest)

    @contextlib.contextmanager
    def opened(self) -> Iterator[int]:
        """Open the file for reading. Raises OSError unless it is a regular file; links are not followed."""
        descriptor = _open_inside(self.path, os.path.dirname(self.session) if self.inside else None)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise LogError(f"{self.path} is not a regular file")
            yield descriptor
        finally:
            os.close(descriptor)


def _open_inside(path: str, directory: str | None) -> int:
    """Open a file without following links below a directory; without one, the session file itself."""
    if directory is None:
        return os.open(path, _FLAGS)
    *folders, name = os.path.relpath(path, directory).split(os.sep)
    at = os.open(directory, os.O_RDONLY | OPEN_FLAGS.DIRECTORY | OPEN_FLAGS.CLOEXEC)
    try:
        for folder in folders:
            below = os.open(
                folder,
                os.O_RDONLY | OPEN_FLAGS.DIRECTORY | OPEN_FLAGS.NOFOLLOW | OPEN_FLAGS.CLOEXEC,
                dir_fd=at,
            )
            os.close(at)
            at = below
        return os.open(name, _FLAGS | OPEN_FLAGS.NOFOLLOW, dir_fd=at)
    finally:
        os.close(at)


def companion_folder(path: str) -> str | None:
    """Return the folder of a session file, or None. A symlink does not count."""
    folder = without_suffix(path)
    try:
        return folder if folder != path and stat.S_ISDIR(os.lstat(folder).st_mode) else None
    except OSError:
        return None


def move_folder(path: str, new_path: str, system: System = SYSTEM) -> None:
    """Move the folder of a file, if it has one, after the file was moved on the same file system."""
    folder = companion_folder(path)
    if folder is not None:
        try:
            os.rename(folder, without_suffix(new_path))
        except OSError as problem:
            raise LogError(
                f"{new_path} was moved, but its folder is still {folder}: {describe_oserror(problem)}; "
                "move it by hand"
            ) from problem
        for parent in {os.path.dirname(path), os.path.dirname(new_path)}:
            sync_directory(parent, system)


def copy_folder(path: str, new_path: str) -> None:
    """Copy the folder of a file for a copy of that file, readable only by its owner."""
    for file in files_in_folder(path):
        with file.opened() as descriptor:
            write_file(file.beside(new_path), read_pieces(descriptor))


def read_pieces(descriptor: int) -> Iterator[bytes]:
    """Read an open file in chunks, uninterpreted."""
    offset = 0
    while data := os.pread(descriptor, _PIECE, offset):
        offset += len(data)
        yield data


def files_in_folder(path: str) -> list[FolderFile]:
    """Return the regular files in the companion folder of a session file, sorted; links are left out."""
    folder, here = companion_folder(path), os.path.dirname(path)
    found = []
    for directory, folders, names in os.walk(folder) if folder is not None else ():
        folders[:] = [name for name in folders if not os.path.islink(os.path.join(directory, name))]
        for name in names:
            file = os.path.join(directory, name)
            with contextlib.suppress(OSError):
                if stat.S_ISREG(os.lstat(file).st_mode):
                    found.append(FolderFile(file, os.path.relpath(file, here), path))
    return sorted(found)
