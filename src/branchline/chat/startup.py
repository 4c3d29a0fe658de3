"""The session that a chat begins with, and the questions before it can be continued."""

from __future__ import annotations

import os

import msgspec

from branchline.chat.frontend import Frontend
from branchline.chat.pickers import answer_picker
from branchline.chat.services import Services
from branchline.chat.session_switcher import SessionSwitcher
from branchline.errors import SessionNotFound
from branchline.places import NATIVE_AGENT
from branchline.programs import is_usable_directory
from branchline.session import Session

__all__ = ["StartOptions", "ensure_writable", "split_entry_ref", "start_session"]


class StartOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a chat begins: the newest session, a named or (empty) picked one, a fork, or a new one."""

    newest: bool = False
    resume: str | None = None
    fork: str | None = None
    save: bool = True


async def start_session(beginning: StartOptions, front: Frontend, services: Services) -> Session:
    """Return the session to begin with; a new one if nothing is picked."""
    session: Session | None = None
    if beginning.fork is not None:
        session = _forked(beginning.fork, services)
    elif beginning.resume is not None:
        session = await _resumed(beginning.resume, front, services)
    elif beginning.newest:
        session = await _newest(front, services)
    if session is not None and beginning.save:
        return session
    if session is None:
        return Session.create(services.cwd) if beginning.save else Session.in_memory(services.cwd)
    with session:  # a chat that is not kept writes no file
        return Session.in_memory(session.cwd or None, data=session.transcript.bytes_between(0, None))


async def _resumed(name: str, front: Frontend, services: Services) -> Session | None:
    if not name:
        if not services.sessions(everywhere=True):
            front.notice("no sessions yet; starting a new one")
            return None
        picked = await SessionSwitcher(front, services).pick()
        if picked is None:
            front.notice("nothing selected; starting a new session")
            return None
        name = picked
    return await ensure_writable(services.open(name), front, services)


async def _newest(front: Frontend, services: Services) -> Session | None:
    try:
        found = services.open("@last")
    except SessionNotFound:
        return None
    return await ensure_writable(found, front, services)


def _forked(name: str, services: Services) -> Session:
    session_name, entry_name = split_entry_ref(name)
    with services.open(session_name) as source:
        entry = None if entry_name is None else services.entry(source, entry_name)
        # A native session: its parent may be in the directory of another agent.
        return source.fork(entry, cwd=services.cwd, to=NATIVE_AGENT)


def split_entry_ref(name: str) -> tuple[str, str | None]:
    """Split ``SESSION@ENTRY``; a file name with an ``@`` is not split."""
    if os.path.exists(os.path.expanduser(name)):
        return name, None
    session, at, entry = name.rpartition("@")
    if not session or not at:
        return name, None
    if session.endswith("@"):  # talk@@leaf~2
        return session[:-1], "@" + entry
    return session, entry


async def ensure_writable(
    session: Session, front: Frontend, services: Services, *, entry: str | None = None
) -> Session | None:
    """Return the session, or a writable fork of it; None if the user declines.

    A read-only session is forked, up to ``entry`` if given. If its directory no longer exists, the user
    decides.
    """
    try:
        if session.read_only is not None:
            with session:
                made = session.fork(
                    entry, cwd=session.cwd if is_usable_directory(session.cwd) else services.cwd
                )
            front.notice(f"{session.id} is read-only ({session.read_only}); continuing in a fork, {made.id}")
            return made
        if session.cwd and not is_usable_directory(session.cwd):
            return await _moved(session, front, services)
    except BaseException:
        session.close()
        raise
    if session.cwd and not _same(session.cwd, services.cwd):
        front.notice(f"this session belongs to {session.cwd}; shell commands run there")
    return session


async def _moved(session: Session, front: Frontend, services: Services) -> Session | None:
    question = f"The directory of this session no longer exists: {session.cwd}"
    answers = {"fork": f"Fork it and continue in {services.cwd}", "stay": "Continue without changes"}
    match await front.pick(answer_picker(question, answers)):
        case "fork":
            with session:
                return session.fork(cwd=services.cwd, to=NATIVE_AGENT)
        case "stay":
            return session
        case _:
            session.close()
            return None


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
