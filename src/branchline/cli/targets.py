"""What people call sessions and entries, made into files and ids.

A session is a path, an id, the beginning of one, or ``@last``. An entry is an id, the beginning of one,
``@leaf``, or ``~2``: so many conversation entries above the leaf.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from branchline.errors import Ambiguous, EntryNotFound, SessionNotFound
from branchline.formats.suffixes import has_suffix

if TYPE_CHECKING:
    from branchline.library import SessionLibrary, SessionRow
    from branchline.session import Session

__all__ = ["entry_named", "existing", "file_named", "here", "open_named"]

_ABOVE = re.compile(r"(?:@leaf)?~(\d*)")
_SHOWN = 4


def here(directory: str | None) -> SessionLibrary:
    """The sessions of the given directory, or those of this working directory."""
    from branchline.library import SessionLibrary

    if directory is None:
        return SessionLibrary.for_cwd()
    return SessionLibrary(existing(directory))


def existing(directory: str) -> str:
    """The directory itself, if there is one."""
    if not os.path.isdir(directory):
        raise SessionNotFound(f"there is no directory {directory}")
    return directory


def file_named(name: str, directory: str | None = None) -> str:
    """The file of the session that a person means."""
    if "/" in name or "\\" in name or has_suffix(name):
        return os.path.abspath(os.path.expanduser(name))
    if not name.strip():
        raise SessionNotFound("which session? Give a file, an id, the beginning of one, or @last")
    if name == "@last":
        return _path(_latest(directory))
    nearest = here(directory)
    try:
        return _path(nearest.find(name))
    except SessionNotFound:
        pass
    if directory is None and (found := _elsewhere(name)) is not None:
        return _path(found)
    if os.path.exists(name):
        return os.path.abspath(name)
    where = "" if directory is None else f" in {directory}"
    raise SessionNotFound(f"there is no session {name!r}{where}; `branchline ls --all` lists those there are")


def _elsewhere(name: str) -> SessionRow | None:
    """The session of another working directory that answers to this name."""
    from branchline.library import SessionLibrary

    found = []
    for library in SessionLibrary.everything():
        try:
            found.append(library.find(name))
        except SessionNotFound:
            continue
    if len(found) > 1:
        exact = [row for row in found if name in (row.id, row.key)]
        if len(exact) != 1:
            some = ", ".join(row.id for row in found[:_SHOWN])
            raise Ambiguous(f"{name!r} can be {len(found)} sessions: {some}; give more of the id")
        found = exact
    return found[0] if found else None


def open_named(name: str, directory: str | None = None) -> Session:
    """Open the session that a person means. Reads it, changes nothing."""
    from branchline.session import Session

    return Session.open(file_named(name, directory))


def entry_named(session: Session, name: str) -> str:
    """The id of the entry that a person means."""
    index = session.index
    above = 0 if name == "@leaf" else _steps(name)
    if above is not None:
        path = session.path()
        if not path:
            raise EntryNotFound(f"session {session.id} stands before its first entry: it has no leaf")
        if above >= len(path):
            raise EntryNotFound(f"there is no {name}: the path of {session.id} has {len(path)} entries")
        return path[-1 - above]
    if name in index:
        return name
    found = [key for key in index.keys if key.startswith(name)] if name else []
    if len(found) == 1:
        return found[0]
    if found:
        some = ", ".join(found[:_SHOWN]) + (" …" if len(found) > _SHOWN else "")
        raise Ambiguous(f"{len(found)} entries of {session.id} begin with {name!r}: {some}")
    raise EntryNotFound(
        f"there is no entry {name!r} in session {session.id}; "
        "`branchline tree --ids SESSION` shows the ids of all"
    )


def _steps(name: str) -> int | None:
    found = _ABOVE.fullmatch(name)
    return None if found is None else int((found[1] or "1")[:9])


def _latest(directory: str | None) -> SessionRow:
    row = here(directory).latest()
    if row is None:
        where = os.getcwd() if directory is None else directory
        raise SessionNotFound(f"there is no session for {where} yet; `branchline new` begins one")
    return row


def _path(row: SessionRow) -> str:
    assert row.path is not None
    return row.path
