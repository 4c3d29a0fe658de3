"""Resolve the names of sessions and entries on the command line.

A session is named by a path, an id or id prefix, a title, or ``@last``, for any agent. An entry is named by
an id or id prefix, a label, a branch name, or ``@leaf``; ``~2`` after it means two conversation entries above
it, and ``~2`` alone counts from the leaf.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from branchline.errors import Ambiguous, EntryNotFound, NotSupported, SessionNotFound
from branchline.formats.suffixes import has_suffix

if TYPE_CHECKING:
    from branchline.library import SessionLibrary, SessionRow
    from branchline.session import Session

__all__ = [
    "chosen_library",
    "everywhere_library",
    "existing",
    "local_library",
    "resolve_entry",
    "resolve_path",
    "resolve_row",
    "resolve_session",
]

_ABOVE = r"(?s)(.*)~(\d*)"
_SHOWN = 4


def local_library(directory: str | None) -> SessionLibrary:
    """Return the library of a store, or of this working directory."""
    from branchline.library import SessionLibrary
    from branchline.stores import is_address, shared_store

    if directory is None:
        return SessionLibrary.for_cwd()
    where = existing(directory)
    return SessionLibrary(shared_store(where) if is_address(where) else where)


def existing(directory: str) -> str:
    """Return the address of an existing store: a directory, a database file, or a server."""
    from branchline.stores import is_address, is_server_address

    there = os.path.exists(os.path.expanduser(directory))
    if not there and not (is_address(directory) and is_server_address(directory)):
        raise SessionNotFound(f"no such directory or database: {directory}")
    return directory


def resolve_path(name: str, directory: str | None = None, *, ours: bool = False) -> str:
    """Return the path of a session; with ``ours``, ids and titles name only our own sessions."""
    from branchline.stores import is_server_address

    if is_server_address(name):
        return name
    if "/" in name or "\\" in name or has_suffix(name) or _is_address(name):
        return _existing_file(os.path.abspath(os.path.expanduser(name)))
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


def _is_address(name: str) -> bool:
    """Whether the name is a session of a database in the working directory."""
    return "#" in name and os.path.isfile(name.partition("#")[0])


def _existing_file(path: str) -> str:
    """The path itself, or the path of a draft of that session."""
    from branchline.stores.files import draft_at

    draft = draft_at(path)
    return path if draft is None else draft[0].draft_path(draft[1])


def _found(name: str, *, ours: bool) -> SessionRow | None:
    """The session with this id or title: in this working directory, else in any other."""
    from branchline.places import NATIVE_AGENT

    agents = [NATIVE_AGENT] if ours else None
    scopes = [
        everywhere_library(agents, everywhere=everywhere, subagents=True) for everywhere in (False, True)
    ]
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


def everywhere_library(
    agents: Sequence[str] | None = None, *, everywhere: bool = False, subagents: bool = False
) -> SessionLibrary:
    """Return the library of all agents or of these, for this working directory or for all."""
    from branchline.library import SessionLibrary

    try:
        return SessionLibrary.everywhere(
            None if everywhere else os.getcwd(), agents=agents, subagents=subagents
        )
    except ValueError as problem:
        raise click.UsageError(str(problem)) from None


def chosen_library(
    directory: str | None, agents: Sequence[str] = (), *, everywhere: bool = False, subagents: bool = True
) -> SessionLibrary:
    """Return the library of ``--store``, or else that of ``--all`` and ``--agent``."""
    if directory is not None:
        return local_library(directory)
    names = [name for one in agents for name in one.split(",")] or None
    return everywhere_library(names, everywhere=everywhere, subagents=subagents)


def resolve_session(name: str, directory: str | None = None) -> Session:
    """Open a session by name. Changes nothing."""
    from branchline.cli.output import remark
    from branchline.session import Session

    session = Session.open(resolve_path(name, directory))
    for note in session.transcript.reading.notes:
        if note.kind == "newer-version":
            remark(f"{session.file}: {note.message}; unknown features are ignored")
    return session


def resolve_row(name: str, directory: str | None = None) -> SessionRow:
    """Return the row of a session by name."""
    path = resolve_path(name, directory)
    for row in everywhere_library(everywhere=True, subagents=True).rows_at([path]):
        return row
    from branchline.library import SessionLibrary

    beside = SessionLibrary(os.path.dirname(path)).rows_at([path])
    if not beside:
        raise SessionNotFound(f"{path} is not a session")
    return beside[0]


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


def _latest(directory: str | None, agent: str) -> SessionRow:
    """The most recently changed session."""
    if directory is not None:
        row = local_library(directory).latest()
    else:
        row = everywhere_library([agent] if agent else None).latest()
    if row is None:
        where = os.getcwd() if directory is None else directory
        raise SessionNotFound(f"no session for {where} yet; `branchline new` starts one")
    return row


def _path(row: SessionRow) -> str:
    assert row.path is not None
    return row.path
