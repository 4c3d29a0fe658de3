"""``convert``: convert a session for another agent, with a fidelity report."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Literal

import click

from branchline.actions.names import resolve_entry
from branchline.cli.failures import existing_file, usage_errors
from branchline.cli.options import command, cwd_option, directory_option, session_argument
from branchline.cli.output import Output, remark
from branchline.cli.resolver import resolve_session
from branchline.views.humanize import count, format_size

if TYPE_CHECKING:
    from branchline.actions.convert import ConvertedFile, ConvertRequest
    from branchline.conversion import Fidelity, FidelityNote
    from branchline.session import Session

__all__ = ["convert_command", "run_conversion", "tell_fidelity"]

_TARGETS = (
    "branchline, pi, oh-my-pi, operator, induscode, zot, piglet, claude-code, codex, qwen, copilot, opencode"
)
_SHOWN = 3  # entry ids in a line of the report


@command(
    "convert",
    plain=False,
    examples="""
    branchline convert @last --to zot
    branchline convert rollout.jsonl --to pi --install      where pi finds it
    branchline convert @last --to claude-code --install     then run the command that is printed
    branchline convert 01a1ddf5 --to operator --branch 3f2a -o converted.jsonl
    branchline convert talk.jsonl --to zot --branches -o out/     one file per branch
    """,
)
@session_argument()
@click.option("--to", "target", metavar="FORMAT", required=True, help=f"One of {_TARGETS}.")
@click.option("--branch", metavar="ENTRY", help="Convert only the path to ENTRY (@leaf: the active path).")
@click.option("--tree", "whole", is_flag=True, help="Write all branches into one file (the default).")
@click.option("--branches", "each", is_flag=True, help="Write one file per branch.")
@click.option(
    "-o", "--output", metavar="PATH", help="Output file or directory (default: the current directory)."
)
@click.option("--install", is_flag=True, help="Write it where the agent looks for sessions.")
@click.option(
    "--same-id",
    is_flag=True,
    help="Keep the session id; restore the original lines of a session converted from FORMAT.",
)
@click.option("--lossy", is_flag=True, help="Write the file even if it lacks messages of the active path.")
@cwd_option("Working directory of the new session (default: unchanged).")
@directory_option
def convert_command(
    out: Output,
    session: str,
    target: str,
    branch: str | None,
    whole: bool,  # noqa: FBT001
    each: bool,  # noqa: FBT001
    output: str | None,
    install: bool,  # noqa: FBT001
    same_id: bool,  # noqa: FBT001
    lossy: bool,  # noqa: FBT001
    cwd: str | None,
    directory: str | None,
) -> None:
    """Write SESSION as a new file of another agent. SESSION is unchanged.

    Content that the other format cannot hold is approximated or dropped; a report on stderr lists it. If that
    would drop messages of the active path, nothing is written without --lossy. With
    --install, the command that continues the new session is printed and, on a terminal, run on Enter.
    Sessions of Claude Code and Codex are always new files; existing ones are never changed.
    """
    from branchline.actions.convert import ConvertRequest

    if sum((branch is not None, whole, each)) > 1:
        raise click.UsageError("--branch, --tree and --branches exclude each other")
    if install and output is not None:
        raise click.UsageError("--install chooses the location; omit -o")
    scope: Literal["tree", "path", "branches"] = (
        "path" if branch is not None else "branches" if each else "tree"
    )
    with resolve_session(session, directory) as live:
        request = ConvertRequest(
            to=target,
            scope=scope,
            entry=None if branch is None else resolve_entry(live, branch),
            cwd=cwd,
            output=output,
            install=install,
            same_id=same_id,
            lossy=lossy,
        )
        run_conversion(out, live, request)


def run_conversion(out: Output, live: Session, request: ConvertRequest) -> None:
    """Convert a session, and print the result."""
    from branchline.actions.convert import convert

    with existing_file(" and is left unchanged; choose another file with -o"), usage_errors():
        done = convert(live, request)
    for file in done.files:
        for why in file.problems:
            remark(why)
        if not out.json:
            out.line(f"converted {live.id} into {file.path} ({request.to}, {format_size(file.size)})")
            if file.resume is not None:
                out.line(file.resume)
            tell_fidelity(file.fidelity, live.file or live.id)
    if out.json:
        files = [
            {
                "session": file.session,
                "path": file.path,
                "size": file.size,
                "resume": file.resume,
                "fidelity": file.fidelity.as_fields(),
            }
            for file in done.files
        ]
        fields = {"source": done.source, "source_file": done.source_file, "source_format": done.source_format}
        out.result("convert", {**fields, "target": done.target, "files": files})
    elif request.install and done.files[0].resume is not None:
        _offer(out, done.target, done.files[0])


def _offer(out: Output, target: str, file: ConvertedFile) -> None:
    """Offer to run the command that continues the new session."""
    from branchline.actions.resume import plan_resume
    from branchline.cli.agent_runner import offer_agent

    offer_agent(out, plan_resume(target, path=file.path, id=file.session, cwd=file.cwd))


def tell_fidelity(fidelity: Fidelity, source: str) -> None:
    """Print the fidelity report on stderr."""
    counts = fidelity.counted()
    if fidelity.dropped:
        remark(f"not in the new file: {count(len(fidelity.dropped), 'message')} of the path, listed below")
    words = f"kept as they are: {counts['carried']:,} of {count(fidelity.entries, 'entry', 'entries')}"
    if fidelity.restored:
        words += f" ({fidelity.restored:,} byte for byte)"
    remark(words)
    for title, changes in (("in another way", fidelity.approximated), ("not kept", fidelity.lost)):
        for change in changes:
            remark(f"{title}: {_line(change)}")
    if any(change.why.startswith("not on the active path") for change in fidelity.lost):
        remark("`--branches` writes a file for each branch")
    if fidelity.damage:
        command = f"branchline check {shlex.quote(source)}"
        remark(f"{count(fidelity.damage, 'finding')} in the source; `{command}` lists them")


def _line(change: FidelityNote) -> str:
    some = ", ".join(change.entries[:_SHOWN]) + (" …" if len(change.entries) > _SHOWN else "")
    return f"{len(change.entries):,} × {change.kind}: {change.why} ({some})"
