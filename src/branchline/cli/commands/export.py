"""``export``: write a session or a part of it to a file."""

from __future__ import annotations

import functools
import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from branchline.actions.names import resolve_entry
from branchline.cli.failures import existing_file
from branchline.cli.options import command, directory_option, session_argument
from branchline.cli.output import Output, remark
from branchline.cli.resolver import resolve_session
from branchline.errors import EntryNotFound
from branchline.views.humanize import count, format_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from branchline.actions.export import ExportFormat, ExportRequest, ExportResult, Redaction
    from branchline.session import Session

__all__ = [
    "PagePart",
    "export_command",
    "page_options",
    "printed_redactions",
    "printed_replaced",
    "remark_replaced",
]

_STANDARD_OUTPUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
_FORMATS = ["jsonl", "md", "html", "zotsession", "atif", "otel", "openai"]


class PagePart(NamedTuple):
    """The part of a session that goes into a page, as the options name it."""

    branch_only: bool
    first: str | None
    last: str | None
    no_tools: bool
    no_thinking: bool
    no_images: bool
    portable: bool

    def request(self, session: Session, **more: Any) -> ExportRequest:
        from branchline.actions.export import ExportRequest

        return ExportRequest(
            branch=self.branch_only,
            first=None if self.first is None else resolve_entry(session, self.first),
            entry=None if self.last is None else _last_entry(session, self.last),
            tools=not self.no_tools,
            thinking=not self.no_thinking,
            images=not self.no_images,
            portable=self.portable,
            **more,
        )


def _last_entry(session: Session, name: str) -> str:
    try:
        return resolve_entry(session, name)
    except EntryNotFound:
        if name not in _FORMATS:
            raise
        raise click.UsageError(f"--to names an entry; the format is --format {name}") from None


