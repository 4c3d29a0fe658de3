"""The line of a list that says what is searched for."""

from __future__ import annotations

from branchline.views.spans import Line, Span, make_line

__all__ = ["PRESS_TO_SEARCH", "search_line"]

PRESS_TO_SEARCH = " press / to search"


def search_line(words: str, hint: str, *, typing: bool = False, caret: bool = False) -> Line:
    """What is searched for; the hint stands there while nothing is."""
    return make_line(
        Span(" / ", "active" if typing or words else "dim"),
        Span(words, "title"),
        Span("▏" if typing or caret else "", "active"),
        Span("" if words else hint, "dim"),
    )
