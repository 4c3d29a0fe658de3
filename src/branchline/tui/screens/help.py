"""All keys of a screen."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from branchline.tui.widgets.line_bar import LineBar, key_line
from branchline.tui.widgets.text_panel import TextPanel
from branchline.views.browser.keymap import keys_of, letter_name, shown_key
from branchline.views.spans import Line, Span, make_line
from branchline.views.wrap import wrap_line

__all__ = ["HelpScreen", "TextScreen"]

_KEYS = 22
_EDIT = (
    "Letters are searched for. Ctrl+A E B F move in what is typed, Ctrl+H D W U K delete, Ctrl+Y puts back. "
    'The setting keys = "letters" lets single letters act.'
)
_AROUND = 6
"""Rows that the frame, the title and the hints take, and one of what is below on either side."""


class TextScreen(ModalScreen[None]):
    """Text over another screen; any of the usual keys closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q,enter,f1,question_mark", "dismiss", "close"),
        ("up,k", "scroll(-1)", "up"),
        ("down,j", "scroll(1)", "down"),
        ("pageup,b", "pages(-1)", "a page up"),
        ("pagedown,space", "pages(1)", "a page down"),
    ]
    DEFAULT_CSS = """
    TextScreen { align: center middle; }
    TextScreen > Vertical { width: 90%; max-width: 100; height: auto; background: $panel; padding: 1 2; }
    TextScreen TextPanel { height: 1; background: $panel; }
    TextScreen LineBar { background: $panel; }
    """

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title_words = title

    def compose(self) -> ComposeResult:
        with Vertical():
            yield LineBar(Span(self.title_words, "heading"))
            yield TextPanel()
            yield LineBar(*key_line(("Esc", "close"), ("↑↓", "scroll")))

    def on_mount(self) -> None:
        self.query_one(TextPanel).focus()
        self.show_lines()

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)

    def show_lines(self, *, at_end: bool = False) -> None:
        self.query_one(TextPanel).show(self.lines, at_end=at_end)
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        self.query_one(TextPanel).fit(self.size.height - _AROUND)

    def lines(self, columns: int) -> list[Line]:
        raise NotImplementedError

    def scroll_lines(self, by: int) -> None:
        self.query_one(TextPanel).scroll_relative(y=by, animate=False)

    def action_scroll(self, by: int) -> None:
        self.scroll_lines(by)

    def action_pages(self, by: int) -> None:
        self.scroll_lines(by * max(1, self.query_one(TextPanel).size.height - 1))


class HelpScreen(TextScreen):
    """The key map of the screen below."""

    def __init__(self, table: str, *, letters: bool = False) -> None:
        super().__init__(f"Keys: {table}")
        self._table = table
        self._letters = letters

    def lines(self, columns: int) -> list[Line]:
        lines: list[Line] = []
        for key in keys_of(self._table):
            letter = letter_name(key.letter) if self._letters and key.letter else ""
            name = " ".join(filter(None, (shown_key(key.keys), letter)))
            if name:
                lines += wrap_line(
                    make_line(Span(f"{name:<{_KEYS}}", "title"), " ", Span(key.words)),
                    columns,
                    indent=_KEYS + 1,
                )
        if not self._letters:
            lines += [(), *wrap_line(make_line(Span(_EDIT, "dim")), columns)]
        return lines