def page_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options for a part of a session; the function gets them as one argument, ``part``."""

    @functools.wraps(function)
    def run(*arguments: Any, **options: Any) -> None:
        part = PagePart(**{name: options.pop(name) for name in PagePart._fields})
        function(*arguments, part=part, **options)

    for option in reversed(
        (
            click.option(
                "--branch", "branch_only", is_flag=True, help="Export only the active path, with its labels."
            ),
            click.option("--from", "first", metavar="ENTRY", help="First entry of the path (pages only)."),
            click.option("--to", "last", metavar="ENTRY", help="Last entry of the path (default: the leaf)."),
            click.option("--no-tools", is_flag=True, help="Omit tool calls and their results (pages only)."),
            click.option("--no-thinking", is_flag=True, help="Omit thinking (pages only)."),
            click.option("--no-images", is_flag=True, help="Omit images (pages only)."),
            click.option(
                "--portable",
                is_flag=True,
                help="Omit the working directory and the parent session; mask local names in pages.",
            ),
        )
    ):
        run = option(run)
    return run


@command(
    "export",
    plain=False,
    examples="""
    branchline export @last --format md -o talk.md
    branchline export @last -o talk.html         one page that opens without a network
    branchline export 01a1ddf5 --branch -o branch.jsonl
    branchline export 01a1ddf5 --format atif --each branch -o trajectories/
    branchline export @last | gzip > session.jsonl.gz
    branchline export ~/.local/state/zot/sessions/x/y.jsonl -o y.zotsession
    """,
)
@session_argument()
@click.option(
    "--format",
    "kind",
    type=click.Choice(_FORMATS),
    help="Format (default: by the extension of FILE, else jsonl); md, atif and otel hold the active path.",
)
@click.option(
    "--each",
    type=click.Choice(["session", "branch"]),
    default="session",
    help="Write one file per session (default), or one per branch into the directory of -o.",
)
@page_options
@click.option("--no-redact", is_flag=True, help="Do not redact keys, tokens and passwords.")
@click.option(
    "-o", "--output", metavar="FILE", help="Output file or directory (default: -, standard output)."
)
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option("-v", "--verbose", is_flag=True, help="Also report that no secrets were found.")
@directory_option
def export_command(
    out: Output,
    session: str,
    kind: ExportFormat | None,
    each: str,
    part: PagePart,
    no_redact: bool,  # noqa: FBT001
    output: str | None,
    force: bool,  # noqa: FBT001
    verbose: bool,  # noqa: FBT001
    directory: str | None,
) -> None:
    """Write a session to FILE (mode 0600) or to standard output.

    Keys, tokens and passwords are replaced by [redacted:KIND]; a count is printed on stderr.
    """
    from branchline.actions.export import export, render
    from branchline.actions.output_file import files_of, require_other_file

    output = None if output in _STANDARD_OUTPUT else output
    if each == "branch" and (output is None or part.branch_only):
        raise click.UsageError("--each branch writes all branches into a directory; give one with -o DIR/")
    with resolve_session(session, directory) as live:
        request = part.request(live, format=kind, redact=not no_redact)
        if each == "branch":
            assert output is not None
            _export_branches(out, live, output, request, force=force, verbose=verbose)
            return
        if output is None:
            if out.json:
                raise click.UsageError("--json describes the exported file; name one with -o FILE")
            require_other_file(1, files_of(live))
            rendered = render(live, request)
            out.data(rendered.data)
            _remark_withheld(rendered.withheld)
            _remark_redacted(rendered.redacted, verbose=verbose)
            return
        with existing_file("; --force replaces it"):
            result = export(live, output, request, force=force)
    if out.json:
        fields = {"session": result.session, "format": result.format, "branch": result.branch}
        redacted = printed_redactions(result.redacted)
        fields |= {"path": result.path, "size": result.size, "redacted": redacted}
        fields |= {"withheld": result.withheld} if result.withheld else {}
        out.result("export", fields | printed_replaced(result))
    else:
        out.line(f"exported {result.session} to {result.path} ({format_size(result.size)})")
        remark_replaced(result)
    _remark_withheld(result.withheld)
    _remark_redacted(result.redacted, verbose=verbose)


def _export_branches(
    out: Output, live: Session, output: str, request: ExportRequest, *, force: bool, verbose: bool
) -> None:
    from branchline.actions.export import export_branches

    with existing_file("; --force replaces it"):
        made = export_branches(live, output, request, force=force)
    if out.json:
        files = [
            {"path": one.path, "size": one.size, "leaf": one.leaf} | printed_replaced(one) for one in made
        ]
        out.result("export", {"session": live.id, "branch": True, "files": files})
    for one in made:
        if not out.json:
            out.line(f"exported {one.session} to {one.path} ({format_size(one.size)})")
            remark_replaced(one)
        _remark_redacted(one.redacted, verbose=verbose)


def printed_replaced(result: ExportResult) -> dict[str, object]:
    """Return the field for a replaced session that is in the trash."""
    return {} if result.replaced is None else {"replaced": result.replaced}


def remark_replaced(result: ExportResult) -> None:
    """Name the session that was replaced, and how to restore it."""
    if result.replaced is not None:
        token, where = os.path.basename(os.path.dirname(result.replaced)), os.path.dirname(result.path)
        remark(f"the replaced session is in the trash: {result.replaced}")
        remark(f"`branchline restore {token} --store {where}` restores it when {result.path} is moved away")


def _counted(redacted: list[Redaction], what: str) -> str:
    kinds = ", ".join(f"{each.count:,} {each.kind}" for each in redacted)
    return f"{count(sum(each.count for each in redacted), what)}: {kinds}"


def printed_redactions(redacted: tuple[Redaction, ...] | None) -> list[dict[str, object]] | None:
    return None if redacted is None else [{"kind": each.kind, "count": each.count} for each in redacted]


def _remark_withheld(lines: int) -> None:
    if lines:
        left_out = count(lines, "line that its agent keeps to itself", "lines that its agent keeps to itself")
        remark(f"left out {left_out}, so the copy differs from the file")


def _remark_redacted(redacted: tuple[Redaction, ...] | None, *, verbose: bool) -> None:
    """Print what was redacted or masked; if nothing was, only on a terminal or with ``verbose``."""
    from branchline.actions.redactor import LOCAL_NAMES

    names = [each for each in redacted or () if each.kind in LOCAL_NAMES]
    secrets = [each for each in redacted or () if each.kind not in LOCAL_NAMES]
    if secrets:
        remark(f"redacted {_counted(secrets, 'secret')}; --no-redact keeps them")
    if names:
        remark(f"masked {_counted(names, 'local name')}")
    if redacted is not None and not redacted and (verbose or sys.stderr.isatty()):
        remark("no secrets found")
