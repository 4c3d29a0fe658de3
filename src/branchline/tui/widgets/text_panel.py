"""A scrollable text, wrapped to the width and drawn on demand."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.geometry import Size
from textual.strip import Strip

from branchline.errors import BranchlineError
from branchline.tui.widgets.line_view import LineView
from branchline.views.spans import Line, line_text
from branchline.views.wrap import text_lines

__all__ = ["TextPanel"]

MakeLines = Callable[[int], Sequence[Line]]


class TextPanel(LineView):
    """Shows the lines that a function returns for its width; called again when the width changes."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._make: MakeLines | None = None
        self._lines: Sequence[Line] = ()
        self._laid_for = -1

    def show(self, make: MakeLines, *, at_end: bool = False) -> None:
        """Show another text, from its beginning or at its end."""
        self._make = make
        self._laid_for = -1
        self._lay()
        self.scroll_to(y=len(self._lines) if at_end else 0, animate=False, immediate=True)

    def fit(self, room: int) -> None:
        """Set the height to that of the text, at most ``room`` rows."""
        self.styles.height = min(max(1, self.virtual_size.height), max(1, room))

    @property
    def words(self) -> str:
        """The text without styles."""
        return "\n".join(map(line_text, self._lines))

    def _lay(self) -> None:
        columns = self.columns
        if self._make is not None and columns > 0 and columns != self._laid_for:
            self._laid_for = columns
            try:
                self._lines = self._make(columns)
            except (BranchlineError, OSError, ValueError) as problem:
                # It may read a file that another program changes.
                self._lines = text_lines(str(problem), columns, "error")
            self.virtual_size = Size(columns, len(self._lines))
            self.refresh()

    def on_resize(self) -> None:
        self._lay()

    def render_line(self, y: int) -> Strip:
        index = int(self.scroll_offset.y) + y
        return self.draw(self._lines[index] if 0 <= index < len(self._lines) else ())
