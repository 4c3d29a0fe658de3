"""Lines of spans: texts with style roles.

A span has a role, never a colour: the command line, the full-screen browser and pages each have a theme with
the style of each role. The texts are unfiltered. Every interface passes a line through :func:`cut_line` or
:func:`shown_line` before it shows it, so that nothing in it can act on a terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, get_args

from branchline.views.text import cut, safe, width

__all__ = [
    "ROLES",
    "Line",
    "Piece",
    "Span",
    "StyleRole",
    "cut_line",
    "line_text",
    "line_width",
    "make_line",
    "marked_line",
    "pad_line",
    "shown_line",
    "spread",
    "with_cursor",
]

StyleRole = Literal[
    "plain",
    # what something is
    "title",
    "heading",
    "id",
    "time",
    "number",
    "path",
    "program",
    "model",
    "label",
    "cost",
    "bar",
    "dim",
    # who speaks
    "user",
    "prompt",
    "assistant",
    "thinking",
    "tool",
    "bash",
    "custom",
    "system",
    "summary",
    "setting",
    # what state it is in
    "active",
    "cursor",
    "match",
    "found",
    "good",
    "warning",
    "error",
    "added",
    "removed",
    # how much of something there was
    "heat1",
    "heat2",
    "heat3",
    "heat4",
]
ROLES: tuple[StyleRole, ...] = get_args(StyleRole)
"""All roles. A theme has a style for each; ``plain`` is the default of the terminal."""


class Span(NamedTuple):
    """A piece of a line and its role."""

    text: str
    role: StyleRole = "plain"


Line = tuple[Span, ...]
"""One row of a screen; filtering removes line breaks."""

Piece = str | Span
"""A part of a line; a text has the role ``plain``."""


_MOST = 16
"""Characters per column that are processed: few letters have more marks, and texts may be megabytes."""


def make_line(*pieces: Piece) -> Line:
    """Return a line of pieces, without empty ones."""
    return tuple(_spans(pieces))


def _spans(pieces: Iterable[Piece]) -> Iterator[Span]:
    for piece in pieces:
        if isinstance(piece, Span):
            if piece.text:
                yield piece
        elif piece:
            yield Span(piece)


def shown_line(line: Iterable[Piece]) -> Line:
    """Filter a line for a screen: unsafe characters become visible, newlines and tabs become spaces."""
    return tuple(
        [Span(safe(text).replace("\n", " ").replace("\t", " "), role) for text, role in _spans(line)]
    )


def cut_line(line: Iterable[Piece], columns: int) -> Line:
    """Filter and truncate a line; an ellipsis shows that something is missing."""
    spans = make_line(*line)
    most = max(0, columns) * _MOST + _MOST
    whole = shown_line(Span(text[:most], role) for text, role in spans)
    fitting = _taken(whole, columns)
    if fitting == whole and all(len(text) <= most for text, _role in spans):
        return whole
    mark = cut("…", columns, "")
    short = _taken(whole, columns - width(mark))
    return make_line(*short, Span(mark, short[-1].role if short else whole[0].role))


def _taken(line: Line, columns: int) -> Line:
    """The beginning of a line up to a width, without processing the rest."""
    taken: list[Span] = []
    for text, role in line:
        part = cut(text, columns, "")
        if part:
            taken.append(Span(part, role))
        if len(part) < len(text):
            break
        columns -= width(part)
    return tuple(taken)


def pad_line(line: Iterable[Piece], columns: int, *, right: bool = False) -> Line:
    """Truncate or pad a line to exactly this width, as a cell of a table, on its left or ``right`` side."""
    fitting = cut_line(line, columns)
    blanks = " " * (columns - line_width(fitting))
    return make_line(blanks, *fitting) if right else make_line(*fitting, blanks)


def spread(left: Iterable[Piece], right: Line, columns: int) -> Line:
    """Return a line with a left and a right part; the last column stays free."""
    taken = line_width(shown_line(right)) + 1
    fitting = cut_line(left, max(0, columns - taken))
    return make_line(*fitting, " " * max(0, columns - line_width(fitting) - taken), *right)


def with_cursor(line: Line) -> Line:
    """Mark the line under the cursor in its first column, if that is a space."""
    if not line or not line[0].text.startswith(" "):
        return line
    first = line[0]
    rest = [Span(first.text[1:], first.role), *line[1:]]
    words = next((at for at, span in enumerate(rest) if span.role == "plain" and span.text.strip()), None)
    if words is not None:
        rest[words] = Span(rest[words].text, "title")
    return make_line(Span("▌", "active"), *rest)


def marked_line(text: str, ranges: Iterable[tuple[int, int]], role: StyleRole, mark: StyleRole) -> Line:
    """Return a text in one role, with some ranges in another."""
    spans: list[Piece] = []
    at = 0
    for start, end in ranges:
        spans += [Span(text[at:start], role), Span(text[start:end], mark)]
        at = end
    return make_line(*spans, Span(text[at:], role))


def line_text(line: Iterable[Piece]) -> str:
    return "".join(span.text for span in _spans(line))


def line_width(line: Iterable[Piece]) -> int:
    """Return the width of a filtered line."""
    return sum(width(span.text) for span in _spans(line))
