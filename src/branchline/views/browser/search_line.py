"""The line of a list that says what is searched for, with the caret in it."""

from __future__ import annotations

from branchline.views.browser.line_edit import LineEdit
from branchline.views.spans import Line, Span, make_line

__all__ = ["PRESS_TO_SEARCH", "TYPE_TO_SEARCH", "field_line", "search_line"]

PRESS_TO_SEARCH = "press / to search"
TYPE_TO_SEARCH = "type to search"


def field_line(edit: LineEdit, hint: str = "", *, typing: bool = True) -> Line:
    """What is typed, with its caret; the hint stands there while nothing is."""
    before, after = edit.text[: edit.caret], edit.text[edit.caret :]
    return make_line(
        Span(before, "title"),
        Span("▏" if typing else "", "active"),
        Span(after, "title"),
        Span("" if edit.text else hint, "dim"),
    )


def search_line(edit: LineEdit, hint: str, *, typing: bool = False) -> Line:
    """A field behind the word that says what it is for."""
    return make_line(Span(" Search ", "dim"), *field_line(edit, hint, typing=typing))
