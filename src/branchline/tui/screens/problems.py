"""Why something is hidden, unreadable or strange: each with its reason."""

from __future__ import annotations

from collections.abc import Sequence

from branchline.tui.screens.help import TextScreen
from branchline.views.spans import Line, Span, line_of
from branchline.views.wrap import wrap_line

__all__ = ["Reason", "ReasonsScreen"]

Reason = tuple[str, str, str]
"""What kind of thing, its name, and the reason."""


class ReasonsScreen(TextScreen):
    """A list of reasons."""

    def __init__(self, title: str, reasons: Sequence[Reason]) -> None:
        super().__init__(title)
        self._reasons = reasons

    def lines(self, columns: int) -> list[Line]:
        lines: list[Line] = []
        for kind, name, reason in self._reasons:
            lines += wrap_line(
                line_of(Span(f"{kind}  ", "warning"), Span(name, "path"), "  ", Span(reason)),
                columns,
                indent=4,
            )
        return lines or [line_of(Span("Nothing is hidden and everything could be read.", "good"))]
