"""``repair``: write a repaired copy of a damaged session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from branchline.cli.failures import existing_file
from branchline.cli.options import command, directory_option
from branchline.cli.output import Output, remark
from branchline.cli.resolver import resolve_path
from branchline.views.humanize import count, format_size

if TYPE_CHECKING:
    from branchline.actions.repair import RepairReport

__all__ = ["repair_command"]


@command(
    "repair",
    plain=False,
    examples="""
    branchline repair broken.jsonl               writes broken.repaired.jsonl
    branchline repair broken.jsonl -o repaired.jsonl
    branchline repair user%3a42 --store app.db   adds the session user%3a42.repaired
    """,
)
@click.argument("session", metavar="SESSION")
@directory_option
@click.option("-o", "--output", metavar="OUT", help="Output file (default: SESSION with .repaired).")
def repair_command(out: Output, session: str, directory: str | None, output: str | None) -> None:
    """Write a repaired copy of a damaged session.

    The old session is unchanged. The new one has every readable entry, byte for byte except for guessed
    links. Unreadable bytes are kept in a separate file, .unreadable.txt; those of a session in a database
    stay in the old session. With a database file, lines that belong to no session are made a session again.
    """
    from branchline.actions.repair import repair, restore_lost

    path = resolve_path(session, directory)
    if (lost := restore_lost(path)) is not None:
        _print_lost(out, path, lost)
        return
    with existing_file(" and is left unchanged; choose a file with -o"):
        report = repair(path, output=output)
    if out.json:
        out.result("repair", _fields(report))
    elif report.output is None:
        state = "has damage that cannot be repaired" if report.left else "is not damaged"
        out.line(f"{report.path} {state}; nothing was written")
    else:
        _print(out, report)
    for finding in report.left:
        remark(f"left, line {finding.line}: {finding.kind}: {finding.message}")


def _print_lost(out: Output, path: str, lost: tuple[str, ...]) -> None:
    if out.json:
        out.result("repair", {"path": path, "lost": list(lost)})
        return
    for address in lost:
        out.line(f"{address} is a session again")
    if not lost:
        out.line(f"every line in {path} belongs to a session; `branchline repair {path}#SESSION` repairs one")


def _print(out: Output, report: RepairReport) -> None:
    result = report.result
    out.line(f"wrote {report.output} with all {count(result.entries, 'readable entry', 'readable entries')}")
    if result.header_made:
        out.line("  the header is new: the old one was unreadable")
    if result.upgraded:
        ours = report.format == "pi"
        versions = "the old file has version 1, the new one version 3: " if ours else ""
        out.line(f"  {versions}each entry has an id now")
    elif result.changes:
        out.line(f"  {count(len(result.changes), 'entry', 'entries')} with guessed links")
    if result.asides:
        size = format_size(sum(aside.size for aside in result.asides))
        where = report.unreadable or "in the old session only"
        out.line(f"  {count(len(result.asides), 'piece')} of unusable data ({size}): {where}")
    remark(f"{report.path} is unchanged; if you no longer need it, `branchline rm` moves it to the trash")


def _fields(report: RepairReport) -> dict[str, object]:
    result = report.result
    return {
        "path": report.path,
        "output": report.output,
        "unreadable": report.unreadable,
        "entries": result.entries,
        "header_made": result.header_made,
        "changed": [change._asdict() for change in result.changes],
        "left": [
            {"line": finding.line, "kind": finding.kind, "message": finding.message}
            for finding in report.left
        ],
        "aside": [
            {"line": aside.line, "offset": aside.offset, "size": aside.size, "reason": aside.reason}
            for aside in result.asides
        ],
    }
