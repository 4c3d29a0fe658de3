"""``inspect``: the structure of a session. Its JSON is a contract."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from branchline.cli.options import command, directory_option, session_argument
from branchline.cli.output import Output, Piece, paint
from branchline.cli.resolver import resolve_path
from branchline.cli.write_access import described
from branchline.clock import local_time
from branchline.views.figures import cost_of, is_usage_known, messages_on, tokens
from branchline.views.humanize import count, format_size

if TYPE_CHECKING:
    from branchline.session import Session

__all__ = ["inspect_command"]


@command(
    "inspect",
    paged=True,
    examples="""
    branchline inspect @last
    branchline inspect path/to/session.jsonl --json | jq .leaf
    """,
)
@session_argument()
@directory_option
def inspect_command(out: Output, session: str, directory: str | None) -> None:
    """Show the structure of a session: ids, tree, path, labels, context, usage, findings."""
    import os

    from branchline.actions.inspect import report, report_without_session
    from branchline.errors import BranchlineError
    from branchline.session import Session
    from branchline.stores import address_in

    path = resolve_path(session, directory)
    try:
        live = Session.open(path)
    except BranchlineError as problem:
        if out.json and (os.path.lexists(path) or address_in(path) is not None):
            out.result("inspect", report_without_session(path, problem))
        raise
    with live:
        if out.json:
            out.result("inspect", report(live))
        else:
            out.table(_facts(live))


def _facts(session: Session) -> list[tuple[str, Piece]]:
    """The most important facts of the report."""
    from branchline.actions.inspect import estimated_usage
    from branchline.formats.integrity import check_log
    from branchline.library.branch_count import count_branches
    from branchline.stores import stored_at
    from branchline.tree import ROOT, severity

    reading, index, header = session.transcript.reading, session.index, session.header
    context, usage, findings = session.context(), estimated_usage(session), check_log(session.transcript)
    spent, inherited = usage.all.total, usage.inherited.total
    version = "without a header" if reading.header is None else f"version {header.version}"
    rows: list[tuple[str, Piece]] = [
        ("session", paint("title", f"{session.id}  ({reading.format}, {version})"))
    ]
    if session.title:
        rows.append(("title", session.title))
    rows.append(("directory", session.cwd or "(none)"))
    if session.file is not None:
        stored = stored_at(session.file)
        size = "" if stored is None else f"  ({format_size(stored.size)})"
        rows.append(("file", f"{session.file}{size}"))
    if header.timestamp:
        rows.append(("begun", local_time(header.timestamp)))
    if session.parent_session is not None:
        rows.append(("forked from", session.parent_session))
    branches = count_branches(index)
    leaf = ROOT if session.leaf is None else index.position(session.leaf)
    messages = messages_on(index, index.path_positions(leaf))
    shape = count(len(index) - len(index.placeholders), "entry", "entries")
    rows += [
        ("tree", f"{shape}, {count(branches, 'branch', 'branches')}" if branches > 1 else shape),
        ("path", f"{count(messages, 'message')}, {count(len(session.path()), 'entry', 'entries')}"),
        ("leaf", described(session, session.leaf)),
    ]
    if session.labels:
        rows.append(("labels", ", ".join(sorted(session.labels.values()))))
    model = "no model" if context.model is None else context.model.name
    sent = count(len(context.messages), "message")
    rows.append(("context", f"{sent} for {model}, thinking {context.thinking_level}"))
    known = is_usage_known(usage.all, index.roles.count("assistant"))
    if spent.total_tokens or spent.cost or not known:
        cost = cost_of(spent, is_known=known)
        own = f" ({cost_of(inherited)} of it before the fork)" if usage.inherited.models else ""
        used = f"{tokens(spent.input)} in, {tokens(spent.output)} out" if known else "tokens unknown"
        rows.append(("spent", f"{used}, {cost.words}{own}"))
    if session.read_only:
        rows.append(("read-only", paint("warning", session.read_only)))
    damaged = any(severity(finding.kind) == "damage" for finding in findings)
    command = f"branchline check {shlex.quote(session.file or session.id)}"
    what = f"{count(len(findings), 'finding')}; `{command}` lists them" if findings else "none"
    rows.append(("findings", paint("error" if damaged else "plain", what)))
    return rows
