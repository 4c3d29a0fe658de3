"""``check``: check session files for damage, and against their seals."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from branchline.actions.names import local_library
from branchline.cli.options import command, store_option
from branchline.cli.output import Output, StyleRole, paint, remark
from branchline.cli.resolver import resolve_path
from branchline.clock import local_time
from branchline.formats.suffixes import has_suffix
from branchline.views.humanize import count, format_size

if TYPE_CHECKING:
    from branchline.actions.check import FileReport
    from branchline.actions.seal import Sealing, SealReport

__all__ = ["check_command"]

_STATES: dict[str, tuple[str, StyleRole]] = {
    "clean": ("fine", "good"),
    "notes": ("fine", "good"),
    "odd": ("odd", "warning"),
    "damaged": ("damaged", "error"),
}
_ROLES: dict[str, StyleRole] = {"damage": "error", "warning": "warning", "note": "dim"}


@command(
    "check",
    paged=True,
    examples="""
    branchline check @last
    branchline check a.jsonl b.jsonl
    branchline check --all                       every session on this machine
    branchline check --dir ~/.pi/agent/sessions
    branchline check --seal                      later checks report changed files
    """,
)
@click.argument("sessions", metavar="[SESSION]...", nargs=-1)
@click.option("--all", "everywhere", is_flag=True, help="Check every session on this machine.")
@store_option("Check the sessions in or below STORE.")
@click.option(
    "--seal",
    is_flag=True,
    help="Store checksums next to the files for later checks. Without SESSION: of our own sessions.",
)
@click.option("--force", is_flag=True, help="With --seal: replace a seal that does not match its file.")
def check_command(
    out: Output,
    sessions: tuple[str, ...],
    everywhere: bool,  # noqa: FBT001
    directory: str | None,
    seal: bool,  # noqa: FBT001
    force: bool,  # noqa: FBT001
) -> None:
    """Check sessions for damage; without SESSION, those of every agent in this directory.

    With --store, SESSION is looked up there. Without SESSION and --store only damaged and irregular
    sessions are listed. Exits with 1 if a session is damaged, irregular or missing, or could not be sealed;
    with 0 if there are only notes.
    """
    if force and not seal:
        raise click.UsageError("--force replaces a seal, so it needs --seal")
    if everywhere and (sessions or directory is not None):
        raise click.UsageError("--all checks every session, so it goes with neither SESSION nor --dir")
    sealing: Sealing = "force" if force else "seal" if seal else "compare"
    reports = list(_reports(sessions, directory, sealing, everywhere=everywhere))
    in_scope = not sessions and directory is None and not seal
    bad = sum(not report.is_sound for report in reports)
    unsealed = sum(report.seal is None or report.seal.state != "sealed" for report in reports) if seal else 0
    if out.json:
        out.result("check", {"files": [_fields(report) for report in reports], "bad": bad})
    else:
        for report in reports:
            if not (in_scope and report.is_sound):
                _print(out, report)
        remark(
            f"{count(len(reports), 'file')} checked, {bad or 'none'} damaged or irregular"
            + (f", {unsealed} not sealed" if unsealed else "")
            if reports
            else "no sessions here; give a file, or a directory with --dir"
        )
    if bad or unsealed:
        raise click.exceptions.Exit(1)


def _reports(
    sessions: tuple[str, ...], directory: str | None, sealing: Sealing, *, everywhere: bool
) -> Iterator[FileReport]:
    from branchline.actions.check import check_directory, check_file, check_library
    from branchline.library import SessionLibrary
    from branchline.stores import is_address

    for session in sessions:
        if os.path.isdir(session) and not has_suffix(session):
            yield from check_directory(session, sealing)
        elif is_address(session) and os.path.exists(session):
            yield from check_library(local_library(session), sealing)
        else:
            yield check_file(resolve_path(session, directory), sealing)
    if sessions:
        return
    if directory is not None and os.path.isdir(directory):
        yield from check_directory(directory, sealing)
    elif directory is not None:
        yield from check_library(local_library(directory), sealing)
    elif sealing != "compare" and not everywhere:
        # Seals are stored next to the files: in other agents' folders only on explicit request.
        yield from check_library(SessionLibrary.for_cwd(), sealing)
    else:
        yield from check_library(SessionLibrary.everywhere(None if everywhere else os.getcwd()), sealing)


def _fields(report: FileReport) -> dict[str, Any]:
    import msgspec

    from branchline.tree import severity

    findings = [
        {**msgspec.to_builtins(finding), "severity": severity(finding.kind)} for finding in report.findings
    ]
    return {**msgspec.to_builtins(report), "findings": findings, "seal": _seal_fields(report.seal)}


def _seal_fields(report: SealReport | None) -> dict[str, Any] | None:
    """The seal as JSON; None without a seal and a message."""
    if report is None or (report.state == "none" and report.message is None):
        return None
    seal = report.seal
    return {
        "state": report.state,
        "size": None if seal is None else seal.size,
        "sealed_at": None if seal is None else seal.sealed_at,
        "message": report.message,
    }


def _print(out: Output, report: FileReport) -> None:
    from branchline.tree import severity

    words, role = _STATES[report.status]
    out.line(report.path, ": ", paint(role, report.problem or words), _about_seal(report.seal))
    if report.seal is not None and report.seal.message is not None:
        out.text(report.seal.message, indent="  ", role="warning")
    places = [f"line {finding.line}, byte {finding.offset}" for finding in report.findings]
    room = max(map(len, places), default=0)
    for place, finding in zip(places, report.findings, strict=True):
        level = severity(finding.kind)
        where = f"  {place if finding.line else 'whole file':<{room}}  "
        if out.columns is None:
            out.line(where, f"{level:<7}  {finding.kind:<16}  ", finding.message)
        else:
            out.line(where, paint(_ROLES[level], f"{level}  {finding.kind}"))
            out.text(finding.message, indent="    ")


def _about_seal(report: SealReport | None) -> str:
    """The state of the seal, for the line of a file."""
    if report is None or report.seal is None:
        return ""
    size = format_size(report.seal.size)
    if report.state == "sealed":
        return f", {size} sealed"
    return f", as sealed on {local_time(report.seal.sealed_at)}" if report.state == "intact" else ""
