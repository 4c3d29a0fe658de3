"""New files that people asked for: private, complete, and never on top of another one."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable

from branchline.errors import LogError, NotSaved, ReadOnly
from branchline.log import publish_file, replace_file
from branchline.log.system import describe_oserror

__all__ = ["require_new_path", "write_new"]

_LONGEST_NAME = 100


def require_new_path(path: str) -> None:
    """Refuse a place where something lies already, or whose directory is not there."""
    if os.path.lexists(path):
        raise FileExistsError(f"{path} exists already and stays as it is; choose another with -o")
    directory = os.path.dirname(path) or "."
    if not os.path.isdir(directory):
        raise NotSaved(f"cannot write {path}: there is no directory {directory}")


def write_new(
    path: str, data: bytes, *, check: Callable[[str], None] | None = None, force: bool = False
) -> None:
    """Write a file of mode 0600, all of it or nothing.

    ``check`` is given the finished file before it gets its name, and raises to refuse it. Without ``force``
    FileExistsError when something lies at the path, also when it came there in this very moment.
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
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except (LogError, ReadOnly) as problem:
        if not isinstance(problem.__cause__, OSError):
            raise
        why = describe_oserror(problem.__cause__)
        raise NotSaved(f"cannot write {path}: {why}; nothing was written") from problem
