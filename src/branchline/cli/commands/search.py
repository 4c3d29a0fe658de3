"""``search``: full-text search in the sessions of all agents."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import click

from branchline.cli.failures import usage_errors
from branchline.cli.options import INCOMPLETE, TEXT, agent_option, command, store_option
from branchline.cli.output import Output, paint, remark
from branchline.cli.resolver import chosen_library
from branchline.views.humanize import count

if TYPE_CHECKING:
    import subprocess

    from branchline.views.hits import Hit, Hits

__all__ = ["search_command"]

_SEVERAL_WORDS = frozenset({"cwd", "file", "path", "model", "tool", "label", "branch"})
"""The fields whose value may be several words; what follows any other is the rest of the query."""
_FIELD = r"\s[A-Za-z]+:"
_behind: list[subprocess.Popen[bytes] | None] = []
"""Background processes, which outlive this one."""


@command(
    "search",
    paged=True,
    examples="""
    branchline search login test
    branchline search '"connection refused"' role:result after:7d
    branchline search file:auth.py in:tools
    branchline search 're:error [0-9]+' --here
    branchline search checkout --files --limit 5
    branchline search is:abandoned parser --open
    """,
)
@click.argument("words", metavar="WORDS...", nargs=-1, required=True, type=TEXT)
@click.option("--limit", "-n", type=click.IntRange(min=1), default=20, metavar="N", help="At most N hits.")
@click.option("--files", is_flag=True, help="Only the session files, each once.")
@click.option("--open", "open_first", is_flag=True, help="Read the best hit: the path to its entry.")
@click.option("--here", is_flag=True, help="Only sessions of this directory.")
@store_option("Only the sessions in STORE.")
@agent_option
def search_command(
    out: Output,
    words: tuple[str, ...],
    limit: int,
    files: bool,  # noqa: FBT001
    open_first: bool,  # noqa: FBT001
    here: bool,  # noqa: FBT001
    directory: str | None,
    agents: tuple[str, ...],
) -> None:
    """Find entries by their words, in the sessions of all agents and directories.

    Every word must be in the entry. "phrases" stand in quotes, re: takes a regular expression. Fields narrow
    it down: agent: cwd: model: role: tool: after: before: label: tag: in:said in:tools is:branch is:abandoned
    is:compacted is:fork is:archived file: path: branch: cost:>1 tokens:>100k. A hit is one
    line: session, entry, role, age and text; `branchline show SESSION --at ENTRY` reads the path to it.
    A search that found nothing before its time was up exits with 3.
    """
    if here and directory is not None:
        raise click.UsageError("either --here or --dir, not both")
    if files + open_first + out.json > 1 and open_first:
        raise click.UsageError("--open reads one hit; it does not go with --files or --json")
    library = chosen_library(directory, agents, everywhere=not here)
    query = " ".join(map(_quoted, words))
    with usage_errors():
        hits = library.search(query, limit=limit)
    notes = [*_open_quote(query), *hits.remarks]
    if out.json:
        out.result("search", _fields(hits, notes))
    elif open_first and hits:
        _open(out, hits[0], query)
    elif files:
        for path in dict.fromkeys(place.row.path or place.row.key for hit in hits for place in hit.places):
            out.line(paint("path", path))
    else:
        _print(out, hits)
    is_indexing = bool(hits.unindexed) and directory is None and _index_behind()
    if not out.json:
        _tell(hits, notes, is_indexing=is_indexing)
    if not hits and not hits.is_complete:
        raise click.exceptions.Exit(INCOMPLETE)


def _quoted(word: str) -> str:
    """Quote an argument with spaces after a field, so that it stays one phrase."""
    if " " not in word or '"' in word or word.lower().startswith("re:"):
        return word
    field, _colon, rest = word.partition(":")
    if field.lower() in _SEVERAL_WORDS and re.search(_FIELD, rest) is None:
        return f'{field}:"{rest}"'
    return word


def _print(out: Output, hits: Hits) -> None:
    from branchline.views.hit_lines import hit_line

    now = time.time()
    for hit in hits:
        out.row(*hit_line(hit, now=now, whole_ids=out.columns is None))


def _open_quote(query: str) -> list[str]:
    """Say where a quote is not closed; the query language then takes its words one by one."""
    if query.count('"') % 2 == 0 or query.lower().startswith("re:"):
        return []
    place = query.rindex('"') + 1
    return [f"the quote at character {place} is not closed; its words are searched one by one"]


def _tell(hits: Hits, notes: list[str], *, is_indexing: bool) -> None:
    remark(hits.coverage)
    for note in notes:
        remark(note, dim=True)
    if hits.unindexed:
        waiting = f"{count(hits.unindexed, 'session')} not indexed yet"
        remark(
            f"{waiting}; they are being indexed in the background, `branchline index --status` shows how far"
            if is_indexing
            else f"{waiting}; `branchline index` does that now"
        )


def _fields(hits: Hits, notes: list[str]) -> dict[str, Any]:
    return {
        "hits": [_hit_fields(hit) for hit in hits],
        "total": hits.total,
        "at_least": hits.at_least,
        "searched": hits.searched,
        "sessions": hits.sessions,
        "parts_searched": hits.parts_searched,
        "complete": hits.is_complete,
        "unindexed": hits.unindexed,
        "notes": notes if hits else [hits.coverage, *notes],
        "took_ms": round(hits.took_ms, 1),
    }


def _hit_fields(hit: Hit) -> dict[str, Any]:
    row = hit.row
    return {
        "session": row.id,
        "path": row.path,
        "entry": hit.entry,
        "role": hit.role,
        "snippet": hit.snippet.text,
        "matches": [list(pair) for pair in hit.snippet.ranges],
        "on_path": hit.on_path,
        "time_ms": hit.ms,
        "tool": hit.tool or None,
        "agent": row.agent,
        "cwd": row.cwd,
        "title": row.title,
        "places": [
            {"session": at.row.id, "path": at.row.path, "entry": at.entry, "on_path": at.on_path}
            for at in hit.places
        ],
    }


def _open(out: Output, hit: Hit, query: str) -> None:
    from datetime import datetime

    from branchline.cli.commands.show import print_path_to
    from branchline.cli.resolver import resolve_session
    from branchline.views.query import parse_query

    found = hit.snippet
    words = parse_query(query, now=datetime.now().astimezone()).words
    with resolve_session(hit.row.path or hit.row.key, None) as session:
        print_path_to(
            out, session, hit.entry, words or [found.text[start:end] for start, end in found.ranges]
        )


def _index_behind() -> bool:
    """Update the index in a background process; return whether there is one."""
    from branchline.actions.index import index_behind

    process = index_behind()
    if process is not None:
        _behind.append(process)
    return process is not None
