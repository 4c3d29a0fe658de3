"""How a screen is shared between a list and the pane that shows the row under the cursor.

A larger screen never shows less of the list: as it gets wider the list keeps its columns, and as it gets
higher its rows. The pane is below the list until there is room for both beside each other.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["BROWSER_BARS", "SMALLEST", "TREE_BARS", "PaneLayout", "layout_for"]

SMALLEST = (40, 10)
"""Columns and rows below which nothing can be read."""
BROWSER_BARS = 5
"""Lines that the browser always has: scope, search, column names, what was seen, hints."""
TREE_BARS = 4
_LIST_COLUMNS = 120
"""Columns that a list has before a pane is put beside it."""
_PANE_COLUMNS = 40
_LIST_ROWS = 11
"""Rows that a list has before a pane is put below it."""
_PANE_ROWS = 8


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


def layout_for(width: int, height: int, *, bars: int, wanted: bool | None = None) -> PaneLayout:
    """The layout for a screen with so many lines of bars; ``wanted`` is the user's choice about the pane."""
    rows = height - bars
    if wanted is False:
        return PaneLayout(0, 0, width, rows)
    if width >= _LIST_COLUMNS + _PANE_COLUMNS:
        columns = max(_LIST_COLUMNS, width * 3 // 5)
        return PaneLayout(width - columns, 0, columns, rows)
    spare = rows - _LIST_ROWS
    below = min(_PANE_ROWS, spare) if spare <= _PANE_ROWS else _PANE_ROWS + (spare - _PANE_ROWS) // 3
    if wanted:
        below = max(below, min(_PANE_ROWS, rows // 2))
    below = max(0, below)
    return PaneLayout(0, below, min(width, _LIST_COLUMNS), rows - below)
