"""Fuzzy matching: the score of letters that occur in order in a text, as in pi. Lower is better."""

from __future__ import annotations

import re

__all__ = ["fuzzy_score"]

_BREAKS = frozenset(" -_./:\t\n")
_SWAPPED = r"([a-z]+)([0-9]+)|([0-9]+)([a-z]+)"
_GAP, _RUN, _START, _PLACE, _WHOLE, _SWAP = 2.0, 5.0, 10.0, 0.1, 100.0, 5.0


def fuzzy_score(letters: str, text: str) -> float | None:
    """Return the score of letters in a text; None if they do not occur in this order. Case is ignored.

    Adjacent letters and word starts improve the score; gaps and late positions worsen it.
    ``abc12`` is also tried as ``12abc``.
    """
    letters, text = letters.lower(), text.lower()
    if not letters:
        return 0.0
    found = _best(letters, text)
    if found is None and (swapped := re.fullmatch(_SWAPPED, letters)) is not None:
        first, second = (swapped[1], swapped[2]) if swapped[1] else (swapped[3], swapped[4])
        found = _best(second + first, text)
        return None if found is None else found + _SWAP
    return found


def _best(letters: str, text: str) -> float | None:
    places = []
    at = -1
    for letter in letters:
        at = text.find(letter, at + 1)
        if at < 0:
            return None
        places.append(at)
    score = _score(places, text)
    if (whole := text.find(letters)) >= 0:
        score = min(score, _score(range(whole, whole + len(letters)), text))
    return score - _WHOLE if letters == text else score


def _score(places: list[int] | range, text: str) -> float:
    score = 0.0
    last, run = -1, 0
    for place in places:
        if place == last + 1:
            run += 1
            score -= _RUN * run
        else:
            run = 0
            score += _GAP * (place - last - 1)
        if place == 0 or text[place - 1] in _BREAKS:
            score -= _START
        score += _PLACE * place
        last = place
    return score
