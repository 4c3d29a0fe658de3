"""Replace a file atomically, and give a draft its final name.

At every moment, even after a crash, either the old or the new content is there. A replaced file is kept as a
backup; publishing never overwrites an existing file.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterable

from branchline.errors import ReadOnly
from branchline.log.directories import create_directory, sidecar_directory, sidecar_name, sync_directory
from branchline.log.system import (
    OPEN_FLAGS,
    SYSTEM,
    System,
    problem_with,
    random_name,
    read_at,
    write_all,
)

__all__ = ["link_or_copy", "publish_file", "replace_file", "write_file"]

_NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | OPEN_FLAGS.CLOEXEC | OPEN_FLAGS.NOFOLLOW
_COPY_BLOCK = 1 << 20


def replace_file(
    path: str | os.PathLike[str],
    data: bytes | Iterable[bytes],
    *,
    backup: bool = True,
    check: Callable[[str], None] | None = None,
    system: System = SYSTEM,
) -> str | None:
    """Replace the file at `path` by one with `data`; return the path of the backup, if any.

    `check` receives the path of the finished new file and may raise to refuse it; then nothing has changed.
    The caller holds the log's lock. A writer that waits for it, or has the old file open, gets `LogReplaced`
    from its next append.
    """
    given = os.path.abspath(os.fspath(path))
    path = os.path.realpath(given)  # a symlink then points to the new file
    doing = f"replace {given}"
    outcome = "the file is unchanged"
    temporary = _temporary_beside(path)
    try:
        try:
            _write_beside(path, temporary, data, system)
        except OSError as problem:
            raise problem_with(doing, problem, outcome) from problem
        if check is not None:
            check(temporary)
        kept_at = None
        try:
            if backup:
                kept_at = _back_up(path, system)
            system.rename(temporary, path)
        except OSError as problem:
            raise problem_with(doing, problem, outcome) from problem
    except BaseException:
        with contextlib.suppress(OSError):
            system.unlink(temporary)
        raise
    try:
        sync_directory(os.path.dirname(path), system)
    except OSError as problem:
        outcome = "the new file is in place, but a power failure may restore the old one"
        raise problem_with(doing, problem, outcome) from problem
    if kept_at is not None:
        with contextlib.suppress(OSError):  # the folder is private anyway
            system.chmod(kept_at, 0o600)
    return kept_at


def publish_file(
    source: str | os.PathLike[str], target: str | os.PathLike[str], *, system: System = SYSTEM
) -> None:
    """Rename the file at `source` (a draft) to `target` durably.

    The file is synced first. Raises `FileExistsError` if the target exists. A crash in between leaves both
    names on one file; publishing again completes the operation. Locks are stored next to a file: a log that
    is open on the draft must be reopened at the target if that is in another directory.
    """
    source = os.path.abspath(os.fspath(source))
    target = os.path.abspath(os.fspath(target))
    source_directory, target_directory = os.path.dirname(source), os.path.dirname(target)
    try:
        _sync_file(source, system)
        create_directory(target_directory, system)
        try:
            system.link(source, target)
        except FileExistsError:
            if not os.path.samestat(system.lstat(source), system.lstat(target)):
                raise
        except OSError as problem:
            if problem.errno not in _NO_HARD_LINKS:
                raise
            _rename_into_nothing(source, target, system)
            sync_directory(target_directory, system)
            if source_directory != target_directory:
                sync_directory(source_directory, system)
            return
        # The new name must be durable before the old one is removed, or a power cut could lose both.
        sync_directory(target_directory, system)
        system.unlink(source)
        sync_directory(source_directory, system)
    except (FileExistsError, FileNotFoundError):
        raise
    except OSError as problem:
        raise problem_with(
            f"publish {source} as {target}", problem, "the file exists under one or both names"
        ) from problem


def write_file(path: str | os.PathLike[str], pieces: Iterable[bytes], *, system: System = SYSTEM) -> None:
    """Create a file of exactly these bytes, which becomes visible when all of them are durable.

    Raises `FileExistsError` if the path exists; after any failure nothing remains.
    """
    path = os.path.abspath(os.fspath(path))
    temporary = _temporary_beside(path)
    try:
        try:
            create_directory(os.path.dirname(path), system)
            _write_beside(path, temporary, pieces, system)
        except OSError as problem:
            raise problem_with(f"create {path}", problem, "nothing was saved") from problem
        publish_file(temporary, path, system=system)
    except BaseException:
        with contextlib.suppress(OSError):
            system.unlink(temporary)
        raise


def _temporary_beside(path: str) -> str:
    # Hidden, and without a session suffix, so that listings ignore it.
    return os.path.join(os.path.dirname(path), f".{sidecar_name(path)}.{random_name()}.tmp")


def _write_beside(path: str, temporary: str, data: bytes | Iterable[bytes], system: System) -> None:
    """Write the temporary file, which the caller removes if this fails or is interrupted anywhere."""
    descriptor = system.open(temporary, _NEW, 0o600)
    try:
        system.fchmod(descriptor, 0o600)
        _keep_owner(path, descriptor, system)
        for piece in (data,) if isinstance(data, bytes) else data:
            if piece:
                write_all(system, descriptor, piece)
        system.fsync(descriptor)
    finally:
        system.close(descriptor)


def _keep_owner(path: str, descriptor: int, system: System) -> None:
    """Keep the owner of a file that root rewrites."""
    try:
        old = system.stat(path)
    except FileNotFoundError:
        return
    new = system.fstat(descriptor)
    if old.st_uid != new.st_uid:
        try:
            system.fchown(descriptor, old.st_uid, old.st_gid)
        except PermissionError:
            raise ReadOnly(
                f"cannot replace {path}: it belongs to another user, who could not read the new file"
            ) from None


def _back_up(path: str, system: System) -> str | None:
    try:
        # The old file may not have been synced, and from now on it is only a backup.
        _sync_file(path, system)
        directory = sidecar_directory(path, "backups", system)
        kept_at = os.path.join(directory, f"{sidecar_name(path)}.{random_name()}")
        link_or_copy(path, kept_at, system)
    except FileNotFoundError:
        return None  # there is no file to back up
    sync_directory(directory, system)
    return kept_at


def link_or_copy(source: str, target: str, system: System = SYSTEM) -> None:
    """Give a file a second name; copy it where the file system has no hard links."""
    try:
        system.link(source, target)
    except OSError as problem:
        if problem.errno not in _NO_HARD_LINKS:
            raise
        _copy(source, target, system)


def _sync_file(path: str, system: System) -> None:
    try:
        descriptor = system.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError as problem:
        if problem.errno in (errno.ELOOP, errno.EACCES):
            return  # a symlink or an unreadable file: it can be renamed anyway
        raise
    try:
        system.fsync(descriptor)
    finally:
        system.close(descriptor)


def _copy(source: str, target: str, system: System) -> None:
    reader = system.open(source, os.O_RDONLY | os.O_CLOEXEC)
    try:
        writer = system.open(target, _NEW, 0o600)
        try:
            system.fchmod(writer, 0o600)
            offset = 0
            while block := read_at(system, reader, offset, _COPY_BLOCK):
                write_all(system, writer, block)
                offset += len(block)
            system.fsync(writer)
        finally:
            system.close(writer)
    finally:
        system.close(reader)


def _rename_into_nothing(source: str, target: str, system: System) -> None:
    # Not atomic: without hard links there is no portable rename that does not replace.
    with contextlib.suppress(FileNotFoundError):
        system.lstat(target)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    system.rename(source, target)
