"""Directories that are private and that survive a power cut, and the hidden folder for sidecars.

What accompanies a session file is stored beside it, in `.branchline/`: lock files, torn
fragments, backups and seals. Everything that is made here is 0700, whatever the umask.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Literal

from branchline.log.system import SYSTEM, System

__all__ = ["create_directory", "sidecar_directory", "sidecar_name", "sidecar_path", "sync_directory"]

SIDECARS = ".branchline"
Sidecar = Literal["locks", "torn", "backups", "seals"]

_LONGEST_NAME = 150
"""In bytes; a file name may have 255 of them in all."""


def create_directory(path: str | os.PathLike[str], system: System = SYSTEM) -> None:
    """Make a directory and the parents it lacks, each 0700 and synced; those that exist stay as they are."""
    missing = []
    current = os.path.abspath(os.fspath(path))
    while not _is_directory(current, system):
        missing.append(current)
        current = os.path.dirname(current)
    for directory in reversed(missing):
        _make(directory, system)


def sync_directory(path: str | os.PathLike[str], system: System = SYSTEM) -> None:
    """Make the names in a directory durable."""
    descriptor = system.open(os.fspath(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        system.fsync(descriptor)
    except OSError as problem:
        # Some network file systems cannot sync a directory at all; they order names by themselves.
        if problem.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        system.close(descriptor)


def sidecar_path(path: str, kind: Sidecar, name: str) -> str:
    """Return the path of a sidecar of the session file at `path`, whether or not it exists."""
    return os.path.join(os.path.dirname(path), SIDECARS, kind, name)


def sidecar_name(path: str) -> str:
    """Return the file name of a session, short enough for something to be added to it."""
    name = os.path.basename(path)
    encoded = os.fsencode(name)
    if len(encoded) <= _LONGEST_NAME:
        return name
    return encoded[:_LONGEST_NAME].decode("utf-8", "ignore")  # not half a character: macOS refuses it


def sidecar_directory(path: str, kind: Sidecar, system: System) -> str:
    """Make the folder for one kind of sidecar of the session file at `path`, and return it."""
    hidden = os.path.join(os.path.dirname(path), SIDECARS)
    directory = os.path.join(hidden, kind)
    for each in (hidden, directory):
        try:
            # lstat: a symlink planted here by another user must not redirect our files.
            found = system.lstat(each)
        except FileNotFoundError:
            _make(each, system)
        else:
            if not stat.S_ISDIR(found.st_mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), each)
    return directory


def _is_directory(path: str, system: System) -> bool:
    try:
        found = system.stat(path)
    except FileNotFoundError:
        return False
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    return True


def _make(path: str, system: System) -> None:
    try:
        system.mkdir(path, 0o700)
    except FileExistsError:
        # Somebody made it in this moment. Their sync may come later than our use of it, so we sync too.
        if not _is_directory(path, system):
            raise
    else:
        system.chmod(path, 0o700)  # a strict umask may have taken our own bits
    sync_directory(os.path.dirname(path), system)
