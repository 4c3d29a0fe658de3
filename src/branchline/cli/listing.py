"""``ls`` and ``forest``: the sessions there are, in the order of their age or of their descent."""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from branchline.cli.options import command
from branchline.cli.output import Output, Piece, paint, remark
from branchline.cli.targets import here
from branchline.cli.words import age, count, size_words

if TYPE_CHECKING:
    from branchline.library import Forest, ForestRow, Listing, Progress, SessionRow

__all__ = ["forest_command", "list_all", "list_here", "ls_command", "print_rows"]

_SHORTEST_ID = 8
_PATIENCE = 0.5  # seconds before a count of what was read is shown


@command(
    "ls",
    examples="""
    branchline ls
    branchline ls --all -n 20
    branchline ls --dir ~/.pi/agent/sessions/--home-me-shop-- --named
    """,
)
@click.option("--all", "everywhere", is_flag=True, help="The sessions of all working directories.")
@click.option("--dir", "directory", metavar="DIR", help="The .jsonl files of this directory.")
@click.option("--deep/--shallow", default=True, help="Read the files (default), or only their names.")
@click.option("--named", is_flag=True, help="Only sessions with a title.")
@click.option("-n", "limit", type=click.IntRange(min=0), metavar="N", help="At most N, the newest ones.")
@click.option("-v", "--verbose", is_flag=True, help="Say what is not listed, and why.")
def ls_command(
    out: Output,
    everywhere: bool,  # noqa: FBT001
    directory: str | None,
    deep: bool,  # noqa: FBT001
    named: bool,  # noqa: FBT001
    limit: int | None,
    verbose: bool,  # noqa: FBT001
) -> None:
    """List sessions, newest first: id, age, messages, title or first prompt."""
    _require_one_scope(directory, everywhere=everywhere)
    if named and not deep:
        raise click.UsageError("--named needs to read the files; it does not go with --shallow")
    listing = list_all(deep=deep) if everywhere else list_here(directory, deep=deep)
    rows = [row for row in listing if row.title] if named else list(listing)
    shown = rows if limit is None else rows[:limit]
    print_rows(out, listing, shown, with_directory=everywhere, verbose=verbose)


def list_here(directory: str | None = None, *, deep: bool = True) -> Listing:
    """The sessions of this working directory, or of the given directory."""
    return here(directory).list(deep, progress=_progress())


def list_all(*, deep: bool = True) -> Listing:
    """The sessions of all working directories."""
    from branchline.library import Listing, SessionLibrary

    listings = [library.list(deep, progress=_progress()) for library in SessionLibrary.everything()]
    rows = [row for listing in listings for row in listing]
    rows.sort(key=lambda row: (-row.active_ms, row.key))
    return Listing(rows, [hidden for listing in listings for hidden in listing.hidden])


def print_rows(
    out: Output,
    listing: Listing,
    shown: Sequence[SessionRow],
    *,
    with_directory: bool = False,
    verbose: bool = False,
) -> None:
    """Print some rows of a listing, and on stderr what else was seen."""
    if out.json:
        out.result("ls", _listing_fields(listing, shown))
        return
    if not listing.seen:
        remark("no sessions here yet; `branchline new` begins one, `branchline ls --all` lists all there are")
        return
    width = _id_width(listing.rows)
    for row in shown:
        out.row(*_row_pieces(row, width, with_directory=with_directory))
    hidden, unreadable = listing.hidden, listing.unreadable
    facts = [f"{listing.seen} seen", f"{len(shown)} listed"]
    facts += [f"{len(hidden)} hidden"] if hidden else []
    facts += [f"{len(unreadable)} unreadable"] if unreadable else []
    remark(", ".join(facts) + ("; -v says why" if (hidden or unreadable) and not verbose else ""))
    if verbose:
        for item in hidden:
            remark(f"hidden: {item.name}: {item.reason}")
        for row in unreadable:
            remark(f"unreadable: {row.path or row.key}: {row.problem}")


def _listing_fields(listing: Listing, shown: Sequence[SessionRow]) -> dict[str, Any]:
    import msgspec

    return {
        "sessions": [msgspec.to_builtins(row) for row in shown],
        "seen": listing.seen,
        "hidden": [{"name": item.name, "reason": item.reason} for item in listing.hidden],
        "unreadable": len(listing.unreadable),
    }


