"""The app: opens screens on sessions, and reports errors."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import events
from textual.app import App, SuspendNotSupported
from textual.binding import Binding, BindingType

from branchline.actions.resume import ResumePlan, continue_session
from branchline.actions.summary_model import SummaryModel
from branchline.errors import BranchlineError
from branchline.flows.hooks import NO_HOOKS, Hooks
from branchline.library import SessionRow
from branchline.library.browser_source import LibrarySource
from branchline.session import Session
from branchline.tree import Filter
from branchline.tui.images import PictureFiles
from branchline.tui.screens.base import KeyedScreen
from branchline.tui.screens.browser import BrowserScreen
from branchline.tui.screens.too_small import TooSmallScreen
from branchline.tui.styles import DARK, theme_name
from branchline.tui.themes import THEMES
from branchline.views.browser.layout import SMALLEST
from branchline.views.browser.source import Scope
from branchline.views.browser.state import BrowserState

if TYPE_CHECKING:
    from textual.actions import ActionParseResult
    from textual.dom import DOMNode

    from branchline.tui.launch import View

__all__ = ["BranchlineApp"]


class BranchlineApp(App[int]):
    """The full-screen app."""

    TITLE = "branchline"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q,ctrl+c", "quit", "quit", priority=True, show=False),
        Binding("f12", "theme", "light or dark", priority=True, show=False),
    ]
    CSS = """
    ModalScreen { background: $background 70%; }
    ModalScreen RowList, ModalScreen TextPanel { background: $panel; }
    """

    def __init__(
        self,
        state: BrowserState[LibrarySource],
        *,
        view: View = "sessions",
        row: SessionRow | None = None,
        filter: Filter = "default",  # noqa: A002
        theme: Literal["dark", "light"] = "dark",
        palette: bool = False,
        hooks: Callable[[], Hooks] = lambda: NO_HOOKS,
        summary_model: SummaryModel | None = None,
        notice: str = "",
        give_back: Callable[[], None] = lambda: None,
        picking: str = "",
    ) -> None:
        super().__init__()
        self.source = state.source
        self.pins = state.pins
        self.summary_model = summary_model
        self.now = state.now
        self.letters = state.letters
        """Whether single letters act."""
        self.demo = state.demo
        self.picking = picking
        """The purpose of picking a session, if Enter only picks."""
        self.picked: SessionRow | None = None
        self.filter: Filter = filter
        self._load_hooks = hooks
        self._give_back = give_back
        self._view = view
        self._notice = notice
        self.browser = BrowserScreen(state)
        self._row = row
        for made in THEMES:
            self.register_theme(made)
        self._palette = palette
        self.theme = theme_name(theme, palette=palette)

    @cached_property
    def hooks(self) -> Hooks:
        """The user's plugins, loaded on first use."""
        return self._load_hooks()

    @cached_property
    def pictures(self) -> PictureFiles:
        """The opened images as files, which are removed when the app exits, even by a signal."""
        with suppress(RuntimeError, ValueError, NotImplementedError):  # not in the main thread
            for number in (signal.SIGHUP, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, self.exit, None, 128 + number)
        return PictureFiles()

    def on_unmount(self) -> None:
        if "pictures" in self.__dict__:
            self.pictures.close()

    def get_default_screen(self) -> BrowserScreen:
        """Return the browser, so that no other screen is drawn before it or takes its keys."""
        return self.browser

    def on_mount(self) -> None:
        if self._row is not None and self._view == "tree":
            self.open_tree(self._row)
        elif self._row is not None and self._view == "transcript":
            self.open_transcript(self._row)
        elif self._view == "forest":
            self.open_forest(self._row, self.browser.state.scope)
        if self._notice:
            self.browser.tell(self._notice)
        if self.pins.problem is not None:
            self.tell(self.pins.problem)

    def tell(self, words: str) -> None:
        """Report an error on the screen below all dialogs."""
        for screen in reversed(self.screen_stack):
            if isinstance(screen, KeyedScreen):
                screen.tell(words, wrong=True)
                return

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Report errors of a ``with`` block; none of them ends the app."""
        try:
            yield
        except (BranchlineError, OSError, ValueError) as problem:
            self.tell(str(problem) or type(problem).__name__)

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Run the action of a key. Its file may have been deleted, truncated or replaced meanwhile."""
        if isinstance(self.screen, KeyedScreen):
            self.screen.forget_message()
        with self.telling():
            return await super().run_action(action, default_namespace, namespaces)
        return True

    def action_theme(self) -> None:
        dark = self.theme.startswith(DARK)
        self.theme = theme_name("light" if dark else "dark", palette=self._palette)

    def on_resize(self, event: events.Resize) -> None:
        """Show a message while the terminal is too small."""
        small = event.size.width < SMALLEST[0] or event.size.height < SMALLEST[1]
        if small and not isinstance(self.screen, TooSmallScreen):
            self.push_screen(TooSmallScreen(*SMALLEST))
        elif not small and isinstance(self.screen, TooSmallScreen):
            self.pop_screen()

    # -- opening sessions -----------------------------------------------------------------------------

    def with_session(self, row: SessionRow, use: Callable[[Session], None]) -> None:
        """Open a session in a worker, then use it; errors are reported."""
        self._opening(partial(self.source.open, row), use)

    def reopen(self, session: Session, use: Callable[[Session], None]) -> None:
        """Open the file of a session again, so that two screens never share a session."""
        path = session.file
        if path is None:
            self.tell("this session has no file")
        else:
            self._opening(partial(Session.open, path), use)

    def _opening(self, open_it: Callable[[], Session], use: Callable[[Session], None]) -> None:
        def work() -> None:
            try:
                session = open_it()
            except Exception as problem:  # noqa: BLE001  formats come from many hands; none may end the app
                self.call_from_thread(self.tell, f"cannot open it: {str(problem) or type(problem).__name__}")
            else:
                self.call_from_thread(use, session)

        self.run_worker(work, thread=True, exclusive=True, group="opening", description="opening")

    def open_tree(self, row: SessionRow, at: str | None = None) -> None:
        self.with_session(row, lambda session: self.show_tree(session, at))

    def show_tree(self, session: Session, at: str | None = None) -> None:
        from branchline.tui.screens.tree import TreeScreen  # noqa: PLC0415

        self.push_screen(TreeScreen(session, at=at, filter=self.filter))

    def open_transcript(self, row: SessionRow, *, at: str | None = None, words: str = "") -> None:
        """Open the conversation of a session; at an entry, on its branch, with words highlighted."""
        self.with_session(row, lambda session: self.show_transcript(session, place=at, words=words))

    def show_transcript(
        self, session: Session, at: str | None = None, *, place: str | None = None, words: str = ""
    ) -> None:
        """Show the path to ``at``, or the branch of ``place`` at that entry."""
        from branchline.tui.screens.transcript import TranscriptScreen  # noqa: PLC0415

        self.push_screen(TranscriptScreen(session, at=at, place=place, words=words))

    def show_files(self, session: Session, at: str | None = None) -> None:
        from branchline.tui.screens.files import FilesScreen  # noqa: PLC0415

        def chosen(place: str | None) -> None:
            if place is not None:
                self.reopen(session, lambda other: self.show_transcript(other, place=place))

        self.push_screen(FilesScreen(session, at=at), chosen)

    def open_statistics(self, scope: Scope) -> None:
        from branchline.tui.screens.statistics import StatisticsScreen  # noqa: PLC0415

        def chosen(words: str | None) -> None:
            if words:
                self.browser.set_words(words)

        self.push_screen(StatisticsScreen(self.source, scope), chosen)

    def open_forest(self, row: SessionRow | None, scope: Scope) -> None:
        from branchline.tui.screens.forest import ForestScreen  # noqa: PLC0415

        def chosen(picked: SessionRow | None) -> None:
            if picked is not None:
                self.browser.go_to(picked)

        self.push_screen(ForestScreen(self.source, scope, current=row), chosen)

    def compare_sessions(self, one: SessionRow, other: SessionRow) -> None:
        self.with_session(
            one, lambda left: self.with_session(other, lambda right: self.show_comparison(left, right))
        )

    def show_comparison(
        self, left: Session, right: Session, left_leaf: str | None = None, right_leaf: str | None = None
    ) -> None:
        from branchline.tui.screens.compare import CompareScreen  # noqa: PLC0415

        self.push_screen(CompareScreen(left, right, left_leaf=left_leaf, right_leaf=right_leaf))

    # -- going on elsewhere ---------------------------------------------------------------------------

    def go_on(self, going: ResumePlan, *, cwd: str | None) -> None:
        """Run the command that continues a session, then return to the browser, and list what is new."""
        try:
            with self.suspend():
                self._give_back()
                code = continue_session(going, cwd)
        except SuspendNotSupported:
            self.tell(f"this terminal cannot run another program; the command is: {going.safe_command}")
            return
        finally:
            self.browser.reload_when_shown()
        if code is None:
            self.tell(f"{going.program} could not be started: {going.safe_command}")
        elif code:
            self.tell(f"{going.program} ended with code {code}")
        self.refresh(layout=True)
