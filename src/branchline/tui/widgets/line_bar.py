"""A line of the screen: heading, search, messages, keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from textual import events
from textual.strip import Strip
from textual.widget import Widget

from branchline.tui.strips import to_strip
from branchline.tui.styles import styles_for
from branchline.views.spans import Line, Piece, Span, line_width, make_line, shown_line

__all__ = ["BarItem", "LineBar", "key_line"]


class BarItem(NamedTuple):
    """A piece of a bar, with an optional click handler."""

    line: Line
    press: Callable[[], object] | None = None


def key_line(*keys: tuple[str, str]) -> Line:
    """Return the key line of a dialog: each key and what it does."""
    spans = [(Span(name, "title"), Span(f" {what}   ", "dim")) for name, what in keys]
    return make_line(*(span for pair in spans for span in pair))


class LineBar(Widget):
    """Shows lines, cut to its width."""

    DEFAULT_CSS = "LineBar { height: 1; }"

    def __init__(self, *pieces: Piece, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._lines: list[Line] = [make_line(*pieces)]
        self._parts: Sequence[BarItem] = ()

    def say(self, *pieces: Piece) -> None:
        self.say_lines([make_line(*pieces)])

    def say_parts(self, parts: Sequence[BarItem]) -> None:
        self.say(*(span for part in parts for span in part.line))
        self._parts = parts

    def say_lines(self, lines: Sequence[Line]) -> None:
        """Show as many lines as fit."""
        self._parts = ()
        if self._lines != list(lines):
            self._lines = list(lines)
            self.refresh()

    @property
    def words(self) -> str:
        """The shown text without styles."""
        return "\n".join("".join(span.text for span in line) for line in self._lines)

    def render_line(self, y: int) -> Strip:
        line = self._lines[y] if y < len(self._lines) else ()
        return to_strip(line, self.size.width, styles_for(self.app.theme), self.rich_style)

    def on_click(self, event: events.Click) -> None:
        end = 0
        for part in self._parts:
            end += line_width(shown_line(part.line))
            if event.x < end:
                if part.press is not None:
                    part.press()
                return
