"""Run the agent that continues a session, or offer to."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from branchline.cli.output import Output, remark

if TYPE_CHECKING:
    from branchline.actions.resume import ResumePlan

__all__ = ["has_terminal", "offer_agent", "run_agent"]


def has_terminal() -> bool:
    """Return whether stdin and stdout are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def run_agent(out: Output, going: ResumePlan) -> None:
    """Show the command and run it; without a terminal, only show it."""
    if not has_terminal():
        out.line(going.safe_command)
        if going.keeps is not None and going.note is not None:
            remark(going.note)
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


def offer_agent(out: Output, going: ResumePlan) -> None:
    """Run a command that was shown if the user presses Enter."""
    if not has_terminal() or going.unusable is not None or going.not_installed is not None:
        return
    try:
        answer = click.prompt(
            "Press Enter to run it, n to skip", default="", show_default=False, err=True, prompt_suffix=" "
        )
    except click.Abort:
        return
    if not answer.strip():
        run_agent(out, going)
