"""``archive``: copies of sessions that outlive the originals."""

from __future__ import annotations

import time

import click

from branchline.cli.options import agent_option, command
from branchline.cli.output import Output, paint, remark
from branchline.cli.resolver import chosen_library, resolve_row
from branchline.views.humanize import count

__all__ = ["archive_command"]


@command(
    "archive",
    examples="""
    branchline archive @last
    branchline archive --expiring
    branchline archive --expiring --days 30 --agent claude-code
    branchline search is:archived login
    """,
)
@click.argument("sessions", metavar="[SESSION...]", nargs=-1)
@click.option("--expiring", is_flag=True, help="All sessions that their agent deletes soon.")
@click.option(
    "--days",
    type=click.IntRange(min=0),
    default=7,
    metavar="N",
    help="What soon means (default: 7 days).",
)
@agent_option
def archive_command(
    out: Output,
    sessions: tuple[str, ...],
    expiring: bool,  # noqa: FBT001
    days: int,
    agents: tuple[str, ...],
) -> None:
    """Keep copies of sessions, for agents that delete theirs.

    Claude Code and Gemini CLI delete sessions 30 days after their last change, unless their settings say
    otherwise. A copy is kept in the data directory of branchline, and is listed and found as soon as the
    original is gone.
    """
    from branchline.actions.archive import archive_sessions
    from branchline.views.session_row import expires_within

    if expiring == bool(sessions):
        raise click.UsageError("name sessions, or use --expiring")
    if agents and not expiring:
        raise click.UsageError("--agent goes with --expiring")
    if expiring:
        listing = chosen_library(None, agents, everywhere=True, subagents=False).list()
        rows = [row for row in listing if expires_within(row, days, now=time.time())]
    else:
        rows = [resolve_row(name) for name in sessions]
    done = archive_sessions(rows)
    failed = [one for one in done if one.problem is not None]
    if out.json:
        import msgspec

        out.result("archive", {"sessions": msgspec.to_builtins(done)})
    else:
        for one in done:
            if one.copy is not None:
                out.line(paint("path", one.copy))
    for one in done:
        for old in one.kept:
            remark(f"{one.path} does not continue its earlier copy, so there are two now; kept: {old}")
    for one in failed:
        remark(f"not archived: {one.session}: {one.problem}")
    fresh = sum(one.copy is not None and not one.unchanged for one in done)
    remark(f"{count(fresh, 'session')} archived, {sum(one.unchanged for one in done)} archived before")
    if failed:
        raise click.exceptions.Exit(1)
