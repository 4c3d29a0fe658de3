"""Lines made of spans: what a row says, each piece of it with the part that it plays.

A span names a role, never a colour: the command line, the full-screen browser and a page each have a theme
that says what a role looks like. Texts are those of the session, not filtered; whoever shows a line passes
it through :func:`cut_line` or :func:`shown_line`, after which nothing in it can act on a terminal.
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
"""All roles. A theme has a look for each; ``plain`` is the terminal's own."""


class Span(NamedTuple):
    """A piece of a line and the part that it plays."""

    text: str
    role: StyleRole = "plain"


Line = tuple[Span, ...]
"""One row of a screen. Its text has no line breaks once it is shown."""

Piece = str | Span
"""What lines are made of: plain words may come as they are."""


_MOST = 16
"""Characters for each column that are looked at: few letters have more marks; the rest may be a megabyte."""


def make_line(*pieces: Piece) -> Line:
    """A line of pieces; empty ones are left out."""
    return tuple(_spans(pieces))


def _spans(pieces: Iterable[Piece]) -> Iterator[Span]:
    for piece in pieces:
        if isinstance(piece, Span):
            if piece.text:
                yield piece
        elif piece:
            yield Span(piece)


def shown_line(line: Iterable[Piece]) -> Line:
    """The line for a screen: what would act or hide is visible, newlines and tabs are blanks."""
    return tuple(
        [Span(safe(text).replace("\n", " ").replace("\t", " "), role) for text, role in _spans(line)]
    )


def cut_line(line: Iterable[Piece], columns: int, mark: str = "…") -> Line:
    """As much of the line as fits, filtered; the mark stands where something is missing."""
    spans = make_line(*line)
    most = max(0, columns) * _MOST + _MOST
    whole = shown_line(Span(text[:most], role) for text, role in spans)
    fitting = _taken(whole, columns)
    if fitting == whole and all(len(text) <= most for text, _role in spans):
        return whole
    mark = cut(mark, columns, "")
    short = _taken(whole, columns - width(mark))
    return make_line(*short, Span(mark, short[-1].role if short else whole[0].role))


def _taken(line: Line, columns: int) -> Line:
    """The beginning of a line up to a width; the rest of a long text is not even looked at."""
    taken: list[Span] = []
    for text, role in line:
        part = cut(text, columns, "")
        if part:
            taken.append(Span(part, role))
        if len(part) < len(text):
            break
        columns -= width(part)
    return tuple(taken)


def pad_line(line: Iterable[Piece], columns: int) -> Line:
    """The line cut or filled with blanks to exactly this width: a cell of a table."""
    fitting = cut_line(line, columns)
    return make_line(*fitting, " " * (columns - line_width(fitting)))


def with_cursor(line: Line) -> Line:
    """The line under the cursor: a sign in its first column, if that is blank, tells it without colours."""
    if not line or not line[0].text.startswith(" "):
        return line
    first = line[0]
    rest = [Span(first.text[1:], first.role), *line[1:]]
    words = next((at for at, span in enumerate(rest) if span.role == "plain" and span.text.strip()), None)
    if words is not None:
        rest[words] = Span(rest[words].text, "title")
    return make_line(Span("▌", "active"), *rest)


def marked_line(text: str, ranges: Iterable[tuple[int, int]], role: StyleRole, mark: StyleRole) -> Line:
    """A text in one role, with some ranges of it in another."""
    spans: list[Piece] = []
    at = 0
    for start, end in ranges:
        spans += [Span(text[at:start], role), Span(text[start:end], mark)]
        at = end
    return make_line(*spans, Span(text[at:], role))


def line_text(line: Iterable[Piece]) -> str:
    """The words of a line without roles."""
    return "".join(span.text for span in _spans(line))


def line_width(line: Iterable[Piece]) -> int:
    """The columns of a line that was filtered."""
    return sum(width(span.text) for span in _spans(line))
