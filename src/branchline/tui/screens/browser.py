"""The session browser: every session, found as one types, with what was said last beside it."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import msgspec
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.worker import get_current_worker

from branchline.actions.handover import destinations, hand_over
from branchline.actions.remove import RemovedSession, remove, undo
from branchline.actions.resume import ResumePlan, plan_resume
from branchline.errors import BranchlineError
from branchline.library import SessionRow
from branchline.places import NATIVE_AGENT
from branchline.programs import is_usable_directory
from branchline.session import Session
from branchline.stores import absolute_path
from branchline.tui.screens.base import bindings
from branchline.tui.screens.dialogs import ConfirmDialog, InputDialog, SelectDialog
from branchline.tui.screens.problems import ProblemsScreen, Reason
from branchline.tui.screens.session_list import SessionListScreen
from branchline.tui.widgets.line_bar import LineBar
from branchline.tui.widgets.row_list import RowList
from branchline.tui.widgets.text_panel import TextPanel
from branchline.views.browser.agent_menu import agent_menu
from branchline.views.browser.state import BrowserState, Pill
from branchline.views.humanize import count
from branchline.views.session_lines import reason_words
from branchline.views.session_row import row_name

__all__ = ["BrowserScreen"]

_TWO = 2
_LOOK = 1.0
"""Seconds between looks at the session under the cursor."""


class BrowserScreen(SessionListScreen):
    """All sessions of this directory, or of every one."""

    table = "sessions"
    BINDINGS: ClassVar[list[BindingType]] = bindings("sessions")
    DEFAULT_CSS = """
    BrowserScreen #body { height: 1fr; layout: vertical; }
    BrowserScreen #body.wide { layout: horizontal; }
    BrowserScreen #preview { border-top: solid $border; padding: 0 1; }
    BrowserScreen #body.wide #preview { border-top: none; border-left: solid $border; }
    BrowserScreen #top, BrowserScreen #programs, BrowserScreen #hints { background: $panel; }
    BrowserScreen #programs { display: none; }
    BrowserScreen.crowded #programs { display: block; }
    """

    def __init__(self, state: BrowserState) -> None:
        super().__init__(state)
        self.words = state.words
        self._removed: list[list[tuple[SessionRow, RemovedSession]]] = []
        self._stale = False
        self._away = False

    def compose(self) -> ComposeResult:
        yield LineBar(id="top")
        yield LineBar(id="programs")
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
        self._load()
        self.show_everything()
        if self.state.loaded.done:
            self._look_inside()
        self.set_interval(_LOOK, self._look)

    def _look(self) -> None:
        """See whether the session under the cursor is as it was: what is shown beside it should be true."""
        row = self.row
        if self.is_current and row is not None and row.problem is None and self.source.is_changed(row):
            self._look_again([row])

    # -- the pane beside ------------------------------------------------------------------------------

    def _fit(self) -> None:
        """Put the preview beside the list, below it, or nowhere, as there is room."""
        self.fit_pane(self.query_one("#preview"), self.pane_layout())
        self.call_after_refresh(self._show_bars)

    def on_resize(self) -> None:
        self._fit()

    def action_preview(self) -> None:
        self.wants_preview = not self.pane_layout().has_pane
        self._fit()
        self._rested()

    # -- choosing what to see -------------------------------------------------------------------------

    def action_scope(self) -> None:
        self.state.scope = "all" if self.state.scope == "here" else "here"
        self._load()
        self.show_everything()
        self._look_inside()

    def action_sort(self) -> None:
        self.state.next_sort()
        self.show_everything()
        self._look_inside()

    def action_named(self) -> None:
        self.state.named_only = not self.state.named_only
        self.show_everything()

    def action_agents(self) -> None:
        self.state.next_agent()
        self.show_everything()

    def choose_pill(self, pill: Pill) -> None:
        match pill.choice:
            case "scope" if pill.value != self.state.scope:
                self.action_scope()
            case "sort":
                self.action_sort()
            case "named":
                self.action_named()
            case "program":
                self.state.agent = None if self.state.agent == pill.value else pill.value
                self.show_everything()

    def action_paths(self) -> None:
        self.state.paths = not self.state.paths
        self.show_everything()

    def action_reload(self) -> None:
        self.state.forget()
        self._load()
        self.show_everything()

    def action_reasons(self) -> None:
        loaded = self.state.loaded
        reasons: list[Reason] = [
            ("unreadable", row.path or row.key, reason_words(row)) for row in loaded.unreadable
        ]
        reasons += [("hidden", item.name, item.reason) for item in loaded.hidden]
        self.app.push_screen(ProblemsScreen("Sessions that are not shown, and why", reasons))

    def action_back(self) -> None:
        if self.words or self.typing:
            self.typing = False
            self.set_words("")
        elif self.state.clear_choices():
            self.show_everything()
        else:
            self.app.exit()

    # -- doing something with sessions ----------------------------------------------------------------

    def _chosen(self) -> list[SessionRow]:
        """The marked sessions, else the one under the cursor."""
        if self.state.marked:
            return list(self.state.marked.values())
        return [] if self.row is None else [self.row]

    def action_mark(self) -> None:
        if self.row is not None:
            self.state.toggle_mark(self.row)
            self.list.step(1)
            self.list.redraw()
            self._show_bars()

    def action_pin(self) -> None:
        if rows := self._chosen():
            try:
                pinned = self.state.pins.toggle(map(row_name, rows))
            except (BranchlineError, OSError) as problem:
                self.tell(f"not pinned: {problem}", wrong=True)
                return
            self.tell(f"{count(len(rows), 'session')} {'pinned' if pinned else 'unpinned'}")
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

        self.ask(InputDialog("Title of this session", row.title or "", hint="empty removes it"), named)

    def action_remove(self) -> None:
        rows = self._chosen()
        others = sorted({self.source.agent(row) for row in rows} - {NATIVE_AGENT})
        if not others:
            self._remove(rows)
            return

        def answered(yes: bool | None) -> None:  # noqa: FBT001
            if yes:
                self._remove(rows)

        question = (
            f"Move {count(len(rows), 'session')} to the trash? "
            f"Not all are branchline's own: there are some of {', '.join(others)}. "
            "Their files are moved into a hidden folder beside them, where their programs do not see them; "
            "u brings them back."
        )
        self.ask(ConfirmDialog(question, "move to the trash"), answered)

    def _remove(self, rows: list[SessionRow]) -> None:
        removed: list[tuple[SessionRow, RemovedSession]] = []
        for row in rows:
            try:
                removed += [(row, moved) for moved in remove([row_name(row)])]
            except (BranchlineError, OSError) as problem:
                self.tell(f"not removed: {problem}", wrong=True)
        if removed:
            self._removed.append(removed)
            self.state.drop(row for row, _moved in removed)
            self.tell(f"{count(len(removed), 'session')} moved to the trash; u to undo")
            self.show_everything()

    def action_undo(self) -> None:
        if not self._removed:
            self.tell("nothing to undo; use `branchline restore` for older deletions")
            return
        back: list[SessionRow] = []
        kept: list[tuple[SessionRow, RemovedSession]] = []
        for row, moved in self._removed.pop():
            try:
                undo(moved)
                back.append(row)
            except (BranchlineError, OSError) as problem:
                kept.append((row, moved))
                self.tell(f"not restored: {problem}", wrong=True)
        if kept:
            self._removed.append(kept)
        if back:
            self.tell(f"{count(len(back), 'session')} restored")
            self._look_again(back, back=True)

    def _look_again(self, rows: list[SessionRow], *, back: bool = False) -> None:
        """Show sessions as they are now; they are read in a worker."""
        self.in_thread(partial(self._read_again, rows, back=back), "again")

    def _read_again(self, rows: list[SessionRow], *, back: bool) -> None:
        found: list[SessionRow | None] = []
        for row in rows:
            try:
                found.append(self.source.reload_row(row))
            except Exception as problem:  # noqa: BLE001  whatever it is now, the list says why it cannot be read
                words = str(problem) or type(problem).__name__
                found.append(msgspec.structs.replace(row, problem=words, title=None, first_prompt=None))
        if not get_current_worker().is_cancelled:
            self.app.call_from_thread(self._seen_again, rows, found, back=back)

    def _seen_again(self, rows: list[SessionRow], found: list[SessionRow | None], *, back: bool) -> None:
        for row, now in zip(rows, found, strict=True):
            if now is not None:
                self.state.replace(now, back=back)
                if now.problem is not None:
                    self.tell(f"{row.title or row.id} can no longer be read: {reason_words(now)}", wrong=True)
                elif now.id != row.id:
                    self.tell(f"another session has taken the place of {row.title or row.id}", wrong=True)
                elif now.size < row.size:
                    self.tell(f"{row.title or row.id} was truncated", wrong=True)
            elif row_name(row) in self.state.loaded.rows:  # else it was removed here while it was read
                self.state.drop([row])
                self.tell(f"{row.title or row.id} no longer exists", wrong=True)
        self.show_everything()

    def reload_later(self) -> None:
        """Read the list again when it is next shown: there are new sessions."""
        self._stale = True

    def on_screen_suspend(self) -> None:
        self._away = True

    def on_screen_resume(self) -> None:
        """Back from another screen: the session may have grown, or be gone."""
        if not self._away:  # shown for the first time
            return
        self._away = False
        if self._stale:
            self._stale = False
            self.action_reload()
        elif self.row is not None and self.row.problem is None:
            self._look_again([self.row])

    # -- going elsewhere ------------------------------------------------------------------------------

    def on_row_list_chosen(self) -> None:
        self.action_go_on()

    def _going(self) -> ResumePlan | None:
        row = self.row
        if row is None or row.problem is not None:
            return None
        with self.branchline.telling():  # an id or a path that cannot be part of a command
            return plan_resume(
                self.source.agent(row),
                path=None if row.path is None else absolute_path(row.path),
                id=row.id,
                cwd=row.cwd,
            )
        return None

    def action_copy(self) -> None:
        if (going := self._going()) is not None:
            self.copy(going.shell_command, "command")

    def action_go_on(self) -> None:
        going = self._going()
        if going is None:
            return
        cwd = going.cwd if going.unusable is None else self.source.cwd
        if going.unusable is None and going.not_installed is None:
            self.branchline.go_on(going, cwd=cwd)
            return

        def answered(yes: bool | None) -> None:  # noqa: FBT001
            if yes:
                self.branchline.go_on(going, cwd=cwd)

        words = [] if going.not_installed is None else [f"{going.note}."]
        if going.unusable is not None:
            words.append(f"{going.unusable[0].upper()}{going.unusable[1:]}")
        words.append("Continue there?" if going.unusable is None else f"Continue in {cwd} instead?")
        self.ask(ConfirmDialog("\n\n".join(words), "continue there"), answered)

    def action_hand_over(self) -> None:
        row = self.row
        if row is None or row.problem is not None:
            return
        options = agent_menu(destinations(self.source.agent(row)))
        if not options:
            self.tell("no other agent that sessions can be written for is installed")
            return

        def picked(agent: str | None) -> None:
            if agent is None:
                return
            if is_usable_directory(row.cwd or ""):
                self.branchline.with_session(row, partial(self._hand_over, agent, row.cwd))
                return
            cwd = self.source.cwd
            words = f"The directory of this session cannot be used.\n\nContinue in {cwd} instead?"

            def answered(yes: bool | None) -> None:  # noqa: FBT001
                if yes:
                    self.branchline.with_session(row, partial(self._hand_over, agent, cwd))

            self.ask(ConfirmDialog(words, "continue there"), answered)

        self.ask(SelectDialog("Continue in", options), picked)

    def _hand_over(self, agent: str, cwd: str | None, session: Session) -> None:
        with self.branchline.telling(), session:
            done = hand_over(session, agent, cwd=cwd)
            self.branchline.forked()
            self.branchline.go_on(done.plan, cwd=done.plan.cwd)

    def action_tree(self) -> None:
        if self.row is not None:
            self.branchline.open_tree(self.row)

    def action_transcript(self) -> None:
        if self.row is not None:
            self.branchline.open_transcript(self.row)

    def action_forest(self) -> None:
        self.branchline.open_forest(self.row, self.state.scope)

    def action_compare(self) -> None:
        chosen = self._chosen()
        if len(chosen) == 1 and self.row is not None and row_name(chosen[0]) != row_name(self.row):
            chosen.append(self.row)
        if len(chosen) != _TWO:
            self.tell("select two sessions with Space, or select one and move to the other")
            return
        self.branchline.compare_sessions(*chosen)

    def go_to(self, row: SessionRow) -> None:
        """Put the cursor on a session, wherever it is; what hides it is cleared."""
        state, name = self.state, row_name(row)
        if name not in state.loaded.rows:
            state.scope = "all"
            self._load()
            state.loaded.rows.setdefault(name, row)
        self.words = ""
        state.search("")
        state.clear_choices()
        self.show_everything()
        self.list.move_to(state.place_of(name) or 0)
