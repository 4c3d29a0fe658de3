"""The statistics screen: messages, tokens and cost by day, model, project, agent and tool."""

from __future__ import annotations

import os
from datetime import date, datetime, timedelta
from functools import partial, partialmethod
from typing import ClassVar

from textual.binding import BindingType

from branchline.library.browser_source import LibrarySource
from branchline.tui.screens.base import PanelScreen, bindings
from branchline.tui.widgets.line_bar import BarItem, LineBar
from branchline.views.browser.source import Scope
from branchline.views.browser.state import top_bar
from branchline.views.browser.statistics import (
    MEASURES,
    Measure,
    StatisticsData,
    read_statistics,
    statistics_lines,
)
from branchline.views.spans import Line, Span, make_line

__all__ = ["StatisticsScreen"]


class StatisticsScreen(PanelScreen):
    """Returns words to search for, or None."""

    table = "statistics"
    BINDINGS: ClassVar[list[BindingType]] = bindings("statistics")
    DEFAULT_CSS = "StatisticsScreen TextPanel { height: 1fr; margin: 1 0 0 0; }"

    def __init__(self, source: LibrarySource, scope: Scope) -> None:
        super().__init__()
        self._source = source
        self._scope: Scope = scope
        self._data: StatisticsData | None = None
        self._measure: Measure = "cost"
        self._day: date | None = None
        self._home = os.path.expanduser("~")

    def on_mount(self) -> None:
        self.panel.focus()
        self._read()

    @property
    def _today(self) -> date:
        return datetime.fromtimestamp(self.branchline.now()).astimezone().date()

    def on_resize(self) -> None:
        self._show_bars()

    def _show_bars(self) -> None:
        top = [
            BarItem(make_line(pill.span), self.action_back if pill.value == "sessions" else None)
            for pill in top_bar("Statistics", demo=self.branchline.demo, width=self.size.width)
        ]
        self.query_one("#top", LineBar).say_parts(top)
        where = "this directory" if self._scope == "here" else "all directories"
        state = "adding up …" if self._data is None else where
        self.say_own(Span(f" {state}", "dim"))
        self.show_hints()

    def _read(self) -> None:
        self._data = None
        self._show_bars()
        self.read_in_thread(
            partial(self._sums, self._scope), self._take, "statistics", failed="nothing can be added up"
        )

    def _sums(self, scope: Scope) -> StatisticsData:
        with self._source.statistics(scope) as sums:
            return read_statistics(sums)

    def _take(self, data: StatisticsData) -> None:
        self._data = data
        if self._measure == "cost" and not data.total.cost:
            self._measure = "tokens" if data.total.tokens else "messages"
        self._show(keep=False)

    def _show(self, *, keep: bool = True) -> None:
        top = self.panel.scroll_offset.y
        self.panel.show(self.lines)
        if keep:
            self.panel.scroll_to(y=top, animate=False, immediate=True)
        self._show_bars()

    def lines(self, columns: int) -> list[Line]:
        if self._data is None:
            return []
        return statistics_lines(
            self._data, columns, today=self._today, measure=self._measure, day=self._chosen, home=self._home
        )

    # -- keys -----------------------------------------------------------------------------------------

    def action_scope(self) -> None:
        self._scope = "all" if self._scope == "here" else "here"
        self._read()

    action_reload = _read

    def action_measure(self) -> None:
        self._measure = MEASURES[(MEASURES.index(self._measure) + 1) % len(MEASURES)]
        self._show()

    @property
    def _chosen(self) -> date:
        """Return the selected day, by default the last active one."""
        if self._day is not None:
            return self._day
        days = [] if self._data is None else [group.name for group in self._data.days if group.name]
        return date.fromisoformat(max(days)) if days else self._today

    def _step(self, by: int) -> None:
        self._day = min(self._today, self._chosen + timedelta(days=by))
        self._show()

    action_earlier = partialmethod(_step, -1)
    action_later = partialmethod(_step, 1)

    def action_sessions_of_day(self) -> None:
        day = self._chosen
        self.dismiss(f"after:{day} before:{day + timedelta(days=1)}")

    def action_back(self) -> None:
        self.dismiss(None)
