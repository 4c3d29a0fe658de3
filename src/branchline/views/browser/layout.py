"""The layout of a screen with a list and a pane for the row under the cursor.

A larger screen never shows less of the list: a wider one has at least as many columns of it, a higher one at
least as many rows. The pane is below the list until there is room for both side by side.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["BROWSER_BARS", "SMALLEST", "TREE_BARS", "PaneLayout", "air_of", "layout_for", "overview_columns"]

SMALLEST = (40, 10)
"""The smallest usable screen, in columns and rows."""
BROWSER_BARS = 6
"""Fixed lines of the browser: location, search, filters, column names, messages, keys."""
TREE_BARS = 4
_BESIDE = 158
_LIST_COLUMNS = 120
"""Columns of a list with a pane beside it: enough for all its columns."""
_OVERVIEW = 44
"""Columns of the tree beside a transcript, where the screen is wide enough for it."""
_LIST_ROWS = 10
"""The minimum of rows for a list with a pane below it."""
_PANE_ROWS = 7
_MOST_PANE_ROWS = 13
_AIR = (28, 32, 40)
"""Screen heights from which a blank line precedes the search, the column names, the filters."""


class PaneLayout(NamedTuple):
    """The size of the pane, and what remains for the list."""

    beside: int
    """Columns of the pane to the right of the list; 0 without one."""
    below: int
    """Rows of the pane below the list."""
    columns: int
    rows: int

    @property
    def has_pane(self) -> bool:
        return bool(self.beside or self.below)

    def room(self, items: int) -> int:
        """Return the width of a row; more items than rows need a scroll bar."""
        return self.columns - (1 if items > self.rows else 0)


class Air(NamedTuple):
    """Blank lines on a high screen."""

    search: int = 0
    columns: int = 0
    filters: int = 0


def air_of(height: int) -> Air:
    """Return the blank lines between the bars of the browser."""
    return Air(*(int(height >= least) for least in _AIR))


def overview_columns(width: int) -> int:
    """Return the width of the tree beside a transcript; 0 if the text needs the whole screen."""
    return 0 if width < _BESIDE else _OVERVIEW + (width - _BESIDE) // 3


def layout_for(width: int, height: int, *, bars: int, wanted: bool | None = None) -> PaneLayout:
    """Return the layout of a screen with ``bars`` fixed lines; ``wanted`` turns the pane on or off."""
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
