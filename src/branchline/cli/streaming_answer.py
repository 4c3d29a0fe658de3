"""An answer while it is written: finished blocks as Markdown, below them the rest as far as it has come.

Everything passes :func:`branchline.views.text.safe` before it is laid out, and addresses are written out
instead of being made into links: what a model says can move nothing and hide nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment
from rich.text import Text

from branchline.chat.markdown_stream import MarkdownStream
from branchline.views.text import cut, one_line, safe

__all__ = ["AnswerView"]

_BETWEEN = 0.08  # seconds between two looks at what is being written
_LONG = 8_000  # a rest that is longer is shown as it is: laying it out again and again takes too long
_LAST = 2_000


class AnswerView:
    """Shows one text after the other; :meth:`settle` before anything else is printed."""

    def __init__(self, *, colored: bool, light: bool) -> None:
        self._console = Console(
            file=sys.stdout,
            force_terminal=True,
            no_color=not colored,
            highlight=False,
            markup=False,
            emoji=False,
        )
        self._theme = "ansi_light" if light else "ansi_dark"
        self._blocks = MarkdownStream()
        self._live: Live | None = None
        self._looked = 0.0

    def write(self, text: str) -> None:
        """More of the answer."""
        for block in self._blocks.feed(text):
            self._print(self._markdown(block))
        self._look(self._rest)

    def show_transient(self, words: str) -> None:
        """Something that is only worth a line while it lasts: a thought, a summary in the making."""
        self._look(lambda: Text(cut(one_line(words), self._console.width - 1), style="dim italic"))

    def flush(self) -> None:
        """Finish what was begun; afterwards others may print."""
        rest = self._blocks.finish()
        if self._live is not None:
            self._live.stop()
            self._live = None
        if rest.strip():
            self._console.print(self._markdown(rest))
        self._looked = 0.0

    def _markdown(self, text: str) -> RenderableType:
        return _Spaced(Markdown(safe(text), code_theme=self._theme, hyperlinks=False))

    def _rest(self) -> RenderableType:
        rest = self._blocks.rest
        if len(rest) > _LONG:
            return _Bottom(Text(safe(rest[-_LAST:])))
        return _Bottom(Markdown(safe(rest), code_theme=self._theme, hyperlinks=False))

    def _print(self, shown: RenderableType) -> None:
        (self._console if self._live is None else self._live.console).print(shown)

    def _look(self, made: Callable[[], RenderableType]) -> None:
        now = time.monotonic()
        if now - self._looked < _BETWEEN:
            return
        self._looked = now
        if self._live is None:
            self._live = Live(
                console=self._console,
                transient=True,
                auto_refresh=False,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
        self._live.update(made(), refresh=True)


class _Spaced:
    """A block with an empty line after it."""

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self._inner
        yield ""


class _Bottom:
    """As many of the last lines of something as the terminal has room for."""

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = console.render_lines(self._inner, options, pad=False)
        yield from _joined(lines[-max(1, console.height - 2) :])


def _joined(lines: Iterable[list[Segment]]) -> Iterable[Segment]:
    for number, line in enumerate(lines):
        if number:
            yield Segment.line()
        yield from line
