"""``resume``: go on with a session in the program that it is of, or here in a fork of it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import click

from branchline.cli.options import command, session_argument
from branchline.cli.output import Output, remark
from branchline.cli.targets import discovery, open_named
from branchline.places import OURS, resolve_cwd

if TYPE_CHECKING:
    from branchline.formats.continuing import Continuing
    from branchline.session import Session

__all__ = ["resume_command"]


@command(
    "resume",
    examples="""
    branchline resume @last
    branchline resume 01a1ddf5 --show       only say which command goes on with it
    branchline resume 01a1ddf5 --here       in a fork of it, with branchline chat
    """,
)
@session_argument()
@click.option("--show", is_flag=True, help="Print the command and do not run it.")
@click.option("--here", is_flag=True, help="Fork the session and go on in branchline chat.")
@click.option("--model", metavar="PROVIDER:MODEL", help="Who answers, where it goes on in branchline chat.")
@click.option(
    "--cwd",
    type=click.Path(exists=True, file_okay=False),
    help="Go on in this directory (default: that of the session).",
)
def resume_command(
    out: Output,
    session: str,
    show: bool,  # noqa: FBT001
    here: bool,  # noqa: FBT001
    model: str | None,
    cwd: str | None,
) -> None:
    """Go on with a session: of another program, in that program; of our own, in branchline chat.

    The command is shown before it is run. A session whose program is not installed goes on here, in a fork.
    """
    with open_named(session) as found:
        agent = _agent(found)
        ours = agent == OURS
        known = None if here or ours else _installed(agent)
        file = found.file or found.id
        words: tuple[str, ...] = ("branchline", "chat", "--resume" if ours and not here else "--fork", file)
        if known is not None:
            words = known.command(path=found.file, id=found.id)
        directory = found.cwd if cwd is None else resolve_cwd(cwd)
    if out.json:
        fields = {"session": found.id, "file": found.file, "agent": agent, "command": list(words)}
        out.result("resume", {**fields, "cwd": directory, "cwd_exists": os.path.isdir(directory)})
        return
    if show:
        out.line(_line(words, directory))
        return
    if directory and not os.path.isdir(directory):
        directory = _another(directory)
    if known is not None:
        _run_program(out, known, words, directory)
        return
    if not ours and not here:
        remark(f"{agent} is not installed here: it goes on in branchline chat, in a fork of the session")
    remark(_line(words, directory))
    from branchline.chat.opening import Beginning
    from branchline.cli.chat_running import Wishes, run_chat

    beginning = Beginning(resume=file) if ours and not here else Beginning(fork=file)
    if code := run_chat(out, Wishes(beginning=beginning, model=model, cwd=directory or None)):
        click.get_current_context().exit(code)


def _agent(session: Session) -> str:
    """The program in whose folders a session lies, else the one whose format it has."""
    path = os.path.realpath(session.file or "")
    for place in discovery(everywhere=True).places:
        if path.startswith(os.path.realpath(place.root) + os.sep):
            return place.agent
    return session.transcript.format.name


def _installed(agent: str) -> Continuing | None:
    """How the program is asked to go on, if it is installed."""
    from branchline.formats.continuing import CONTINUING

    known = CONTINUING.get(agent)
    return known if known is not None and shutil.which(known.words[0]) is not None else None


def _line(words: tuple[str, ...], directory: str) -> str:
    """The command as a person would type it, the directory included."""
    return (f"cd {shlex.quote(directory)} && " if directory else "") + shlex.join(words)


def _another(directory: str) -> str:
    """Another directory to go on in, because that of the session is gone: this one, if the person agrees."""
    now = os.getcwd()
    if not sys.stdin.isatty():
        raise click.ClickException(
            f"the directory of this session is gone: {directory}; --cwd DIR names another"
        )
    remark(f"the directory of this session is gone: {directory}")
    if not click.confirm(f"Go on in {now}?", err=True):
        raise click.Abort
    return now


def _run_program(out: Output, known: Continuing, words: tuple[str, ...], directory: str) -> None:
    """Show the command and run it; where there is no terminal for it, only show it."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        out.line(_line(words, directory))
        remark(f"{words[0]} needs a terminal; this is the command that goes on with the session in one")
        return
    remark(_line(words, directory))
    if known.note:
        remark(known.note)
    done = subprocess.run(words, cwd=directory or None, check=False)  # noqa: S603  it was shown
    click.get_current_context().exit(done.returncode if done.returncode >= 0 else 128 - done.returncode)
