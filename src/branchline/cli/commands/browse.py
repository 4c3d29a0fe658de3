"""``browse``: the full-screen browser, which also opens when no command is given on a terminal."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from typing import TYPE_CHECKING, Any, NoReturn

import click

from branchline._version import install_extra
from branchline.cli.options import command, store_option
from branchline.cli.output import Output

if TYPE_CHECKING:
    from branchline.library import SessionRow
    from branchline.library.browser_source import LibrarySource
    from branchline.settings import Settings
    from branchline.tui.launch import View
    from branchline.views.browser.source import Scope
    from branchline.views.browser.state import BrowserState
    from branchline.views.query import SearchFields

__all__ = ["browse_command", "can_browse", "open_home", "pick_session"]

_MOST = 2_000
"""The most hits of a search with --json."""
_EXTRA = f"the full-screen browser needs Textual; install it with: {install_extra('tui')}"


@command(
    "browse",
    examples="""
    branchline browse
    branchline browse --all --search 'login after:7d'
    branchline browse @last
    branchline browse @last --read
    """,
)
@click.argument("session", required=False, metavar="[SESSION]")
@click.option("--all", "everywhere", is_flag=True, help="Include the sessions of all working directories.")
@click.option("--read", is_flag=True, help="Open the transcript of SESSION instead of its tree.")
@click.option("--forest", is_flag=True, help="Start with the forest: sessions and their forks.")
@click.option("--search", "words", default="", metavar="WORDS", help="Start with this search.")
@store_option("Use the sessions in STORE, of any agent.")
def browse_command(
    out: Output,
    session: str | None,
    everywhere: bool,  # noqa: FBT001
    read: bool,  # noqa: FBT001
    forest: bool,  # noqa: FBT001
    words: str,
    directory: str | None,
) -> None:
    """Open the full-screen browser: all sessions, or the tree of SESSION. Press F1 for all keys."""
    if read and session is None:
        raise click.UsageError("--read needs a SESSION")
    if out.json:
        out.result("browse", _found(directory, words, everywhere=everywhere))
        return
    if not _on_a_terminal():
        raise click.UsageError("browse needs a terminal; use `branchline ls` or `branchline tree`")
    if not _installed():
        raise click.ClickException(_EXTRA)
    view: View = "forest" if forest else "sessions" if session is None else "transcript" if read else "tree"
    from branchline.settings import load

    settings = load().settings
    row = None if session is None else _row(session, directory)
    state = _state(settings, scope="all" if everywhere else settings.scope, words=words, directory=directory)
    if view == "sessions":
        state.begin()
    _run(settings, state, view=view, row=row)


def _found(directory: str | None, words: str, *, everywhere: bool) -> dict[str, Any]:
    """The rows that the list would show, as JSON."""
    from datetime import datetime

    import msgspec

    from branchline.views.browser.arrangement import ListOptions, arrange, face_of
    from branchline.views.browser.state import ScopeRows
    from branchline.views.query import Match, parse_query
    from branchline.views.session_row import row_name

    source = _source(directory)
    scope: Scope = "all" if everywhere else "here"
    known = ScopeRows(source.rows(scope))
    for batch in known.batches:
        known.take(batch)
    rows = list(known.rows.values())
    query = parse_query(words, now=datetime.now().astimezone())
    decided: dict[str, Match] = {}
    if query and query.problem is None:
        hits = source.search(scope, query, limit=_MOST)
        decided = {row_name(place.row): Match(found=True) for hit in hits for place in hit.places}
        decided |= {row_name(hit.row): Match(found=True) for hit in hits}

    def face(row: SessionRow) -> SearchFields:
        return face_of(row, source.agent(row))

    found = arrange(rows, ListOptions(query=query), agent=source.agent, faces=face, decided=decided)
    return {
        "query": words,
        "problem": query.problem,
        "sessions": [msgspec.to_builtins(item.row) for item in found.items],
        "seen": len(rows) + len(known.hidden),
        "hidden": len(known.hidden),
        "unreadable": len(known.unreadable),
    }


def can_browse(out: Output) -> bool:
    """Return whether the browser opens without a command."""
    return out.interactive and not out.json and _on_a_terminal() and _installed()


def open_home() -> None:
    """Open the browser on this directory, else on all directories, else on the demo library."""
    from branchline.cli.commands.demo import enter_demo
    from branchline.settings import load

    settings = load().settings
    state = _state(settings, scope=settings.scope)
    notice = ""
    if not _begin(state):
        enter_demo()
        notice = "no sessions found on this machine; showing the demo library"
        state = _state(settings, scope="here")
        state.begin()
    _run(settings, state, notice=notice)


def _begin(state: BrowserState[LibrarySource]) -> bool:
    """Read the first sessions of this directory, else of all; return whether there are any."""
    found = state.begin()
    if not found and state.scope == "here":
        state.scope = "all"
        found = state.begin()
    return found


def pick_session(out: Output, verb: str, directory: str | None = None) -> str:
    """Let the user pick a session for a command without one. Raises UsageError without a terminal."""
    if not can_browse(out):
        raise click.UsageError("Missing argument 'SESSION'.")
    from branchline.cli.themes import theme_for
    from branchline.settings import load
    from branchline.tui import pick

    settings = load().settings
    state = _state(settings, scope=settings.scope, directory=directory)
    _begin(state)
    row = pick(state, verb, theme=theme_for(settings.theme), mouse=settings.mouse)
    if row is None:
        raise click.exceptions.Exit(0)
    return row.path or row.key


def _state(
    settings: Settings, *, scope: Scope, words: str = "", directory: str | None = None
) -> BrowserState[LibrarySource]:
    from branchline.demo import is_entered
    from branchline.library.pins import Pins
    from branchline.views.browser.state import BrowserState

    return BrowserState(
        _source(directory),
        scope,
        Pins(ids=settings.pins),
        words=words,
        sort=settings.sort,
        now=time.time,
        home=os.path.expanduser("~"),
        hide=settings.hide,
        two_lines=settings.rows == "two",
        letters=settings.keys == "letters",
        demo=is_entered(),
    )


def _run(
    settings: Settings,
    state: BrowserState[LibrarySource],
    *,
    view: View = "sessions",
    row: SessionRow | None = None,
    notice: str = "",
) -> NoReturn:
    from branchline.cli.themes import theme_for
    from branchline.tui import run

    code = run(
        state,
        view=view,
        row=row,
        filter=settings.filter,
        theme=theme_for(settings.theme),
        mouse=settings.mouse,
        notice=notice,
        model=settings.model,
        base_url=settings.base_url,
    )
    sys.exit(code)


def _source(directory: str | None) -> LibrarySource:
    from branchline.actions.names import local_library
    from branchline.library.browser_source import LibrarySource

    if directory is None:
        return LibrarySource.everywhere()
    return LibrarySource(local_library(directory))


def _row(session: str, directory: str | None) -> SessionRow:
    from branchline.cli.resolver import resolve_path
    from branchline.formats.suffixes import without_suffix
    from branchline.library import SessionRow

    path = resolve_path(session, directory)
    key = without_suffix(os.path.basename(path))
    return SessionRow(key=key, id=key, path=path)


def _installed() -> bool:
    return importlib.util.find_spec("textual") is not None


def _on_a_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "") != "dumb"
