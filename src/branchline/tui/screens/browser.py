"""The session browser: all sessions, search as you type, and a preview."""

from __future__ import annotations

import os
from collections import Counter
from functools import cache, partial
from typing import ClassVar

import msgspec
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.worker import get_current_worker

from branchline.actions.handover import destinations, hand_over
from branchline.actions.remove import RemovedSession, remove, undo
from branchline.actions.resume import ResumePlan, plan_resume
from branchline.errors import BranchlineError, DropsMessages
from branchline.library import SessionRow
from branchline.library.browser_source import LibrarySource
from branchline.places import NATIVE_AGENT
from branchline.plugins.formats import format_named
from branchline.programs import is_usable_directory
from branchline.session import Session
from branchline.stores import absolute_path
from branchline.tui.screens.base import bindings
from branchline.tui.screens.dialogs import InputDialog, SelectDialog
from branchline.tui.screens.problems import ProblemsScreen, Reason
from branchline.tui.screens.session_list import SessionListScreen
from branchline.tui.widgets.line_bar import LineBar
from branchline.tui.widgets.row_list import RowList
from branchline.tui.widgets.text_panel import TextPanel
from branchline.views.browser.entry_menu import MenuItem
from branchline.views.browser.layout import air_of
from branchline.views.browser.session_menu import (
    ActionFacts,
    best_action,
    best_words,
    missing_words,
    session_options,
)
from branchline.views.browser.state import BrowserState, Pill
from branchline.views.humanize import count
from branchline.views.session_lines import reason_words
from branchline.views.session_row import row_name
from branchline.views.text import one_line

__all__ = ["BrowserScreen"]

_TWO = 2
_LOOK = 1.0
"""Seconds between looks at the session under the cursor."""


