"""``resume``: go on with a session in the program that it is of, or here in a fork of it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click
import msgspec

from branchline.cli.commands.browse import pick_session
from branchline.cli.options import command, session_argument
from branchline.cli.output import Output, remark
from branchline.cli.resolver import resolve_session

if TYPE_CHECKING:
    from branchline.actions.resume import ResumePlan

__all__ = ["resume_command"]


@command(
    "resume",
    examples="""
    branchline resume @last
    branchline resume 01a1ddf5 --show       only print the command
    branchline resume 01a1ddf5 --here       in a fork, with branchline chat
    """,
)
@session_argument(picked=True)
@click.option("--show", is_flag=True, help="Print the command instead of running it.")
@click.option("--here", is_flag=True, help="Fork the session and continue in branchline chat.")
@click.option("--model", metavar="PROVIDER:MODEL", help="Model to use in branchline chat.")
@click.option(
    "--cwd",
    type=click.Path(exists=True, file_okay=False),
    help="Working directory (default: the session's).",
)
def resume_command(
    out: Output,
    session: str | None,
    show: bool,  # noqa: FBT001
    here: bool,  # noqa: FBT001
    model: str | None,
    cwd: str | None,
) -> None:
    """Continue a session in the agent that owns it, or a native session in branchline chat.

    The command is shown before it runs. If the agent is not installed, a fork continues in branchline chat.
    """
    from branchline.actions.resume import agent_of, plan_session

    with resolve_session(session or pick_session(out, "continue")) as found:
        agent, going = agent_of(found), plan_session(found, cwd=cwd, here=here)
    if out.json:
        fields = {"session": found.id, "file": found.file, "agent": agent, "command": list(going.command)}
        out.result("resume", {**fields, "cwd": going.cwd, "cwd_exists": going.unusable is None})
        return
    if show:
        out.line(going.shell_command)
        if going.unusable is not None:
            remark(going.unusable)
        return
    if going.unusable is not None:
        going = msgspec.structs.replace(going, cwd=_another(going.unusable), unusable=None)
    if not going.is_ours:
        _run_program(out, going)
        return
    if going.note:
        remark(going.note)
    remark(going.shell_command)
    from branchline.chat.startup import StartOptions
    from branchline.cli.chat_runner import ChatOptions, run_chat

    _branchline, _chat, way, file = going.command
    beginning = StartOptions(resume=file) if way == "--resume" else StartOptions(fork=file)
    if code := run_chat(out, ChatOptions(beginning=beginning, model=model, cwd=going.cwd)):
        click.get_current_context().exit(code)


def _another(problem: str) -> str:
    """Return the present directory if you agree to continue there instead of in the session's."""
    now = os.getcwd()
    if not sys.stdin.isatty():
        raise click.ClickException(f"{problem}; --cwd DIR names another")
    remark(problem)
    if not click.confirm(f"Go on in {now}?", err=True):
        raise click.Abort
    return now


def _run_program(out: Output, going: ResumePlan) -> None:
    """Show the command and run it; where there is no terminal for it, only show it."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        out.line(going.shell_command)
        remark(f"{going.program} needs a terminal; run this command in one to continue the session")
        return
    from branchline.actions.resume import continue_session

    remark(going.shell_command)
    if going.note:
        remark(going.note)
    code = continue_session(going, going.cwd)
    if code is None:
        raise click.ClickException(f"{going.program} could not be started")
    click.get_current_context().exit(code if code >= 0 else 128 - code)
