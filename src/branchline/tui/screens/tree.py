"""The tree navigator: every branch of a session, one line per entry, and the whole entry beside it."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container

from branchline.errors import BranchlineError
from branchline.flows import arun, fork, navigate
from branchline.places import program_of
from branchline.session import Session
from branchline.tree import Filter
from branchline.tui.detailing import detail_lines
from branchline.tui.exporting import export_path
from branchline.tui.living import Living
from branchline.tui.navigating import Navigating
from branchline.tui.screens.base import ListScreen, bindings
from branchline.tui.screens.dialogs import AskScreen, Option, PickScreen
from branchline.tui.screens.reasons import Reason, ReasonsScreen
from branchline.tui.screens.whole_entry import WholeEntry
from branchline.tui.widgets.line_bar import LineBar
from branchline.tui.widgets.row_list import RowList
from branchline.tui.widgets.text_panel import TextPanel
from branchline.views.outline import counter
from branchline.views.rows import copy_text
from branchline.views.spans import Line, Span, line_of
from branchline.views.words import count

__all__ = ["TreeNavigator"]

_LOOK = 1.0
"""Seconds between looks at a file that others may write to."""
_STEP = 2048
"""Entries that are read for a search before keys are listened to again."""
_WIDE = 110
_TALL = 20


class TreeNavigator(ListScreen):
    """The branches of one session. Nothing is written before something is chosen."""

    table = "tree"
    always_typing = True
    letters_that_act: ClassVar[frozenset[str]] = frozenset("LT")
    BINDINGS: ClassVar[list[BindingType]] = bindings("tree")
    DEFAULT_CSS = """
    TreeNavigator #body { height: 1fr; layout: vertical; }
    TreeNavigator #body.wide { layout: horizontal; }
    TreeNavigator #detail { height: 9; border-top: solid $border; padding: 0 1; display: none; }
    TreeNavigator.detailed #detail { display: block; }
    TreeNavigator #body.wide #detail { width: 42%; height: 100%; border-top: none;
                                       border-left: solid $border; }
    TreeNavigator #top, TreeNavigator #hints { background: $panel; }
    """

    def __init__(self, session: Session, *, at: str | None = None, filter: Filter = "default") -> None:  # noqa: A002
        super().__init__()
        self._home = os.path.expanduser("~")
        self.living = Living(session)
        self.tree_state = Navigating(session, at=at, home=self._home)
        if filter != "default":
            self.tree_state.set_filter(filter)
        path, format_ = session.file, session.format
        self._program = format_ if path is None else program_of(path, format_)
        self._wants_detail: bool | None = None
        self._acting = False

    @property
    def session(self) -> Session:
        return self.tree_state.session

    def compose(self) -> ComposeResult:
        yield LineBar(id="top")
        yield LineBar(id="search")
        with Container(id="body"):
            yield RowList(id="rows", centred=True, wrapping=True, empty="  No entries found")
            yield TextPanel(id="detail")
        yield LineBar(id="seen")
        yield LineBar(id="hints")

    def on_mount(self) -> None:
        self._fit()
        self.list.focus()
        self.show_rows()
        self.set_interval(_LOOK, self._look)

    def on_unmount(self) -> None:
        self.session.close()

    # -- what is shown --------------------------------------------------------------------------------

    def show_rows(self) -> None:
        """Show the rows as they are arranged now."""
        self.list.show(self.tree_state, self.tree_state.cursor)
        self._show_bars()

    def _show_bars(self) -> None:
        session, state = self.session, self.tree_state
        self.query_one("#top", LineBar).say(
            Span(" tree ", "heading"),
            Span(f" {session.title or session.id}", "title"),
            Span(f"   {self._program}", "program"),
            Span(f"   read only: {session.read_only}" if session.read_only else "", "warning"),
        )
        findings = len(session.findings)
        self.query_one("#seen", LineBar).say(
            Span(counter(state.outline, state.cursor), "dim"),
            Span(f"   {count(len(session), 'entry', 'entries')}", "dim"),
            Span(f"   ⚠ {count(findings, 'finding')} (F3 says which)" if findings else "", "warning"),
        )
        self.show_search()
        self.show_hints()

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        self.tree_state.stand(event.index)
        self._show_bars()
        self._show_detail()

    def _show_detail(self) -> None:
        state = self.tree_state
        if not self.has_class("detailed"):
            return
        if state.cursor < 0:
            self.query_one("#detail", TextPanel).show(lambda _columns: [])
            return
        session, position = self.session, state.position
        self.query_one("#detail", TextPanel).show(
            lambda columns: detail_lines(session, position, columns, home=self._home)
        )

    def _fit(self) -> None:
        wide = self.size.width >= _WIDE
        self.query_one("#body").set_class(wide, "wide")
        wanted = self._wants_detail
        self.set_class(wide or self.size.height > _TALL if wanted is None else wanted, "detailed")

    def on_resize(self) -> None:
        self._fit()
        self.show_hints()
        self.call_after_refresh(self._show_detail)

    def action_detail(self) -> None:
        self._wants_detail = not self.has_class("detailed")
        self._fit()
        self._show_detail()

    # -- a session that lives -------------------------------------------------------------------------

    def _look(self) -> None:
        if self._acting:
            return  # a flow works on the session in another thread; two at once would lose where it stands
        news = self.living.look()
        if news.words is not None:
            self.tell(news.words, wrong=True)
        if news.entries or news.session is not None:
            self.tree_state.take(self.living.session)
            self.show_rows()

    # -- choosing what is seen ------------------------------------------------------------------------

    def search_changed(self) -> None:
        if self.words.strip() and not self.tree_state.prepare_search(_STEP):
            self.set_timer(0.001, self.search_changed)
            return
        self.tree_state.search(self.words)
        self.show_rows()

    def action_filter(self, by: int) -> None:
        self.tree_state.step_filter(by)
        self.show_rows()

    def action_only(self, kind: Filter) -> None:
        self.tree_state.toggle_filter(kind)
        self.show_rows()

    def action_times(self) -> None:
        self.tree_state.times = not self.tree_state.times
        self.list.redraw()

    def action_fold(self) -> None:
        self.tree_state.fold()
        self.show_rows()

    def action_unfold(self) -> None:
        self.tree_state.unfold()
        self.show_rows()

    def action_turn(self, by: int) -> None:
        self.tree_state.to_turn(by)
        self.list.move_to(self.tree_state.cursor)

    def action_branch(self, by: int) -> None:
        self.tree_state.to_end(by)
        self.list.move_to(self.tree_state.cursor)

    def action_back(self) -> None:
        if self.words:
            self.set_words("")
        else:
            self.app.pop_screen()

    def action_damage(self) -> None:
        reasons: list[Reason] = [
            (finding.kind, f"line {finding.line}" if finding.line else "the file", finding.message)
            for finding in self.session.findings
        ]
        self.app.push_screen(ReasonsScreen("What is strange about this file", reasons))

    # -- doing something with an entry ----------------------------------------------------------------

    @property
    def key(self) -> str | None:
        """The id of the entry under the cursor."""
        state = self.tree_state
        state.stand(self.list.cursor)  # its message may still be on the way when the next key comes
        return self.session.index.keys[state.position] if state.cursor >= 0 else None

    def on_row_list_chosen(self) -> None:
        self.action_choose()

    def action_choose(self) -> None:
        key = self.key
        if key is None:
            return
        index = self.session.index
        prompt = index.roles[index.position(key)] == "user"
        options = [
            Option(
                "navigate",
                "Go back to here",
                "before this prompt, whose text is copied" if prompt else "the next message continues here",
            ),
            Option("summary", "Go back, with a summary", "a few words about the branch that is left"),
            Option("before", "Fork before this entry", "a new session without it"),
            Option("at", "Fork at this entry", "a new session that ends with it"),
            Option("label", "Label it", "Shift+L"),
            Option("read", "Read the conversation up to here"),
            Option("whole", "Read the whole entry"),
            Option("copy", "Copy its text", "Ctrl+X"),
            Option("export", "Export the path to here", "as Markdown"),
            Option("compare", "Compare with the current branch", "side by side"),
        ]
        actions: dict[str, Callable[[str], None]] = {
            "navigate": self._navigate,
            "summary": self._navigate_with_summary,
            "before": lambda entry: self._fork(entry, before=True),
            "at": lambda entry: self._fork(entry, before=False),
            "label": self._label,
            "read": lambda _entry: self.action_transcript(),
            "whole": self._read_whole,
            "copy": lambda _entry: self.action_copy(),
            "export": self._export,
            "compare": self._compare,
        }

        def picked(name: str | None) -> None:
            if name is not None:
                actions[name](key)

        self.app.push_screen(PickScreen("This entry", options), picked)

    def _attempt(self, work: Callable[[], Awaitable[str | None]]) -> None:
        """Do something that may fail, and say what came of it."""

        async def attempt() -> None:
            self._acting = True
            try:
                words = await work()
            except (BranchlineError, OSError, ValueError) as problem:
                self.tell(str(problem), wrong=True)
                return
            finally:
                self._acting = False
            if words is not None:
                self.tell(words)
            self.tree_state.take(self.session)
            self.show_rows()

        self.run_worker(attempt(), exclusive=True, group="doing")

    def _navigate(self, key: str, summary: str | None = None) -> None:
        async def go() -> str:
            flow = navigate(self.session, key, summarize=summary is not None)
            done = await arun(flow, hooks=self.branchline.hooks, summarizer=lambda _request: summary or "")
            if done.status != "done":
                return "you are there already" if done.status == "unchanged" else f"not moved: {done.reason}"
            self.words = self.tree_state.words = ""  # the new place may be none that the search finds
            if done.new_leaf is not None:
                self.tree_state.position = self.session.index.position(done.new_leaf)
            if done.text is not None:
                self.app.copy_to_clipboard(done.text.encode("utf-8", "replace").decode())
                return "you stand before this prompt; its text is copied, to be sent again"
            return "the next message continues here"

        self._attempt(go)

    def _navigate_with_summary(self, key: str) -> None:
        def said(summary: str | None) -> None:
            if summary is not None and summary.strip():
                self._navigate(key, summary)

        self.app.push_screen(AskScreen("What happened on the branch that you leave?"), said)

    def _fork(self, key: str, *, before: bool) -> None:
        async def make() -> str:
            flow = fork(self.session, key, position="before" if before else "at")
            done = await arun(flow, hooks=self.branchline.hooks)
            if done.session is None:
                return f"not forked: {done.reason}"
            with done.session as made:
                name, draft = made.id, made.is_draft
            self.branchline.forked()
            if draft:
                return f"forked into {name}, which lists show after its first reply"
            return f"forked into {name}"

        self._attempt(make)

    def action_label(self) -> None:
        if self.key is not None:
            self._label(self.key)

    def _label(self, key: str) -> None:
        def named(label: str | None) -> None:
            if label is None:
                return

            async def write() -> None:
                self.session.append_label(key, label.strip() or None)

            self._attempt(write)

        self.app.push_screen(
            AskScreen("Label of this entry", self.session.label(key) or "", hint="empty takes it away"), named
        )

    def action_copy(self) -> None:
        if self.key is not None:
            text = copy_text(self.session.entry(self.key))
            if text:
                self.copy(text, "text")
            else:
                self.tell("this entry has no text to copy")

    def _export(self, key: str) -> None:
        def named(path: str | None) -> None:
            if not path:
                return

            async def write() -> str:
                return f"written: {export_path(self.session, key, path, home=self._home)}"

            self._attempt(write)

        self.app.push_screen(AskScreen("Export to which file?", f"{self.session.id[:8]}-{key[:8]}.md"), named)

    def _read_whole(self, key: str) -> None:
        self.app.push_screen(WholeEntry(self.session, self.session.index.position(key), self._home))

    def action_transcript(self) -> None:
        if self.key is not None and self.session.file is not None:
            key = self.key
            self.branchline.reopen(
                self.session, lambda session: self.branchline.show_transcript(session, key)
            )

    def action_turns(self) -> None:
        from branchline.tui.screens.turns import TurnPicker  # noqa: PLC0415

        def picked(choice: tuple[str, str] | None) -> None:
            if choice is None:
                return
            what, key = choice
            if what == "fork":
                self._fork(key, before=True)
            else:
                self.tree_state.position = self.session.index.position(key)
                self.tree_state.take(self.session)
                self.show_rows()

        self.app.push_screen(TurnPicker(self.session), picked)

    def _compare(self, key: str) -> None:
        if self.session.leaf is None:
            self.tell("there is no current branch to compare with")
            return
        leaf = self.session.leaf
        self.branchline.reopen(
            self.session, lambda session: self.branchline.show_comparison(session, session, leaf, key)
        )

    def search_line(self) -> Line:
        return line_of(
            *super().search_line(),
            Span(f"   filter: {self.tree_state.filter}", "label")
            if self.tree_state.filter != "default"
            else "",
        )
