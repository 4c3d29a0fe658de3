"""The line of keys that all screens share: those that matter most, as many as fit."""

from __future__ import annotations

from typing import NamedTuple

from branchline.tui.keymap import keys_of, shown_key
from branchline.views.spans import Line, Span, line_width, make_line

__all__ = ["Hint", "hints"]

_ALWAYS = 2
"""How to see all keys, and how to leave, are the last two of every table and always told."""
_GAP = "   "


class Hint(NamedTuple):
    """A piece of the line, and the action that its key does; None between two of them."""

    line: Line
    action: str | None = None


def hints(screen: str, width: int) -> list[Hint]:
    """The line for a screen of this width, piece by piece."""
    all_of_them = [
        Hint(
            make_line(Span(shown_key(key.keys).split(" ")[0], "active"), Span(f" {key.hint}", "dim")),
            key.action,
        )
        for key in keys_of(screen)
        if key.hint
    ]
    last = all_of_them[-_ALWAYS:]
    room = width - 2 - sum(line_width(hint.line) + len(_GAP) for hint in last)
    told = []
    for hint in all_of_them[:-_ALWAYS]:
        room -= line_width(hint.line) + len(_GAP)
        if room >= 0:
            told.append(hint)
    pieces = [Hint(make_line(" "))]
    for hint in (*told, *last):
        pieces += [hint, Hint(make_line(_GAP))]
    return pieces
