"""``share``: write a session as one HTML file, after a review of the redactions."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click
import msgspec

from branchline.cli.commands.export import (
    PagePart,
    page_options,
    printed_redactions,
    printed_replaced,
    remark_replaced,
)
from branchline.cli.failures import existing_file
from branchline.cli.options import command, directory_option, session_argument
from branchline.cli.output import Output, Piece, paint, remark
from branchline.cli.resolver import resolve_session
from branchline.views.humanize import count, format_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from branchline.actions.export import ExportResult
    from branchline.actions.redactor import Choices
    from branchline.actions.review import SecretFinding

__all__ = ["share_command"]

_SHOWN = 48
_HINT = 4
_SEARCHES = 4
"""How often a finished file is searched; masking what one search found can reveal something else."""
_ANSWERS = {
    "m": "mask it",
    "k": "keep it: it is not a secret",
    "e": "mask it everywhere, even where it is only a part of a word",
    "l": "mask another text",
    "a": "mask this and all that follow",
    "q": "stop; nothing is written",
}


@command(
    "share",
    examples="""
    branchline share @last                       asks about each finding, then writes a page
    branchline share @last -o talk.html --portable
    branchline share 01a1ddf5 --branch --no-tools
    branchline share @last --review              only lists the findings
    """,
)
@session_argument()
@page_options
@click.option(
    "-o", "--output", metavar="FILE", help="Output file or directory (default: here, named after it)."
)
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option("-y", "--yes", is_flag=True, help="Mask every finding without asking.")
@click.option("--review", "only_review", is_flag=True, help="Only list the findings; write nothing.")
@directory_option
def share_command(
    out: Output,
    session: str,
    part: PagePart,
    output: str | None,
    force: bool,  # noqa: FBT001
    yes: bool,  # noqa: FBT001
    only_review: bool,  # noqa: FBT001
    directory: str | None,
) -> None:
    """Write a session as one HTML file that you can send to others.

    Shows the secrets to mask (keys, tokens, passwords; with --portable also local names) and asks about each.
    Without a terminal all are masked. The file opens in any browser without a network, and `branchline
    import` extracts the session again.
    """
    from branchline.actions.export import Choices, export
    from branchline.actions.review import review
    from branchline.errors import SecretsLeft

    with resolve_session(session, directory) as live:
        request = part.request(live, format="html")
        findings = review(live, request)
        if only_review:
            _list(out, live.id, findings)
            return
        choices = Choices()
        asks = not yes and not out.json and sys.stdin.isatty() and sys.stdout.isatty()
        if findings and asks:
            choices = _ask(out, findings, choices)
        elif not out.json:
            _print(out, findings)
        decide = _ask if asks else _mask_all

        def write(choices: Choices, searches: int) -> ExportResult:
            try:
                chosen = msgspec.structs.replace(request, choices=choices)
                return export(live, output or os.curdir, chosen, force=force)
            except SecretsLeft as problem:
                if searches == 1:
                    raise
                return write(decide(out, problem.findings, choices), searches - 1)

        with existing_file("; --force replaces it"):
            result = write(choices, _SEARCHES)
    if out.json:
        fields = {"session": result.session, "path": result.path, "size": result.size}
        fields |= {"redacted": printed_redactions(result.redacted)}
        out.result("share", fields | printed_replaced(result))
        return
    out.line(f"wrote {result.path} ({format_size(result.size)})")
    remark_replaced(result)
    if result.redacted:
        remark(f"replaced {count(result.secrets, 'place')}")


def _list(out: Output, session: str, findings: Sequence[SecretFinding]) -> None:
    if out.json:
        rows = [
            {name: getattr(one, name) for name in ("kind", "count", "entry", "role", "time")}
            for one in findings
        ]
        out.result("share", {"session": session, "findings": rows})
    else:
        _print(out, findings)


def _print(out: Output, findings: Sequence[SecretFinding]) -> None:
    """Print the findings. Values are not shown: the output may end in a log that others read."""
    if not findings:
        remark("nothing to replace was found")
        return
    from branchline.actions.secret_places import place_of

    for one in findings:
        hint = f"{one.value[:_HINT]}…" if len(one.value) > 4 * _HINT else "…"
        out.row(f"{one.count:>5}  ", paint("warning", one.kind), "  ", *_in_context(one, hint))
        out.row(" " * 7, paint("dim", place_of(one)))


def _in_context(one: SecretFinding, value: str) -> list[Piece]:
    return [paint("dim", one.before), paint("error", value), paint("dim", one.after)]


def _shortened(value: str) -> str:
    return value if len(value) <= _SHOWN else f"{value[: _SHOWN // 2]}…{value[-8:]}"


def _ask(out: Output, findings: Sequence[SecretFinding], choices: Choices) -> Choices:
    """Ask what to do with each finding. Aborts if the answer is to stop."""
    from branchline.actions.secret_places import place_of

    keep: set[str] = set()
    literals: list[str] = []
    left: list[SecretFinding] = []
    masked = False
    if findings[0].left:
        out.line(paint("warning", "a search of the finished file found more"))
    for number, one in enumerate(findings, 1):
        answer = "m"
        if not masked:
            times = "" if one.count == 1 else f", {one.count:,} times"
            out.line(paint("heading", f"{number} of {len(findings)}: {one.kind}{times}, {place_of(one)}"))
            out.line("  ", *_in_context(one, _shortened(one.value)))
            while (answer := _answer(out)) == "l":
                if text := click.prompt("  text to mask", default="", show_default=False).strip():
                    literals.append(text)
        match answer:
            case "k":
                keep.add(one.value)
                continue
            case "e":
                literals.append(one.value)
            case "a":
                masked = True
            case "q":
                raise click.Abort
        if one.left:
            left.append(one)
    choices = msgspec.structs.replace(
        choices, keep=choices.keep | keep, literals=(*choices.literals, *literals)
    )
    return _masked(choices, left)


def _mask_all(out: Output, findings: Sequence[SecretFinding], choices: Choices) -> Choices:
    if not out.json:
        _print(out, findings)
    return _masked(choices, findings)


def _masked(choices: Choices, findings: Iterable[SecretFinding]) -> Choices:
    """Mask what a search of the finished file found."""
    from branchline.actions.redactor import FoundSecret

    left = [FoundSecret(kind=one.kind, value=one.value) for one in findings]
    return msgspec.structs.replace(choices, left=(*choices.left, *left))


def _answer(out: Output) -> str:
    while True:
        answer = str(click.prompt("  mask, keep, everywhere, literal, all, quit [mkelaq?]", default="m"))[:1]
        if answer in _ANSWERS:
            return answer
        for key, what in _ANSWERS.items():
            out.line(f"    {key}  {what}")
