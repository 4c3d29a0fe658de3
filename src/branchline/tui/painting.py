"""Lines of spans as strips of the screen: the only place where words of a session meet Textual.

Every text is filtered here, also when a view did it before: nothing that reaches the screen can act on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from branchline.views.spans import Piece, Role, cut_line, shown_line

__all__ = ["strip_of", "text_of"]


def strip_of(
    line: Iterable[Piece],
    columns: int,
    styles: Mapping[Role, Style],
    ground: Style,
    over: Style | None = None,
) -> Strip:
    """A line cut and filled to exactly this width, on its ground; ``over`` is laid on top of everything."""
    segments = []
    for text, role in cut_line(line, columns):
        style = ground + styles[role]
        segments.append(Segment(text, style if over is None else style + over))
    filling = ground if over is None else ground + over
    return Strip(segments).adjust_cell_length(columns, filling)


def text_of(line: Iterable[Piece], styles: Mapping[Role, Style]) -> Text:
    """A line as Rich text, for widgets that hold one; never parsed for markup."""
    text = Text(no_wrap=True, overflow="ellipsis", end="")
    for words, role in shown_line(line):
        text.append(words, styles[role])
    return text
