"""A list of any length with a cursor; only visible rows are requested."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Protocol

from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip

from branchline.errors import BranchlineError
from branchline.tui.widgets.line_view import LineView
from branchline.views.outline import window
from branchline.views.spans import Line, Span, make_line, with_cursor

__all__ = ["RowList", "RowSource"]


class RowSource(Protocol):
    """The rows of a list."""

    def __len__(self) -> int: ...

    def line(self, index: int, columns: int) -> Line:
        """Return a row for a width. Called whenever the row is drawn."""
        ...


class RowList(LineView):
    """Rows with a cursor. Posts ``Moved`` when it moves and ``Chosen`` when a row is chosen.

    ``centred`` keeps the cursor in the middle, for trees; ``wrapping`` continues at the other end. A list
    that is not ``lit`` follows another one: its rows show which of them is current.
    """

    DEFAULT_CSS = "RowList { height: 1fr; }"

    class Moved(Message):
        """The cursor moved to another row."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    class Chosen(Message):
        """The row under the cursor was chosen, with Enter or a second click."""

    def __init__(
        self,
        *,
        id: str | None = None,  # noqa: A002
        centred: bool = False,
        wrapping: bool = False,
        lit: bool = True,
        empty: str = "",
    ) -> None:
        super().__init__(id=id)
        self.rows: RowSource | None = None
        self.cursor = -1
        self.empty: Sequence[Line] = [make_line(Span(empty, "dim"))]
        """The lines that are shown if there are no rows."""
        self._stops: Sequence[int] | None = None
        self._centred = centred
        self._wrapping = wrapping
        self._lit = lit

    def show(self, rows: RowSource, cursor: int | None = None, *, stops: Sequence[int] | None = None) -> None:
        """Show other rows; the cursor goes to a given row, or stays as near as possible.

        ``stops`` are the rows where the cursor can be, in order; None for all.
        """
        self.rows = rows
        self._stops = stops
        self.virtual_size = Size(self.size.width, len(rows))
        wanted = self.cursor if cursor is None else cursor
        self.cursor = self._stop(min(max(wanted, 0), len(rows) - 1))
        self._bring_into_view()
        self.refresh()
        self.post_message(self.Moved(self.cursor))

    def move_to(self, index: int) -> None:
        """Put the cursor on a row, limited to the first and last one."""
        size = 0 if self.rows is None else len(self.rows)
        index = self._stop(min(max(index, 0), size - 1))
        if index != self.cursor:
            before, self.cursor = self.cursor, index
            self._bring_into_view()
            self._refresh_row(before)
            self._refresh_row(index)
            self.post_message(self.Moved(index))

    def step(self, by: int) -> None:
        """Move the cursor by a number of rows."""
        size = 0 if self.rows is None else len(self.rows)
        if self._stops:
            at = bisect_right(self._stops, self.cursor) - 1 + by
            self.move_to(self._stops[min(max(at, 0), len(self._stops) - 1)])
        elif self._wrapping and abs(by) == 1 and size:
            self.move_to((self.cursor + by) % size)
        else:
            self.move_to(self.cursor + by)

    def _stop(self, index: int) -> int:
        """Return the nearest stop at or above an index."""
        if not self._stops or index < 0:
            return index
        return self._stops[max(0, bisect_right(self._stops, index) - 1)]

    def page(self, by: int) -> None:
        """Move the cursor by a number of pages."""
        self.move_to(self.cursor + by * max(1, self.size.height - 1))

    def choose(self) -> None:
        if self.cursor >= 0:
            self.post_message(self.Chosen())

    def render_line(self, y: int) -> Strip:
        index = int(self.scroll_offset.y) + y
        if self.rows is None or index >= len(self.rows):
            has_rows = self.rows is not None and len(self.rows)
            return self.draw(() if has_rows or y >= len(self.empty) else self.empty[y])
        ground = self.ground
        lit = self._lit and index == self.cursor
        if lit:
            ground += Style(bgcolor=self.app.theme_variables["cursor-ground"])
        try:
            line = self.rows.line(index, self.columns)
        except (BranchlineError, OSError, ValueError) as problem:
            # A row may read its file, which another program may change.
            line = (Span(f"  {problem}", "error"),)
        return self.draw(with_cursor(line) if lit else line, ground)

    def _refresh_row(self, index: int) -> None:
        y = index - int(self.scroll_offset.y)
        if 0 <= y < self.size.height:
            self.refresh(Region(0, y, self.size.width, 1))

    def _last_of_cursor(self) -> int:
        """Return the last row that belongs to the cursor row, before the next stop."""
        if not self._stops:
            return self.cursor
        at = bisect_right(self._stops, self.cursor)
        end = self._stops[at] if at < len(self._stops) else len(self.rows or ())
        return max(self.cursor, min(end - 1, self.cursor + self.size.height // 2))

    def _bring_into_view(self) -> None:
        height, size = self.size.height, 0 if self.rows is None else len(self.rows)
        if height <= 0 or self.cursor < 0:
            return
        top = int(self.scroll_offset.y)
        if self._centred:
            top = window(size, self.cursor, height).start
        elif self.cursor < top:
            top = self.cursor
        elif (last := self._last_of_cursor()) >= top + height:
            top = min(self.cursor, last - height + 1)
        top = max(0, min(top, size - height))
        if top != int(self.scroll_offset.y):
            self.scroll_to(y=top, animate=False, immediate=True)
            self.refresh()

    # -- events ---------------------------------------------------------------------------------------

    def on_resize(self) -> None:
        if self.rows is not None:
            self.virtual_size = Size(self.size.width, len(self.rows))
            self._bring_into_view()
            self.refresh()

    def on_click(self, event: events.Click) -> None:
        index = int(self.scroll_offset.y) + event.y
        if self.rows is None or index >= len(self.rows):
            return
        again = index == self.cursor and event.chain > 1
        self.move_to(index)
        if again:
            self.choose()
