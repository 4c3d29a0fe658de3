"""Lines of spans as Textual strips: the only place where session text reaches Textual.

Every text is filtered here, even if a view did it before: control characters never reach the terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from branchline.views.hits import find_ranges
from branchline.views.spans import Piece, StyleRole, cut_line
from branchline.views.text import width

__all__ = ["highlight", "to_strip"]


def to_strip(line: Iterable[Piece], columns: int, styles: Mapping[StyleRole, Style], ground: Style) -> Strip:
    """Return a line as a strip of exactly this width, on a background."""
    segments = [Segment(text, ground + styles[role]) for text, role in cut_line(line, columns)]
    return Strip(segments).adjust_cell_length(columns, ground)


def highlight(strip: Strip, words: Sequence[str], style: Style) -> Strip:
    text = strip.text
    places = find_ranges(text, words)
    if not places:
        return strip
    letters = [False] * len(text)
    for start, end in places:
        letters[start:end] = [True] * (end - start)
    edges = [place for place in range(1, len(text)) if letters[place] != letters[place - 1]]
    cuts = [width(text[:place]) for place in edges]
    parts = strip.divide([*cuts, strip.cell_length])
    looks = [letters[place] for place in (0, *edges)]
    return Strip.join(
        Strip(Segment.apply_style(part, post_style=style), part.cell_length) if look else part
        for part, look in zip(parts, looks, strict=False)
    )
