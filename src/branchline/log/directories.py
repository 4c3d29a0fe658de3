"""Private, durable directories, and the hidden folder for sidecars.

Sidecars of a session file are stored next to it, in `.branchline/`: lock files, torn fragments, backups and
seals, and drafts and trash of the store. All directories are created with mode 0700, whatever the umask. A
symlink in the place of one is never followed: it could redirect our files.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Literal

from branchline.log.system import HAS_FILE_LOCKS, SYSTEM, System

__all__ = [
    "create_directory",
    "require_own_sidecars",
    "sidecar_directory",
    "sidecar_name",
    "sidecar_path",
    "sync_directory",
]

SIDECARS = ".branchline"
Sidecar = Literal["locks", "torn", "backups", "seals", "drafts", "trash"]

_LONGEST_NAME = 150
"""In bytes; a file name may have 255."""


def create_directory(path: str | os.PathLike[str], system: System = SYSTEM) -> None:
    """Create a directory and missing parents, each 0700 and synced; existing ones are not changed."""
    missing = []
    current = os.path.abspath(os.fspath(path))
    while not _is_directory(current, system):
        missing.append(current)
        current = os.path.dirname(current)
    for directory in reversed(missing):
        _make(directory, system)


def sync_directory(path: str | os.PathLike[str], system: System = SYSTEM) -> None:
    """Make the names in a directory durable."""
    if not HAS_FILE_LOCKS:
        return  # nor can such a system open a directory
    descriptor = system.open(os.fspath(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        system.fsync(descriptor)
    except OSError as problem:
        # Some network file systems cannot sync a directory; they order names themselves.
        if problem.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        system.close(descriptor)


def sidecar_path(path: str, kind: Sidecar, name: str) -> str:
    """Return the path of a sidecar of the session file at `path`, whether or not it exists."""
    return os.path.join(os.path.dirname(path), SIDECARS, kind, name)


def sidecar_name(path: str) -> str:
    """Return the file name of a session, truncated so that a suffix can be added."""
    name = os.path.basename(path)
    encoded = os.fsencode(name)
    if len(encoded) <= _LONGEST_NAME:
        return name
    return encoded[:_LONGEST_NAME].decode("utf-8", "ignore")  # no partial character: macOS refuses it


def sidecar_directory(path: str, kind: Sidecar, system: System) -> str:
    """Create the folder for one kind of sidecar of the session file at `path`, and return it."""
    require_own_sidecars(path, kind, system)
    hidden = os.path.join(os.path.dirname(path), SIDECARS)
    directory = os.path.join(hidden, kind)
    for each in (hidden, directory):
        if not _is_directory(each, system):
            _make(each, system)
    return directory


def require_own_sidecars(path: str, kind: Sidecar, system: System) -> None:
    """Raise NotADirectoryError if a symlink or file is in the place of this folder or of the hidden one."""
    hidden = os.path.join(os.path.dirname(path), SIDECARS)
    for each in (hidden, os.path.join(hidden, kind)):
        try:
            found = system.lstat(each)
        except FileNotFoundError:
            return
        if not stat.S_ISDIR(found.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), each)


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
        # Another process just created it and may not have synced it yet, so sync it here too.
        if not _is_directory(path, system):
            raise
    else:
        system.chmod(path, 0o700)  # a strict umask may have removed the owner's bits
    sync_directory(os.path.dirname(path), system)
