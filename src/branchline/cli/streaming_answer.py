"""A streaming answer: finished blocks as Markdown, and below them the unfinished rest.

All text passes :func:`branchline.views.text.safe` before layout, and addresses are written out instead of
becoming links, so an answer cannot move the cursor or hide anything.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable

from rich.console import Console, RenderableType
from rich.markdown import Markdown
from rich.text import Text
from rich.theme import Theme

from branchline.chat.markdown_stream import MarkdownStream
from branchline.cli.output import screen_size
from branchline.views.text import cut, one_line, safe, width

__all__ = ["AnswerView"]

_BETWEEN = 0.08  # seconds between redraws
_LONG = 8_000  # a longer rest is shown as plain text: repeated layout takes too long
_LAST = 2_000
_MEASURE = 88
"""The width of text; a wider terminal leaves the rest free."""
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_TOGETHER, _SHOWN = "\x1b[?2026h", "\x1b[?2026l"
"""Start and end of a synchronized update, for terminals that support it."""


_DARK = {
    "markdown.h1": "bold underline",
    "markdown.h2": "bold",
    "markdown.h3": "bold",
    "markdown.h4": "bold",
    "markdown.code": "cyan",
    "markdown.table.header": "bold",
    "markdown.table.border": "dim",
    "markdown.link": "underline",
    "markdown.link_url": "underline",
}
_LIGHT = {**_DARK, "markdown.code": "blue"}


class AnswerView:
    """Shows texts one after the other. Call :meth:`flush` before printing anything else."""

    def __init__(self, *, colored: bool, light: bool) -> None:
        self._console = Console(
            file=sys.stdout,
            force_terminal=True,
            no_color=not colored,
            highlight=False,
            markup=False,
            emoji=False,
            theme=Theme(_LIGHT if light else _DARK),
        )
        self._theme = "ansi_light" if light else "ansi_dark"
        self._blocks = MarkdownStream()
        self._region = _Region()
        self._looked = 0.0
        self._lines: list[str] = []
        self._typed: list[str] = []
        self._entered = False

    def write(self, text: str) -> None:
        if finished := self._blocks.feed(text):
            self._region.erase(self._columns)
            self._lines = []
            for block in finished:
                self._print(block)
        self._look(self._rest)

    def markdown(self, text: str) -> None:
        self.flush()
        whole = MarkdownStream()
        for block in (*whole.feed(text), whole.finish()):
            if block.strip():
                self._print(block)

    def show_transient(self, words: str) -> None:
        """Show a temporary line: thinking, or a summary in progress."""
        self._look(lambda: [self._painted(Text(cut(one_line(words), self._columns - 1), style="dim italic"))])

    def show_typed(self, words: str, becomes: str = "") -> None:
        """What the user types meanwhile, below everything; and what becomes of it, once it is entered."""
        room = self._columns - width(becomes) - 6
        line = Text(f"❯ {cut(safe(one_line(words)), room)}").append(f"  {becomes}".rstrip(), style="dim")
        self._typed = [self._painted(line)] if words.strip() else []
        self._entered = bool(becomes)
        self._region.draw([*self._lines, *self._typed], self._columns)

    def flush(self) -> None:
        """Finish the current text, so that others can print."""
        rest = self._blocks.finish()
        self._lines = []
        if self._entered:
            self._typed = []
        self._region.erase(self._columns)
        if rest.strip():
            self._print(rest)
        self._looked = 0.0

    @property
    def _columns(self) -> int:
        return screen_size().columns

    @property
    def _measure(self) -> int:
        return min(_MEASURE, self._columns - 1)

    def _print(self, block: str) -> None:
        sys.stdout.write(self._painted(self._markdown(block)).strip("\n") + "\n\n")
        sys.stdout.flush()

    def _markdown(self, text: str) -> RenderableType:
        return Markdown(safe(text), code_theme=self._theme, hyperlinks=False)

    def _rest(self) -> list[str]:
        """The last lines of the unfinished rest, as many as fit on the screen."""
        rest = self._blocks.rest
        shown = Text(safe(rest[-_LAST:])) if len(rest) > _LONG else self._markdown(rest)
        return self._painted(shown).split("\n")[-max(1, screen_size().lines - 4) :]

    def _painted(self, shown: RenderableType) -> str:
        with self._console.capture() as captured:
            self._console.width = self._measure
            self._console.print(shown)
        return "\n".join(line.rstrip() for line in captured.get().rstrip("\n").split("\n"))

    def _look(self, made: Callable[[], list[str]]) -> None:
        now = time.monotonic()
        if now - self._looked >= _BETWEEN:
            self._looked = now
            self._lines = made()
            self._region.draw([*self._lines, *self._typed], self._columns)


class _Region:
    """The last lines of the output, which are redrawn while they change.

    Only changed lines are written. A narrower terminal has rewrapped long lines, so their rows are counted
    with the present width.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._columns = 0

    def draw(self, lines: list[str], columns: int) -> None:
        same = 0
        if columns == self._columns:
            for old, new in zip(self._lines, lines, strict=False):
                if old != new:
                    break
                same += 1
        if same == len(lines) == len(self._lines):
            return
        same = max(0, min(same, len(self._lines) - 1, len(lines) - 1))  # the cursor is in the last line
        begun = self._back_to(same, columns)
        sys.stdout.write(_TOGETHER + begun + "\n".join(lines[same:]) + _SHOWN)
        sys.stdout.flush()
        self._lines, self._columns = lines, columns

    def erase(self, columns: int) -> None:
        if self._lines:
            sys.stdout.write(self._back_to(0, columns))
            sys.stdout.flush()
        self._lines = []

    def _back_to(self, line: int, columns: int) -> str:
        """Move back to the start of a line, clearing row by row.

        Some terminals move the screen into the scrollback if it is cleared at once.
        """
        rows = sum(_rows(text, columns) for text in self._lines[line:])
        return "\r\x1b[2K" + "\x1b[1A\x1b[2K" * (rows - 1)


def _rows(line: str, columns: int) -> int:
    return max(1, -(-width(_STYLE.sub("", line)) // max(1, columns)))
