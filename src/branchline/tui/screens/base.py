"""The base of all screens: keys from the key map, hints, help, search and messages."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget
from textual.worker import get_current_worker

from branchline.tui.screens.dialogs import ConfirmDialog
from branchline.tui.widgets.line_bar import BarItem, LineBar
from branchline.tui.widgets.row_list import RowList
from branchline.tui.widgets.text_panel import TextPanel
from branchline.views.browser.hint_line import hints
from branchline.views.browser.keymap import SCREENS
from branchline.views.browser.layout import PaneLayout, air_of
from branchline.views.browser.line_edit import LineEdit
from branchline.views.browser.search_line import PRESS_TO_SEARCH, TYPE_TO_SEARCH, search_line
from branchline.views.spans import Line, Piece, Span, line_width, make_line, shown_line, spread
from branchline.views.text import cut, one_line, safe
from branchline.views.text import width as text_width

if TYPE_CHECKING:
    from branchline.session import Session
    from branchline.tui.app import BranchlineApp

__all__ = ["KeyedScreen", "ListScreen", "PanelScreen", "bindings"]

_Answer = TypeVar("_Answer")
_Read = TypeVar("_Read")
_DEBOUNCE = 0.03
"""Seconds after a key before a search begins: more keys may follow."""
_LONGEST_NOTICE = 500
_LEAST_TITLE = 8


def bindings(screen: str) -> list[BindingType]:
    """Return the bindings of a screen from its table. Letters are bound too; a search takes them first."""
    return [
        Binding(keys, key.action, key.words, show=False)
        for key in SCREENS[screen]
        for keys in (key.keys, key.letter)
        if keys
    ]


class KeyedScreen(Screen[Any]):
    """A screen with the keys of a table."""

    table: ClassVar[str]
    air_below: ClassVar[str] = ""
    """The bar that a blank line follows on high screens."""

    def __init__(self) -> None:
        super().__init__()
        self._location: Callable[[], Line] | None = None
        self._untitled: tuple[Session, str] | None = None  # a session, and its name without a title
        self.message: Line = ()
        self.own: Line = ()

    def compose(self) -> ComposeResult:
        yield LineBar(id="top")
        yield from self.body()
        yield LineBar(id="seen")
        yield LineBar(id="hints")

    def body(self) -> ComposeResult:
        """Yield the widgets between the first line and the messages."""
        raise NotImplementedError

    @property
    def branchline(self) -> BranchlineApp:
        return cast("BranchlineApp", self.app)

    @property
    def letters(self) -> bool:
        """Whether single letters act here."""
        return self.branchline.letters

    # -- messages -------------------------------------------------------------------------------------

    def tell(self, words: str, *, wrong: bool = False) -> None:
        """Show a message above the key line until the next action. It may contain session text."""
        shown = safe(one_line(words))[:_LONGEST_NOTICE]
        self.message = make_line(Span(f" {shown}", "error" if wrong else "tool"))
        self.show_message()

    def show_message(self) -> None:
        """Show the last message, else the status of the screen."""
        if self.query("#seen"):
            self.query_one("#seen", LineBar).say_lines([self.message or self.own_message()])

    def own_message(self) -> Line:
        """Return the status line, which is shown while there is no message."""
        return self.own

    def say_own(self, *pieces: Piece) -> None:
        """Set the status line, which is shown while there is no message."""
        self.own = make_line(*pieces)
        self.show_message()

    def forget_message(self) -> None:
        """Clear the message before the next action."""
        if self.message:
            self.message = ()
            self.show_message()

    def ask(
        self,
        question: Screen[_Answer],
        then: Callable[[_Answer], None],
        cancelled: Callable[[], None] = lambda: None,
    ) -> None:
        """Show a dialog and call ``then`` with its answer, or ``cancelled``; errors are reported."""

        def answered(answer: _Answer | None) -> None:
            with self.branchline.telling():
                if answer is None:
                    cancelled()
                else:
                    then(answer)

        self.app.push_screen(question, answered)

    def confirm(self, question: str, yes: str, then: Callable[[], None]) -> None:
        """Ask a question, and call ``then`` if the answer is yes."""
        self.ask(ConfirmDialog(question, yes), lambda is_yes: then() if is_yes else None)

    def in_thread(self, work: Callable[[], None], group: str, *, exclusive: bool = False) -> None:
        """Run ``work`` in a worker thread.

        The description is set, because otherwise Textual formats all arguments: thousands of rows per key.
        """
        self.run_worker(work, thread=True, group=group, exclusive=exclusive, description=group)

    def read_in_thread(
        self, read: Callable[[], _Read], take: Callable[[_Read], None], group: str, *, failed: str
    ) -> None:
        """Call ``read`` in a worker thread, then ``take`` with its result unless a newer read began.

        ``failed`` begins the message if reading fails. Every exception is caught: formats come from many
        packages, and none of them may end the app.
        """

        def work() -> None:
            try:
                found = read()
            except Exception as problem:  # noqa: BLE001  see above
                words = f"{failed}: {str(problem) or type(problem).__name__}"
                self.app.call_from_thread(self.tell, words, wrong=True)
                return
            if not get_current_worker().is_cancelled:
                self.app.call_from_thread(take, found)

        self.in_thread(work, group, exclusive=True)

    def hint_words(self) -> Mapping[str, str]:
        """Return texts for the key line that differ from the table, by action."""
        return {}

    def hints(self) -> list[BarItem]:
        """Return the key line; a click runs the action of a key."""
        told = hints(self.table, self.size.width, letters=self.letters, words=self.hint_words())
        return [
            BarItem(hint.line, None if hint.action is None else partial(self._press, hint.action))
            for hint in told
        ]

    def _press(self, action: str) -> None:
        self.call_later(self.run_action, action)

    def show_hints(self) -> None:
        self.query_one("#hints", LineBar).say_parts(self.hints())

    def on_resize(self) -> None:
        if self.air_below:
            self.query_one(self.air_below).styles.margin = (0, 0, air_of(self.size.height).search, 0)
        if self._location is not None:
            self.query_one("#top", LineBar).say_lines([self._location()])
        if self.query("#hints"):
            self.show_hints()

    def action_help(self) -> None:
        from branchline.tui.screens.help import HelpScreen  # noqa: PLC0415

        self.app.push_screen(HelpScreen(self.table, letters=self.letters))

    def copy(self, text: str, what: str) -> None:
        """Copy text to the clipboard, if the terminal supports it, and show what was copied."""
        self.app.copy_to_clipboard(text.encode("utf-8", "replace").decode())
        self.tell(f"{what} copied: {one_line(text)[:120]}")

    def show_place(self, *crumbs: str, facts: str = "") -> None:
        """Show the first line of a screen: the location; at its end facts, and whether this is the demo."""
        self._location = partial(self._location_line, crumbs, facts)
        self.query_one("#top", LineBar).say_lines([self._location()])

    def show_session_place(self, session: Session, *screen: str, facts: str = "") -> None:
        """Show the first line of a screen about one session: project, title and screen.

        A session without a title is called by its first prompt. Where the line is too long, the title is cut.
        """
        from branchline.library.row_reader import first_prompt_line  # noqa: PLC0415
        from branchline.views.browser.list_rows import TITLE  # noqa: PLC0415

        project = os.path.basename(session.cwd or "")
        if self._untitled is None or self._untitled[0] is not session:
            self._untitled = (session, first_prompt_line(session.transcript) or session.id)
        title = session.title or self._untitled[1]
        before = (project,) if project else ()
        self._location = partial(
            self._location_line, (*before, cut(one_line(title), TITLE), *screen), facts, cutting=len(before)
        )
        self.query_one("#top", LineBar).say_lines([self._location()])

    def _location_line(self, crumbs: Sequence[str], facts: str, *, cutting: int | None = None) -> Line:
        """Return the first line for the current width; ``cutting`` is the crumb that is cut if needed."""
        width = self.size.width
        demo = Span(" demo " if self.branchline.demo else "", "prompt")
        right = make_line(Span(f"  {facts}" if facts else "", "dim"), "  " if demo.text else "", demo)
        shown = [one_line(crumb) for crumb in crumbs]
        if cutting is not None:
            others = sum(text_width(crumb) for place, crumb in enumerate(shown) if place != cutting)
            room = width - 12 - 3 * len(shown) - others - line_width(shown_line(right))
            shown[cutting] = cut(shown[cutting], max(_LEAST_TITLE, room))
        pieces = [Span(" branchline", "active")]
        for number, crumb in enumerate(shown):
            last = number == len(shown) - 1
            pieces += [Span(" / ", "dim"), Span(crumb, "title" if last else "tool")]
        return spread(make_line(*pieces), right, width)


class PanelScreen(KeyedScreen):
    """A screen with one text to read and scroll."""

    def body(self) -> ComposeResult:
        yield TextPanel()

    @property
    def panel(self) -> TextPanel:
        return self.query_one(TextPanel)

    def action_scroll(self, by: int) -> None:
        self.panel.scroll_relative(y=by, animate=False)

    def action_pages(self, by: int) -> None:
        self.action_scroll(by * max(1, self.panel.size.height - 2))


class ListScreen(KeyedScreen):
    """A screen that is searched by typing: at any time, or after ``/`` where letters act."""

    always_typing: ClassVar[bool] = False
    """Whether letters search here also where they act on other screens."""
    letters_that_act: ClassVar[frozenset[str]] = frozenset()

    def __init__(self) -> None:
        super().__init__()
        self.edit = LineEdit()
        self._begun = False
        self._waiting: Timer | None = None

    @property
    def words(self) -> str:
        """The text of the search line."""
        return self.edit.text

    @words.setter
    def words(self, words: str) -> None:
        self.edit.set(words)

    @property
    def typing(self) -> bool:
        """Whether letters go to the search line now."""
        return self._begun or self.always_typing or not self.letters

    # -- for the screens that are one -----------------------------------------------------------------

    def search_changed(self) -> None:
        """Show the matches of the search line."""
        raise NotImplementedError

    def search_line(self) -> Line:
        return search_line(self.edit, self.search_hint(), typing=self.typing)

    def search_hint(self) -> str:
        return TYPE_TO_SEARCH if self.typing else PRESS_TO_SEARCH

    def fit_pane(self, pane: Widget, layout: PaneLayout) -> None:
        """Place the pane beside or below the list, or hide it, by the layout."""
        self.query_one("#body").set_class(bool(layout.beside), "wide")
        self.list.styles.width = layout.columns
        pane.display = layout.has_pane
        pane.styles.width = layout.beside or "100%"
        pane.styles.height = layout.below or "100%"

    # -- typing ---------------------------------------------------------------------------------------

    @property
    def list(self) -> RowList:
        return self.query_one(RowList)

    def show_search(self) -> None:
        self.query_one("#search", LineBar).say_lines([self.search_line()])

    def set_words(self, words: str) -> None:
        self.edit.set(words)
        self._words_changed()

    def _words_changed(self) -> None:
        self.show_search()
        if self._waiting is not None:
            self._waiting.stop()
        self._waiting = self.set_timer(_DEBOUNCE, self._waited)

    def _waited(self) -> None:
        self._waiting = None
        self.search_changed()

    def stop_typing(self) -> bool:
        """Leave and clear the search line; return whether it was in use."""
        if not self._begun and not self.words:
            return False
        self._begun = False
        self.set_words("")
        return True

    def on_key(self, event: events.Key) -> None:
        if not self.typing:
            if event.key == "slash" and any(key.action == "search" for key in SCREENS[self.table]):
                # Here and not by its binding: letters that follow at once must find the search begun.
                self.action_search()
                event.stop()
                event.prevent_default()
            return
        if event.key == "enter" and self._begun:
            self._begun = False
            self.show_search()
        elif not self._typed(event):
            self._search_now()
            return
        event.stop()
        event.prevent_default()

    def _search_now(self) -> None:
        """Run a delayed search now, so that an action applies to its first match."""
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None
            self.search_changed()

    def _typed(self, event: events.Key) -> bool:
        """Give a key to the search line; return whether it was used."""
        key, character = event.key, event.character if event.is_printable else None
        if not self._begun:
            if character is not None and character in self.letters_that_act:
                return False
            if not self.words and key == "space":
                return True
            if not self.words and key == "question_mark" and self.always_typing:
                return False
        verdict = self.edit.press(key, None if key.startswith(("alt+", "ctrl+")) else character)
        if verdict == "changed":
            self.forget_message()
            self._words_changed()
        elif verdict == "moved":
            self.show_search()
        return verdict != "refused"

    def on_paste(self, event: events.Paste) -> None:
        if self.typing:
            self.edit.insert(event.text)
            self._words_changed()
            event.stop()

    def action_search(self) -> None:
        self._begun = True
        self.show_search()

    # -- choosing and leaving -------------------------------------------------------------------------

    def action_choose(self) -> None:
        """Choose the row under the cursor."""
        raise NotImplementedError

    def on_row_list_chosen(self) -> None:
        self.action_choose()

    def action_back(self) -> None:
        """Clear the search; without one, close the screen without a choice."""
        if not self.stop_typing():
            self.dismiss(None)

    # -- moving ---------------------------------------------------------------------------------------

    def action_step(self, by: int) -> None:
        self.list.step(by)

    def action_page(self, by: int) -> None:
        self.list.page(by)

    def action_first(self) -> None:
        self.list.move_to(0)

    def action_last(self) -> None:
        self.list.move_to(1 << 62)