class BrowserScreen(SessionListScreen):
    """The sessions of this directory, or of all directories."""

    table = "sessions"
    BINDINGS: ClassVar[list[BindingType]] = bindings("sessions")
    DEFAULT_CSS = """
    BrowserScreen #body { height: 1fr; layout: vertical; }
    BrowserScreen #body.wide { layout: horizontal; }
    BrowserScreen #preview { border-top: solid $border; }
    BrowserScreen #body.wide #preview { border-top: none; border-left: solid $border; }
    """

    def __init__(self, state: BrowserState[LibrarySource]) -> None:
        super().__init__(state)
        self._removed: list[list[tuple[SessionRow, RemovedSession]]] = []
        self._stale = False
        self._away = False

    def body(self) -> ComposeResult:
        yield LineBar(id="search")
        yield LineBar(id="filters")
        yield LineBar(id="columns")
        with Container(id="body"):
            yield RowList(id="rows", empty=" reading …")
            yield TextPanel(id="preview")

    def on_mount(self) -> None:
        self.list.focus()
        self._fit()
        self._load()
        self.show_everything()
        if self.state.loaded.done:
            self.ask_inside()
            self.count_costs()
        self.set_interval(_LOOK, self._look)

    def _look(self) -> None:
        """Check the session under the cursor for changes, so that the preview is up to date."""
        row = self.row
        if self.is_current and row is not None and row.problem is None and self.source.is_changed(row):
            self._look_again([row])

    # -- the pane beside ------------------------------------------------------------------------------

    def _fit(self) -> None:
        """Place the preview beside or below the list, or hide it."""
        air = air_of(self.size.height)
        for name, lines in (("#search", air.search), ("#filters", air.filters), ("#columns", air.columns)):
            self.query_one(name).styles.margin = (lines, 0, 0, 0)
        self.fit_pane(self.query_one("#preview"), self.pane_layout())
        if self.state.height != self.size.height:
            self.call_after_refresh(self.show_everything)
        else:
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
        self.ask_inside()
        self.count_costs()

    def action_sort(self) -> None:
        self.state.next_sort()
        self.show_everything()
        self.tell(f"sorted: {self.state.sort}")

    def action_group(self) -> None:
        self.state.grouped = not self.state.grouped
        self.show_everything()

    def action_titled(self) -> None:
        self.state.shape = None if self.state.shape == "titled" else "titled"
        self.show_everything()

    def action_two_lines(self) -> None:
        self.state.two_lines = not self.state.two_lines
        self.show_everything()

    def action_paths(self) -> None:
        self.state.paths = not self.state.paths
        self.show_everything()

    def action_expand(self) -> None:
        if self.row is not None:
            self.state.toggle_expanded(self.row)
            self._show_lines(self.state.line_of(self.item or 0))

    def action_filter(self, words: str = "") -> None:
        titles = {"agent": "Agent", "scope": "Directory", "period": "Time", "shape": "Shape", "hide": "Hide"}
        options = [
            MenuItem(f"{kind}={value}", f"{titles[kind]}: {value}", about)
            for kind, value, about in self.state.filter_choices()
        ]

        def picked(name: str) -> None:
            kind, _, value = name.partition("=")
            if kind == "scope":
                self.action_scope()
            else:
                self.state.choose(kind, value)
                self.show_everything()

        self.ask(SelectDialog("Show only", options, words=words), picked)

    def choose_pill(self, pill: Pill) -> None:
        match pill.choice:
            case "scope":
                self.action_scope()
            case "agent" if pill.value != "?":
                self.state.agent = pill.value or None
                self.show_everything()
            case "agent":
                self.action_filter("Agent: ")
            case "period":
                self.action_filter("Time: ")
            case "shape":
                self.action_filter("Shape: ")
            case "screen" if pill.value == "statistics":
                self.action_statistics()

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
        if self.stop_typing():
            return
        if self.state.clear_choices():
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
            self.list.refresh()
            self._show_bars()

    def action_pin(self) -> None:
        if rows := self._chosen():
            try:
                pinned = self.state.pins.toggle(map(row_name, rows))
            except (BranchlineError, OSError) as problem:
                self.tell(f"not pinned: {problem}", wrong=True)
                return
            self.show_everything()
            self.tell(f"{count(len(rows), 'session')} {'pinned' if pinned else 'unpinned'}")

    def action_rename(self) -> None:
        row = self.row
        if row is None or row.problem is not None:
            return

        def named(title: str) -> None:
            try:
                self.source.rename(row, title)
            except (BranchlineError, OSError) as problem:
                self.tell(f"not renamed: {problem}", wrong=True)
                return
            self._look_again([row])

        self.ask(InputDialog("Title of this session", row.title or "", hint="empty removes it"), named)

    def action_remove(self) -> None:
        rows = self._chosen()
        if not rows:
            return
        others = Counter(self.source.agent(row) for row in rows)
        others.pop(NATIVE_AGENT, None)
        question = f"Move {count(len(rows), 'session')} to the trash?"
        if others:
            owners = ", ".join(f"{number} of {agent}" for agent, number in others.items())
            verb = "That program" if len(others) == 1 else "Those programs"
            question += (
                f" {owners}. {verb} will no longer list {'it' if sum(others.values()) == 1 else 'them'}."
            )
        self.confirm(f"{question} Ctrl+Z undoes it.", "move to the trash", partial(self._remove, rows))

    def _remove(self, rows: list[SessionRow]) -> None:
        removed: list[tuple[SessionRow, RemovedSession]] = []
        problems = []
        for row in rows:
            try:
                removed += [(row, moved) for moved in remove([row_name(row)])]
            except (BranchlineError, OSError) as problem:
                problems.append(str(problem))
        if removed:
            self._removed.append(removed)
            self.state.drop(row for row, _moved in removed)
            self.show_everything()
        if problems:
            self.tell(f"not removed: {problems[0]}", wrong=True)
        elif removed:
            are = "is" if len(removed) == 1 else "are"
            self.tell(f"{count(len(removed), 'session')} {are} in the trash.  Ctrl+Z undo")

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
        """Read sessions again in a worker and show them."""
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
                    self.tell(f"{row.title or row.id} was replaced by another session", wrong=True)
                elif now.size < row.size:
                    self.tell(f"{row.title or row.id} was truncated", wrong=True)
            elif row_name(row) in self.state.loaded.rows:  # else it was removed here while it was read
                self.state.drop([row])
                self.tell(f"{row.title or row.id} no longer exists", wrong=True)
        self.show_everything()

    def reload_when_shown(self) -> None:
        """Reload the list now, or when it is shown next: there are new sessions."""
        if self.is_current:
            self.action_reload()
        else:
            self._stale = True

    def on_screen_suspend(self) -> None:
        self._away = True

    def on_screen_resume(self) -> None:
        """Check the session again after another screen: it may have changed or been deleted."""
        if not self._away:  # shown for the first time
            return
        self._away = False
        if self._stale:
            self._stale = False
            self.action_reload()
        elif self.row is not None and self.row.problem is None:
            self._look_again([self.row])

    # -- going elsewhere ------------------------------------------------------------------------------

    def action_choose(self) -> None:
        self.action_open()

    def hint_words(self) -> dict[str, str]:
        """Return the texts of keys for the session under the cursor."""
        row = self.row
        if row is None:
            words = {"open": "", "transcript": "", "tree": "", "actions": "", "rename": ""}
            return words | {"back": "clear"} if self.words else words
        words = {"open": self.branchline.picking or best_words(self._facts(row))}
        if words["open"] == "read":
            words["transcript"] = ""
        if self.state.places:
            words |= {"hit(1)": "next hit", "transcript": "", "rename": "", "back": "clear"}
        if self.words:
            words["back"] = "clear"
        if self.state.grouped:
            words["group"] = "ungroup"
        return words

    def _plan(self, row: SessionRow, *, here: bool = False, tell: bool = False) -> ResumePlan | None:
        """Return how to continue a session, or None; ``tell`` reports the reason."""
        if row.problem is not None:
            return None
        try:
            return plan_resume(
                self.source.agent(row),
                path=None if row.path is None else absolute_path(row.path),
                id=row.id,
                cwd=row.cwd,
                here=here,
            )
        except (BranchlineError, ValueError) as problem:  # an id or a path that cannot be part of a command
            if tell:
                self.branchline.tell(str(problem))
            return None

    def _facts(self, row: SessionRow) -> ActionFacts:
        plan = self._plan(row)
        return ActionFacts(
            agent=self.source.agent(row),
            program=None if plan is None or plan.not_installed is not None else plan.program,
            writable=_is_writable(row.format),
            demo=self.state.demo,
            has_hit=self.hit is not None,
            unreadable=row.problem is not None,
            titled=bool(row.title),
            pinned=row_name(row) in self.state.pins,
            marked=len(self.state.marked),
        )

    def action_open(self) -> None:
        """Run the best action for the session under the cursor."""
        row, hit = self.row, self.hit
        if row is None:
            return
        if self.branchline.picking and row.problem is None:
            self.branchline.picked = row
            self.app.exit()
            return
        match best_action(self._facts(row)):
            case "hit" if hit is not None:
                self.branchline.open_transcript(row, at=hit.entry, words=" ".join(self.state.query.words))
            case "continue":
                self.action_go_on()
            case "ask":
                self._go_on_here(row)
            case "nothing":
                self.action_reasons()
            case _:
                self.branchline.open_transcript(row)

    def action_actions(self) -> None:
        row = self.row
        if row is None:
            return
        facts = self._facts(row)._replace(others=bool(self._other_agents(row)))

        def picked(name: str) -> None:
            if name == "fork":
                self._go_on_here(row, asked=True)
            else:
                self.call_later(self.run_action, name)

        title = row.title or row.first_prompt or row.id
        self.ask(
            SelectDialog(one_line(title)[:60], session_options(facts), note=missing_words(facts)), picked
        )

    def action_copy(self) -> None:
        if self.row is not None and (going := self._plan(self.row, tell=True)) is not None:
            self.copy(going.safe_command, "command")

    def _go_on_here(self, row: SessionRow, *, asked: bool = False) -> None:
        """Continue a fork in branchline chat after a question."""
        going = self._plan(row, here=asked, tell=True)
        if going is None:
            return
        if asked and going.unusable is None:
            self.branchline.go_on(going, cwd=going.cwd)
        else:
            self._confirm(going)

    def action_go_on(self) -> None:
        row = self.row
        if row is None or (going := self._plan(row, tell=True)) is None:
            return
        if going.unusable is None and going.not_installed is None:
            self.branchline.go_on(going, cwd=going.cwd)
        else:
            self._confirm(going)

    def _confirm(self, going: ResumePlan) -> None:
        cwd = going.cwd if going.unusable is None else self.source.cwd
        words = [] if going.not_installed is None else [f"{going.note}."]
        if going.unusable is not None:
            words.append(f"{going.unusable[0].upper()}{going.unusable[1:]}")
        words.append("Continue there?" if going.unusable is None else f"Continue in {cwd} instead?")
        self.confirm("\n\n".join(words), "continue", partial(self.branchline.go_on, going, cwd=cwd))

    def action_hand_over(self) -> None:
        row = self.row
        if row is None or row.problem is not None:
            return
        options = self._other_agents(row)
        if not options:
            self.tell("no other agent that sessions can be written for is installed")
            return

        def picked(agent: str) -> None:
            usable = is_usable_directory(row.cwd or "")
            cwd = row.cwd if usable else self.source.cwd
            go_on = partial(self.branchline.with_session, row, partial(self._hand_over, row, agent, cwd))
            if usable:
                go_on()
                return
            words = f"The directory of this session cannot be used.\n\nContinue in {cwd} instead?"
            self.confirm(words, "continue there", go_on)

        self.ask(SelectDialog("Continue in", options), picked)

    def _other_agents(self, row: SessionRow) -> list[MenuItem]:
        """The installed agents that can continue a session."""
        return [
            MenuItem(one.agent, one.agent, f"a converted copy, in {one.program}")
            for one in destinations(self.source.agent(row))
            if one.installed
        ]

    def _hand_over(
        self, row: SessionRow, agent: str, cwd: str | None, session: Session, *, lossy: bool = False
    ) -> None:
        with self.branchline.telling(), session:
            try:
                done = hand_over(session, agent, cwd=cwd, lossy=lossy)
            except DropsMessages as problem:
                go_on = partial(self._hand_over, row, agent, cwd, lossy=True)
                words = f"{problem.loss}.\n\nContinue without them?"
                self.confirm(words, "continue", partial(self.branchline.with_session, row, go_on))
                return
            self.branchline.go_on(done.plan, cwd=done.plan.cwd)

    def action_tree(self) -> None:
        if self.row is not None:
            hit = self.hit
            self.branchline.open_tree(self.row, at=None if hit is None else hit.entry)

    def action_transcript(self) -> None:
        if self.row is not None:
            self.branchline.open_transcript(self.row)

    def action_files(self) -> None:
        if self.row is not None:
            self.branchline.with_session(self.row, self.branchline.show_files)

    def action_export(self) -> None:
        row = self.row
        if row is None or row.problem is not None:
            return

        def named(path: str) -> None:
            if path:
                self.read_in_thread(
                    partial(self._export, row, os.path.join(self.source.cwd, path)),
                    lambda written: self.tell(f"written: {written}"),
                    "export",
                    failed="not exported",
                )

        self.ask(InputDialog("Export to which file?", f"{row.id[:8]}.md", hint=".md, .html or .jsonl"), named)

    def _export(self, row: SessionRow, path: str) -> str:
        from branchline.actions.export import export  # noqa: PLC0415

        with self.source.open(row) as session:
            return export(session, path).summary

    def action_statistics(self) -> None:
        self.branchline.open_statistics(self.state.scope)

    def action_forest(self) -> None:
        self.branchline.open_forest(self.row, self.state.scope)

    def action_compare(self) -> None:
        chosen = self._chosen()
        if len(chosen) == 1 and self.row is not None and row_name(chosen[0]) != row_name(self.row):
            chosen.append(self.row)
        if len(chosen) != _TWO:
            self.tell("mark two sessions with Insert, or mark one and move to the other")
            return
        self.branchline.compare_sessions(*chosen)

    def go_to(self, row: SessionRow) -> None:
        """Put the cursor on a session; filters that hide it are cleared."""
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


@cache
def _is_writable(format_: str | None) -> bool:
    """Whether branchline can write sessions of a format."""
    try:
        return format_ is not None and format_named(format_).writer is not None
    except (BranchlineError, LookupError, ValueError):
        return False
