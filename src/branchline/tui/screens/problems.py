"""Hidden, unreadable and damaged things, each with its reason."""

from __future__ import annotations

from collections.abc import Sequence

from branchline.tui.screens.help import TextScreen
from branchline.views.spans import Line, Span, make_line
from branchline.views.wrap import wrap_line

__all__ = ["ProblemsScreen", "Reason"]

Reason = tuple[str, str, str]
"""What kind of thing, its name, and the reason."""


class ProblemsScreen(TextScreen):
    """A list of reasons."""

    def __init__(self, title: str, reasons: Sequence[Reason]) -> None:
        super().__init__(title)
        self._reasons = reasons

    def lines(self, columns: int) -> list[Line]:
        lines: list[Line] = []
        for kind, name, reason in self._reasons:
            lines += wrap_line(
                make_line(Span(f"{kind}  ", "warning"), Span(name, "path"), "  ", Span(reason)),
                columns,
                indent=4,
            )
        return lines or [make_line(Span("No hidden or unreadable sessions.", "good"))]
