"""The forest: sessions below the sessions that they were forked from, across agents."""

from __future__ import annotations

import os
from datetime import datetime
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from branchline.library import Forest, SessionRow
from branchline.library.browser_source import LibrarySource
from branchline.library.regex_worker import RegexTimeout, RegexWorker
from branchline.tui.screens.base import ListScreen, bindings
from branchline.tui.widgets.line_bar import LineBar
from branchline.tui.widgets.row_list import RowList
from branchline.views.browser.arrangement import (
    ListOptions,
    arrange,
    defer_patterns,
    face_of,
    threads,
)
from branchline.views.browser.list_rows import RowLook, ScreenColumns, header_line, row_line, screen_columns
from branchline.views.browser.source import Scope
from branchline.views.humanize import count
from branchline.views.query import Match, Query, SearchFields, parse_query
from branchline.views.session_row import ListItem, row_name
from branchline.views.spans import Line, Span, make_line

__all__ = ["ForestScreen"]

_LOOK = 1.0


class _Rows:
    """The rows of the screen; not the screen itself, because an empty one would be falsy."""

    def __init__(self, screen: ForestScreen) -> None:
        self._screen = screen

    def __len__(self) -> int:
        return len(self._screen.items)

    def line(self, index: int, columns: int) -> Line:
        return self._screen.row_line(index, columns)


class ForestScreen(ListScreen):
    """Returns the chosen session or None; ``current`` is marked."""

    table = "forest"
    air_below = "#search"
    BINDINGS: ClassVar[list[BindingType]] = bindings("forest")

    def __init__(self, source: LibrarySource, scope: Scope, *, current: SessionRow | None = None) -> None:
        super().__init__()
        self.source = source
        self.scope: Scope = scope
        self.current = None if current is None else row_name(current)
        self.items: list[ListItem] = []
        self._forest: Forest | None = None
        self._tried: Query | None = None
        self._decided: dict[str, Match] = {}
        self._home = os.path.expanduser("~")

    def body(self) -> ComposeResult:
        yield LineBar(id="search")
        yield LineBar(id="columns")
        yield RowList(empty="   reading …")

    def on_mount(self) -> None:
        self.list.focus()
        self.show_hints()
        self._load()
        self.set_interval(_LOOK, self._look)

    def _look(self) -> None:
        """Reload the forest if the session under the cursor has changed."""
        row = self.row
        if self.is_current and row is not None and row.problem is None and self.source.is_changed(row):
            self.tell(f"{row.title or row.id} has changed; the forest was reloaded")
            self.current = row_name(row)
            self._load()

    def _load(self) -> None:
        self._forest = None
        read = partial(self.source.forest, self.scope)
        self.read_in_thread(read, self._take, "forest", failed="the sessions cannot be listed")

    def _take(self, forest: Forest) -> None:
        self._forest = forest
        self._tried = None  # there may be others among them
        self.search_changed()
        if self.current is not None:
            place = next((at for at, item in enumerate(self.items) if row_name(item.row) == self.current), 0)
            self.list.move_to(place)

    def search_changed(self) -> None:
        """Show the whole forest, or a flat list of matches."""
        query = parse_query(self.words, now=datetime.now().astimezone())
        forest, agent = self._forest or Forest(), self.source.agent
        if query.pattern is not None and query != self._tried:
            self._tried = query
            self.read_in_thread(
                partial(self._try, query.pattern, [place.row for place in forest]),
                partial(self._tried_out, query),
                "pattern",
                failed="cannot search with a pattern",
            )
            return
        if query:
            rows = (place.row for place in forest)
            choice = ListOptions(sort="relevance", query=query)
            self.items = arrange(
                rows, choice, agent=agent, faces=self._face, decided=self._decided, search=defer_patterns
            ).items
        else:
            self.items = threads(forest, agent=agent)
        words = "reading …" if self._forest is None else "no matches"
        self.list.empty = [make_line(Span(f"   {words}", "dim"))]
        self.list.show(_Rows(self))
        self.call_after_refresh(self._show_columns)
        roots = sum(not item.branch for item in self.items)
        where = "this directory" if self.scope == "here" else "all directories"
        self.show_place("Forest", facts=where)
        self.say_own(
            Span(f" {count(len(self.items), 'session')}, {count(roots, 'root')}", "dim"),
            Span(f"   {query.problem}" if query.problem else "", "warning"),
        )
        self.show_search()

    def _face(self, row: SessionRow) -> SearchFields:
        return face_of(row, self.source.agent(row))

    def _try(self, pattern: str, rows: list[SessionRow]) -> tuple[dict[str, Match], str]:
        """Search for a pattern, in a worker; return the matches, and why it stopped early."""
        decided: dict[str, Match] = {}
        try:
            with RegexWorker(pattern) as search:
                for row in rows:
                    face = self._face(row)
                    decided[row_name(row)] = Match(found=search((face.name, face.around)))
        except RegexTimeout:
            return decided, "pattern timed out; search stopped"
        except OSError as problem:
            return decided, f"cannot search with a pattern: {problem}"
        return decided, ""

    def _tried_out(self, query: Query, outcome: tuple[dict[str, Match], str]) -> None:
        if query == self._tried:
            self._decided, why = outcome
            self.search_changed()
            if why:
                self.tell(why, wrong=True)

    def _columns(self, width: int) -> ScreenColumns:
        return screen_columns(width, cost=False)

    def on_resize(self) -> None:
        super().on_resize()
        self.call_after_refresh(self._show_columns)

    def _show_columns(self) -> None:
        self.query_one("#columns", LineBar).say_lines([header_line(self._columns(self.list.columns))])

    def row_line(self, index: int, columns: int) -> Line:
        item = self.items[index]
        current = row_name(item.row) == self.current
        look = RowLook(
            self.branchline.now(),
            home=self._home,
            agent=item.agent,
            branch=item.branch,
            current=current,
        )
        line = row_line(item.row, self._columns(columns), look)
        return make_line(*line, Span(f"  ({item.note})" if item.note else "", "warning"))

    @property
    def row(self) -> SessionRow | None:
        cursor = self.list.cursor
        return self.items[cursor].row if 0 <= cursor < len(self.items) else None

    def action_choose(self) -> None:
        if self.row is not None:
            self.dismiss(self.row)

    def action_tree(self) -> None:
        if self.row is not None:
            self.branchline.open_tree(self.row)

    def action_transcript(self) -> None:
        if self.row is not None:
            self.branchline.open_transcript(self.row)

    def action_scope(self) -> None:
        self.scope = "all" if self.scope == "here" else "here"
        self._load()
