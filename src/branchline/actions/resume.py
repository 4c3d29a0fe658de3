"""Continue a session in its own agent or in branchline chat: plan the command, and run it."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

import msgspec

from branchline.errors import InvalidId, NotSupported
from branchline.formats import PI
from branchline.formats.resume_commands import (
    RESUME_COMMANDS,
    command_line,
    directory_problem,
    session_argument,
)
from branchline.library import SessionLibrary
from branchline.places import NATIVE_AGENT, resolve_cwd
from branchline.programs import find_program, own_command, run_program
from branchline.session import Session
from branchline.stores import absolute_path, address_in, is_address
from branchline.views.session_row import SessionRow

__all__ = [
    "ResumePlan",
    "agent_of",
    "continue_session",
    "keep_copy",
    "owner_of",
    "plan_resume",
    "plan_session",
    "resume_command_of",
]


class ResumePlan(msgspec.Struct, frozen=True, kw_only=True):
    """A command and its directory; ``note`` is a remark for the user."""

    program: str
    command: tuple[str, ...]
    cwd: str | None
    """The directory of the session, if it can be part of a command."""
    unusable: str | None = None
    """Why the command cannot run in the directory of the session, and needs another one."""
    not_installed: str | None = None
    """The program that owns the session, if it is not installed and branchline chat continues it."""
    note: str | None = None
    keeps: str | None = None
    """The file of a session that the program may delete; it is copied before the command runs."""

    @property
    def is_ours(self) -> bool:
        """Whether the session continues in our own chat."""
        return self.program == "branchline"

    @property
    def shell_command(self) -> str:
        """The command that continues the session, the directory included."""
        return command_line(self.command, self.cwd)

    @property
    def safe_command(self) -> str:
        """The command to type: if the program may delete the session, ours, which copies it first."""
        if self.keeps is None:
            return self.shell_command
        return command_line(("branchline", "resume", self.keeps), self.cwd)


def plan_resume(
    agent: str,
    *,
    path: str | None,
    id: str,  # noqa: A002
    cwd: str | None,
    here: bool = False,
    is_in_place: bool = True,
    installed: Callable[[str], str | None] = find_program,
    is_directory: Callable[[str], bool] = os.path.isdir,
) -> ResumePlan:
    """Return the command that continues a session: in its agent if that is installed, else our own chat.

    Our chat continues its own sessions directly and other agents' sessions in a fork; ``here`` asks for a
    fork in any case. Unless its agent opens any file, a session is also continued in a fork if it is not
    ``is_in_place``, where the agent looks for sessions. ``path`` is absolute. Raises InvalidId or
    NotSupported if the session's id or path cannot be part of a command.
    """
    known = None if here else RESUME_COMMANDS.get(agent)
    note: str | None = None
    missing: str | None = None
    keeps: str | None = None
    is_known = is_in_place or (known is not None and known.opens_any_file)
    if known is not None and is_known and installed(known.argv[0]) is not None:
        command, note = known.command(path=path, id=id), known.note
        if known.deletes is not None:
            keeps = None if path is None else session_argument(path, id)
            note = f"warning: {known.deletes}; branchline keeps a copy before it starts {known.argv[0]}"
    else:
        ours = agent not in RESUME_COMMANDS and not here
        command = ("branchline", "chat", "--resume" if ours else "--fork", session_argument(path, id))
        if known is not None and not is_known:
            note = f"{agent} does not look for sessions there; continuing in a fork, in branchline chat"
        elif known is not None:
            missing = known.argv[0]
            note = f"{missing} is not installed; continuing in a fork, in branchline chat"
    unusable = directory_problem(cwd) if cwd else None
    usable = cwd if cwd and unusable is None else None
    if usable is not None and not is_directory(usable):
        unusable = f"the directory of this session no longer exists: {usable}"
    return ResumePlan(
        program=command[0],
        command=command,
        cwd=usable,
        unusable=unusable,
        not_installed=missing,
        note=note,
        keeps=keeps,
    )


def resume_command_of(row: SessionRow) -> str | None:
    """Return the shell command that continues a listed session; None if there is none."""
    agent = row.agent or row.format or ""
    if row.problem is not None or not agent:
        return None
    try:
        return plan_resume(agent, path=row.path, id=row.id, cwd=row.cwd, installed=_installed).safe_command
    except (InvalidId, NotSupported):
        return None


@cache
def _installed(program: str) -> str | None:
    return find_program(program)


def plan_session(
    session: Session, *, cwd: str | os.PathLike[str] | None = None, here: bool = False
) -> ResumePlan:
    """Return the command that continues a session, in ``cwd`` or in the directory that the session names.

    With ``here``, our own chat continues a fork of it. Raises InvalidId or NotSupported if the session's id
    or path cannot be part of a command.
    """
    owner = owner_of(session)
    return plan_resume(
        owner or session.transcript.format.name,
        path=None if session.file is None else absolute_path(session.file),
        id=session.id,
        cwd=session.cwd if cwd is None else resolve_cwd(cwd),
        here=here,
        is_in_place=owner is not None,
    )


def agent_of(session: Session) -> str:
    """Return the agent in whose folders a session's file is, else the one whose format it has."""
    return owner_of(session) or session.transcript.format.name


def owner_of(session: Session) -> str | None:
    """Return the agent in whose folders a session's file is; None for a file elsewhere.

    A native session in a database of ours belongs to no other agent, which could not open it there.
    """
    address = address_in(session.file or "")
    if address is not None and is_address(address.file) and session.transcript.format is PI:
        return NATIVE_AGENT
    path = os.path.realpath(session.file or "")
    for place in SessionLibrary.everywhere().places:
        if path.startswith(os.path.realpath(place.root) + os.sep):
            return place.agent
    return None


def continue_session(going: ResumePlan, cwd: str | None) -> int | None:
    """Run the command that continues a session in the terminal.

    Returns its exit code, or None if it cannot be started. Our own chat gets the directory as an option and
    starts in the present one; another agent starts in ``cwd``.
    """
    name, *arguments = going.command
    if going.is_ours:
        command = own_command(*arguments, *(() if cwd is None else ("--cwd", cwd)))
        return run_program(command, None)
    program = find_program(name)
    if program is None:
        return None
    if going.keeps is not None:
        keep_copy(going.keeps)
    return run_program((program, *arguments), cwd)


def keep_copy(path: str) -> str:
    """Copy a whole session into our own library, and return the path of the copy."""
    with Session.open(path) as session, session.fork(scope="tree", to="branchline") as copy:
        assert copy.file is not None
        return copy.file
