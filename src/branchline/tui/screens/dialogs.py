"""Dialogs: yes or no, a line of text, a choice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from branchline.tui.widgets.field import Field
from branchline.tui.widgets.line_bar import LineBar, key_line
from branchline.tui.widgets.row_list import RowList
from branchline.tui.widgets.text_panel import TextPanel
from branchline.views.browser.entry_menu import MenuItem
from branchline.views.spans import Line, Span, make_line, pad_line
from branchline.views.text import one_line, width
from branchline.views.wrap import text_lines

__all__ = ["BOX", "ConfirmDialog", "InputDialog", "SelectDialog"]

BOX = """
{name} {{ align: center middle; }}
{name} > Vertical {{ width: 90%; max-width: 96; height: auto; max-height: 80%; background: $panel;
                     padding: 1 2; }}
{name} LineBar, {name} RowList, {name} TextPanel, {name} Field {{ background: $panel; }}
"""


_AROUND = 6
"""Rows of the frame, the empty line and the hints, and one row of the screen below on either side."""


class ConfirmDialog(ModalScreen[bool]):
    """A question: Enter is yes, Escape is no. Letters do nothing, because they may be typed by accident."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("enter", "dismiss(True)", "yes"),
        ("escape", "dismiss(False)", "no"),
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
            yield LineBar(*key_line(("Enter", self._yes), ("Esc", "no")))

    def on_mount(self) -> None:
        self.query_one(TextPanel).show(lambda columns: text_lines(self._question, columns))
        self.call_after_refresh(self._fit)

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        self.query_one(TextPanel).fit(self.size.height - _AROUND)


class InputDialog(ModalScreen[str]):
    """Asks for a line of text; returns None if cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "dismiss(None)", "leave"),
        ("enter", "keep", "keep"),
    ]
    DEFAULT_CSS = BOX.format(name="InputDialog") + "InputDialog Field { margin: 1 0; }"

    def __init__(self, question: str, value: str = "", *, hint: str = "") -> None:
        super().__init__()
        self._question = question
        self._value = value
        self._hint = hint

    def compose(self) -> ComposeResult:
        with Vertical():
            yield LineBar(Span(self._question, "heading"))
            yield Field(one_line(self._value))
            yield LineBar(*key_line(("Enter", "save"), ("Esc", "cancel")), Span(self._hint, "dim"))

    def on_mount(self) -> None:
        self.query_one(Field).focus()

    def action_keep(self) -> None:
        self.dismiss(self.query_one(Field).edit.text)


class _Options:
    def __init__(self, options: Sequence[MenuItem]) -> None:
        self.options = options
        self._words = max((width(option.words) for option in options), default=0)
        self._about = max((width(option.about) for option in options), default=0)

    def __len__(self) -> int:
        return len(self.options)

    def line(self, index: int, columns: int) -> Line:
        option = self.options[index]
        room = max(columns - self._about - 4, columns // 2)
        words = pad_line((Span(option.words),), min(self._words, room))
        return make_line(" ", *words, "  ", Span(option.about, "dim"))


class SelectDialog(ModalScreen[str]):
    """A list of choices, filtered by typing; returns the name of the chosen one, None if cancelled.

    ``note`` is a sentence below the list.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "leave", "leave"),
        ("up", "step(-1)", "up"),
        ("down", "step(1)", "down"),
        ("pageup", "step(-8)", "up"),
        ("pagedown", "step(8)", "down"),
        ("enter", "choose", "choose"),
    ]
    DEFAULT_CSS = (
        BOX.format(name="SelectDialog")
        + "SelectDialog RowList { height: auto; max-height: 24; margin: 1 0 0 0; }"
        + "SelectDialog TextPanel { height: auto; margin: 1 0 0 0; }"
    )

    def __init__(
        self, question: str, options: Sequence[MenuItem], *, note: str = "", words: str = ""
    ) -> None:
        super().__init__()
        self._question = question
        self._all = options
        self._note = note
        self._words = words

    def compose(self) -> ComposeResult:
        with Vertical():
            yield LineBar(Span(self._question, "heading"))
            yield Field(self._words, hint="type to filter")
            yield RowList(wrapping=True, empty=" nothing matches")
            if self._note:
                yield TextPanel()
            yield LineBar(*key_line(("Enter", "choose"), ("Esc", "close")))

    def on_mount(self) -> None:
        self._show()
        self.query_one(Field).focus()
        if self._note:
            panel = self.query_one(TextPanel)
            panel.styles.height = 2
            panel.can_focus = False
            panel.show(lambda columns: text_lines(self._note, columns, "dim"))

    def _show(self) -> None:
        self._words = self.query_one(Field).edit.text
        words = self._words.lower().split()
        found = [
            option
            for option in self._all
            if all(word in f"{option.words} {option.about}".lower() for word in words)
        ]
        rows = self.query_one(RowList)
        rows.can_focus = False
        most = max(3, min(24, self.app.size.height - _AROUND - 6))
        rows.styles.height = min(len(self._all), most)
        rows.show(_Options(found), 0)

    def on_field_changed(self) -> None:
        if self._words != self.query_one(Field).edit.text:
            self._show()

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        event.stop()
        self.action_choose()

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        event.stop()

    def action_leave(self) -> None:
        field = self.query_one(Field)
        if field.edit.text:
            field.edit.set("")
            field.refresh()
            self._show()
        else:
            self.dismiss(None)

    def action_step(self, by: int) -> None:
        self.on_field_changed()  # keys that come in a burst are here before the message about the last letter
        self.query_one(RowList).step(by)

    def action_choose(self) -> None:
        self.on_field_changed()
        rows = self.query_one(RowList)
        if isinstance(rows.rows, _Options) and rows.cursor >= 0:
            self.dismiss(rows.rows.options[rows.cursor].name)
