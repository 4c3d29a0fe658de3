"""Output files: private, written atomically, and never over an existing file unless forced.

With ``force`` only a regular file is replaced, and never the source of the output or a database. A replaced
file that holds a session of which anything would be lost goes to the trash of its directory. A pipe or a
character device, such as a terminal, is written to.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from branchline import _sha256
from branchline.errors import BranchlineError, FileExists, LogError, NotASession, NotSaved, ReadOnly
from branchline.log import create_directory, publish_file, replace_file
from branchline.log.system import SYSTEM, describe_oserror, write_all
from branchline.log.tail import is_complete_json
from branchline.session import Session
from branchline.stores import address_in, is_server_address
from branchline.stores.files import store_at
from branchline.stores.foreign_database import is_database

__all__ = [
    "Written",
    "files_of",
    "output_directory",
    "require_new_path",
    "require_other_file",
    "write_new",
    "write_output",
]

_LONGEST_NAME = 100
_BLOCK = 1 << 20
_SEPARATORS = tuple(filter(None, (os.sep, os.altsep)))
_PARTS_OF_A_DATABASE = ("-wal", "-shm", "-journal", "-locks")
_Check = Callable[[str], None]


class Written(NamedTuple):
    """An output that was written."""

    size: int
    replaced: str | None = None
    """Where the replaced session is in the trash; None if nothing that would be lost was replaced."""


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


def files_of(session: Session) -> list[str]:
    """Return the files that a session is read from, which no output may replace."""
    file = session.file
    if file is None or is_server_address(file):
        return []
    if (address := address_in(file)) is not None:
        return [address.file]
    documents = session.transcript.format.documents
    return [file, *(() if documents is None else documents.companions(file))]


def require_new_path(path: str, *, streams: bool = False) -> None:
    """Raise FileExists if something is at the path, NotSaved if its directory is missing.

    With ``streams``, a pipe or character device that :func:`write_output` writes to is accepted.
    """
    if os.path.lexists(path):
        if streams and _is_stream(path):
            return
        raise _taken(path)
    directory = os.path.dirname(path) or "."
    if not os.path.isdir(directory):
        raise NotSaved(f"cannot write {path}: no such directory: {directory}")


def require_other_file(output: str | int, sources: Iterable[str]) -> None:
    """Raise NotSaved if an output, a path or a descriptor, is one of the source files under any name."""
    try:
        status = os.stat(output)
    except OSError:
        return
    for source in sources:
        with contextlib.suppress(OSError):
            if stat.S_ISREG(status.st_mode) and os.path.samestat(status, os.stat(source)):
                name = source if isinstance(output, int) else output
                raise NotSaved(f"cannot write {name}: it is the session that is read; nothing was written")


def write_new(path: str, data: bytes | Iterable[bytes], *, check: _Check | None = None) -> None:
    """Write a file of mode 0600, all of it or nothing.

    ``check`` gets the path of the finished temporary file before it is moved into place, and raises to refuse
    it. Raises FileExists if something is at the path, even if it appeared just now.
    """
    path = os.path.abspath(path)
    with _explained(path):
        require_new_path(path)
        temporary = _temporary_beside(path)
        try:
            replace_file(temporary, data, backup=False, check=check)
            publish_file(temporary, path)
        except BaseException as problem:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            if isinstance(problem, FileExistsError):
                raise _taken(path) from None
            raise


def write_output(
    path: str,
    data: bytes | Iterable[bytes],
    *,
    check: _Check | None = None,
    force: bool = False,
    streams: bool = True,
    sources: Iterable[str] = (),
) -> Written:
    """Write a new file as :func:`write_new`; with ``streams`` also to a pipe or character device.

    The ``sources`` are never written to. With ``force``, an existing regular file is replaced; if it holds a
    session with lines that the new file lacks, it is moved to the trash. Raises NotSaved for a database, a
    link, and anything else that must stay.
    """
    path = os.path.abspath(path)
    require_other_file(path, sources)
    if streams and _is_stream(path):
        return Written(_write_stream(path, data, check))
    if not force or not os.path.lexists(path):
        write_new(path, data, check=check)
        return Written(os.path.getsize(path))
    return _replace(
        os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)), data, check
    )


def _replace(path: str, data: bytes | Iterable[bytes], check: _Check | None) -> Written:
    before = os.lstat(path)
    if (reason := _irreplaceable(path, before)) is not None:
        raise NotSaved(f"cannot replace {path}: it is {reason}; nothing was written")
    kept = None

    def keep(finished: str) -> None:
        nonlocal kept
        if check is not None:
            check(finished)
        try:
            kept = store_at(path).keep_replaced(path) if _loses(path, finished) else None
            now = os.lstat(path)
        except (OSError, BranchlineError) as problem:
            why = describe_oserror(problem) if isinstance(problem, OSError) else str(problem)
            raise NotSaved(f"cannot replace {path}: it cannot be kept in the trash: {why}") from problem
        if not os.path.samestat(before, now):
            raise NotSaved(f"cannot replace {path}: another file was put in its place meanwhile")

    try:
        with _explained(path):
            replace_file(path, data, backup=False, check=keep)
    except BaseException:
        if kept is not None and os.path.lexists(path) and os.path.samefile(path, kept.kept_at):
            kept.drop()
        raise
    if kept is not None:
        kept.replaced()
    return Written(os.path.getsize(path), None if kept is None else kept.kept_at)


def _irreplaceable(path: str, status: os.stat_result) -> str | None:
    """Return what is at a path, if it must not be replaced."""
    if stat.S_ISLNK(status.st_mode):
        return f"a link to {os.readlink(path)}, and only regular files are replaced"
    if not stat.S_ISREG(status.st_mode):
        return "not a regular file"
    if is_database(path) or any(os.path.lexists(path + part) for part in _PARTS_OF_A_DATABASE):
        return "a database"
    if any(path.endswith(part) and is_database(path.removesuffix(part)) for part in _PARTS_OF_A_DATABASE):
        return "a part of a database"
    return None


def _loses(path: str, finished: str) -> bool:
    """Return whether a file holds a session of which lines are missing in the finished new file."""
    with open(path, "rb") as old, open(finished, "rb") as new:
        known = {_sha256.sha256(line.strip()).digest() for line in new}
        lines = [line for line in old if line.strip() and _sha256.sha256(line.strip()).digest() not in known]
    if not lines:
        return False
    if any(is_complete_json(line) for line in lines):
        return True
    try:
        Session.open(path).close()
    except NotASession:
        return path.lower().endswith((".html", ".htm")) and any(b"branchline" in line for line in lines)
    except (BranchlineError, OSError, ValueError):
        pass
    return True


def _is_stream(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def _write_stream(path: str, data: bytes | Iterable[bytes], check: _Check | None) -> int:
    """Write to a pipe or a character device; with a check, only after it has passed for all of the data."""
    if check is not None:
        with tempfile.TemporaryDirectory(prefix="branchline-") as folder:
            finished = os.path.join(folder, "output")
            write_new(finished, data, check=check)
            return _write_stream(path, _blocks(finished), None)
    size = 0
    try:
        # Neither created nor truncated, should a file have been put in its place meanwhile.
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISFIFO(mode) and not stat.S_ISCHR(mode):
                raise _taken(path)
            for piece in (data,) if isinstance(data, bytes) else data:
                write_all(SYSTEM, descriptor, piece)
                size += len(piece)
        finally:
            os.close(descriptor)
    except FileExists:
        raise
    except OSError as problem:
        raise NotSaved(f"cannot write to {path}: {describe_oserror(problem)}") from problem
    return size


def _blocks(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            yield block


def _temporary_beside(path: str) -> str:
    directory, name = os.path.split(path)
    return os.path.join(directory, f".{name[:_LONGEST_NAME]}.{secrets.token_hex(8)}.new")


@contextlib.contextmanager
def _explained(path: str) -> Iterator[None]:
    try:
        yield
    except FileExists:
        raise
    except (LogError, ReadOnly) as problem:
        if not isinstance(problem.__cause__, OSError):
            raise
        why = describe_oserror(problem.__cause__)
        raise NotSaved(f"cannot write {path}: {why}; nothing was written") from problem


def _taken(path: str) -> FileExists:
    return FileExists(errno.EEXIST, "already exists", path)
