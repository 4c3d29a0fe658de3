"""Several answers to one prompt: side by side if the screen is wide enough, otherwise one below the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from branchline.views.humanize import count
from branchline.views.spans import Line, Span, cut_line, make_line, pad_line
from branchline.views.wrap import text_lines

__all__ = ["AnswerColumn", "attempt_lines"]

_NARROWEST = 34
"""The narrowest readable column of an answer."""
_GAP = " │ "
_MOST = 40
"""Lines of an answer that are shown before one is picked."""
_UNKNOWN_WIDTH = 80


class AnswerColumn(msgspec.Struct, frozen=True, kw_only=True):
    """One answer: its number, its tokens and cost, and its text."""

    heading: str
    facts: str = ""
    text: str = ""


def attempt_lines(attempts: Sequence[AnswerColumn], columns: int | None) -> Iterator[Line]:
    """Yield the answers as lines. Without a width they are one below the other."""
    room = 0 if columns is None else (columns - len(_GAP) * (len(attempts) - 1)) // max(1, len(attempts))
    if len(attempts) > 1 and room >= _NARROWEST:
        yield from _beside(attempts, room)
    else:
        for attempt in attempts:
            yield _head(attempt)
            yield from _body(attempt, columns or _UNKNOWN_WIDTH)
            yield ()


def _head(attempt: AnswerColumn) -> Line:
    return make_line(Span(attempt.heading, "heading"), Span(f"  {attempt.facts}", "dim"))


def _body(attempt: AnswerColumn, columns: int) -> list[Line]:
    lines = text_lines(attempt.text.strip("\n") or "(no text)", columns)
    if len(lines) <= _MOST:
        return lines
    return [*lines[:_MOST], make_line(Span(f"… {count(len(lines) - _MOST, 'more line')}", "dim"))]


def _beside(attempts: Sequence[AnswerColumn], room: int) -> Iterator[Line]:
    blocks = [[cut_line(_head(attempt), room), *_body(attempt, room)] for attempt in attempts]
    for number in range(max(map(len, blocks))):
        pieces: list[Span] = []
        for at, block in enumerate(blocks):
            if at:
                pieces.append(Span(_GAP, "dim"))
            line = block[number] if number < len(block) else ()
            pieces += line if at == len(blocks) - 1 else pad_line(line, room)
        yield make_line(*pieces)
