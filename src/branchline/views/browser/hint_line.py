"""The key line of all screens: the most useful keys, as many as fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from branchline.views.browser.keymap import keys_of, letter_name, shown_key
from branchline.views.spans import Line, Span, line_width, make_line

__all__ = ["Hint", "hints"]

_GAP = "   "


class Hint(NamedTuple):
    """A piece of the line with the action of its key; None for a separator."""

    line: Line
    action: str | None = None


def hints(
    screen: str, width: int, *, letters: bool = False, words: Mapping[str, str] | None = None
) -> list[Hint]:
    """Return the key line of a screen in pieces; the help key is always last.

    ``words`` override the text of a key by its action; an empty text omits the key.
    """
    told: list[Hint] = []
    last: Hint | None = None
    changed = {} if words is None else words
    for key in keys_of(screen):
        word = changed.get(key.action, key.hint)
        if not word:
            continue
        name = letter_name(key.letter) if letters and key.letter else shown_key(key.keys).split(" ")[0]
        hint = Hint(make_line(Span(name, "title"), Span(f" {word}", "dim")), key.action)
        if key.action == "help":
            last = hint
        else:
            told.append(hint)
    assert last is not None
    room = width - 2 - line_width(last.line)
    pieces = [Hint(make_line(" "))]
    for hint in told:
        needed = line_width(hint.line) + len(_GAP)
        if needed > room:
            break
        room -= needed
        pieces += [hint, Hint(make_line(_GAP))]
    return [*pieces, Hint(make_line(" " * max(0, room))), last]
