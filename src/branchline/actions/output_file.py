"""Output files: private, written atomically, and never over an existing file unless forced."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Callable, Iterable

from branchline.errors import FileExists, LogError, NotSaved, ReadOnly
from branchline.log import create_directory, publish_file, replace_file
from branchline.log.system import describe_oserror

__all__ = ["output_directory", "require_new_path", "write_new"]

_LONGEST_NAME = 100


_SEPARATORS = tuple(filter(None, (os.sep, os.altsep)))


def output_directory(path: str | os.PathLike[str]) -> str | None:
    """Return the directory that an output path names; None if it names a file.

    A path that ends with a slash is a directory, which is created if it does not exist.
    """
    given = os.path.expanduser(os.fspath(path))
    directory = os.path.abspath(given)
    if os.path.isdir(directory):
        return directory
    if not given.endswith(_SEPARATORS):
        return None
    try:
        create_directory(directory)
    except OSError as problem:
        raise NotSaved(f"cannot create {directory}: {describe_oserror(problem)}") from problem
    return directory


def require_new_path(path: str) -> None:
    """Raise FileExists if something is at the path, NotSaved if its directory is missing."""
    if os.path.lexists(path):
        raise _taken(path)
    directory = os.path.dirname(path) or "."
    if not os.path.isdir(directory):
        raise NotSaved(f"cannot write {path}: no such directory: {directory}")


def write_new(
    path: str,
    data: bytes | Iterable[bytes],
    *,
    check: Callable[[str], None] | None = None,
    force: bool = False,
) -> None:
    """Write a file of mode 0600, all of it or nothing.

    ``check`` gets the path of the finished temporary file before it is moved into place, and raises to refuse
    it. Without ``force`` raises FileExists if something is at the path, even if it appeared just now.
    """
    path = os.path.abspath(path)
    directory, name = os.path.split(path)
    temporary = os.path.join(directory, f".{name[:_LONGEST_NAME]}.{secrets.token_hex(8)}.new")
    try:
        if force:
            replace_file(path, data, backup=False, check=check)
            return
        require_new_path(path)
        replace_file(temporary, data, backup=False, check=check)
        try:
            publish_file(temporary, path)
        except BaseException as problem:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            if isinstance(problem, FileExistsError):
                raise _taken(path) from None
            raise
    except FileExists:
        raise
    except (LogError, ReadOnly) as problem:
        if not isinstance(problem.__cause__, OSError):
            raise
        why = describe_oserror(problem.__cause__)
        raise NotSaved(f"cannot write {path}: {why}; nothing was written") from problem


def _taken(path: str) -> FileExists:
    return FileExists(errno.EEXIST, "already exists", path)
