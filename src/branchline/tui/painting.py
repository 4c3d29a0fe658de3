"""Lines of spans as strips of the screen: the only place where words of a session meet Textual.

Every text is filtered here, also when a view did it before: nothing that reaches the screen can act on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from branchline.views.spans import Piece, Role, cut_line

__all__ = ["strip_of"]


def strip_of(line: Iterable[Piece], columns: int, styles: Mapping[Role, Style], ground: Style) -> Strip:
    """A line cut and filled to exactly this width, on its ground."""
    segments = [Segment(text, ground + styles[role]) for text, role in cut_line(line, columns)]
    return Strip(segments).adjust_cell_length(columns, ground)
