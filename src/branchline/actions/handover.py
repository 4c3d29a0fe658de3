"""Continue a session in another agent: convert it, install it there, and plan the command that continues it.

The new session names the old one as its parent, so the forest shows a conversation across several agents as
one tree.
"""

from __future__ import annotations

import os
import shlex

import msgspec

from branchline.actions.convert import (
    TARGETS,
    ConvertedFile,
    ConvertRequest,
    convert,
    has_messages,
    target_format,
)
from branchline.actions.resume import ResumePlan, owner_of, plan_resume, plan_session
from branchline.errors import InvalidId, NotSupported
from branchline.formats import agent_name
from branchline.formats.resume_commands import RESUME_COMMANDS, directory_problem, session_argument
from branchline.places import resolve_cwd
from branchline.plugins.formats import format_named
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
    file: ConvertedFile | None = None
    """The new file; None if the session is one of that agent already."""


def destinations(agent: str) -> tuple[Destination, ...]:
    """Return the agents that can continue a session of ``agent``, installed ones first."""
    found = [
        Destination(agent=name, program=known.argv[0], installed=find_program(known.argv[0]) is not None)
        for name in TARGETS
        if name != agent and (known := RESUME_COMMANDS.get(name)) is not None
    ]
    return tuple(sorted(found, key=lambda one: not one.installed))


def hand_over(session: Session, to: str, *, cwd: str | os.PathLike[str] | None = None) -> Handover:
    """Convert a session for another agent and install it there.

    ``cwd`` is the working directory of the new session (default: that of the old one). A session that
    the agent has already is not converted. Raises what :func:`require_handover` raises, and whatever
    :func:`~branchline.actions.convert.convert` raises.
    """
    to = agent_name(to)
    directory = session.cwd if cwd is None else resolve_cwd(cwd)
    owner = owner_of(session)
    is_backup = owner is None and _needs_place(to)  # the agent would not find it there
    if to == (owner or session.transcript.format.name) and not is_backup:
        return Handover(agent=to, plan=plan_session(session, cwd=directory or None))
    require_handover(session, to, cwd=directory)
    request = ConvertRequest(to=to, install=True, every_branch=False, cwd=directory, lossy=True)
    file = convert(session, request).files[0]
    plan = plan_resume(to, path=file.path, id=file.session, cwd=directory)
    return Handover(agent=to, plan=plan, file=file)


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
    try:
        source = session_argument(None if session.file is None else absolute_path(session.file), session.id)
    except (InvalidId, NotSupported):
        source = "SESSION"
    command = ["branchline", "convert", source, "--to", to]
    imports = format_named(to).imports
    command += ["--install"] if imports is None else []
    command += ["--cwd", cwd] if cwd != session.cwd and directory_problem(cwd) is None else []
    line = shlex.join(command)
    if imports is None:
        return f"`{line}` writes the session where {to} will find it"
    return f"`{line}` writes a file for `{' '.join(imports.command)}`"
