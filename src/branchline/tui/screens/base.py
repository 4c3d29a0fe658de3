"""What all screens share: keys from the table, hints and help, a search that is typed, notices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from textual import events
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from branchline.tui.hint_line import hints
from branchline.tui.keymap import SCREENS
from branchline.tui.widgets.line_bar import BarItem, LineBar
from branchline.tui.widgets.row_list import RowList
from branchline.views.browser.layout import PaneLayout
from branchline.views.browser.search_line import PRESS_TO_SEARCH, search_line
from branchline.views.spans import Line
from branchline.views.text import one_line, safe

if TYPE_CHECKING:
    from branchline.tui.app import BranchlineApp

__all__ = ["KeyedScreen", "ListScreen", "bindings"]

_Answer = TypeVar("_Answer")
_DEBOUNCE = 0.03
"""Seconds after a key before a search begins: more keys may follow."""
_LONGEST_NOTICE = 500


def bindings(screen: str) -> list[BindingType]:
    """The bindings of a screen, from its table."""
    return [Binding(key.keys, key.action, key.words, show=False) for key in SCREENS[screen]]


class KeyedScreen(Screen[Any]):
    """A screen whose keys are in the table."""

    table: ClassVar[str]

    @property
    def branchline(self) -> BranchlineApp:
        return cast("BranchlineApp", self.app)

    def tell(self, words: str, *, wrong: bool = False) -> None:
        """Say something for a moment. Words of sessions may be in it."""
        self.app.notify(
            safe(words)[:_LONGEST_NOTICE],
            severity="error" if wrong else "information",
            markup=False,
            timeout=8 if wrong else 4,
        )

    def ask(self, question: Screen[_Answer], then: Callable[[_Answer | None], None]) -> None:
        """Show a question, and do something with its answer; what goes wrong then is told."""

        def answered(answer: _Answer | None) -> None:
            with self.branchline.telling():
                then(answer)

        self.app.push_screen(question, answered)

    def in_thread(self, work: Callable[[], None], group: str, *, exclusive: bool = False) -> None:
        """Do something in a worker thread.

        It has a description, because without one Textual writes out everything that the work was given: two
        thousand rows at each key.
        """
        self.run_worker(work, thread=True, group=group, exclusive=exclusive, description=group)

    def hints(self) -> list[BarItem]:
        """The keys that matter most; a click does what the key does."""
        return [
            BarItem(hint.line, None if hint.action is None else partial(self._press, hint.action))
            for hint in hints(self.table, self.size.width)
        ]

    def _press(self, action: str) -> None:
        self.call_later(self.run_action, action)

    def show_hints(self) -> None:
        self.query_one("#hints", LineBar).say_parts(self.hints())

    def on_resize(self) -> None:
        if self.query("#hints"):
            self.show_hints()

    def action_help(self) -> None:
        from branchline.tui.screens.help import HelpScreen  # noqa: PLC0415

        self.app.push_screen(HelpScreen(self.table))

    def action_leave(self) -> None:
        self.app.exit()

    def copy(self, text: str, what: str) -> None:
        """Put text on the clipboard (the terminal does it, if it can) and show what was copied."""
        self.app.copy_to_clipboard(text.encode("utf-8", "replace").decode())
        self.tell(f"{what} copied: {one_line(text)[:120]}")


class ListScreen(KeyedScreen):
    """A list that can be searched by typing: after ``/``, or (``always_typing``) at any time."""

    always_typing: ClassVar[bool] = False
    letters_that_act: ClassVar[frozenset[str]] = frozenset()

    def __init__(self) -> None:
        super().__init__()
        self.words = ""
        self.typing = False
        self._waiting: Timer | None = None

    # -- for the screens that are one -----------------------------------------------------------------

    def search_changed(self) -> None:
        """Show what the words in the search line find."""
        raise NotImplementedError

    def search_line(self) -> Line:
        """The search line, when it says anything else than the words."""
        return search_line(self.words, self.search_hint(), typing=self.typing, caret=self.always_typing)

    def search_hint(self) -> str:
        return " type to search" if self.always_typing else PRESS_TO_SEARCH

    def fit_pane(self, pane: Widget, layout: PaneLayout) -> None:
        """Put the pane beside the list, below it, or nowhere, as the layout says."""
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
        self.words = words
        self.show_search()
        if self._waiting is not None:
            self._waiting.stop()
        self._waiting = self.set_timer(_DEBOUNCE, self.search_changed)

    def on_key(self, event: events.Key) -> None:
        if not (self.typing or self.always_typing):
            if event.key == "slash" and any(key.action == "search" for key in SCREENS[self.table]):
                # Here and not by its binding: letters that follow at once must find the search begun.
                self.action_search()
                event.stop()
                event.prevent_default()
            return
        character = event.character
        if event.key == "backspace":
            if self.words:
                self.set_words(self.words[:-1])
        elif event.key == "ctrl+w":
            self.set_words(self.words.rstrip().rpartition(" ")[0])
        elif event.key == "enter" and self.typing:
            self.typing = False
            self.show_search()
        elif event.key == "escape" and self.typing:
            self.typing = False
            self.set_words("")
        elif event.is_printable and character is not None:
            if not self.typing and (
                character in self.letters_that_act or (character == "?" and not self.words)
            ):
                return
            if character != "/" or self.words or self.typing:
                self.set_words(self.words + character)
        else:
            return
        event.stop()
        event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        if self.typing or self.always_typing:
            self.set_words(self.words + one_line(event.text))
            event.stop()

    def action_search(self) -> None:
        self.typing = True
        self.show_search()

    # -- moving ---------------------------------------------------------------------------------------

    def action_step(self, by: int) -> None:
        self.list.step(by)

    def action_page(self, by: int) -> None:
        self.list.page(by)

    def action_first(self) -> None:
        self.list.move_to(0)

    def action_last(self) -> None:
        self.list.move_to(1 << 62)
