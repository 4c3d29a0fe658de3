"""``ls`` and ``forest``: list sessions, by age or below their parents."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from branchline.cli.options import command, scope_options
from branchline.cli.output import Output, paint, remark
from branchline.cli.resolver import chosen_library, everywhere_library
from branchline.places import NATIVE_AGENT
from branchline.views.humanize import count

if TYPE_CHECKING:
    from branchline.library import Listing, SessionRow
    from branchline.views.session_details import SessionDetails
    from branchline.views.session_lines import SessionColumns
    from branchline.views.spans import Line

__all__ = [
    "clear_progress",
    "forest_command",
    "list_newest",
    "ls_command",
    "print_rows",
    "reading_progress",
    "require_one_scope",
]

_SOON_DAYS = 7
_DETAILS_SECONDS = 2.0
"""Time limit for reading sessions that are not indexed yet, for the details of a list."""
_PATIENCE = 0.5  # seconds before the progress is shown
_EXPLAINED = 5  # hidden sessions whose reasons are shown if nothing is listed


@command(
    "ls",
    paged=True,
    examples="""
    branchline ls
    branchline ls --all -n 20
    branchline ls --agent pi,claude-code
    branchline ls --dir ~/.pi/agent/sessions/--home-me-shop-- --named
    """,
)
@scope_options
@click.option("--subagents", is_flag=True, help="Include sub-agent sessions.")
@click.option("--deep/--shallow", default=True, help="Read whole files (default), or headers only.")
@click.option("--named", is_flag=True, help="List only sessions with a title.")
@click.option("--tag", "tag", metavar="NAME", help="List only sessions with this tag.")
@click.option("--archived", is_flag=True, help="List only archived copies of deleted sessions.")
@click.option("--limit", "-n", type=click.IntRange(min=0), metavar="N", help="List at most N sessions.")
@click.option("-v", "--verbose", is_flag=True, help="Report sessions that are not listed, and why.")
def ls_command(
    out: Output,
    everywhere: bool,  # noqa: FBT001
    directory: str | None,
    agents: tuple[str, ...],
    subagents: bool,  # noqa: FBT001
    deep: bool,  # noqa: FBT001
    named: bool,  # noqa: FBT001
    tag: str | None,
    archived: bool,  # noqa: FBT001
    limit: int | None,
    verbose: bool,  # noqa: FBT001
) -> None:
    """List the sessions of all agents, last used first: id, age, messages, agent, title or first prompt."""
    require_one_scope(directory, everywhere=everywhere, agents=agents)
    if named and not deep:
        raise click.UsageError("--named reads whole files, so it cannot be combined with --shallow")
    library = chosen_library(directory, agents, everywhere=everywhere, subagents=subagents)
    listing = library.list(deep, progress=reading_progress())
    if verbose:
        for broken in library.broken_formats:
            remark(f"the format {broken.name} cannot be used: {broken.reason}")
    rows = [
        row
        for row in listing
        if (row.title or not named)
        and (tag is None or tag.lower() in row.tags)
        and (row.archived or not archived)
    ]
    shown = rows if limit is None else rows[:limit]
    details = library.details(shown, seconds=_DETAILS_SECONDS) if out.json and deep else None
    print_rows(out, listing, shown, with_directory=everywhere, verbose=verbose, details=details)
    _warn_of_deletion(listing)


def _warn_of_deletion(listing: Listing) -> None:
    """Print which sessions their agents will delete soon, unless the archive has them."""
    from branchline.views.session_row import expires_within

    soon = [row for row in listing if expires_within(row, _SOON_DAYS, now=time.time())]
    if soon:
        from branchline.actions.archive import unarchived

        soon = unarchived(soon)
    if soon:
        agents = ", ".join(sorted({row.agent or row.format or "" for row in soon}))
        remark(
            f"{count(len(soon), 'session')} will be deleted by {agents} within {_SOON_DAYS} days;"
            " `branchline archive --expiring` keeps copies"
        )


def list_newest(limit: int, *, everywhere: bool = False) -> Listing:
    """Return the sessions last used of this working directory, or of all."""
    return everywhere_library(everywhere=everywhere).list(deep=True, limit=limit, progress=reading_progress())


def print_rows(
    out: Output,
    listing: Listing,
    shown: Sequence[SessionRow],
    *,
    with_directory: bool = False,
    verbose: bool = False,
    command: str = "ls",
    details: Mapping[str, SessionDetails] | None = None,
    summary: bool = True,
) -> None:
    """Print rows of a listing, and with ``summary`` on stderr how many there are and were left out."""
    from branchline.views.session_row import ELSEWHERE, OTHER_AGENT

    for note in listing.notes:
        remark(note)
    if out.json:
        out.result(command, _listing_fields(listing, shown, details))
        return
    if not listing.seen:
        if with_directory:  # all directories
            remark("no sessions of any agent yet; `branchline new` starts one")
        else:
            remark(
                "no sessions here yet; `branchline new` starts one, `branchline ls --all` lists all sessions"
            )
        return
    columns = _columns(listing.rows, with_directory=with_directory)
    for row in shown:
        out.row(*_line(row, columns))
    if not summary:
        return
    unreadable = listing.unreadable
    hidden = [item for item in listing.hidden if item.reason not in (ELSEWHERE, OTHER_AGENT)]
    if len(shown) == listing.seen:
        facts = [count(listing.seen, "session")]
    else:
        facts = [f"{listing.seen} seen", f"{len(shown)} listed"]
    if others := sum(item.reason == OTHER_AGENT for item in listing.hidden):
        facts.append(f"{others} of other agents")
    if elsewhere := len(listing.hidden) - len(hidden) - others:
        hint = "" if shown else " (`branchline ls --all` lists them)"
        facts.append(f"{elsewhere} of other directories{hint}")
    facts += [f"{len(hidden)} hidden"] if hidden else []
    facts += [f"{len(unreadable)} unreadable"] if unreadable else []
    explain = (hidden or unreadable) and listing and not verbose
    remark(", ".join(facts) + ("; -v shows the reasons" if explain else ""))
    if verbose or not listing:
        for item in listing.hidden if verbose else hidden[:_EXPLAINED]:
            remark(f"hidden: {item.name}: {item.reason}")
        if not verbose and len(hidden) > _EXPLAINED:
            remark(f"{len(hidden) - _EXPLAINED} more hidden; -v shows all of them")
        for row in unreadable:
            remark(f"unreadable: {row.path or row.key}: {row.problem}")


def _listing_fields(
    listing: Listing, shown: Sequence[SessionRow], details: Mapping[str, SessionDetails] | None
) -> dict[str, Any]:
    import msgspec

    rows = [msgspec.to_builtins(row) for row in shown]
    if details is not None:
        from branchline.actions.resume import resume_command_of
        from branchline.views.session_details import SessionDetails
        from branchline.views.session_row import row_name

        unknown = dict.fromkeys(SessionDetails.__struct_fields__)
        for fields, row in zip(rows, shown, strict=True):
            known = details.get(row_name(row))
            fields.update(unknown if known is None else msgspec.to_builtins(known))
            fields["resume_command"] = resume_command_of(row)
    return {
        "sessions": rows,
        "seen": listing.seen,
        "hidden": [{"name": item.name, "reason": item.reason} for item in listing.hidden],
        "unreadable": len(listing.unreadable),
    }


def _columns(rows: Sequence[SessionRow], *, with_directory: bool = False) -> SessionColumns:
    from branchline.views.session_lines import list_columns

    home = os.path.expanduser("~")
    return list_columns(rows, own_agent=NATIVE_AGENT, directory=with_directory, home=home)


def _line(row: SessionRow, columns: SessionColumns, *, branch: str = "", threaded: bool = False) -> Line:
    from branchline.views.session_lines import session_line

    home = os.path.expanduser("~")
    return session_line(row, columns, now=time.time(), home=home, branch=branch, threaded=threaded)


def reading_progress(*, then: str = "") -> Callable[..., None] | None:
    """Return a function that shows progress on stderr; None without a terminal.

    When all is read the line says ``then``, until :func:`clear_progress`.
    """
    if not sys.stderr.isatty():
        return None
    begun = time.monotonic()

    def tell(loaded: int, total: int, rows: object = ()) -> None:
        del rows
        if time.monotonic() - begun > _PATIENCE:
            end = f"\r\x1b[K{then}" if loaded == total else ""
            sys.stderr.write(f"\rreading {loaded:,} of {total:,}{end}")
            sys.stderr.flush()

    return tell


def clear_progress() -> None:
    """Remove the line of :func:`reading_progress` from the terminal."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def require_one_scope(directory: str | None, *, everywhere: bool, agents: Sequence[str]) -> None:
    if everywhere and directory is not None:
        raise click.UsageError("use either --all or --dir, not both")
    if agents and directory is not None:
        raise click.UsageError("--agent cannot be combined with --dir")


