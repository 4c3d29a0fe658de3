"""``resume``: continue a session in its agent, in another agent, or in branchline chat."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click
import msgspec

from branchline.cli.agent_runner import has_terminal, run_agent
from branchline.cli.commands.browse import pick_session
from branchline.cli.failures import usage_errors
from branchline.cli.options import command, cwd_option, directory_option, session_argument
from branchline.cli.output import Output, remark
from branchline.cli.resolver import resolve_session
from branchline.views.humanize import format_size
from branchline.views.text import safe

if TYPE_CHECKING:
    from branchline.actions.resume import ResumePlan
    from branchline.session import Session

__all__ = ["resume_command"]


@command(
    "resume",
    examples="""
    branchline resume @last
    branchline resume 01a1ddf5 --show       only print the command
    branchline resume 01a1ddf5 --here       in a fork, with branchline chat
    branchline resume @last --in codex      hand it over to another agent
    """,
)
@session_argument(picked=True)
@click.option(
    "--in",
    "target",
    metavar="AGENT",
    help="Convert the session for another agent, install it there and continue it there.",
)
@click.option("--show", is_flag=True, help="Print the command instead of running it; nothing is written.")
@click.option(
    "--lossy", is_flag=True, help="With --in, convert even if messages of the active path are dropped."
)
@click.option("--here", is_flag=True, help="Fork the session and continue in branchline chat.")
@click.option("--model", metavar="PROVIDER:MODEL", help="Model to use in branchline chat.")
@cwd_option("Working directory (default: the session's).")
@directory_option
def resume_command(
    out: Output,
    session: str | None,
    target: str | None,
    show: bool,  # noqa: FBT001
    lossy: bool,  # noqa: FBT001
    here: bool,  # noqa: FBT001
    model: str | None,
    cwd: str | None,
    directory: str | None,
) -> None:
    """Continue a session in the agent that owns it, or a native session in branchline chat.

    The command is shown before it runs. If the agent is not installed, a fork continues in branchline chat.

    With --in, the conversation continues in another agent: claude, codex, pi, zot, or any other that
    `convert` writes. The new session names this one as its parent, and `branchline forest` shows both. A copy
    that was made before is used again if neither it nor this session has changed since.
    """
    from branchline.actions.resume import agent_of, plan_session

    session = session or pick_session(out, "continue")
    if target is not None:
        if here or model is not None:
            raise click.UsageError("--in continues in another agent; omit --here and --model")
        with resolve_session(session, directory) as found:
            _hand_over(out, found, target, cwd, show=show, lossy=lossy)
        return
    if lossy:
        raise click.UsageError("--lossy goes with --in")
    with resolve_session(session, directory) as found:
        agent, going = agent_of(found), plan_session(found, cwd=cwd, here=here)
    if out.json:
        out.result("resume", _fields(found, agent, going))
        return
    if show:
        out.line(going.shell_command)
        if going.keeps is not None and going.note is not None:
            remark(going.note)
            remark(f"before you run the command yourself, `branchline archive {found.id}` keeps a copy")
        if going.unusable is not None:
            remark(going.unusable)
        return
    if going.unusable is not None:
        going = msgspec.structs.replace(going, cwd=_another(going.unusable), unusable=None)
    if not going.is_ours:
        run_agent(out, going)
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


def _fields(session: Session, agent: str, going: ResumePlan) -> dict[str, Any]:
    return {
        "session": session.id,
        "file": session.file,
        "agent": agent,
        "command": list(going.command),
        "cwd": going.cwd,
        "cwd_exists": going.unusable is None,
        "note": going.note,
    }


def _another(problem: str) -> str:
    """Return the present directory if you agree to continue there instead of in the session's."""
    now = os.getcwd()
    if not sys.stdin.isatty():
        raise click.ClickException(f"{problem}; --cwd DIR names another")
    remark(problem)
    if not click.confirm(f"Continue in {now}?", err=True):
        raise click.Abort
    return now


def _hand_over(
    out: Output, session: Session, target: str, cwd: str | None, *, show: bool, lossy: bool
) -> None:
    """Write the session for another agent, report what it keeps, and continue it there."""
    from branchline.actions.handover import hand_over
    from branchline.cli.commands.convert import tell_fidelity
    from branchline.formats.resume_commands import command_line
    from branchline.programs import is_usable_directory

    if cwd is None and not is_usable_directory(session.cwd):
        cwd = _another(f"the directory of this session cannot be used: {safe(session.cwd) or '(none)'}")
    with usage_errors():
        write = not show and (out.json or has_terminal())
        done = hand_over(session, target, cwd=cwd, lossy=lossy, write=write)
    file, is_planned = done.file, done.outcome == "planned"
    ours = command_line(done.command, None)
    if is_planned and not show:
        raise click.ClickException(
            f"{done.plan.program} needs a terminal, so nothing was written; run `{ours}` in one"
        )
    if out.json:
        fields = _fields(session, done.agent, done.plan)
        if file is not None and is_planned:
            fields["command"] = list(done.command)
            fields["would_write"] = {"size": file.size, "fidelity": file.fidelity.as_fields()}
        elif file is not None:
            new = {"session": file.session, "path": file.path, "again": done.outcome == "again"}
            fields["handed_over"] = {**new, "fidelity": file.fidelity.as_fields()}
        out.result("resume", fields)
        return
    if file is not None and is_planned:
        words = [word.replace(file.session, "ID") for word in done.plan.command if word != file.path]
        remark(
            f"nothing was written; the command would convert {session.id} for {done.agent} "
            f"({format_size(file.size)}) and start `{' '.join(words)}`"
        )
    elif file is not None and done.outcome == "again":
        remark(f"{session.id} was converted before, and nothing has changed since: {file.path}")
    elif file is not None:
        remark(f"converted {session.id} into {file.path} ({done.agent}, {format_size(file.size)})")
    if file is not None:
        tell_fidelity(file.fidelity, session.file or session.id)
    if show:
        out.line(ours if is_planned else done.plan.shell_command)
        return
    run_agent(out, done.plan)
