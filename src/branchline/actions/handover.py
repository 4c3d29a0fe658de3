"""Continue a session in another agent: convert it, install it there, and plan the command that continues it.

The new session names the old one as its parent, so the forest shows a conversation across several agents as
one tree.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import BinaryIO, Literal

import msgspec

from branchline.actions.convert import (
    TARGETS,
    ConvertedFile,
    ConvertRequest,
    PlannedFile,
    convert_again,
    has_messages,
    installed_file,
    plan_files,
    target_format,
    write_files,
)
from branchline.actions.resume import ResumePlan, owner_of, plan_resume, plan_session
from branchline.errors import BranchlineError, InvalidId, NotSupported
from branchline.formats import Format, agent_name
from branchline.formats.resume_commands import (
    RESUME_COMMANDS,
    command_line,
    directory_problem,
    session_argument,
)
from branchline.library import SessionLibrary
from branchline.places import resolve_cwd
from branchline.plugins.formats import format_named, peek
from branchline.programs import find_program
from branchline.session import Session
from branchline.stores import absolute_path

__all__ = ["Destination", "Handover", "destinations", "hand_over", "require_handover"]


class Destination(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that sessions can be handed to."""

    agent: str
    program: str
    """The program that continues the session there."""
    installed: bool


class Handover(msgspec.Struct, frozen=True, kw_only=True):
    """A session in another agent, and the command that continues it."""

    agent: str
    plan: ResumePlan
    outcome: Literal["own", "new", "again", "planned"]
    """The session is that agent's already; its copy is new; an earlier copy; or was not written."""
    file: ConvertedFile | None = None
    """The copy; None if the session is one of that agent already."""
    command: tuple[str, ...] = ()
    """The command that writes the copy and continues it, if it was not written."""


def destinations(agent: str) -> tuple[Destination, ...]:
    """Return the agents that can continue a session of ``agent``, installed ones first."""
    found = [
        Destination(agent=name, program=known.argv[0], installed=find_program(known.argv[0]) is not None)
        for name in TARGETS
        if name != agent and (known := RESUME_COMMANDS.get(name)) is not None
    ]
    return tuple(sorted(found, key=lambda one: not one.installed))


def hand_over(
    session: Session,
    to: str,
    *,
    cwd: str | os.PathLike[str] | None = None,
    lossy: bool = False,
    write: bool = True,
) -> Handover:
    """Convert a session for another agent and install it there.

    With ``write=False`` nothing is written, and the result says what would be. ``cwd`` is the working
    directory of the new session (default: that of the old one). A session that the agent has already is not
    converted, and a copy that an earlier call installed is used again as long as neither it nor the session
    has changed. Raises what :func:`require_handover` raises, and whatever
    :func:`~branchline.actions.convert.convert` raises.
    """
    to = agent_name(to)
    directory = session.cwd if cwd is None else resolve_cwd(cwd)
    owner = owner_of(session)
    is_backup = owner is None and _needs_place(to)  # the agent would not find it there
    if to == (owner or session.transcript.format.name) and not is_backup:
        return Handover(agent=to, plan=plan_session(session, cwd=directory or None), outcome="own")
    require_handover(session, to, cwd=directory)
    request = ConvertRequest(to=to, install=True, every_branch=False, cwd=directory, lossy=lossy)
    planned = plan_files(session, request)
    earlier = _earlier_copy(session, request, planned[0])
    if earlier is not None:
        file = installed_file(to, earlier)
    elif write:
        file = write_files(session, request, planned).files[0]
    else:
        file = installed_file(to, planned[0])
    plan = plan_resume(to, path=file.path, id=file.session, cwd=directory)
    if earlier is None and not write:
        command = _command(session, directory, "resume", "--in", to, *(["--lossy"] if lossy else []))
        return Handover(agent=to, plan=plan, outcome="planned", file=file, command=command)
    return Handover(agent=to, plan=plan, outcome="new" if earlier is None else "again", file=file)


def _earlier_copy(session: Session, request: ConvertRequest, planned: PlannedFile) -> PlannedFile | None:
    """Return the copy that an earlier call installed, if all but its id and time would be written again.

    A copy that its agent has continued is a session of its own, and so is the copy of a session that has
    changed since: neither is touched or used again.
    """
    target = target_format(request.to)
    if target.imports is not None:
        return None
    for path in _files_like(request.to, target, planned):
        try:
            with Session.open(path) as copy, open(path, "rb") as file:
                again = convert_again(session, request, copy)
                if file.read(len(again.data) + 1) == again.data:
                    return again
        except (BranchlineError, OSError):
            continue
    return None


def _files_like(agent: str, target: Format, planned: PlannedFile) -> Iterator[str]:
    """Yield the session files of an agent that have this parent and about this size."""
    size = len(planned.data)
    spare = size // 64 + 256  # times end without zeros in some formats
    for place in SessionLibrary.everywhere().places:
        if place.agent != agent:
            continue
        for directory, _, names in os.walk(place.root):
            for name in sorted(names, reverse=True):
                path = os.path.join(directory, name)
                try:
                    if not name.endswith(target.traits.suffix) or abs(os.stat(path).st_size - size) > spare:
                        continue
                    with open(path, "rb") as file:
                        found = peek(partial(_part, file), path, expected=target).header
                except (BranchlineError, OSError):
                    continue
                if found is not None and found.parent_session == planned.header.parent_session:
                    yield path


def _part(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(size)


def _needs_place(agent: str) -> bool:
    """Return whether an agent opens only sessions that are where it looks for them."""
    known = RESUME_COMMANDS.get(agent)
    return agent in TARGETS and known is not None and not known.opens_any_file


def require_handover(session: Session, to: str, *, cwd: str) -> None:
    """Raise NotSupported, before anything is written, if a session cannot be continued in another agent.

    Raises ValueError for an unknown agent.
    """
    target_format(to)
    known = RESUME_COMMANDS.get(to)
    if known is not None and find_program(known.argv[0]) is None:
        way_out = _without_program(session, to, cwd)
        raise NotSupported(f"cannot continue in {to}: {known.argv[0]} is not installed; {way_out}")
    if not has_messages(session):
        raise NotSupported(f"cannot continue {session.id} in {to}: it has no messages")
    problem = directory_problem(cwd) if cwd else "the session names no directory"
    if problem is None and not os.path.isdir(cwd):
        problem = f"the directory of this session no longer exists: {cwd}"
    if problem is not None:
        raise NotSupported(
            f"cannot continue {session.id} in {to}: {problem}; choose another directory (--cwd)"
        )


def _without_program(session: Session, to: str, cwd: str) -> str:
    """Return a sentence with the command that writes the session for an agent that is not installed."""
    imports = format_named(to).imports
    words = _command(session, cwd, "convert", "--to", to, *(["--install"] if imports is None else []))
    line = command_line(words, None)
    if imports is None:
        return f"`{line}` writes the session where {to} will find it"
    return f"`{line}` writes a file for `{' '.join(imports.command)}`"


def _command(session: Session, cwd: str, verb: str, *options: str) -> tuple[str, ...]:
    """Return a command of ours for a session."""
    try:
        source = session_argument(None if session.file is None else absolute_path(session.file), session.id)
    except (InvalidId, NotSupported):
        source = "SESSION"
    elsewhere = ["--cwd", cwd] if cwd != session.cwd and directory_problem(cwd) is None else []
    return ("branchline", verb, source, *options, *elsewhere)