# -- forest -----------------------------------------------------------------------------------------------


@command("forest", paged=True, examples="branchline forest\nbranchline forest --all --agent codex")
@scope_options
def forest_command(
    out: Output,
    everywhere: bool,  # noqa: FBT001
    directory: str | None,
    agents: tuple[str, ...],
) -> None:
    """Show each session below the one that it was forked from or started by."""
    require_one_scope(directory, everywhere=everywhere, agents=agents)
    from branchline.views.forest import drawn_branches

    library = chosen_library(directory, agents, everywhere=everywhere)
    forest = library.forest(deep=True, progress=reading_progress())
    if out.json:
        import msgspec

        out.result("forest", {"sessions": [msgspec.to_builtins(item) for item in forest]})
        return
    if directory is not None and not forest:
        print_rows(out, library.list(), [])
        return
    columns = _columns([item.row for item in forest])
    ids: dict[str, str] = {}
    for item, branch in zip(forest, drawn_branches(forest), strict=True):
        ids[item.row.path or item.row.key] = (columns.ids or {}).get(item.row.id, item.row.id)
        above = ids.get(item.parent_path or item.parent or "", "the one above")
        said = "  " * item.depth + (f"from {above}: " if item.depth else "")
        note = f"  ({item.note})" if item.note else ""
        line = _line(item.row, columns, branch="" if out.plain else branch, threaded=item.depth > 0)
        out.row(paint("dim", said if out.plain else ""), *line, paint("dim", note))
    remark(f"{count(len(forest), 'session')}, {count(len(forest.roots), 'root')}")
