"""The sessions and libraries that the arguments of a command name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from branchline.cli.failures import usage_errors
from branchline.errors import SessionNotFound

if TYPE_CHECKING:
    from branchline.library import SessionLibrary, SessionRow
    from branchline.session import Session

__all__ = ["chosen_library", "everywhere_library", "resolve_path", "resolve_row", "resolve_session"]


def everywhere_library(
    agents: Sequence[str] | None = None, *, everywhere: bool = False, subagents: bool = False
) -> SessionLibrary:
    """Return the library of all agents or of these, for this working directory or for all."""
    from branchline.library import SessionLibrary

    with usage_errors():
        return SessionLibrary.everywhere(
            None if everywhere else os.getcwd(), agents=agents, subagents=subagents
        )


def chosen_library(
    directory: str | None, agents: Sequence[str] = (), *, everywhere: bool = False, subagents: bool = True
) -> SessionLibrary:
    """Return the library of ``--store``, or else that of ``--all`` and ``--agent``."""
    if directory is not None:
        from branchline.actions.names import local_library

        return local_library(directory)
    names = [name for one in agents for name in one.split(",")] or None
    return everywhere_library(names, everywhere=everywhere, subagents=subagents)


def resolve_path(name: str, directory: str | None = None, *, ours: bool = False) -> str:
    """Return the path of a session; an unknown agent is a usage error."""
    from branchline.actions import names

    with usage_errors():
        return names.resolve_path(name, directory, ours=ours)


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
    path = resolve_path(name, directory)
    for row in everywhere_library(everywhere=True, subagents=True).rows_at([path]):
        return row
    from branchline.library import SessionLibrary

    beside = SessionLibrary(os.path.dirname(path)).rows_at([path])
    if not beside:
        raise SessionNotFound(f"{path} is not a session")
    return beside[0]
