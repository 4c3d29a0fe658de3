"""Small questions: yes or no, a line of text, one of several things."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from branchline.tui.widgets.line_bar import LineBar
from branchline.tui.widgets.row_list import RowList
from branchline.tui.widgets.text_panel import TextPanel
from branchline.views.browser.entry_menu import MenuItem
from branchline.views.spans import Line, Span, make_line, pad_line
from branchline.views.text import one_line, width
from branchline.views.wrap import text_lines

__all__ = ["BOX", "ConfirmDialog", "InputDialog", "SelectDialog"]

BOX = """
{name} {{ align: center middle; }}
{name} > Vertical {{ width: 90%; max-width: 96; height: auto; max-height: 80%; border: round $primary;
                     background: $panel; padding: 0 1; }}
{name} LineBar, {name} RowList, {name} TextPanel, {name} Input {{ background: $panel; }}
"""


_AROUND = 6
"""Rows that the frame, a blank and the hints take, and one of what is below on either side."""


class ConfirmDialog(ModalScreen[bool]):
    """A question that Enter or ``y`` answers with yes, and anything else that leaves with no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("enter,y", "dismiss(True)", "yes"),
        ("escape,n,q", "dismiss(False)", "no"),
    ]
    DEFAULT_CSS = (
        BOX.format(name="ConfirmDialog") + "ConfirmDialog TextPanel { height: 1; margin-bottom: 1; }"
    )

    def __init__(self, question: str, yes: str) -> None:
        super().__init__()
        self._question = question
        self._yes = yes

    def compose(self) -> ComposeResult:
        with Vertical():
            yield TextPanel()
            yield LineBar(
                Span("Enter", "active"),
                Span(f" {self._yes}   ", "dim"),
                Span("Esc", "active"),
                Span(" no", "dim"),
            )

    def on_mount(self) -> None:
        self.query_one(TextPanel).show(lambda columns: text_lines(self._question, columns))
        self.call_after_refresh(self._fit)

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        """As high as the question, as long as the screen has room for it."""
        panel = self.query_one(TextPanel)
        panel.styles.height = min(max(1, panel.virtual_size.height), max(1, self.size.height - _AROUND))


class InputDialog(ModalScreen["str | None"]):
    """A line of text; None when the person left."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss(None)", "leave")]
    DEFAULT_CSS = (
        BOX.format(name="InputDialog")
        + "InputDialog Input, InputDialog Input:focus { border: none; height: 1; padding: 0; }"
    )

    def __init__(self, question: str, value: str = "", *, hint: str = "") -> None:
        super().__init__()
        self._question = question
        self._value = value
        self._hint = hint

    def compose(self) -> ComposeResult:
        with Vertical():
            yield LineBar(Span(self._question, "heading"))
            yield Input(one_line(self._value), select_on_focus=False)
            yield LineBar(
                Span("Enter", "active"),
                Span(" keeps it   ", "dim"),
                Span("Esc", "active"),
                Span(f" leaves   {self._hint}", "dim"),
            )

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value)


class _Options:
    def __init__(self, options: Sequence[MenuItem]) -> None:
        self._options = options
        self._words = max(width(option.words) for option in options)
        self._about = max(width(option.about) for option in options)

    def __len__(self) -> int:
        return len(self._options)

    def line(self, index: int, columns: int) -> Line:
        option = self._options[index]
        room = max(columns - self._about - 4, columns // 2)
        words = pad_line((Span(option.words, "title"),), min(self._words, room))
        return make_line(" ", *words, "  ", Span(option.about, "dim"))


class SelectDialog(ModalScreen["str | None"]):
    """One of several things; its name, or None when the person left."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q", "dismiss(None)", "leave"),
        ("up,k", "step(-1)", "up"),
        ("down,j", "step(1)", "down"),
        ("enter", "choose", "choose"),
    ]
    DEFAULT_CSS = BOX.format(name="SelectDialog") + "SelectDialog RowList { height: auto; max-height: 16; }"

    def __init__(self, question: str, options: Sequence[MenuItem]) -> None:
        super().__init__()
        self._question = question
        self._options = options

    def compose(self) -> ComposeResult:
        with Vertical():
            yield LineBar(Span(self._question, "heading"))
            yield RowList(wrapping=True)
            yield LineBar(
                Span("Enter", "active"),
                Span(" choose   ", "dim"),
                Span("Esc", "active"),
                Span(" leave", "dim"),
            )

    def on_mount(self) -> None:
        rows = self.query_one(RowList)
        rows.styles.height = min(len(self._options), 16)
        rows.show(_Options(self._options), 0)
        rows.focus()

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        event.stop()
        self.dismiss(self._options[event.index].name)

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        event.stop()

    def action_step(self, by: int) -> None:
        self.query_one(RowList).step(by)

    def action_choose(self) -> None:
        self.query_one(RowList).choose()
