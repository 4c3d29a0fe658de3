"""``log``, ``undo``, ``redo``, ``graft`` and ``squash``: operations on the tree of a session."""

from __future__ import annotations

import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import click
import msgspec

from branchline.actions.names import resolve_entry
from branchline.cli.failures import usage_errors
from branchline.cli.options import command, directory_option, session_argument
from branchline.cli.output import Output, remark
from branchline.cli.resolver import resolve_session
from branchline.cli.write_access import described, open_for_writing, position_fields
from branchline.views.humanize import count

if TYPE_CHECKING:
    from branchline.actions.graft import GraftResult
    from branchline.actions.operations import Operation
    from branchline.session import Session

__all__ = ["graft_command", "log_command", "redo_command", "squash_command", "undo_command"]


@command("log", paged=True, examples="branchline log @last")
@session_argument()
@directory_option
def log_command(out: Output, session: str, directory: str | None) -> None:
    """Show the operations on a session, newest first: moves, labels, titles, compactions, grafts.

    Messages are not operations; `branchline show` prints them. Undone operations are marked.
    """
    from branchline.actions.operations import operations
    from branchline.views.operation_lines import operation_line

    with resolve_session(session, directory) as live:
        done = operations(live)
        if out.json:
            out.result(
                "log", {"session": live.id, "operations": [msgspec.to_builtins(each) for each in done]}
            )
            return
        for each in reversed(done):
            out.row(*operation_line(each, partial(described, live), time.time()))
        if not done:
            remark(f"{live.id} has no operations, only messages")


def _words(session: Session, operation: Operation) -> str:
    from branchline.views.operation_lines import operation_words

    return operation_words(operation, partial(described, session))


@command("undo", plain=False, examples="branchline undo @last")
@session_argument()
@directory_option
def undo_command(out: Output, session: str, directory: str | None) -> None:
    """Take back the last operation: a move, a label, a title, a compaction, a graft, a squash.

    Nothing is deleted: the inverse is appended, and `branchline redo` does the operation again.
    """
    from branchline.actions.operations import undo

    with open_for_writing(session, directory) as live, usage_errors():
        _tell(out, "undo", live, undo(live))


@command("redo", plain=False, examples="branchline redo @last")
@session_argument()
@directory_option
def redo_command(out: Output, session: str, directory: str | None) -> None:
    """Do the operation again that was undone last."""
    from branchline.actions.operations import redo

    with open_for_writing(session, directory) as live, usage_errors():
        _tell(out, "redo", live, redo(live))


def _tell(out: Output, name: str, session: Session, operation: Operation) -> None:
    if out.json:
        out.result(name, {**position_fields(session), "operation": msgspec.to_builtins(operation)})
        return
    verb = {"undo": "undid", "redo": "redid"}[name]
    where = described(session, session.leaf)
    out.line(f"{verb} {operation.verb} ({_words(session, operation)}); the leaf is {where}")


@command(
    "graft",
    plain=False,
    examples="""
    branchline graft @last 3f2a                    that turn, onto the leaf
    branchline graft @last 3f2a..9c1d --onto 77aa  a range, onto another branch
    branchline graft @last 3f2a --from 01a1ddf5    a turn of another session
    """,
)
@session_argument()
@click.argument("part", metavar="ENTRY[..ENTRY]")
@click.option("--from", "source", metavar="SESSION", help="Take the entries from this session.")
@click.option("--onto", metavar="ENTRY", help="Append them behind ENTRY (default: the leaf).")
@directory_option
def graft_command(
    out: Output, session: str, part: str, source: str | None, onto: str | None, directory: str | None
) -> None:
    """Copy a turn, or a range of one path, onto another branch or session.

    One ENTRY means its turn: a prompt and everything until the next prompt. Tool calls stay with their
    results. The originals stay where they are.
    """
    from branchline.actions.graft import graft

    with open_for_writing(session, directory) as live, usage_errors():
        place = None if onto is None else resolve_entry(live, onto)
        if source is None:
            done = graft(live, *_range(live, part), onto=place)
        else:
            with resolve_session(source, directory) as other:
                done = graft(live, *_range(other, part), source=other, onto=place)
        _tell_graft(out, "graft", live, done)


@command(
    "squash",
    plain=False,
    examples="""
    branchline squash @last 3f2a..9c1d --summary "Tried three parsers; the second works."
    branchline squash @last 3f2a..9c1d             the configured model writes the summary
    """,
)
@session_argument()
@click.argument("part", metavar="ENTRY..ENTRY")
@click.option("--summary", metavar="TEXT", help="Summary of the range; - reads stdin.")
@click.option("--model", metavar="MODEL", help="Write the summary with MODEL (default: the setting).")
@directory_option
def squash_command(
    out: Output, session: str, part: str, summary: str | None, model: str | None, directory: str | None
) -> None:
    """Put a summary in the place of a range of the current path, on a new branch.

    Without --summary a model writes it. What follows the range is copied behind the summary. The original
    path stays in the tree.
    """
    from branchline.actions.graft import squash

    if summary is not None and model is not None:
        raise click.UsageError("--model writes the summary that --summary gives; use one of them")
    with open_for_writing(session, directory) as live, usage_errors():
        first, last = _range(live, part)
        if summary is None:
            text = _written_summary(live, first, last or first, model)
        else:
            text = sys.stdin.read() if summary == "-" else summary
        _tell_graft(out, "squash", live, squash(live, first, last or first, text))


def _written_summary(session: Session, first: str, last: str, model: str | None) -> str:
    """A summary by the named model, or by that of the settings."""
    import asyncio

    from branchline.actions.summary_model import NO_MODEL, SummaryModel
    from branchline.settings import load

    settings = load().settings
    name = model or settings.model
    if name is None:
        raise ValueError(f"cannot squash: {NO_MODEL} with --summary")
    from branchline.conductor.summary_model import summarize_range

    async def told(_words: str) -> None:
        """Nothing is shown before the summary is there."""

    wanted = SummaryModel(name=name, base_url=settings.base_url)
    return asyncio.run(summarize_range(session, first, last, wanted, told))


def _range(session: Session, part: str) -> tuple[str, str | None]:
    first, dots, last = part.partition("..")
    return resolve_entry(session, first), resolve_entry(session, last) if dots else None


def _tell_graft(out: Output, name: str, session: Session, done: GraftResult) -> None:
    if out.json:
        fields: dict[str, Any] = {"entries": list(done.entries), "left_out": list(done.left_out)}
        out.result(name, {**position_fields(session), **fields})
    else:
        out.line(
            f"appended {count(len(done.entries), 'entry', 'entries')}; "
            f"the leaf is {described(session, session.leaf)}"
        )
    for reason in done.left_out:
        remark(f"left out: {reason}")
