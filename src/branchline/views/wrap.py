"""Wrap long lines for a screen: between words if possible, never inside a grapheme cluster.

Only the space at a break is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from branchline.views.spans import Line, Piece, Span, StyleRole, make_line, shown_line
from branchline.views.text import clusters, safe, width

__all__ = ["text_lines", "wrap_line"]

_TAB = "    "


def text_lines(text: str, columns: int, role: StyleRole = "plain", *, indent: str = "") -> list[Line]:
    """Return a text as lines that fit; each begins with the indent."""
    room = max(1, columns - len(indent))
    lines: list[Line] = []
    for whole in safe(text).replace("\t", _TAB).split("\n"):
        lines += [make_line(indent, Span(whole[start:end], role)) for start, end in _parts(whole, room)]
    return lines


def wrap_line(line: Iterable[Piece], columns: int, *, indent: int = 0) -> list[Line]:
    """Wrap one line; lines after the first are indented."""
    shown = shown_line(line)
    text = "".join(span.text for span in shown)
    first = next(_parts(text, max(1, columns)), (0, 0))
    if first[1] >= len(text):
        return [shown]
    wrapped = [_slice(shown, *first)]
    rest = first[1]
    while rest < len(text) and text[rest] == " ":
        rest += 1
    blanks = " " * indent
    for start, end in _parts(text[rest:], max(1, columns - indent)):
        wrapped.append(make_line(blanks, *_slice(shown, rest + start, rest + end)))
    return wrapped


def _parts(text: str, columns: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each line of a filtered text."""
    if len(text) <= columns and width(text) <= columns:
        yield 0, len(text)
    elif text.isascii():
        yield from _narrow_parts(text, columns)
    else:
        yield from _wide_parts(text, columns)


def _narrow_parts(text: str, columns: int) -> Iterator[tuple[int, int]]:
    start, size = 0, len(text)
    while size - start > columns:
        blank = text.rfind(" ", start + 1, start + columns + 1)
        if blank < 0 or not text[start:blank].strip():
            end = following = start + columns
        else:
            end, following = blank, blank + 1
        yield start, end
        start = following
    yield start, size


def _wide_parts(text: str, columns: int) -> Iterator[tuple[int, int]]:
    start = used = 0
    blank = since_blank = -1  # the last blank of this line, and the columns used up to behind it
    for cluster in clusters(text):
        if used + cluster.columns > columns and cluster.start > start:
            if text[cluster.start : cluster.end] == " ":
                yield start, cluster.start
                start, used, blank = cluster.end, 0, -1
                continue
            if blank > start:
                yield start, blank
                start, used = blank + 1, used - since_blank
            if used + cluster.columns > columns and cluster.start > start:
                yield start, cluster.start
                start, used = cluster.start, 0
            blank = -1
        used += cluster.columns
        if text[cluster.start : cluster.end] == " " and text[start : cluster.start].strip():
            blank, since_blank = cluster.start, used
    yield start, len(text)


def _slice(line: Line, start: int, end: int) -> Line:
    """The part of a line between two offsets of its text."""
    taken: list[Span] = []
    place = 0
    for text, role in line:
        if place >= end:
            break
        if place + len(text) > start:
            taken.append(Span(text[max(0, start - place) : end - place], role))
        place += len(text)
    return make_line(*taken)
