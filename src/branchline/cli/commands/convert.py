"""``convert``: a conversation as a session file of another program, and an account of what it keeps.

Nothing is put into the folders of other programs unless somebody asks for it.
"""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from branchline.cli.files import write_new
from branchline.cli.options import command, directory_option, session_argument
from branchline.cli.output import Output, remark
from branchline.cli.resolver import resolve_entry, resolve_session
from branchline.cli.words import count, format_size

if TYPE_CHECKING:
    from branchline.conversion import Converted, Fidelity, FidelityNote
    from branchline.entries import Header
    from branchline.formats import Format
    from branchline.session import Session

__all__ = ["ConvertRequest", "convert_command", "program_named", "run_conversion"]

TARGETS = ("branchline", "pi", "oh-my-pi", "operator", "induscode", "zot", "piglet")
_SHOWN = 3  # ids of entries that are named in a line of the account


class ConvertRequest(NamedTuple):
    """What to convert into what: paths by their last position, or None for the whole tree."""

    target: str
    leaves: tuple[int | None, ...]
    cwd: str | None = None
    output: str | None = None
    install: bool = False
    same_id: bool = False


@command(
    "convert",
    examples="""
    branchline convert @last --to zot
    branchline convert rollout.jsonl --to pi --install      where pi finds it
    branchline convert 01a1ddf5 --to operator --branch 3f2a -o carried.jsonl
    branchline convert talk.jsonl --to zot --branches -o out/     one file for each branch
    """,
)
@session_argument()
@click.option("--to", "target", metavar="FORMAT", required=True, help=f"One of {', '.join(TARGETS)}.")
@click.option("--branch", metavar="ENTRY", help="Only the path to ENTRY (@leaf: the active one).")
@click.option("--tree", "whole", is_flag=True, help="All branches in one file (the default).")
@click.option("--branches", "each", is_flag=True, help="One file for each branch.")
@click.option("-o", "--output", metavar="PATH", help="The new file, or the directory for it (default: here).")
@click.option("--install", is_flag=True, help="Put it where the program itself looks for sessions.")
@click.option("--same-id", is_flag=True, help="Keep the id; a session that came from FORMAT is given back.")
@click.option(
    "--cwd",
    type=click.Path(exists=True, file_okay=False),
    help="The working directory of the new session (default: as the old one).",
)
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
    cwd: str | None,
    directory: str | None,
) -> None:
    """Write SESSION as a new file of another program. SESSION stays as it is.

    What the other program cannot hold is carried in the nearest form that it can, or left out; stderr tells.
    """
    from branchline.conversion import branch_tips

    if sum((branch is not None, whole, each)) > 1:
        raise click.UsageError("--branch, --tree and --branches exclude each other")
    if install and output is not None:
        raise click.UsageError("--install chooses the place itself; leave -o out")
    with resolve_session(session, directory) as live:
        leaves: tuple[int | None, ...] = (None,)
        if branch is not None:
            leaves = (
                live.index.nearest_conversation_entry(live.index.position(resolve_entry(live, branch))),
            )
        elif each:
            leaves = tuple(branch_tips(live.transcript)) or (None,)
        run_conversion(out, live, ConvertRequest(target, leaves, cwd, output, install, same_id))


def run_conversion(out: Output, live: Session, order: ConvertRequest) -> None:
    """Convert, write, and tell."""
    from branchline.conversion import convert

    target = program_named(order.target)
    if order.output is not None and len(order.leaves) > 1 and not os.path.isdir(order.output):
        raise click.UsageError(f"{len(order.leaves)} files need a directory that exists; give one with -o")
    files: list[dict[str, Any]] = []
    for leaf in order.leaves:
        made = convert(live.transcript, target, _header(live, target, order), leaf=leaf, exact=order.same_id)
        path = _place(order, target, made.header)
        try:
            write_new(path, made.data)
        except FileExistsError:
            raise click.ClickException(f"{path} exists already and stays as it is; choose with -o") from None
        resume = _resume(order, path, made.header)
        if not out.json:
            out.line(f"converted {live.id} into {path} ({order.target}, {format_size(len(made.data))})")
            if order.install:
                out.line(resume)
            _tell(made.fidelity)
        files.append(_fields(made, path, resume if order.install else None))
    if out.json:
        fields = {"source": live.id, "source_file": live.file, "source_format": live.transcript.format.name}
        out.result("convert", {**fields, "target": order.target, "files": files})


# -- where and what ---------------------------------------------------------------------------------------


def program_named(name: str) -> Format:
    """The format of the program of this name, which must be one that is written here."""
    from branchline.session.locator import writable_format

    try:
        return writable_format(name)
    except ValueError:
        raise click.UsageError(f"there is no program {name!r}; choose one of {', '.join(TARGETS)}") from None


def _header(live: Session, target: Format, order: ConvertRequest) -> Header:
    """The header of the new session: one of its own that names where it came from, or the same again."""
    from branchline import places
    from branchline.clock import SystemClock
    from branchline.entries import Header
    from branchline.session.forks import time_after

    cwd = live.cwd if order.cwd is None else places.resolve_cwd(order.cwd)
    if order.same_id:
        return Header(version=3, id=live.id, timestamp=live.header.timestamp, cwd=cwd)
    clock = SystemClock()
    timestamp = time_after(live.index.times, clock.now())
    return Header(
        version=3,
        id=target.session_id(clock.session_id(), timestamp),
        timestamp=timestamp,
        cwd=cwd,
        parent_session=target.parent_link(live.id, live.file),
    )


def _place(order: ConvertRequest, target: Format, header: Header) -> str:
    """The path of the new file; the directory is there afterwards."""
    from branchline.stores import check_key

    name = check_key(target.file_key(header)) + target.suffix
    if order.install:
        from branchline.log import create_directory
        from branchline.session.locator import store_of

        directory = store_of(order.target, header.cwd).directory
        create_directory(directory)
        return os.path.join(directory, name)
    path = os.path.abspath(order.output or ".")
    return os.path.join(path, name) if os.path.isdir(path) else path


def _resume(order: ConvertRequest, path: str, header: Header) -> str:
    """What a person types to go on there."""
    from branchline.formats.continuing import RESUME_COMMANDS

    known = RESUME_COMMANDS.get(order.target)
    words = ("branchline", "show", path) if known is None else known.command(path=path, id=header.id)
    note = f"  # {known.note}" if known is not None and known.note else ""
    return f"cd {shlex.quote(header.cwd)} && {shlex.join(words)}{note}"


# -- the account ------------------------------------------------------------------------------------------


def _fields(made: Converted, path: str, resume: str | None) -> dict[str, Any]:
    return {
        "session": made.header.id,
        "path": path,
        "size": len(made.data),
        "resume": resume,
        "fidelity": made.fidelity.as_fields(),
    }


def _tell(fidelity: Fidelity) -> None:
    counts = fidelity.counted()
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
        remark(f"{count(fidelity.damage, 'finding')} in the source; `branchline check` tells them")


def _line(change: FidelityNote) -> str:
    some = ", ".join(change.entries[:_SHOWN]) + (" …" if len(change.entries) > _SHOWN else "")
    return f"{len(change.entries):,} × {change.kind}: {change.why} ({some})"
