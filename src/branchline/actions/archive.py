"""Archive sessions that their agent will delete.

A copy is stored in our own data directory, below the name of the agent and in the same folders as the
original. While the original exists, it is listed; afterwards lists and searches find the copy.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator

import msgspec

from branchline import places
from branchline.errors import BranchlineError, NotASession, NotSupported, SessionNotFound
from branchline.log import create_directory, replace_file
from branchline.stores.companion_folders import companion_folder, copy_folder
from branchline.stores.sources import address_in
from branchline.stores.whole_sessions import earlier_files
from branchline.views.session_row import SessionRow

__all__ = ["ArchiveResult", "archive_sessions", "unarchived"]

_CHUNK = 1 << 20
_Roots = dict[str, list[str]]
"""The session directories of each agent, looked up once."""


class ArchiveResult(msgspec.Struct, frozen=True, kw_only=True):
    """The copy of one session, or the reason why there is none."""

    session: str
    path: str | None
    copy: str | None = None
    """The path of the copy; None if there is none."""
    unchanged: bool = False
    """Whether the copy already existed, with the same size and at least as new."""
    problem: str | None = None


def archive_sessions(rows: Iterable[SessionRow]) -> list[ArchiveResult]:
    """Copy sessions into the archive; a copy that is older than its session is replaced."""
    roots: _Roots = {}
    return [_archived(row, roots) for row in rows]


def unarchived(rows: Iterable[SessionRow]) -> list[SessionRow]:
    """Return the sessions of which the archive has no copy, or an older one."""
    roots: _Roots = {}
    return [row for row in rows if not _has_copy(row, roots)]


def _has_copy(row: SessionRow, roots: _Roots) -> bool:
    try:
        path = _file_of(row)
        return _is_copied(_place_for(row, path, roots), os.stat(path))
    except (OSError, NotSupported, SessionNotFound):
        return False


def _archived(row: SessionRow, roots: _Roots) -> ArchiveResult:
    try:
        path = _file_of(row)
        target = _place_for(row, path, roots)
        copied = [
            _copy(part, _place_for(row, part, roots))
            for part in (*_earlier_parts(path), path)  # itself last: a copy without its beginning is no copy
        ]
    except (OSError, BranchlineError) as problem:
        return ArchiveResult(session=row.id, path=row.path, problem=str(problem))
    return ArchiveResult(session=row.id, path=path, copy=target, unchanged=not any(copied))


def _earlier_parts(path: str) -> list[str]:
    """Return the other files that hold the beginning of a session; none of one that cannot be read."""
    try:
        return earlier_files(path)
    except NotASession:
        return []


def _copy(path: str, target: str) -> bool:
    """Copy a file and its folder; return False if the copy is there already."""
    status = os.stat(path)
    if _is_copied(target, status):
        return False
    create_directory(os.path.dirname(target))
    replace_file(target, _content(path), backup=False)
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
    if companion_folder(path) is not None and companion_folder(target) is None:
        copy_folder(path, target)
    return True


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


def _content(path: str) -> Iterator[bytes]:
    """Read a file in chunks, uninterpreted."""
    with open(path, "rb") as file:
        while data := file.read(_CHUNK):
            yield data


def _place_for(row: SessionRow, path: str, roots: _Roots) -> str:
    """Return the path of the copy: below the archive as the original is below the agent's own root."""
    agent = row.agent or row.format or "pi"
    if agent not in roots:
        found = places.known_places(agents=[agent]).places
        roots[agent] = [place.root for place in found if not place.is_archive]
    inside = [root for root in roots[agent] if path.startswith(root + os.sep)]
    below = (
        os.path.relpath(path, max(inside, key=len))
        if inside
        else os.path.join("other", os.path.basename(path))
    )
    return os.path.join(places.archive_root(agent), below)


def _is_copied(target: str, status: os.stat_result) -> bool:
    try:
        copied = os.stat(target)
    except OSError:
        return False
    return copied.st_size == status.st_size and copied.st_mtime_ns >= status.st_mtime_ns
