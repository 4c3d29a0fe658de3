"""The turn picker: prompts of the path, to go back to or to fork before."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from branchline.session import Session
from branchline.tui.screens.base import ListScreen, bindings
from branchline.tui.widgets.line_bar import LineBar
from branchline.tui.widgets.row_list import RowList
from branchline.tui.widgets.text_panel import TextPanel
from branchline.views.humanize import count
from branchline.views.spans import Span
from branchline.views.turns import TurnList, turns_of
from branchline.views.wrap import text_lines

__all__ = ["TurnPickerScreen"]


class TurnPickerScreen(ListScreen):
    """Returns ``("jump", id)``, ``("fork", id)`` or None."""

    table = "turns"
    air_below = "#search"
    always_typing = True
    BINDINGS: ClassVar[list[BindingType]] = bindings("turns")
    DEFAULT_CSS = """
    TurnPickerScreen #detail { height: 6; border-top: solid $border; padding: 0 1; }
    """

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._turns = turns_of(session)
        self.shown = TurnList(self._turns)

    def body(self) -> ComposeResult:
        yield LineBar(id="search")
        yield RowList(empty="  no matches")
        yield TextPanel(id="detail")

    def on_mount(self) -> None:
        self.show_session_place(self._session, "Turns")
        self.list.focus()
        self.show_hints()
        self._show(len(self._turns) - 1)

    def _show(self, cursor: int) -> None:
        self.list.show(self.shown, cursor)
        self.say_own(Span(f"  {len(self.shown):,} of {count(len(self._turns), 'turn')}", "dim"))
        self.show_search()

    def search_changed(self) -> None:
        self.shown = TurnList(self._turns, self.words)
        self._show(len(self.shown) - 1)

    def _key(self) -> str | None:
        cursor = self.list.cursor
        return self.shown.turns[cursor].key if 0 <= cursor < len(self.shown) else None

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        text = self.shown.turns[event.index].text if 0 <= event.index < len(self.shown) else ""
        self.query_one("#detail", TextPanel).show(lambda columns: text_lines(text[:8000], columns))

    def action_choose(self) -> None:
        if (key := self._key()) is not None:
            self.dismiss(("jump", key))

    def action_fork(self) -> None:
        if (key := self._key()) is not None:
            self.dismiss(("fork", key))

    def action_copy(self) -> None:
        if self._key() is not None:
            self.copy(self.shown.turns[self.list.cursor].text, "prompt")
