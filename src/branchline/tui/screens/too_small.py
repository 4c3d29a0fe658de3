"""The message of a terminal that is too small."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.screen import Screen

from branchline.tui.widgets.line_bar import LineBar
from branchline.views.spans import make_line

__all__ = ["TooSmallScreen"]


class TooSmallScreen(Screen[None]):
    """Shows the size that is needed, until the terminal is large enough."""

    DEFAULT_CSS = "TooSmallScreen LineBar { height: 3; }"

    def __init__(self, width: int, height: int) -> None:
        super().__init__()
        self._needed = (width, height)

    def compose(self) -> ComposeResult:
        yield LineBar()

    def on_mount(self) -> None:
        self._say()

    def on_resize(self) -> None:
        self._say()

    def _say(self) -> None:
        width, height = self._needed
        self.query_one(LineBar).say_lines(
            [
                make_line("too small"),
                make_line(f"needs {width}×{height}"),
                make_line(f"has {self.size.width}×{self.size.height}"),
            ]
        )
