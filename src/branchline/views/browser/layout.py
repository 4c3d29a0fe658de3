"""How the browser shares the screen between the list and the preview, as there is room.

The style sheet of the browser says the same to Textual; the first picture, which is drawn without it, and the
heads of the columns, which must be right before anything is laid out, go by what is said here.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["SMALLEST", "PaneLayout", "is_previewing", "is_wide", "layout_for"]

SMALLEST = (40, 10)
"""Columns and rows below which nothing can be read."""
_WIDE = 110
_TALL = 20
_BARS = 5
"""Lines that are always there: scope, search, heads of columns, what was seen, hints."""
_PREVIEW_ROWS = 8
_PREVIEW_PERCENT = 42


class PaneLayout(NamedTuple):
    """Where the preview stands, and what is left for the list."""

    beside: int
    """Columns of the preview to the right of the list; 0 where there is none."""
    below: int
    """Rows of the preview below the list."""
    columns: int
    rows: int

    def room(self, items: int) -> int:
        """How wide a row of so many is: more than fit have a scroll bar."""
        return self.columns - (1 if items > self.rows else 0)


def is_wide(width: int) -> bool:
    """Whether list and preview fit beside each other."""
    return width >= _WIDE


def is_previewing(width: int, height: int, *, wanted: bool | None = None) -> bool:
    """Whether there is a preview; ``wanted`` is what a person has said about it."""
    return (is_wide(width) or height > _TALL) if wanted is None else wanted


def layout_for(width: int, height: int, *, crowded: bool, previewing: bool) -> PaneLayout:
    """The layout for a screen; where it is crowded, the programs have a line of their own."""
    beside = width * _PREVIEW_PERCENT // 100 if previewing and is_wide(width) else 0
    below = _PREVIEW_ROWS if previewing and not is_wide(width) else 0
    return PaneLayout(beside, below, width - beside, height - _BARS - crowded - below)
