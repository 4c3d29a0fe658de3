"""The tree navigator: all branches of a session, one line per entry, with a detail pane."""

from __future__ import annotations

from functools import partialmethod
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container

from branchline.places import program_of
from branchline.session import Session
from branchline.tree import Filter
from branchline.tui.screens.base import bindings
from branchline.tui.screens.problems import ProblemsScreen, Reason
from branchline.tui.screens.tree_operations import TreeOperationsScreen
from branchline.tui.widgets.line_bar import LineBar
from branchline.tui.widgets.row_list import RowList
from branchline.tui.widgets.text_panel import TextPanel
from branchline.views.browser.entry_detail import detail_lines
from branchline.views.browser.keymap import TREE_LETTERS
from branchline.views.browser.layout import TREE_BARS, PaneLayout, air_of, layout_for
from branchline.views.figures import messages_on
from branchline.views.humanize import count
from branchline.views.outline import filter_name
from branchline.views.spans import Line, Span, make_line

__all__ = ["TreeScreen"]

_LOOK = 1.0
"""Seconds between looks at a file that others may write to."""
_STEP = 2048
"""Entries that are read for a search before keys are listened to again."""


class TreeScreen(TreeOperationsScreen):
    """Shows the branches of a session. Nothing is written before an action is chosen."""

    table = "tree"
    air_below = "#search"
    always_typing = True
    letters_that_act: ClassVar[frozenset[str]] = TREE_LETTERS
    BINDINGS: ClassVar[list[BindingType]] = bindings("tree")
    DEFAULT_CSS = """
    TreeScreen #body { height: 1fr; layout: vertical; }
    TreeScreen #body.wide { layout: horizontal; }
    TreeScreen #detail { border-top: solid $border; padding: 0 1; }
    TreeScreen #body.wide #detail { border-top: none; border-left: solid $border; }
    """

    def __init__(self, session: Session, *, at: str | None = None, filter: Filter = "default") -> None:  # noqa: A002
        super().__init__(session, at=at)
        if filter != "default":
            self.tree_state.set_filter(filter)
        path, format_ = session.file, session.format
        self._program = format_ if path is None else program_of(path, format_)
        self._wants_detail: bool | None = None

    def body(self) -> ComposeResult:
        yield LineBar(id="search")
        with Container(id="body"):
            yield RowList(id="rows", centred=True, wrapping=True, empty="  No entries found")
            yield TextPanel(id="detail")

    def on_mount(self) -> None:
        self._fit()
        self.list.focus()
        self.show_rows()
        self.set_interval(_LOOK, self._look)

    def on_unmount(self) -> None:
        self.session.close()

    # -- what is shown --------------------------------------------------------------------------------

    def show_rows(self) -> None:
        self.list.show(self.tree_state, self.tree_state.cursor)
        self._show_bars()

    def _show_bars(self) -> None:
        session = self.session
        tree = session.index
        path = [] if session.leaf is None else tree.path_positions(tree.position(session.leaf))
        facts = f"{self._program}, {count(messages_on(tree, path), 'message')}"
        if session.read_only:
            facts += ", read-only"
        self.show_session_place(session, "Tree", facts=facts)
        self.show_message()
        self.show_search()
        self.show_hints()

    def hint_words(self) -> dict[str, str]:
        """Omit keys that write from read-only sessions; Escape clears a search first."""
        words = {"label": "", "undo": ""} if self.session.read_only else {}
        return words | {"back": "clear"} if self.words else words

    def own_message(self) -> Line:
        session, state = self.session, self.tree_state
        findings = len(session.findings)
        return make_line(
            Span(f" row {state.cursor + 1:,} of {len(state.outline):,}{filter_name(state.outline)}", "dim"),
            Span(f"   read-only: {session.read_only}" if session.read_only else "", "dim"),
            Span(f"   {count(findings, 'finding')}, F3 shows them" if findings else "", "warning"),
        )

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        self.tree_state.move_to(event.index)
        self.list.refresh()  # rows deep in the tree are moved left for the one under the cursor
        self._show_bars()
        self._show_detail()

    def _show_detail(self) -> None:
        state = self.tree_state
        if not self._pane.has_pane:
            return
        if state.key is None:
            self.query_one("#detail", TextPanel).show(lambda _columns: [])
            return
        session, position = self.session, self.session.index.position(state.key)
        self.query_one("#detail", TextPanel).show(
            lambda columns: detail_lines(session, position, columns, home=self.home)
        )

    @property
    def _pane(self) -> PaneLayout:
        bars = TREE_BARS + air_of(self.size.height).search
        return layout_for(*self.size, bars=bars, wanted=self._wants_detail)

    def _fit(self) -> None:
        self.fit_pane(self.query_one("#detail"), self._pane)

    def on_resize(self) -> None:
        super().on_resize()
        self._fit()
        self.call_after_refresh(self._show_detail)

    def action_detail(self) -> None:
        self._wants_detail = not self._pane.has_pane
        self._fit()
        self._show_detail()

    # -- a session that lives -------------------------------------------------------------------------

    def _look(self) -> None:
        if self.acting:
            return
        news = self.living.poll()
        if news.words is not None:
            self.tell(news.words, wrong=True)
        if news.entries or news.session is not None:
            with self.branchline.telling():
                self.tree_state.set_session(self.living.session)
                self.show_rows()

    # -- choosing what is seen ------------------------------------------------------------------------

    def search_changed(self) -> None:
        if self.words.strip() and not self.tree_state.prepare_search(_STEP):
            self.set_timer(0.001, self.search_changed)
            return
        self.tree_state.search(self.words)
        self.show_rows()

    def _act(self, name: str, given: int | str = "") -> None:
        self.tree_state.act(f"{name}({given})")
        self.show_rows()

    action_filter = partialmethod(_act, "filter")
    action_only = partialmethod(_act, "only")
    action_times = partialmethod(_act, "times")
    action_fold = partialmethod(_act, "fold")
    action_unfold = partialmethod(_act, "unfold")
    action_turn = partialmethod(_act, "turn")
    action_branch = partialmethod(_act, "branch")

    def action_files(self) -> None:
        key = self.key
        self.branchline.reopen(self.session, lambda session: self.branchline.show_files(session, key))

    def action_back(self) -> None:
        if not self.stop_typing() and not self.unmark():
            self.app.pop_screen()

    def action_damage(self) -> None:
        reasons: list[Reason] = [
            (finding.kind, f"line {finding.line}" if finding.line else "the file", finding.message)
            for finding in self.session.findings
        ]
        self.app.push_screen(ProblemsScreen("Findings in this file", reasons))

    def search_line(self) -> Line:
        return make_line(
            *super().search_line(),
            Span(f"   filter: {self.tree_state.filter}", "label")
            if self.tree_state.filter != "default"
            else "",
        )