def _row_pieces(row: SessionRow, width: int, *, with_directory: bool) -> list[Piece]:
    pieces: list[Piece] = [
        paint("id", f"{row.id[:width]:<{width}}"),
        paint("time", f"  {age(row.active_ms):>4}  "),
    ]
    if row.problem is not None:
        return [*pieces, paint("error", f"unreadable: {row.problem}")]
    if row.messages is None:
        return [*pieces, paint("dim", f"{size_words(row.size):>10}  "), row.key]
    pieces.append(paint("number", f"{row.messages:>5}  "))
    if with_directory:
        from branchline.views.calls import short_path

        where = os.path.basename(row.cwd.rstrip("/")) if row.cwd else "(no directory)"
        pieces.append(paint("path", f"{short_path(where, os.path.expanduser('~'))}  "))
    if row.title:
        pieces.append(paint("title", row.title))
    else:
        pieces.append(row.first_prompt or paint("dim", "(no messages)"))
    if row.findings:
        pieces.append(paint("warning", f"  ({count(row.findings, 'finding')})"))
    return pieces


def _id_width(rows: Sequence[SessionRow]) -> int:
    """How much of the ids must be shown so that each is told from all others."""
    ids = sorted({row.id for row in rows})
    longest = _SHORTEST_ID
    for one, other in itertools.pairwise(ids):
        while longest < len(other) and one.startswith(other[:longest]):
            longest += 1
    return longest


def _progress() -> Progress | None:
    """A count on stderr while a long listing is made; only for a person who waits."""
    if not sys.stderr.isatty():
        return None
    begun = time.monotonic()

    def tell(loaded: int, total: int, rows: object) -> None:
        del rows
        if time.monotonic() - begun > _PATIENCE:
            end = "\r\x1b[K" if loaded == total else ""
            sys.stderr.write(f"\rreading {loaded} of {total}{end}")
            sys.stderr.flush()

    return tell


def _require_one_scope(directory: str | None, *, everywhere: bool) -> None:
    if everywhere and directory is not None:
        raise click.UsageError("either --all or --dir, not both")


# -- forest -----------------------------------------------------------------------------------------------


@command("forest", examples="branchline forest\nbranchline forest --all")
@click.option("--all", "everywhere", is_flag=True, help="The sessions of all working directories.")
@click.option("--dir", "directory", metavar="DIR", help="The .jsonl files of this directory.")
def forest_command(out: Output, everywhere: bool, directory: str | None) -> None:  # noqa: FBT001
    """Show sessions below the sessions that they were forked from."""
    _require_one_scope(directory, everywhere=everywhere)
    forest = _forest(directory, everywhere=everywhere)
    if out.json:
        import msgspec

        out.result("forest", {"sessions": [msgspec.to_builtins(item) for item in forest]})
        return
    width = _id_width([item.row for item in forest])
    lines: list[bool] = []  # for each level above, whether a sibling still follows
    for item in forest:
        del lines[item.depth :]
        out.row(*_forest_pieces(item, lines, width))
        lines.append(not item.last)
    remark(f"{count(len(forest), 'session')}, {count(len(forest.roots), 'root')}")


def _forest(directory: str | None, *, everywhere: bool) -> Forest:
    from branchline.library import plant

    return plant(list_all() if everywhere else list_here(directory), resolve=_resolved)


def _resolved(path: str) -> str:
    """A path with its links followed; as it is where the system has no such path."""
    try:
        return os.path.realpath(path)
    except (ValueError, OSError):
        return os.path.normpath(path)


def _forest_pieces(item: ForestRow, lines: list[bool], width: int) -> list[Piece]:
    drawn = "".join("│  " if going_on else "   " for going_on in lines[1:])
    if item.depth:
        drawn += "└─ " if item.last else "├─ "
    row = item.row
    id_, *rest = _row_pieces(row, width, with_directory=False)
    pieces = [paint("dim", drawn), id_, *rest]
    if item.note:
        pieces.append(paint("dim", f"  ({item.note})"))
    return pieces
