"""The search line of a list, with the caret."""

from __future__ import annotations

from branchline.views.browser.line_edit import LineEdit
from branchline.views.spans import Line, Span, make_line

__all__ = ["PRESS_TO_SEARCH", "TYPE_TO_SEARCH", "field_line", "search_line"]

PRESS_TO_SEARCH = "press / to search"
TYPE_TO_SEARCH = "type to search"


def field_line(edit: LineEdit, hint: str = "", *, typing: bool = True) -> Line:
    """Return the text with its caret; an empty field shows the hint."""
    before, after = edit.text[: edit.caret], edit.text[edit.caret :]
    return make_line(
        Span(before, "title"),
        Span("▏" if typing else "", "active"),
        Span(after, "title"),
        Span("" if edit.text else hint, "dim"),
    )


def search_line(edit: LineEdit, hint: str, *, typing: bool = False) -> Line:
    """Return the field of a search with its name."""
    return make_line(Span(" Search ", "dim"), *field_line(edit, hint, typing=typing))
