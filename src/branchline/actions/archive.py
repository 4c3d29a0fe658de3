"""Archive sessions that their agent will delete.

A copy is stored in our own data directory, below the name of the agent and in the same folders as the
original, with the files that belong to the session: its companion folder and the other documents of an agent
that keeps several. While the original exists, it is listed; afterwards lists and searches find the copy.

A copy only grows. If its bytes are not the beginning of the original, because that was shortened, rewritten
or replaced by another session, it stays, a further copy is made, and the result names both.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from branchline import places
from branchline.errors import BranchlineError, NotASession, NotSaved, NotSupported, SessionNotFound
from branchline.log import SYSTEM, create_directory, replace_file, write_file
from branchline.log.locks import FileLock
from branchline.log.system import OPEN_FLAGS, describe_oserror
from branchline.plugins.formats import format_named
from branchline.stores.companion_folders import FolderFile, companion_folder, files_in_folder, read_pieces
from branchline.stores.sources import address_in
from branchline.stores.whole_sessions import earlier_files
from branchline.views.session_row import SessionRow

__all__ = ["ArchiveResult", "archive_sessions", "unarchived"]

_CHUNK = 1 << 20
_READ = os.O_RDONLY | OPEN_FLAGS.CLOEXEC | OPEN_FLAGS.NONBLOCK | OPEN_FLAGS.NOCTTY
_LOCK_SECONDS = 600.0


class ArchiveResult(msgspec.Struct, frozen=True, kw_only=True):
    """The copy of one session, or the reason why there is none."""

    session: str
    path: str | None
    copy: str | None = None
    """The path of the copy; None if there is none."""
    unchanged: bool = False
    """Whether the copy already existed, with all files of the session and the same bytes."""
    kept: tuple[str, ...] = ()
    """Earlier copies that their files no longer continue, and that stay as they are."""
    problem: str | None = None


def archive_sessions(rows: Iterable[SessionRow]) -> list[ArchiveResult]:
    """Copy sessions into the archive; a copy that its session continues is completed."""
    return [_archived(row) for row in rows]


def unarchived(rows: Iterable[SessionRow]) -> list[SessionRow]:
    """Return the sessions of which the archive has no copy, or an older one. No content is compared."""
    return [row for row in rows if not _has_copy(row)]


def _has_copy(row: SessionRow) -> bool:
    try:
        path = _file_of(row)
        copies, root = _copies(row, path), places.archive_root(_agent(row))
        target = next(filter(os.path.lexists, copies), copies[0])
        return all(_looks_copied(file, target, root) for file in _files(row, path))
    except (OSError, NotSupported, SessionNotFound):
        return False


def _looks_copied(file: FolderFile, target: str, root: str) -> bool:
    source = os.stat(file.path)
    copied = os.stat(_latest(file.beside(target), root)[0])
    return copied.st_size == source.st_size and copied.st_mtime_ns >= source.st_mtime_ns


def _archived(row: SessionRow) -> ArchiveResult:
    try:
        path = _file_of(row)
        root = places.archive_root(_agent(row))
        create_directory(root)
        lock = FileLock(os.path.join(root, "copies"), (0, 0), name=root, timeout=_LOCK_SECONDS, system=SYSTEM)
        owner = object()
        lock.acquire(owner)
        try:
            return _copied(row, path, root)
        finally:
            lock.release(owner)
            lock.close()
    except (OSError, BranchlineError) as problem:
        why = describe_oserror(problem) if type(problem) is OSError else str(problem)
        return ArchiveResult(session=row.id, path=row.path, problem=why)


def _copied(row: SessionRow, path: str, root: str) -> ArchiveResult:
    """Copy the files of a session, the session itself last: a copy that is listed is complete."""
    target = _target(path, _copies(row, path))
    if os.stat(path).st_size == 0:
        kept = f"; its copy {target} stays as it is" if os.path.lexists(target) else ""
        raise NotSaved(f"{path} is empty{kept}")
    made = [
        _copy(file, file.beside(_target(part, _copies(row, part))), root)
        for part in (*_earlier_parts(path), path)
        for file in reversed(_files(row, part))
    ]
    return ArchiveResult(
        session=row.id,
        path=path,
        copy=made[-1].path,
        unchanged=not any(one.changed for one in made),
        kept=tuple(one.kept for one in reversed(made) if one.kept is not None),
    )


# -- the files of a session -------------------------------------------------------------------------------


def _agent(row: SessionRow) -> str:
    return row.agent or row.format or "pi"


def _file_of(row: SessionRow) -> str:
    path = row.path
    if path is None:
        raise NotSupported(f"session {row.id} has no file; export it instead")
    if row.agent == places.NATIVE_AGENT:
        raise NotSupported(f"{path} is branchline's own, which deletes no session")
    if row.archived:
        raise NotSupported(f"{path} is an archived copy itself")
    if address_in(path) is not None:
        raise NotSupported(f"{path} is kept in a database with others; `branchline export` writes a copy")
    try:
        is_file = stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        raise SessionNotFound(f"{path} no longer exists") from None
    if not is_file:
        raise NotSupported(f"{path} is not a regular file")
    return path


def _files(row: SessionRow, path: str) -> list[FolderFile]:
    """Return the files of a session: its own first, then those of its folder, and its other documents."""
    found = [FolderFile(path, "", path)]
    if companion_folder(path) is not None:
        found += files_in_folder(path)
    documents = format_named(row.format).documents if row.format else None
    here = os.path.dirname(path)
    known = {file.path for file in found}
    for other in () if documents is None else documents.companions(path):
        inside = os.path.relpath(other, here)
        if other not in known and not inside.startswith(os.pardir):
            with contextlib.suppress(OSError):
                if stat.S_ISREG(os.lstat(other).st_mode):
                    found.append(FolderFile(other, inside, path))
    return found


def _earlier_parts(path: str) -> list[str]:
    """Return the other files that hold the beginning of a session; none of one that cannot be read."""
    try:
        return earlier_files(path)
    except NotASession:
        return []


# -- where copies are -------------------------------------------------------------------------------------


def _copies(row: SessionRow, path: str) -> list[str]:
    """Return the path of the copy, then the one that earlier versions gave it."""
    agent = _agent(row)
    found = places.known_places(agents=[agent]).places
    inside = [place for place in found if not place.is_archive and path.startswith(place.root + os.sep)]
    root = archive = places.archive_root(agent)
    names = [places.archive_name(path, max(inside, key=lambda place: len(place.root), default=None), agent)]
    if inside:
        root = max((place.root for place in inside), key=len)
        names.append(os.path.relpath(path, root))
    else:
        names.append(os.path.join("other", os.path.basename(path)))
    return [os.path.join(archive, name) for name in dict.fromkeys(names)]


def _target(path: str, copies: list[str]) -> str:
    """Return where a session is copied to: a copy of an earlier version is continued where it is."""
    first, *earlier = copies
    if os.path.lexists(first):
        return first
    return next((copy for copy in earlier if os.path.isfile(copy) and _begins(copy, path)), first)


# -- copying ----------------------------------------------------------------------------------------------


class _NotContinued(Exception):
    """The kept bytes are not the beginning of the new ones."""


class _Copy(NamedTuple):
    path: str
    changed: bool
    kept: str | None = None
    """The earlier copy, if the file does not continue it."""


def _copy(file: FolderFile, first: str, root: str) -> _Copy:
    """Complete the latest copy of a file, or make a further one if the file does not continue it."""
    with file.opened() as descriptor:
        status = os.fstat(descriptor)
        copy, following = _latest(first, root)
        kept = None
        if os.path.lexists(copy):
            if status.st_size == 0 or _same(descriptor, copy):
                return _Copy(copy, changed=False)
        else:
            create_directory(os.path.dirname(copy))

        def require_beginning(finished: str) -> None:
            if os.path.lexists(copy) and not _begins(copy, finished):
                raise _NotContinued

        try:
            replace_file(copy, read_pieces(descriptor), backup=False, check=require_beginning)
        except _NotContinued:
            copy, kept = following, copy
            write_file(copy, read_pieces(descriptor))
        os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))
        return _Copy(copy, changed=True, kept=kept)


def _latest(first: str, root: str) -> tuple[str, str]:
    """Return the latest of the numbered copies of a file, and the path of the one that would follow."""
    name = os.path.relpath(first, root)
    latest, number = first, 1
    while os.path.lexists(following := os.path.join(root, places.numbered_archive_name(name, number))):
        latest, number = following, number + 1
    return latest, following


def _same(descriptor: int, copy: str) -> bool:
    with open(copy, "rb") as kept:
        if os.fstat(kept.fileno()).st_size != os.fstat(descriptor).st_size:
            return False
        return all(kept.read(len(data)) == data for data in read_pieces(descriptor)) and not kept.read(1)


def _begins(copy: str, path: str) -> bool:
    """Return whether the bytes of a copy are the beginning of a file."""
    with open(copy, "rb") as kept, open(os.open(path, _READ), "rb") as file:
        while data := kept.read(_CHUNK):
            if file.read(len(data)) != data:
                return False
    return True
