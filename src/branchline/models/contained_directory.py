"""Access to the files below one directory that no path can escape.

Each component of a path is opened relative to the directory before it and without following symlinks. A
symlink is refused wherever it points, even one that is swapped in while a path is being opened. So are
``..``, absolute paths outside the directory, device files, sockets, pipes, and other file systems mounted
below the directory, such as ``/proc``.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, NamedTuple

__all__ = ["ContainedDirectory", "DirectoryItem", "is_supported"]

_MAX_DEPTH = 64
"""Maximum depth of a walk; each level holds a file descriptor."""
_GENERATED = frozenset(
    {".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".mypy_cache", ".ruff_cache"}
)
"""Directories that a walk skips: they hold generated files."""
_PSEUDO_FILE_SYSTEMS = ("/proc", "/sys", "/dev")


class DirectoryItem(NamedTuple):
    """A directory entry. ``path`` is relative to the root; ``size`` is in bytes, None except for files."""

    path: str
    kind: str
    """``file``, ``directory``, ``symlink`` or ``other``."""
    size: int | None = None


def is_supported() -> bool:
    """Whether this platform can open a file relative to an open directory."""
    return os.open in os.supports_dir_fd and os.scandir in os.supports_fd and hasattr(os, "O_NOFOLLOW")


class ContainedDirectory:
    """A directory and everything below it. Raises ValueError for a path that is outside or unreadable."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)
        if any(self.root == path or self.root.startswith(path + "/") for path in _PSEUDO_FILE_SYSTEMS):
            raise ValueError(f"{self.root} holds no ordinary files")

    @contextmanager
    def file(self, path: str) -> Iterator[BinaryIO]:
        """Open a regular file for reading."""
        *above, name = self._parts(path) or [""]
        if not name:
            raise ValueError(f"cannot read {path!r}: it is a directory")
        with self._directory(above, path) as directory, _opened(directory, name, path) as opened:
            yield opened

    @contextmanager
    def _directory(self, parts: list[str], path: str) -> Iterator[int]:
        with _reading(path):
            descriptor = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                device = os.fstat(descriptor).st_dev
                for part in parts:
                    inner = _subdirectory(descriptor, part, device, path)
                    os.close(descriptor)
                    descriptor = inner
                yield descriptor
            finally:
                os.close(descriptor)

    def items(self, path: str = ".", *, depth: int = 1) -> Iterator[DirectoryItem]:
        """Yield the entries of a directory, sorted by name, down to ``depth`` levels."""
        parts = self._parts(path)
        with self._directory(parts, path) as directory:
            for _, entry, found in _walk(directory, "/".join(parts), min(depth, _MAX_DEPTH)):
                yield _item(entry, found)

    def files(self, path: str = ".") -> Iterator[tuple[str, BinaryIO]]:
        """Yield every regular file at or below a path, open for reading; unreadable files are skipped.

        Directories with generated files are skipped too.
        """
        parts = self._parts(path)
        if parts:
            with suppress(ValueError), self.file(path) as file:
                yield "/".join(parts), file
                return
        with self._directory(parts, path) as directory:
            for holder, entry, found in _walk(directory, "/".join(parts), _MAX_DEPTH):
                if entry.is_file(follow_symlinks=False):
                    with suppress(OSError, ValueError), _opened(holder, entry.name, found) as file:
                        yield found, file

    def _parts(self, path: str) -> list[str]:
        """Split a path into its components below the root."""
        inside = path
        if path == self.root or path.startswith(self.root.rstrip("/") + "/"):
            inside = path[len(self.root) :].lstrip("/")
        parts = [part for part in inside.split("/") if part not in ("", ".")]
        if os.path.isabs(inside) or path.startswith("~") or ".." in parts or "\0" in path:
            raise ValueError(f"cannot read {path!r}: it is outside of {self.root}")
        if len(parts) > _MAX_DEPTH:
            raise ValueError(f"cannot read {path!r}: it has more than {_MAX_DEPTH} components")
        return parts


@contextmanager
def _reading(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise ValueError(f"cannot read {path!r}: {problem.strerror or problem}") from None


def _subdirectory(directory: int, name: str, device: int, path: str) -> int:
    if stat.S_ISLNK(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
        raise ValueError(f"cannot read {path!r}: {name!r} is a symlink, and symlinks are not followed")
    inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    if os.fstat(inner).st_dev != device:
        os.close(inner)
        raise ValueError(f"cannot read {path!r}: {name!r} is on another file system")
    return inner


@contextmanager
def _entered(directory: int, name: str, path: str) -> Iterator[int]:
    """Open a subdirectory on the same file system and close it at the end."""
    inner = _subdirectory(directory, name, os.fstat(directory).st_dev, path)
    try:
        yield inner
    finally:
        os.close(inner)


def _opened(directory: int, name: str, path: str) -> BinaryIO:
    """Open a regular file; its kind is checked before it is opened, and again afterwards."""
    before = os.stat(name, dir_fd=directory, follow_symlinks=False)
    if stat.S_ISLNK(before.st_mode):
        raise ValueError(f"cannot read {path!r}: it is a symlink, and symlinks are not followed")
    if not stat.S_ISREG(before.st_mode):
        kind = "a directory" if stat.S_ISDIR(before.st_mode) else "not a regular file"
        raise ValueError(f"cannot read {path!r}: it is {kind}")
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    descriptor = os.open(name, flags, dir_fd=directory)
    opened = os.fstat(descriptor)
    if not stat.S_ISREG(opened.st_mode) or opened.st_dev != os.fstat(directory).st_dev:
        os.close(descriptor)
        raise ValueError(f"cannot read {path!r}: it is not a regular file of this file system")
    return os.fdopen(descriptor, "rb")


def _walk(directory: int, prefix: str, depth: int) -> Iterator[tuple[int, os.DirEntry[str], str]]:
    """Yield the entries of an open directory, sorted by name, each with its directory and its path."""
    with os.scandir(directory) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        path = f"{prefix}/{entry.name}" if prefix else entry.name
        yield directory, entry, path
        if depth > 1 and entry.name not in _GENERATED and entry.is_dir(follow_symlinks=False):
            with suppress(OSError, ValueError), _entered(directory, entry.name, path) as inner:
                yield from _walk(inner, path, depth - 1)


def _item(entry: os.DirEntry[str], path: str) -> DirectoryItem:
    if entry.is_symlink():
        return DirectoryItem(path, "symlink")
    if entry.is_dir(follow_symlinks=False):
        return DirectoryItem(path, "directory")
    if not entry.is_file(follow_symlinks=False):
        return DirectoryItem(path, "other")
    with suppress(OSError):
        return DirectoryItem(path, "file", entry.stat(follow_symlinks=False).st_size)
    return DirectoryItem(path, "file")
