"""The text that a model is writing; Escape stops it."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from branchline.flows import AbortSignal
from branchline.tui.screens.dialogs import BOX
from branchline.tui.widgets.line_bar import LineBar
from branchline.tui.widgets.text_panel import TextPanel
from branchline.views.spans import Line, Span
from branchline.views.wrap import text_lines

__all__ = ["StreamingDialog"]

_ROWS = 8
_SHOWN = 4000
"""Characters of the end that are looked at each time some more has come."""


class StreamingDialog(ModalScreen[None]):
    """Shows the end of a growing text. Escape sets ``abort``; :meth:`end` closes the dialog."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "stop", "stop")]
    DEFAULT_CSS = BOX.format(name="StreamingDialog") + f"StreamingDialog TextPanel {{ height: {_ROWS}; }}"

    def __init__(self, heading: str) -> None:
        super().__init__()
        self.abort = AbortSignal()
        self._heading = heading
        self._text = ""
        self._ended = False

    def compose(self) -> ComposeResult:
        with Vertical():
            yield LineBar(Span(self._heading, "heading"))
            yield TextPanel()
            yield LineBar(
                Span("Esc", "active"), Span(" cancels; nothing is written yet", "dim"), id="progress"
            )

    async def told(self, words: str) -> None:
        """Add text."""
        self._text += words
        if self.is_mounted:
            self.query_one(TextPanel).show(self._lines)
            self.query_one("#progress", LineBar).say(
                Span("Esc", "active"),
                Span(f" cancels; nothing is written yet   {len(self._text):,} characters", "dim"),
            )

    def _lines(self, columns: int) -> list[Line]:
        return text_lines(self._text[-_SHOWN:], columns)[-_ROWS:]

    def action_stop(self) -> None:
        self.abort.set("cancelled")

    def end(self) -> None:
        """Close the dialog as soon as it is on top."""
        self._ended = True
        self._leave()

    def on_screen_resume(self) -> None:
        self._leave()

    def _leave(self) -> None:
        if self._ended and self.is_current:  # once it has left it is not current any more
            self.dismiss()
