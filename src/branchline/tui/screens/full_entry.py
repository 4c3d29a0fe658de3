"""One whole entry, page by page."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from branchline.session import Session
from branchline.tui.screens.help import TextScreen
from branchline.tui.widgets.line_bar import LineBar
from branchline.tui.widgets.text_panel import TextPanel
from branchline.views.browser.entry_detail import DetailSection, detail_passages, pages_of
from branchline.views.spans import Line, Span, make_line

__all__ = ["FullEntryScreen"]


class FullEntryScreen(TextScreen):
    """One entry of any length; only the current page is laid out."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("home,g", "page_to(0)", "to the beginning"),
        ("end,G", "page_to(-1)", "to the end"),
    ]

    def __init__(self, session: Session, position: int, home: str) -> None:
        super().__init__("The whole entry")
        self._pages: list[list[DetailSection]] = pages_of(detail_passages(session, position, home=home))
        self._page = 0

    def lines(self, columns: int) -> list[Line]:
        return [line for passage in self._pages[self._page] for line in passage.lines(columns)]

    def on_mount(self) -> None:
        super().on_mount()
        self._say_page()

    def _turn_to(self, page: int, *, at_end: bool = False) -> None:
        self._page = page
        self.show_lines(at_end=at_end)
        self._say_page()

    def _say_page(self) -> None:
        many = f"   page {self._page + 1:,} of {len(self._pages):,}" if len(self._pages) > 1 else ""
        self.query(LineBar).first(LineBar).say_lines(
            [make_line(Span(self.title_words, "heading"), Span(many, "dim"))]
        )

    def action_page_to(self, page: int) -> None:
        self._turn_to(page % len(self._pages), at_end=page < 0)

    def scroll_lines(self, by: int) -> None:
        """Scroll; the next page follows the end of a page."""
        panel = self.query_one(TextPanel)
        if by > 0 and panel.scroll_offset.y >= panel.max_scroll_y and self._page + 1 < len(self._pages):
            self._turn_to(self._page + 1)
        elif by < 0 and panel.scroll_offset.y <= 0 and self._page > 0:
            self._turn_to(self._page - 1, at_end=True)
        else:
            super().scroll_lines(by)
