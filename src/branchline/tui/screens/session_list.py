"""A session list that is filled by workers: rows, costs, search results, preview."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from textual.timer import Timer
from textual.worker import get_current_worker

from branchline.library import SessionRow
from branchline.library.browser_source import LibrarySource
from branchline.tui.screens.base import ListScreen
from branchline.tui.widgets.line_bar import BarItem, LineBar
from branchline.tui.widgets.text_panel import TextPanel
from branchline.views.browser.layout import BROWSER_BARS, PaneLayout, air_of, layout_for
from branchline.views.browser.preview import cards_at, last_cards, preview_lines
from branchline.views.browser.source import Batch, Scope
from branchline.views.browser.state import BrowserState, Pill, ScopeRows, top_bar
from branchline.views.cards import Card
from branchline.views.figures import CostFigure
from branchline.views.hits import Hit, Hits
from branchline.views.query import Query
from branchline.views.session_lines import facts_lines
from branchline.views.session_row import row_name
from branchline.views.spans import Line, Span, make_line
from branchline.views.wrap import wrap_line

__all__ = ["SessionListScreen"]

_REST = 0.06
"""Seconds that the cursor rests before the session under it is read for the preview."""
_BREATH = 0.02
_PLACES = 100
"""Places that a search shows."""


class _Question(NamedTuple):
    """A running search; results of older ones are dropped."""

    query: Query
    scope: Scope


class SessionListScreen(ListScreen):
    """A list of sessions that is filled in the background; subclasses add the actions."""

    def __init__(self, state: BrowserState[LibrarySource]) -> None:
        super().__init__()
        self.source = state.source
        self.state = state
        self.edit.set(state.words)
        self._resting: Timer | None = None
        self._previewed: object = None
        self.wants_preview: bool | None = None
        self._question: _Question | None = None
        self._searching = False
        self._counting = False

    # -- what is shown --------------------------------------------------------------------------------

    @property
    def item(self) -> int | None:
        """The index of the session under the cursor."""
        return self.state.item_at(self.list.cursor)

    @property
    def row(self) -> SessionRow | None:
        item = self.item
        return None if item is None else self.state.items[item].row

    @property
    def hit(self) -> Hit | None:
        """The match under the cursor, if there is a search."""
        return self.state.hit_of(self.item)

    def show_everything(self, *, keep: bool = True) -> None:
        """Arrange and show the rows again; the cursor stays on its session."""
        before, cursor = self.row, max(0, self.list.cursor)
        self.state.height = self.size.height
        self.state.arrange()
        if keep and before is not None and cursor > self.state.line_of(0):
            # The first row stays first while others come in above it.
            place = self.state.place_of(row_name(before))
            cursor = cursor if place is None else place
        self._show_lines(cursor if keep else 0)

    def _show_lines(self, cursor: int) -> None:
        self.list.empty = self.state.empty_lines()
        self.list.show(self.state, cursor, stops=self.state.stops)
        self._show_bars()

    def _show_bars(self) -> None:
        state, width = self.state, self.size.width
        top = top_bar("Sessions", demo=state.demo, width=width)
        self.query_one("#top", LineBar).say_parts(self._parts(top))
        self.query_one("#filters", LineBar).say_parts(self._parts(state.pills(width)))
        columns = self.pane_layout().room(len(state))
        self.query_one("#columns", LineBar).say_lines([state.columns_line(columns)])
        self.show_message()
        self.show_search()
        self.show_hints()

    def own_message(self) -> Line:
        return self.state.message_line()

    def pane_layout(self) -> PaneLayout:
        """Return how the list and the preview share the screen."""
        width, height = self.size
        return layout_for(width, height, bars=BROWSER_BARS + sum(air_of(height)), wanted=self.wants_preview)

    def _parts(self, pills: list[Pill]) -> list[BarItem]:
        return [
            BarItem(make_line(pill.span), None if pill.choice is None else partial(self.choose_pill, pill))
            for pill in pills
        ]

    def choose_pill(self, pill: Pill) -> None:
        """Apply a filter that was clicked."""
        raise NotImplementedError

    def search_line(self) -> Line:
        return self.state.search_line(self.edit, self.size.width, typing=self.typing)

    # -- reading, in workers --------------------------------------------------------------------------

    def _load(self) -> None:
        loaded = self.state.loaded
        if not loaded.done and not loaded.is_being_read:
            loaded.is_being_read = True
            self.in_thread(partial(self._read, loaded), f"list-{self.state.scope}")

    def _read(self, loaded: ScopeRows) -> None:
        worker = get_current_worker()
        try:
            for batch in loaded.batches:
                if worker.is_cancelled:
                    return
                self.app.call_from_thread(self._take, loaded, batch)
                time.sleep(_BREATH)  # the screen is drawn before the next files are read
        except Exception as problem:  # noqa: BLE001  formats come from many hands; none may end the app
            self.app.call_from_thread(self._failed, loaded, str(problem))

    def _take(self, loaded: ScopeRows, batch: Batch) -> None:
        loaded.take(batch)
        if loaded is self.state.loaded:
            self.show_everything()
            if loaded.done:
                self.ask_inside()
                self.count_costs()

    def _failed(self, loaded: ScopeRows, problem: str) -> None:
        loaded.total = loaded.loaded
        self.tell(f"the sessions cannot be listed: {problem}", wrong=True)
        self.show_everything()

    def count_costs(self) -> None:
        """Add up the cost of the sessions; one worker at a time."""
        if not self._counting and self.state.loaded.done:
            self._counting = True
            self.in_thread(partial(self._count_costs, self.state.scope), "costs")

    def _count_costs(self, scope: Scope) -> None:
        costs: Mapping[str, CostFigure] = {}
        try:
            with self.source.statistics(scope) as found:
                costs = found.costs()
        except Exception:  # noqa: BLE001  as above: a column stays empty
            costs = {}
        finally:
            self._counting = False
        if not get_current_worker().is_cancelled:
            self.app.call_from_thread(self._show_costs, costs)

    def _show_costs(self, costs: Mapping[str, CostFigure]) -> None:
        self.state.costs.update(costs)
        self.list.refresh()
        if self.state.answer is not None and self.state.answer.unindexed:
            self.ask_inside()  # adding up the costs has brought every session into the index

    # -- searching ------------------------------------------------------------------------------------

    def search_changed(self) -> None:
        if self.words == self.state.words:
            return
        self.state.search(self.words)
        self.show_everything(keep=False)
        self.ask_inside()

    def ask_inside(self) -> None:
        """Search the text of sessions; a worker runs one search at a time, and only the last one."""
        query = self.state.query
        if not query or query.problem is not None:
            self._question = None
            return
        self._question = _Question(query, self.state.scope)
        if not self._searching:
            self._searching = True
            self.in_thread(self._answer, "inside")

    def _answer(self) -> None:
        worker = get_current_worker()
        try:
            while (asked := self._question) is not None and not worker.is_cancelled:
                try:
                    hits = self.source.search(asked.scope, asked.query, limit=_PLACES)
                except Exception as problem:  # noqa: BLE001  as above
                    hits = Hits(notes=[f"the sessions cannot be searched: {problem}"])
                if self._question == asked:
                    self._question = None
                    if not worker.is_cancelled:
                        self.app.call_from_thread(self._found, asked, hits)
        finally:
            self._searching = False

    def _found(self, asked: _Question, hits: Hits) -> None:
        if asked == _Question(self.state.query, self.state.scope):
            self.state.take_hits(hits)
            self.show_everything()

    def action_hit(self, by: int) -> None:
        item = self.state.step_place(by)
        if item is not None:
            self._show_lines(self.state.line_of(item))

    # -- the pane beside ------------------------------------------------------------------------------

    def on_row_list_moved(self) -> None:
        if (item := self.item) is not None and self.state.places:
            size = len(self.state)
            self.state.stand_on(item)
            if len(self.state) != size or self.state.line_of(item) != self.list.cursor:
                self.list.show(self.state, self.state.line_of(item), stops=self.state.stops)
            else:
                self.list.refresh()
            self.show_search()
        self.show_hints()
        if self._resting is not None:
            self._resting.stop()
        self._resting = self.set_timer(_REST, self._rested)

    def _rested(self) -> None:
        row, hit = self.row, self.hit
        if row is None:
            self._previewed = None
            self.query_one("#preview", TextPanel).show(lambda _columns: [])
        elif self.pane_layout().has_pane:
            now = (
                row_name(row),
                row.size,
                row.modified_ms,
                None if hit is None else hit.entry,
                self.state.words,
            )
            if now != self._previewed:  # rows that come in above must not have it read again and again
                self._previewed = now
                read, show = partial(self._preview, row, hit), partial(self._show_preview, row, hit)
                self.read_in_thread(read, show, "preview", failed="no preview")

    def _preview(self, row: SessionRow, hit: Hit | None) -> list[Card] | str:
        """Read the cards of the preview, or why there are none."""
        if row.problem is not None:
            return row.problem
        home = self.state.home
        try:
            with self.source.open(row) as session:
                return last_cards(session, home) if hit is None else cards_at(session, hit.entry, home)
        except Exception as failure:  # noqa: BLE001  as above
            return str(failure) or type(failure).__name__

    def _show_preview(self, row: SessionRow, hit: Hit | None, deck: list[Card] | str) -> None:
        panel, state = self.query_one("#preview", TextPanel), self.state
        words = state.query.words

        def lines(columns: int) -> list[Line]:
            rows = panel.size.height
            if isinstance(deck, str):
                return wrap_line(make_line(" ", Span(deck, "error")), columns)
            facts = facts_lines(
                row, agent=state.source.agent(row), home=state.home, now=state.now(), columns=columns - 2
            )
            return preview_lines(facts, deck, columns, rows, words=words, from_top=hit is not None)

        panel.show(lines)
