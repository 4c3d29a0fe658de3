"""Two branches or two sessions side by side, from their common ancestor on."""

from __future__ import annotations

import os
from typing import ClassVar

from textual.binding import BindingType

from branchline.session import Session
from branchline.settings import price_list
from branchline.tree import ROOT
from branchline.tui.screens.base import PanelScreen, bindings
from branchline.tui.session_watcher import SessionWatcher
from branchline.views.compare import CompareView, compare_view
from branchline.views.compare_lines import shared_words, side_by_side, totals_table, unified
from branchline.views.entry_rows import RowTexts
from branchline.views.humanize import count
from branchline.views.operation_lines import START
from branchline.views.spans import Line, Span, make_line
from branchline.views.text import cut, one_line
from branchline.views.wrap import wrap_line

__all__ = ["CompareScreen"]

_NAME = 30
_LOOK = 1.0
_TWO_COLUMNS = 72
"""Columns from which two sides can be read beside each other."""


class CompareScreen(PanelScreen):
    """What two paths share, their differences turn by turn, and their totals."""

    table = "compare"
    air_below = "#top"
    BINDINGS: ClassVar[list[BindingType]] = bindings("compare")
    DEFAULT_CSS = """
    CompareScreen TextPanel { height: 1fr; padding: 0 1; }
    """

    def __init__(
        self,
        left: Session,
        right: Session,
        *,
        left_leaf: str | None = None,
        right_leaf: str | None = None,
    ) -> None:
        super().__init__()
        self.sides = [(left, left_leaf or left.leaf), (right, right_leaf or right.leaf)]
        self._living = [SessionWatcher(session) for session in dict.fromkeys((left, right))]
        self.view: CompareView | None = None
        self._home = os.path.expanduser("~")
        self._turns: list[int] = []

    def on_mount(self) -> None:
        self.panel.focus()
        self.show_hints()
        self._compare()
        self.set_interval(_LOOK, self._look)

    def _look(self) -> None:
        """Report changes of the files, and compare again if a session was reloaded."""
        for living in self._living:
            before, news = living.session, living.poll()
            if news.words is not None:
                self.tell(news.words, wrong=True)
            if news.session is not None:
                self.sides = [
                    (session, leaf)
                    if session is not before
                    else (news.session, leaf if leaf in news.session.index else news.session.leaf)
                    for session, leaf in self.sides
                ]
                self._compare()

    def on_unmount(self) -> None:
        for session, _leaf in self.sides:
            session.close()

    def _compare(self) -> None:
        (left, left_leaf), (right, right_leaf) = self.sides
        self.say_own(Span(" comparing …", "dim"))
        self.read_in_thread(
            lambda: compare_view(
                left.transcript,
                _position(left, left_leaf),
                right.transcript,
                _position(right, right_leaf),
                prices=price_list(),
            ),
            self._show,
            "compare",
            failed="these cannot be compared",
        )

    def _show(self, view: CompareView) -> None:
        self.view = view
        (left, _), (right, _) = self.sides
        if left is right:
            self.show_session_place(left, "Compare two branches")
        else:
            self.show_place("Compare two sessions")
        self.say_own(
            Span(
                f" {shared_words(view)} · then {count(len(view.left.turns), 'turn')}"
                f" and {count(len(view.right.turns), 'turn')}",
                "dim",
            )
        )
        self.panel.show(self.lines)

    def _names(self) -> tuple[str, str]:
        (left, left_leaf), (right, right_leaf) = self.sides
        if left is not right:
            return left.title or left.id, right.title or right.id
        return _end_name(left, left_leaf), _end_name(right, right_leaf)

    def lines(self, columns: int) -> list[Line]:
        view = self.view
        if view is None:
            return []
        if not view.pairs:
            return [make_line(Span("Nothing to compare: both are the same path.", "dim"))]
        lines = [*totals_table(view, self._names(), home=self._home), ()]
        body = (
            side_by_side(view, columns, home=self._home)
            if columns >= _TWO_COLUMNS
            else (
                part for line in unified(view, home=self._home) for part in wrap_line(line, columns, indent=4)
            )
        )
        lines += body
        self._turns = [
            place
            for place, line in enumerate(lines)
            if line and line[0].role == "heading" and line[0].text.startswith("Turn ")
        ]
        return lines

    # -- keys -----------------------------------------------------------------------------------------

    def action_top(self) -> None:
        self.panel.scroll_to(y=0, animate=False)

    def action_end(self) -> None:
        self.panel.scroll_end(animate=False)

    def action_turn(self, by: int) -> None:
        top = int(self.panel.scroll_offset.y)
        places = [place for place in self._turns if (place > top if by > 0 else place < top)]
        if places:
            self.panel.scroll_to(y=places[0] if by > 0 else places[-1], animate=False)

    def action_swap(self) -> None:
        self.sides.reverse()
        self._compare()

    def action_back(self) -> None:
        self.app.pop_screen()


def _position(session: Session, leaf: str | None) -> int:
    return ROOT if leaf is None else session.index.position(leaf)


def _end_name(session: Session, leaf: str | None) -> str:
    """Return the name of a branch end: its label, else its text."""
    if leaf is None:
        return START
    label = session.label(leaf)
    return label or cut(one_line(RowTexts(session.transcript)(session.index.position(leaf))), _NAME)
