"""The session browser: every session, found as one types, with what was said last beside it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.timer import Timer
from textual.worker import get_current_worker

from branchline.errors import BranchlineError
from branchline.library import SessionRow
from branchline.stores import Hidden
from branchline.tui.browsing import SORTS, Arranged, Choice, Item, Sort, arrange, face_of
from branchline.tui.contents_cache import ContentsCache
from branchline.tui.going_on import Going, going_on
from branchline.tui.previewing import last_cards, preview_lines
from branchline.tui.screens.base import ListScreen, bindings
from branchline.tui.screens.dialogs import AskScreen, ConfirmScreen
from branchline.tui.screens.reasons import Reason, ReasonsScreen
from branchline.tui.session_lines import Columns, columns_for, facts_line, header_line, session_line
from branchline.tui.source import Batch, Scope, Source, name_of
from branchline.tui.widgets.line_bar import LineBar
from branchline.tui.widgets.row_list import RowList
from branchline.tui.widgets.text_panel import TextPanel
from branchline.views.calls import short_path
from branchline.views.query import Face, Query, Verdict, parse_query
from branchline.views.spans import Line, Piece, Span, line_of
from branchline.views.words import count

__all__ = ["SessionBrowser"]

_REST = 0.06
"""Seconds that the cursor rests before the session under it is read for the preview."""
_PAUSE = 0.1
_WIDE = 110
_TALL_ENOUGH = 20


class _Loaded:
    """What was read of one scope so far."""

    def __init__(self) -> None:
        self.rows: dict[str, SessionRow] = {}
        self.hidden: list[Hidden] = []
        self.loaded = 0
        self.total: int | None = None

    @property
    def done(self) -> bool:
        return self.total is not None and self.loaded >= self.total


class SessionBrowser(ListScreen):
    """All sessions of this directory, or of every one."""

    table = "sessions"
    BINDINGS: ClassVar[list[BindingType]] = bindings("sessions")
    DEFAULT_CSS = """
    SessionBrowser #body { height: 1fr; layout: vertical; }
    SessionBrowser #body.wide { layout: horizontal; }
    SessionBrowser #preview { height: 8; border-top: solid $border; padding: 0 1; display: none; }
    SessionBrowser.previewing #preview { display: block; }
    SessionBrowser #body.wide #preview { width: 42%; height: 100%; border-top: none; border-left: solid $border; }
    SessionBrowser #top, SessionBrowser #hints { background: $panel; }
    """

    def __init__(self, source: Source, scope: Scope = "here", *, words: str = "") -> None:
        super().__init__()
        self.source = source
        self.scope: Scope = scope
        self.words = words
        self.sort: Sort = "recent"
        self.named_only = False
        self.paths = False
        self.agent: str | None = None
        self.query_read = Query()
        self.marked: dict[str, SessionRow] = {}
        self.costs: dict[str, float | None] = {}
        self.arranged = Arranged([], [])
        self._scopes: dict[Scope, _Loaded] = {}
        self._faces: dict[str, Face] = {}
        self._decided: dict[str, Verdict] = {}
        self._cache = ContentsCache(source)
        self._searched = 0
        self._removed: list[list[tuple[SessionRow, str]]] = []
        self._resting: Timer | None = None
        self._wants_preview: bool | None = None
        self._home = os.path.expanduser("~")

    def compose(self) -> ComposeResult:
        yield LineBar(id="top")
        yield LineBar(id="search")
        yield LineBar(id="columns")
        with Container(id="body"):
            yield RowList(id="rows", empty="   reading …")
            yield TextPanel(id="preview")
        yield LineBar(id="seen")
        yield LineBar(id="hints")

    def on_mount(self) -> None:
        self.list.focus()
        self._fit()
        self.query_read = self._parsed()
        self._load()
        self.show_everything()

    # -- what is shown --------------------------------------------------------------------------------

    @property
    def items(self) -> list[Item]:
        return self.arranged.items

    @property
    def loaded(self) -> _Loaded:
        return self._scopes[self.scope]

    def __len__(self) -> int:
        return len(self.items)

    def line(self, index: int, columns: int) -> Line:
        """One row of the list."""
        item = self.items[index]
        name = name_of(item.row)
        return session_line(
            item,
            self._columns(columns),
            now=time.time(),
            cost=self.costs.get(name),
            marked=name in self.marked,
            home=self._home,
            path=self.paths,
        )

    def _columns(self, width: int) -> Columns:
        return columns_for(width, directory=self.scope == "all", path=self.paths)

    @property
    def row(self) -> SessionRow | None:
        """The session under the cursor."""
        cursor = self.list.cursor
        return self.items[cursor].row if 0 <= cursor < len(self.items) else None

    def show_everything(self) -> None:
        """Arrange the rows anew, and say what is seen."""
        before = self.row
        at = max(0, self.list.cursor)
        choice = Choice(
            sort=self.sort,
            named_only=self.named_only,
            agents=frozenset() if self.agent is None else frozenset({self.agent}),
            query=self.query_read,
        )
        self.arranged = arrange(
            self.loaded.rows.values(),
            choice,
            agent=self.source.agent,
            faces=self._face,
            pins=self.branchline.pins,
            decided=self._decided,
        )
        if before is not None and at > 0:  # the first row stays the first while better ones come in above it
            name = name_of(before)
            at = next((place for place, item in enumerate(self.items) if name_of(item.row) == name), at)
        self.list.empty = self._nothing()
        self.list.show(self, at)
        self._show_bars()
        self._add_costs()

    def _face(self, row: SessionRow) -> Face:
        name = name_of(row)
        face = self._faces.get(name)
        if face is None:
            face = self._faces[name] = face_of(row, self.source.agent(row))
        return face

    def _nothing(self) -> str:
        if self.query_read.problem is not None:
            return f"   {self.query_read.problem}"
        if not self.loaded.done:
            return "   reading …"
        if self.query_read or self.named_only or self.agent:
            return "   nothing is like that; Esc clears the search"
        if self.scope == "here":
            return "   no sessions of this directory yet; Tab shows those of all"
        return "   no sessions yet"

    def _show_bars(self) -> None:
        self.query_one("#top", LineBar).say_lines([self._top()])
        self.query_one("#columns", LineBar).say_lines([header_line(self._columns(self.list.columns), path=self.paths)])
        self.query_one("#seen", LineBar).say_lines([self._seen()])
        self.show_search()
        self.show_hints()

    def _top(self) -> Line:
        here = short_path(self.source.cwd, self._home)
        pieces: list[Piece] = [
            Span(" branchline ", "heading"),
            Span(f" {here} ", "cursor" if self.scope == "here" else "dim"),
            Span("│", "dim"),
            Span(" all ", "cursor" if self.scope == "all" else "dim"),
            Span(f"  sort: {self.sort}", "dim"),
        ]
        if self.named_only:
            pieces.append(Span("  named", "label"))
        agents = self._agents()
        if len(agents) > 1:
            pieces.append(Span("   ", "dim"))
            for agent in agents:
                chosen = agent == self.agent
                pieces.append(Span(f"[{agent}] " if chosen else f" {agent}  ", "program" if chosen or not self.agent else "dim"))
        return line_of(*pieces)

    def _agents(self) -> list[str]:
        return sorted({self.source.agent(row) for row in self.loaded.rows.values()})

    def _seen(self) -> Line:
        loaded = self.loaded
        unreadable = sum(row.problem is not None for row in loaded.rows.values())
        seen = len(loaded.rows) + len(loaded.hidden)
        other = len(loaded.rows) - len(self.items)
        pieces: list[Piece] = [Span(f" {count(seen, 'session')} seen · {len(self.items):,} shown", "dim")]
        if other > 0:
            pieces.append(Span(f" · {other:,} filtered out", "dim"))
        if loaded.hidden:
            pieces.append(Span(f" · {len(loaded.hidden):,} hidden", "dim"))
        if unreadable:
            pieces.append(Span(f" · {unreadable:,} unreadable", "warning"))
        if loaded.hidden or unreadable:
            pieces.append(Span(" (! says why)", "dim"))
        if self.marked:
            pieces.append(Span(f" · {len(self.marked)} marked", "label"))
        if not loaded.done:
            pieces.append(Span(f" · reading {loaded.loaded:,}/{loaded.total or 0:,}", "active"))
        elif self.arranged.undecided:
            pieces.append(Span(f" · searching inside, {len(self.arranged.undecided):,} to go", "active"))
        return line_of(*pieces)

    def search_line(self) -> Line:
        if self.query_read.problem is not None and self.words:
            return line_of(*super().search_line(), Span(f"   {self.query_read.problem}", "warning"))
        return super().search_line()

    # -- reading --------------------------------------------------------------------------------------

    def _load(self) -> None:
        if self.scope not in self._scopes:
            self._scopes[self.scope] = _Loaded()
            self.run_worker(
                partial(self._read, self.scope, self._scopes[self.scope]), thread=True, group=f"list-{self.scope}"
            )

    def _read(self, scope: Scope, loaded: _Loaded) -> None:
        """In a worker: hand over rows as they are read."""
        worker = get_current_worker()
        try:
            for batch in self.source.rows(scope):
                if worker.is_cancelled:
                    return
                self.app.call_from_thread(self._take, loaded, batch)
        except (BranchlineError, OSError) as problem:
            self.app.call_from_thread(self._failed, loaded, str(problem))

    def _take(self, loaded: _Loaded, batch: Batch) -> None:
        for row in batch.rows:
            loaded.rows[name_of(row)] = row
        loaded.hidden += batch.hidden
        loaded.loaded, loaded.total = batch.loaded, batch.total
        if loaded is self._scopes.get(self.scope):
            self.show_everything()
            if loaded.done:
                self._look_inside()

    def _failed(self, loaded: _Loaded, problem: str) -> None:
        loaded.total = loaded.loaded
        self.tell(f"the sessions cannot be listed: {problem}", wrong=True)
        self.show_everything()

    def _add_costs(self) -> None:
        """Count what the sessions in view have cost; the others when they come into view."""
        top = int(self.list.scroll_offset.y)
        wanted = [
            item.row
            for item in self.items[top : top + max(1, self.list.size.height)]
            if item.row.problem is None and name_of(item.row) not in self.costs
        ]
        if wanted:
            self.run_worker(partial(self._count_costs, wanted), thread=True, exclusive=True, group="costs")

    def _count_costs(self, rows: list[SessionRow]) -> None:
        worker = get_current_worker()
        for row in rows:
            if worker.is_cancelled:
                return
            try:
                cost: float | None = self.source.describe(row).own_cost
            except (BranchlineError, OSError, ValueError):
                cost = None
            self.costs[name_of(row)] = cost
        if not worker.is_cancelled:
            self.app.call_from_thread(self.list.redraw)

    # -- searching ------------------------------------------------------------------------------------

    def _parsed(self) -> Query:
        return parse_query(self.words, now=datetime.now().astimezone())

    def search_changed(self) -> None:
        self.query_read = self._parsed()
        self._decided = {}
        self.list.cursor = 0
        self.show_everything()
        self._look_inside()

    def _look_inside(self) -> None:
        """Read the sessions that only their contents can decide about, and show them as they are found."""
        undecided = self.arranged.undecided
        self.workers.cancel_group(self, "inside")
        if undecided and self.query_read.problem is None:
            work = partial(self._judge, undecided, self.query_read, self._decided, fuzzy=self.sort == "relevance")
            self.run_worker(work, thread=True, group="inside")

    def _judge(self, rows: list[SessionRow], query: Query, decided: dict[str, Verdict], *, fuzzy: bool) -> None:
        worker = get_current_worker()
        due = time.monotonic() + _PAUSE
        for row in rows:
            if worker.is_cancelled:
                return
            decided[name_of(row)] = self._cache.judge(row, self._face(row), query, fuzzy=fuzzy)
            if time.monotonic() > due:
                self.app.call_from_thread(self._found_inside, decided)
                due = time.monotonic() + _PAUSE
        if not worker.is_cancelled:
            self.app.call_from_thread(self._found_inside, decided)

    def _found_inside(self, decided: dict[str, Verdict]) -> None:
        if decided is self._decided:
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
            self.query_one("#preview", TextPanel).show(lambda _columns: [])
        elif self.has_class("previewing"):
            self.run_worker(partial(self._read_preview, row), thread=True, exclusive=True, group="preview")

    def _read_preview(self, row: SessionRow) -> None:
        worker = get_current_worker()
        try:
            if row.problem is not None:
                lines = [line_of(Span(row.path or row.key, "path")), line_of(Span(row.problem, "error"))]
                show = partial(preview_lines, lines, [])
            else:
                with self.source.open(row) as session:
                    deck = last_cards(session, self._home)
                show = partial(preview_lines, facts_line(row, home=self._home, now=time.time()), deck)
        except (BranchlineError, OSError, ValueError) as problem:
            show = partial(preview_lines, [line_of(Span(str(problem), "error"))], [])
        if not worker.is_cancelled:
            self.app.call_from_thread(self.query_one("#preview", TextPanel).show, show, at_end=row.problem is None)

    def _fit(self) -> None:
        """Put the preview beside the list, below it, or nowhere, as there is room."""
        wide = self.size.width >= _WIDE
        self.query_one("#body").set_class(wide, "wide")
        wanted = self._wants_preview
        if wanted is None:
            wanted = wide or self.size.height > _TALL_ENOUGH
        self.set_class(wanted, "previewing")

    def on_resize(self) -> None:
        self._fit()
        if self._scopes:
            self._show_bars()
        self.call_after_refresh(self._show_bars)

    def action_preview(self) -> None:
        self._wants_preview = not self.has_class("previewing")
        self._fit()
        self._rested()
        self.call_after_refresh(self._show_bars)

    # -- choosing what to see -------------------------------------------------------------------------

    def action_scope(self) -> None:
        self.scope = "all" if self.scope == "here" else "here"
        self._load()
        self.show_everything()
        self._look_inside()

    def action_sort(self) -> None:
        self.sort = SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)]
        self._decided = {}
        self.show_everything()
        self._look_inside()

    def action_named(self) -> None:
        self.named_only = not self.named_only
        self.show_everything()

    def action_agents(self) -> None:
        choices: list[str | None] = [None, *self._agents()]
        place = choices.index(self.agent) if self.agent in choices else 0
        self.agent = choices[(place + 1) % len(choices)]
        self.show_everything()

    def action_paths(self) -> None:
        self.paths = not self.paths
        self.show_everything()

    def action_reload(self) -> None:
        self._scopes.pop(self.scope, None)
        self._faces.clear()
        self._load()
        self.show_everything()

    def action_reasons(self) -> None:
        loaded = self.loaded
        reasons: list[Reason] = [
            ("unreadable", row.path or row.key, row.problem)
            for row in loaded.rows.values()
            if row.problem is not None
        ]
        reasons += [("hidden", item.name, item.reason) for item in loaded.hidden]
        self.app.push_screen(ReasonsScreen("What is not shown, and why", reasons))

    def action_back(self) -> None:
        if self.words or self.typing:
            self.typing = False
            self.set_words("")
        elif self.marked or self.agent or self.named_only:
            self.marked.clear()
            self.agent, self.named_only = None, False
            self.show_everything()
        else:
            self.app.exit()

    # -- doing something with sessions ----------------------------------------------------------------

    def _chosen(self) -> list[SessionRow]:
        """The marked sessions, else the one under the cursor."""
        if self.marked:
            return list(self.marked.values())
        return [] if self.row is None else [self.row]

    def action_mark(self) -> None:
        if self.row is not None:
            name = name_of(self.row)
            if self.marked.pop(name, None) is None:
                self.marked[name] = self.row
            self.list.step(1)
            self.list.redraw()
            self._show_bars()

    def action_pin(self) -> None:
        rows = self._chosen()
        if rows:
            try:
                pinned = self.branchline.pins.toggle(map(name_of, rows))
            except (BranchlineError, OSError) as problem:
                self.tell(f"not pinned: {problem}", wrong=True)
                return
            self.tell(f"{count(len(rows), 'session')} {'pinned' if pinned else 'not pinned any more'}")
            self.show_everything()

    def action_rename(self) -> None:
        row = self.row
        if row is None or row.problem is not None:
            return

        def named(title: str | None) -> None:
            if title is None:
                return
            try:
                self.source.rename(row, title)
            except (BranchlineError, OSError) as problem:
                self.tell(f"not renamed: {problem}", wrong=True)
                return
            self._look_again([row])

        self.app.push_screen(AskScreen("Title of this session", row.title or "", hint="empty takes it away"), named)

    def action_remove(self) -> None:
        removed: list[tuple[SessionRow, str]] = []
        for row in self._chosen():
            try:
                removed.append((row, self.source.remove(row)))
            except (BranchlineError, OSError) as problem:
                self.tell(f"not removed: {problem}", wrong=True)
        if removed:
            self._removed.append(removed)
            for loaded in self._scopes.values():
                for row, _token in removed:
                    loaded.rows.pop(name_of(row), None)
            self.marked.clear()
            self.tell(f"{count(len(removed), 'session')} moved to the trash; u brings back")
            self.show_everything()

    def action_undo(self) -> None:
        if not self._removed:
            self.tell("nothing was deleted here; `branchline restore` brings back older ones")
            return
        back: list[SessionRow] = []
        kept: list[tuple[SessionRow, str]] = []
        for row, token in self._removed.pop():
            try:
                self.source.restore(row, token)
                back.append(row)
            except (BranchlineError, OSError) as problem:
                kept.append((row, token))
                self.tell(f"not brought back: {problem}", wrong=True)
        if kept:
            self._removed.append(kept)
        if back:
            self.tell(f"{count(len(back), 'session')} brought back")
            self._look_again(back)

    def _look_again(self, rows: list[SessionRow]) -> None:
        """Show sessions as they are now."""
        for row in rows:
            try:
                now = self.source.again(row)
            except (BranchlineError, OSError):
                now = None
            name = name_of(row)
            for pool in (self._faces, self.costs):
                pool.pop(name, None)
            for scope, loaded in self._scopes.items():
                if now is None:
                    loaded.rows.pop(name, None)
                elif scope == self.scope or name in loaded.rows:
                    loaded.rows[name] = now
        self.show_everything()

    def on_screen_resume(self) -> None:
        """Back from another screen: the session may have grown, or be gone."""
        if self._scopes and self.row is not None and self.row.problem is None:
            self._look_again([self.row])

    # -- going elsewhere ------------------------------------------------------------------------------

    def on_row_list_chosen(self) -> None:
        self.action_go_on()

    def _going(self) -> Going | None:
        row = self.row
        if row is None or row.problem is not None:
            return None
        return going_on(row, self.source.agent(row), can_chat=self.branchline.can_chat)

    def action_copy(self) -> None:
        going = self._going()
        if going is not None:
            self.copy(going.line, "command")

    def action_go_on(self) -> None:
        going = self._going()
        if going is None:
            return
        if going.problem is not None:
            self.tell(f"{going.problem}: {going.line}", wrong=True)
        elif going.moved:
            here = self.source.cwd

            def answered(yes: bool | None) -> None:  # noqa: FBT001
                if yes:
                    self.branchline.go_on(going, cwd=here)

            self.app.push_screen(
                ConfirmScreen(
                    f"The directory of this session is not there any more:\n{going.cwd}\n\n"
                    f"Continue in {here} instead?",
                    "continue there",
                ),
                answered,
            )
        else:
            self.branchline.go_on(going, cwd=going.cwd)

    def action_tree(self) -> None:
        if self.row is not None:
            self.branchline.open_tree(self.row)

    def action_transcript(self) -> None:
        if self.row is not None:
            self.branchline.open_transcript(self.row)

    def action_forest(self) -> None:
        self.branchline.open_forest(self.row, self.scope)

    def action_compare(self) -> None:
        chosen = self._chosen()
        if self.row is not None and all(name_of(row) != name_of(self.row) for row in chosen):
            chosen.append(self.row)
        if len(chosen) != 2:  # noqa: PLR2004
            self.tell("mark two sessions with Space, or mark one and go to the other")
            return
        self.branchline.compare_sessions(*chosen)

    def rows_in_view(self) -> Iterator[SessionRow]:
        """All rows that were read in this scope, for the forest."""
        return iter(self.loaded.rows.values())
