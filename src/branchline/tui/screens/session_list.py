"""Sessions read in workers while a list shows them: rows, costs, what is inside, the last turns."""

from __future__ import annotations

import time
from functools import partial

from textual.timer import Timer
from textual.worker import get_current_worker

from branchline.library import SessionRow
from branchline.library.regex_worker import RegexTimeout, RegexWorker
from branchline.library.search_cache import SearchTextCache
from branchline.tui.screens.base import ListScreen
from branchline.tui.widgets.line_bar import BarItem, LineBar
from branchline.tui.widgets.text_panel import TextPanel
from branchline.views.browser.layout import BROWSER_BARS, PaneLayout, layout_for
from branchline.views.browser.preview import last_cards, preview_lines
from branchline.views.browser.source import Batch
from branchline.views.browser.state import BrowserState, Pill, ScopeRows
from branchline.views.cards import Card
from branchline.views.query import Match, Query, Search
from branchline.views.session_lines import facts_lines
from branchline.views.session_row import row_name
from branchline.views.spans import Line, Span, make_line
from branchline.views.wrap import wrap_line

__all__ = ["SessionListScreen"]

_REST = 0.06
"""Seconds that the cursor rests before the session under it is read for the preview."""
_BREATH = 0.02
_PAUSE = 0.1
"""Seconds between two looks at what a search has found inside sessions."""


