"""How a screen is shared between a list and the pane that shows the row under the cursor.

A larger screen never shows less of the list: as it gets wider the list keeps its columns, and as it gets
higher its rows. The pane is below the list until there is room for both beside each other.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["BROWSER_BARS", "SMALLEST", "TREE_BARS", "PaneLayout", "air_of", "layout_for", "overview_columns"]

SMALLEST = (40, 10)
"""Columns and rows below which nothing can be read."""
BROWSER_BARS = 6
"""Lines that the browser always has: place, search, filters, column names, messages, keys."""
TREE_BARS = 4
_BESIDE = 158
_LIST_COLUMNS = 120
"""Columns that a list has before a pane is put beside it: enough for all it can show."""
_OVERVIEW = 44
"""Columns of the tree beside a transcript, where the screen is wide enough for it."""
_LIST_ROWS = 10
"""Rows that a list has before a pane is put below it."""
_PANE_ROWS = 7
_MOST_PANE_ROWS = 13
_AIR = (28, 32, 40)
"""Heights from which there is a blank line: before the search, the column names, the filters."""


class PaneLayout(NamedTuple):
    """Where the pane is, and what is left for the list."""

    beside: int
    """Columns of the pane to the right of the list; 0 where there is none."""
    below: int
    """Rows of the pane below the list."""
    columns: int
    rows: int

    @property
    def has_pane(self) -> bool:
        return bool(self.beside or self.below)

    def room(self, items: int) -> int:
        """How wide a row of so many is: more than fit have a scroll bar."""
        return self.columns - (1 if items > self.rows else 0)


class Air(NamedTuple):
    """Blank lines that a high screen can afford."""

    search: int = 0
    columns: int = 0
    filters: int = 0


def air_of(height: int) -> Air:
    """The blank lines between the bars of the browser."""
    return Air(*(int(height >= least) for least in _AIR))


def overview_columns(width: int) -> int:
    """How wide the tree beside a transcript is; 0 where the text needs the whole screen."""
    return 0 if width < _BESIDE else _OVERVIEW + (width - _BESIDE) // 3


def layout_for(width: int, height: int, *, bars: int, wanted: bool | None = None) -> PaneLayout:
    """The layout for a screen with so many lines of bars; ``wanted`` is the user's choice about the pane."""
    rows = height - bars
    if wanted is False:
        return PaneLayout(0, 0, width, rows)
    if width >= _BESIDE:
        columns = _LIST_COLUMNS + (width - _BESIDE) // 3
        return PaneLayout(width - columns, 0, columns, rows)
    spare = rows - _LIST_ROWS
    below = spare if spare <= _PANE_ROWS else _PANE_ROWS + (spare - _PANE_ROWS) // 3
    below = max(0, min(_MOST_PANE_ROWS, below))
    if wanted:
        below = max(below, min(_PANE_ROWS, rows // 2))
    return PaneLayout(0, below, min(width, _LIST_COLUMNS), rows - below)
