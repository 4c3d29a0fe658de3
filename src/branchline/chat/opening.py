"""Which session a chat begins with, and what must be settled before it can go on in one."""

from __future__ import annotations

import os

import msgspec

from branchline.chat.front import Front, Option, Picker, options_with
from branchline.chat.pickers import session_picker
from branchline.chat.services import Services
from branchline.places import OURS
from branchline.programs import is_usable_directory
from branchline.session import Session
from branchline.views.spans import line_of

__all__ = ["Beginning", "first_session", "made_ready", "named_entry"]


class Beginning(msgspec.Struct, frozen=True, kw_only=True):
    """How a chat begins: with the newest session, one that is named or (empty) picked, a fork, or afresh."""

    newest: bool = False
    resume: str | None = None
    fork: str | None = None
    kept: bool = True


async def first_session(beginning: Beginning, front: Front, services: Services) -> Session:
    """The session to begin with. Who picks nothing gets a fresh one."""
    session: Session | None = None
    if beginning.fork is not None:
        session = _forked(beginning.fork, services)
    elif beginning.resume is not None:
        session = await _resumed(beginning.resume, front, services)
    elif beginning.newest:
        session = await made_ready(Session.continue_recent(services.cwd), front, services)
    if session is not None and beginning.kept:
        return session
    if session is None:
        return Session.create(services.cwd) if beginning.kept else Session.in_memory(services.cwd)
    with session:  # what is said in a chat that is not kept changes no file
        return Session.in_memory(data=session.transcript.bytes_between(0, None))


async def _resumed(name: str, front: Front, services: Services) -> Session | None:
    if not name:
        rows = services.sessions()
        if not rows:
            front.remark("there are no sessions of this directory yet; a fresh one begins")
            return None
        picked = await front.pick(session_picker(rows, "Go on in which session?"))
        if picked is None:
            front.remark("nothing was picked; a fresh session begins")
            return None
        name = picked
    return await made_ready(services.open(name), front, services)


def _forked(name: str, services: Services) -> Session:
    session_name, entry_name = named_entry(name)
    with services.open(session_name) as source:
        entry = None if entry_name is None else services.entry(source, entry_name)
        # One of our own: its parent may lie in the folders of another program.
        return source.fork(entry, cwd=services.cwd, to=OURS)


def named_entry(name: str) -> tuple[str, str | None]:
    """``SESSION@ENTRY`` in its two parts; a file whose name has an ``@`` stays whole."""
    if os.path.exists(os.path.expanduser(name)):
        return name, None
    session, at, entry = name.rpartition("@")
    if not session or not at:
        return name, None
    if session.endswith("@"):  # talk@@leaf~2
        return session[:-1], "@" + entry
    return session, entry


async def made_ready(session: Session, front: Front, services: Services) -> Session | None:
    """The session, or the fork of it that one can go on in; None when the person would rather not.

    What may not be appended to is forked. Where its directory is gone the person says what to do.
    """
    try:
        if session.read_only is not None:
            with session:
                made = session.fork(cwd=session.cwd if is_usable_directory(session.cwd) else services.cwd)
            front.remark(
                f"{session.id} can only be read ({session.read_only}); you go on in {made.id}, a fork of it"
            )
            return made
        if session.cwd and not is_usable_directory(session.cwd):
            return await _moved(session, front, services)
    except BaseException:
        session.close()
        raise
    if session.cwd and not _same(session.cwd, services.cwd):
        front.remark(f"this session belongs to {session.cwd}; shell commands run there")
    return session


async def _moved(session: Session, front: Front, services: Services) -> Session | None:
    options = [
        Option(key="fork", line=line_of(f"Fork it and go on in {services.cwd}")),
        Option(key="stay", line=line_of("Go on in it as it is")),
    ]
    picked = await front.pick(
        Picker(
            question=f"The directory of this session is gone: {session.cwd}",
            options=options,
            find=lambda words: options_with(options, words),
        )
    )
    match picked:
        case "fork":
            with session:
                return session.fork(cwd=services.cwd, to=OURS)
        case "stay":
            return session
        case _:
            session.close()
            return None


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
