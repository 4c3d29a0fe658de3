"""Sessions and entries by the names that a user gives them.

A session is named by a path, an id or id prefix, a title, or ``@last``, for any agent. An entry is named by
an id or id prefix, a label, a branch name, or ``@leaf``; ``~2`` after it means two conversation entries above
it, and ``~2`` alone counts from the leaf. Libraries and stores are imported when a name needs them: a command
must start fast.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from branchline.errors import Ambiguous, EntryNotFound, NotSupported, SessionNotFound
from branchline.formats.suffixes import has_suffix

if TYPE_CHECKING:
    from branchline.library import SessionLibrary, SessionRow
    from branchline.session import Session

__all__ = ["existing_store", "local_library", "resolve_entry", "resolve_path"]

_ABOVE = r"(?s)(.*)~(\d*)"
_SHOWN = 4


def local_library(directory: str | None) -> SessionLibrary:
    """Return the library of a store, or of this working directory."""
    from branchline.library import SessionLibrary  # noqa: PLC0415
    from branchline.stores import is_address, shared_store  # noqa: PLC0415

    if directory is None:
        return SessionLibrary.for_cwd()
    where = existing_store(directory)
    return SessionLibrary(shared_store(where) if is_address(where) else where)


def existing_store(directory: str) -> str:
    """Return the address of an existing store: a directory, a database file, or a server."""
    from branchline.stores import is_address, is_server_address  # noqa: PLC0415

    there = os.path.exists(os.path.expanduser(directory))
    if not there and not (is_address(directory) and is_server_address(directory)):
        raise SessionNotFound(f"no such directory or database: {directory}")
    return directory


def resolve_path(name: str, directory: str | None = None, *, ours: bool = False) -> str:
    """Return the path of a session; with ``ours``, ids and titles name only our own sessions.

    Raises ValueError for an unknown agent in ``@last:AGENT``.
    """
    from branchline.stores import is_server_address  # noqa: PLC0415
    from branchline.stores.sources import file_of  # noqa: PLC0415

    if is_server_address(name):
        return name
    in_database = "#" in name and os.path.isfile(name.partition("#")[0])
    if "/" in name or "\\" in name or has_suffix(name) or in_database:
        return file_of(os.path.abspath(os.path.expanduser(name)))
    if not name.strip():
        raise SessionNotFound("which session? Give a file, an id or id prefix, or @last")
    if name == "@last" or name.startswith("@last:"):
        return _path(_latest(directory, name.removeprefix("@last").removeprefix(":")))
    if directory is not None:
        library = local_library(directory)
        try:
            return _path(library.find(name))
        except SessionNotFound:
            pass
    elif (found := _found(name, ours=ours)) is not None:
        return _path(found)
    if os.path.exists(name):
        return os.path.abspath(name)
    where = "" if directory is None else f" in {directory}"
    raise SessionNotFound(f"no session named {name!r}{where}; `branchline ls --all` lists all sessions")


def _found(name: str, *, ours: bool) -> SessionRow | None:
    """The session with this id or title: in this working directory, else in any other."""
    from branchline.library import SessionLibrary  # noqa: PLC0415
    from branchline.places import NATIVE_AGENT  # noqa: PLC0415

    agents = [NATIVE_AGENT] if ours else None
    scopes = [SessionLibrary.everywhere(cwd, agents=agents, subagents=True) for cwd in (os.getcwd(), None)]
    for scope in scopes:
        if (row := scope.find_by_id(name)) is not None:
            return row
    for scope in scopes:
        if (row := scope.find_by_title(name)) is not None:
            return row
    if not ours:
        return None
    other = _found(name, ours=False)
    if other is not None:
        raise NotSupported(
            f"{name!r} is a {other.agent} session, not one of branchline; to do this anyway, "
            f"give its file: {other.path}"
        )
    return None


def _latest(directory: str | None, agent: str) -> SessionRow:
    """The session that was used last."""
    from branchline.library import SessionLibrary  # noqa: PLC0415

    if directory is not None:
        row = local_library(directory).latest()
    else:
        row = SessionLibrary.everywhere(os.getcwd(), agents=[agent] if agent else None).latest()
    if row is None:
        where = os.getcwd() if directory is None else directory
        raise SessionNotFound(f"no session for {where} yet; `branchline new` starts one")
    return row


def _path(row: SessionRow) -> str:
    assert row.path is not None
    return row.path


def resolve_entry(session: Session, name: str) -> str:
    """Return the id of an entry by name."""
    if (found := _named_entry(session, name)) is not None:
        return found
    above = re.fullmatch(_ABOVE, name)
    base = None if above is None else _named_entry(session, above[1] or "@leaf")
    if above is None or base is None:
        raise EntryNotFound(
            f"no entry named {name!r} in session {session.id}; `branchline tree --ids SESSION` shows all ids"
        )
    path, steps = session.path(base), int((above[2] or "1")[:9])
    if steps >= len(path):
        raise EntryNotFound(f"no entry {name}: the path of {session.id} has {len(path)} entries")
    return path[-1 - steps]


def _named_entry(session: Session, name: str) -> str | None:
    """The entry with this id or id prefix or label, or the end of the branch with this name."""
    index = session.index
    if name == "@leaf":
        if session.leaf is None:
            raise EntryNotFound(f"session {session.id} has no leaf: it is empty or was reset")
        return session.leaf
    if name in index:
        return name
    found = [key for key in index.keys if key.startswith(name)] if name else []
    if len(found) == 1:
        return found[0]
    labelled = [key for key, label in session.labels.items() if label.lower() == name.lower()]
    if len(labelled) == 1:
        return labelled[0]
    if len(labelled) > 1:
        some = ", ".join(labelled[:_SHOWN]) + (" …" if len(labelled) > _SHOWN else "")
        raise Ambiguous(f"{len(labelled)} entries of {session.id} have the label {name!r}: {some}")
    named = next((branch for branch in session.named_branches() if branch.name == name), None)
    if named is not None:
        return named.tip
    if found:
        some = ", ".join(found[:_SHOWN]) + (" …" if len(found) > _SHOWN else "")
        raise Ambiguous(f"{len(found)} entries of {session.id} begin with {name!r}: {some}")
    return None
