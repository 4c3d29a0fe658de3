"""The base of widgets that scroll lines: width, background and styles, without keys."""

from __future__ import annotations

from collections.abc import Mapping

from rich.style import Style
from textual.geometry import Region
from textual.scroll_view import ScrollView
from textual.strip import Strip

from branchline.tui.strips import to_strip
from branchline.tui.styles import styles_for
from branchline.views.spans import Line, StyleRole

__all__ = ["LineView"]


class LineView(ScrollView, can_focus=True, inherit_bindings=False):
    """Draws lines. The screen handles the keys: a widget that scrolls itself would lose the cursor."""

    DEFAULT_CSS = """
    LineView { scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; overflow-x: hidden;
               scrollbar-color: $scrollbar; scrollbar-background: $background; }
    """

    ground = Style()
    """The style of the widget itself, looked up once each time it is drawn."""

    def render_lines(self, crop: Region) -> list[Strip]:
        self.ground = self.rich_style
        return super().render_lines(crop)

    @property
    def columns(self) -> int:
        """The width of a line without the scroll bar."""
        return self.scrollable_content_region.width

    @property
    def styles_of_roles(self) -> Mapping[StyleRole, Style]:
        return styles_for(self.app.theme)

    def draw(self, line: Line, ground: Style | None = None) -> Strip:
        """Return a line as a strip of the width of this widget."""
        return to_strip(line, self.columns, self.styles_of_roles, self.ground if ground is None else ground)