class SessionListScreen(ListScreen):
    """A list of sessions that fills itself. What a person does with them is the screen's business."""

    def __init__(self, state: BrowserState) -> None:
        super().__init__()
        self.source = state.source
        self.state = state
        self._contents = SearchTextCache(state.source)
        self._resting: Timer | None = None
        self._previewed: tuple[str, int, int] | None = None
        self.wants_preview: bool | None = None
        self._uncounted: list[SessionRow] = []
        self._counting = False

    # -- what is shown --------------------------------------------------------------------------------

    @property
    def row(self) -> SessionRow | None:
        """The session under the cursor."""
        cursor, items = self.list.cursor, self.state.items
        return items[cursor].row if 0 <= cursor < len(items) else None

    def show_everything(self) -> None:
        """Arrange the rows anew, and say what is seen."""
        before, cursor = self.row, max(0, self.list.cursor)
        self.state.arrange()
        if before is not None and cursor > 0:  # the first row stays first while others come in above it
            place = self.state.place_of(row_name(before))
            cursor = cursor if place is None else place
        self.list.empty = self.state.empty_words()
        self.list.show(self.state, cursor)
        self._show_bars()
        self._add_costs()

    def _show_bars(self) -> None:
        state = self.state
        self._show_pills()
        columns = self.pane_layout().room(len(state))
        self.query_one("#columns", LineBar).say_lines([state.columns_line(columns)])
        self.query_one("#seen", LineBar).say_lines([state.seen_line()])
        self.show_search()
        self.show_hints()

    def pane_layout(self) -> PaneLayout:
        """How the list and the preview share the screen now."""
        bars = BROWSER_BARS + bool(self.state.bars(self.size.width).programs)
        return layout_for(*self.size, bars=bars, wanted=self.wants_preview)

    def _show_pills(self) -> None:
        bars = self.state.bars(self.size.width)
        crowded = bool(bars.programs)
        if crowded != self.has_class("crowded"):
            self.set_class(crowded, "crowded")
            self.fit_pane(self.query_one("#preview"), self.pane_layout())
        self.query_one("#top", LineBar).say_parts(self._parts(bars.top))
        self.query_one("#programs", LineBar).say_parts(self._parts(bars.programs))

    def _parts(self, pills: list[Pill]) -> list[BarItem]:
        return [
            BarItem(make_line(pill.span), None if pill.choice is None else partial(self.choose_pill, pill))
            for pill in pills
        ]

    def choose_pill(self, pill: Pill) -> None:
        """Somebody clicked on a choice."""
        raise NotImplementedError

    def search_line(self) -> Line:
        return self.state.search_line(self.words, typing=self.typing)

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
                self._look_inside()

    def _failed(self, loaded: ScopeRows, problem: str) -> None:
        loaded.total = loaded.loaded
        self.tell(f"the sessions cannot be listed: {problem}", wrong=True)
        self.show_everything()

    def _add_costs(self) -> None:
        """Count what the sessions in view have cost; the others when they come into view."""
        top = int(self.list.scroll_offset.y)
        self._uncounted = [
            item.row
            for item in self.state.items[top : top + max(1, self.list.size.height)]
            if item.row.problem is None and row_name(item.row) not in self.state.costs
        ]
        if self._uncounted and not self._counting:
            self._counting = True
            self.in_thread(self._count_costs, "costs")

    def _count_costs(self) -> None:
        """Work off what is in view; one worker, so that a large session is never counted twice at once."""
        worker = get_current_worker()
        try:
            while self._uncounted and not worker.is_cancelled:
                row = self._uncounted.pop(0)
                try:
                    cost: float | None = self.source.describe(row).own_cost
                except Exception:  # noqa: BLE001  as above
                    cost = None
                self.state.costs[row_name(row)] = cost
        finally:
            self._counting = False
        if not worker.is_cancelled:
            self.app.call_from_thread(self.list.redraw)

    # -- searching ------------------------------------------------------------------------------------

    def search_changed(self) -> None:
        self.state.search(self.words)
        self.list.cursor = 0
        self.show_everything()
        self._look_inside()

    def _look_inside(self) -> None:
        """Read the sessions that only their contents can decide about, and show them as they are found."""
        state = self.state
        self.workers.cancel_group(self, "inside")
        if state.arranged.undecided and state.query.problem is None:
            work = partial(
                self._judge,
                state.arranged.undecided,
                state.query,
                state.decided,
                fuzzy=state.sort == "relevance",
            )
            self.in_thread(work, "inside")

    def _judge(self, rows: list[SessionRow], query: Query, decided: dict[str, Match], *, fuzzy: bool) -> None:
        pattern = query.pattern
        if pattern is None:
            self._judge_all(rows, query, decided, fuzzy=fuzzy)
            return
        try:
            with RegexWorker(pattern) as search:
                self._judge_all(rows, query, decided, fuzzy=fuzzy, search=search)
        except RegexTimeout:
            self.app.call_from_thread(self._give_up, decided, "pattern timed out; search stopped")
        except OSError as problem:
            self.app.call_from_thread(self._give_up, decided, f"cannot search with a pattern: {problem}")

    def _give_up(self, decided: dict[str, Match], why: str) -> None:
        if decided is self.state.decided:
            self.state.abort_search(why)
            self.show_everything()

    def _judge_all(
        self,
        rows: list[SessionRow],
        query: Query,
        decided: dict[str, Match],
        *,
        fuzzy: bool,
        search: Search | None = None,
    ) -> None:
        worker = get_current_worker()
        due = time.monotonic() + _PAUSE
        for row in rows:
            if worker.is_cancelled:
                return
            decided[row_name(row)] = self._contents.judge(
                row, self.state.search_fields(row), query, fuzzy=fuzzy, search=search
            )
            if time.monotonic() > due:
                self.app.call_from_thread(self._found_inside, decided)
                due = time.monotonic() + _PAUSE
        if not worker.is_cancelled:
            self.app.call_from_thread(self._found_inside, decided)

    def _found_inside(self, decided: dict[str, Match]) -> None:
        if decided is self.state.decided:
            self.show_everything()

    # -- the pane beside ------------------------------------------------------------------------------

    def on_row_list_moved(self) -> None:
        if self._resting is not None:
            self._resting.stop()
        self._resting = self.set_timer(_REST, self._rested)

    def _rested(self) -> None:
        self._add_costs()
        row = self.row
        if row is None:
            self._previewed = None
            self.query_one("#preview", TextPanel).show(lambda _columns: [])
        elif self.pane_layout().has_pane:
            now = (row_name(row), row.size, row.modified_ms)
            if now != self._previewed:  # rows that come in above must not have it read again and again
                self._previewed = now
                work = partial(self._read_preview, row)
                self.in_thread(work, "preview", exclusive=True)

    def _read_preview(self, row: SessionRow) -> None:
        worker = get_current_worker()
        deck: list[Card] = []
        problem = row.problem
        if problem is None:
            try:
                with self.source.open(row) as session:
                    deck = last_cards(session, self.state.home)
            except Exception as failure:  # noqa: BLE001  as above
                problem = str(failure) or type(failure).__name__
        if not worker.is_cancelled:
            self.app.call_from_thread(self._show_preview, row, deck, problem)

    def _show_preview(self, row: SessionRow, deck: list[Card], problem: str | None) -> None:
        panel, state = self.query_one("#preview", TextPanel), self.state

        def lines(columns: int) -> list[Line]:
            rows = panel.size.height
            if problem is not None:
                return wrap_line(make_line(Span(problem, "error")), columns)
            return preview_lines(
                facts_lines(row, home=state.home, now=state.now(), rows=rows), deck, columns, rows
            )

        panel.show(lines)
