"""``branch`` and ``fork``: move the leaf, or copy a path into a new session."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import click
import msgspec

from branchline.actions.names import resolve_entry
from branchline.cli.failures import usage_errors
from branchline.cli.options import command, cwd_option, directory_option, session_argument
from branchline.cli.output import Output, remark
from branchline.cli.resolver import resolve_session
from branchline.cli.write_access import described, open_for_writing, position_fields
from branchline.errors import EntryNotFound
from branchline.views.humanize import count

if TYPE_CHECKING:
    from branchline.session import ForkAt, Session

__all__ = ["branch_command", "fork_command"]

_ROOT = "root"
"""Stands for the place before the first entry, unless the session has an entry of that name."""


@command(
    "branch",
    examples="""
    branchline branch @last 3f2a
    branchline branch @last @leaf~2      two entries up; the entries below stay in the tree
    branchline branch @last root         before the first entry
    branchline branch @last 3f2a --name "other parser"
    branchline branch @last --list
    """,
)
@session_argument()
@click.argument("entry", required=False)
@click.option("--name", metavar="NAME", help="Name the branch that begins at ENTRY (default: the leaf).")
@click.option("--list", "listed", is_flag=True, help="List the named branches, newest first.")
@directory_option
def branch_command(
    out: Output,
    session: str,
    entry: str | None,
    name: str | None,
    listed: bool,  # noqa: FBT001
    directory: str | None,
) -> None:
    """Move the leaf to ENTRY. Nothing is lost: the next message starts a branch there.

    `root` is the place before the first entry; the next message starts a second root.

    With --name, the branch gets a name. NAME can then be used as an ENTRY; it means the end of the branch.
    """
    if listed:
        _list_branches(out, session, directory)
        return
    if entry is None and name is None:
        raise click.UsageError("give an ENTRY, --name NAME or --list")
    with open_for_writing(session, directory) as live:
        before = live.leaf
        if name is not None:
            from branchline.actions.named_branches import name_branch

            with usage_errors():
                name_branch(live, name, None if entry is None else resolve_entry(live, entry))
        else:
            assert entry is not None
            _move(live, entry)
        _say_moved(out, live, before)


def _move(session: Session, name: str) -> None:
    try:
        entry = resolve_entry(session, name)
    except EntryNotFound:
        if name != _ROOT:
            raise
        session.reset()
    else:
        session.branch(entry)


def _list_branches(out: Output, session: str, directory: str | None) -> None:
    from branchline.actions.named_branches import named_branches
    from branchline.views.operation_lines import branch_line

    with resolve_session(session, directory) as live:
        found = named_branches(live)
        if out.json:
            branches = [msgspec.to_builtins(branch) for branch in found]
            out.result("branch", {**position_fields(live), "branches": branches})
            return
        for branch in found:
            out.row(*branch_line(branch, partial(described, live), time.time()))
        if not found:
            remark(
                f"{live.id} has no named branches; `branchline branch SESSION ENTRY --name NAME` makes one"
            )


def _say_moved(out: Output, session: Session, before: str | None) -> None:
    if out.json:
        out.result("branch", {**position_fields(session), "before": before})
    elif session.leaf == before:
        out.line(f"{session.id} is already there: the leaf is {described(session, before)}")
    else:
        out.line(f"{session.id} moved from {before or 'the start'} to {described(session, session.leaf)}")


@command(
    "fork",
    plain=False,
    examples="""
    branchline fork @last
    branchline fork 01a1ddf5 3f2a --before      everything before that entry
    branchline fork ~/.pi/agent/sessions/x/y.jsonl --tree --cwd .
    branchline fork ~/.config/piglet/sessions/x.jsonl --to branchline
    branchline fork @last 3f2a --to zot -o .    a file of another program, as `convert` makes them
    """,
)
@session_argument()
@click.argument("entry", required=False)
@click.option("--before", is_flag=True, help="Exclude ENTRY itself.")
@click.option("--tree", "whole", is_flag=True, help="Copy all branches, not only the path to ENTRY.")
@click.option("--to", "target", metavar="AGENT", help="Agent of the new session (default: the same agent).")
@click.option("-o", "--output", metavar="PATH", help="Output file or directory, as for `convert`.")
@click.option("--lossy", is_flag=True, help="Write the file even if it lacks messages of the path.")
@cwd_option("Working directory of the new session (default: unchanged).")
@directory_option
def fork_command(
    out: Output,
    session: str,
    entry: str | None,
    before: bool,  # noqa: FBT001
    whole: bool,  # noqa: FBT001
    target: str | None,
    output: str | None,
    lossy: bool,  # noqa: FBT001
    cwd: str | None,
    directory: str | None,
) -> None:
    """Copy the path to ENTRY (default: the leaf) into a new session. The old one does not change.

    The new session belongs to the same agent and is stored next to the old one; forks of Claude Code and
    Codex sessions, which are read-only, are native. With --to, the fork is a file, as `convert` writes it.
    """
    from branchline.actions.convert import ConvertRequest
    from branchline.cli.commands.convert import run_conversion

    with resolve_session(session, directory) as live:
        here = None if entry is None else resolve_entry(live, entry)
        position: ForkAt = "before" if before else "at"
        if output is not None or (target is not None and _is_other(live, target)):
            request = ConvertRequest(
                to=target or live.format,
                scope="tree" if whole else "path",
                entry=here,
                before=before,
                cwd=cwd,
                output=output,
                lossy=lossy,
            )
            run_conversion(out, live, request)
            return
        with usage_errors():
            fork = live.fork(here, position=position, scope="tree" if whole else "path", cwd=cwd, to=target)
        made = _kept(fork, live)
        with made:
            if out.json:
                fields = {"parent": live.id, "parent_file": live.file, "entries": len(made), "cwd": made.cwd}
                out.result("fork", {**position_fields(made), **fields})
            else:
                out.line(
                    f"forked {live.id} into {made.id} with {count(len(made), 'entry', 'entries')}; "
                    f"its leaf is {described(made, made.leaf)}"
                )


def _is_other(live: Session, target: str) -> bool:
    """Whether the target has neither the format of the session nor the native one."""
    from branchline.actions.convert import target_format
    from branchline.formats import PI

    with usage_errors():
        return target_format(target) not in (live.transcript.format, PI)


def _kept(made: Session, parent: Session) -> Session:
    """Return the fork as a listed file, even if it is empty."""
    from branchline.session import Session

    if not made.is_draft:
        return made
    store, cwd, format_ = made.store, made.cwd, made.format
    assert store is not None
    made.close()
    return Session.create(
        cwd or None, store=store, format=format_, parent_session=parent.file or parent.id, persist="always"
    )
