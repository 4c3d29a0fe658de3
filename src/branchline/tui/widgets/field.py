"""A text field with readline keys."""

from __future__ import annotations

from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from branchline.tui.strips import to_strip
from branchline.tui.styles import styles_for
from branchline.views.browser.line_edit import LineEdit
from branchline.views.browser.search_line import field_line
from branchline.views.spans import make_line
from branchline.views.text import width

__all__ = ["Field"]


class Field(Widget, can_focus=True):
    """One line of text. Unused keys go to the screen."""

    DEFAULT_CSS = "Field { height: 1; }"

    class Changed(Message):
        """The text was changed."""

    def __init__(self, text: str = "", *, hint: str = "") -> None:
        super().__init__()
        self.edit = LineEdit(text)
        self._hint = hint

    def on_key(self, event: events.Key) -> None:
        key = event.key
        character = event.character if event.is_printable and not key.startswith(("alt+", "ctrl+")) else None
        if key in ("home", "end"):
            key = "ctrl+a" if key == "home" else "ctrl+e"
        verdict = self.edit.press(key, character)
        if verdict != "refused":
            event.stop()
            event.prevent_default()
            self.refresh()
        if verdict == "changed":
            self.post_message(self.Changed())

    def on_paste(self, event: events.Paste) -> None:
        self.edit.insert(event.text)
        event.stop()
        self.refresh()
        self.post_message(self.Changed())

    def render_line(self, y: int) -> Strip:
        edit, columns = self.edit, self.size.width
        shown = edit
        if width(edit.text) >= columns - 1:  # the part around the caret
            start = max(0, edit.caret - columns * 2 // 3)
            shown = LineEdit(edit.text[start : start + columns])
            shown.caret = edit.caret - start
        line = field_line(shown, self._hint) if y == 0 else make_line()
        return to_strip(line, columns, styles_for(self.app.theme), self.rich_style)
