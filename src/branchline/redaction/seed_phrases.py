"""Seed phrases of wallets: 12 to 24 consecutive BIP-39 words.

Ordinary sentences hardly ever have twelve of these words in a row, because the list has no articles, pronouns
or prepositions.
"""

from __future__ import annotations

import re
from itertools import chain

from branchline.redaction.seed_words import SEED_WORDS

__all__ = ["seed_phrases"]

_SHORTEST = 12
_LONG_RUN = 1 << 20  # a list of the words of a longer run would need fifty times its memory
_RUN = b"a" * (_SHORTEST * 3 + _SHORTEST - 1)
_CLASSES = bytes(
    ord("a") if chr(code) in "abcdefghijklmnopqrstuvwxyz ,\n\\" else ord(".") for code in range(256)
)
_WORD = re.compile(r"[a-z]+")


def seed_phrases(plain: bytes) -> list[tuple[int, int]]:
    """Return the start and end of the seed phrases in a Latin-1 text."""
    found: list[tuple[int, int]] = []
    # Seed phrases are long runs of lower-case letters and separators, and searching for a run of one byte is
    # very fast.
    classes = plain.translate(_CLASSES)
    start = 0
    while (start := classes.find(_RUN, start)) >= 0:
        end = classes.find(b".", start)
        end = len(classes) if end < 0 else end
        run = plain[start:end].decode("latin-1").replace("\\n", "  ").replace("\\", " ")
        if len(run) > _LONG_RUN or _may_hold_phrase(run):
            found += _in_run(run, start)
        start = end
    return found


def _may_hold_phrase(run: str) -> bool:
    """Return whether one of every twelve words is a seed word, as it is in a phrase of twelve or more."""
    words = run.replace(",", " ").split()
    return not SEED_WORDS.isdisjoint(words[_SHORTEST - 1 :: _SHORTEST])


def _in_run(run: str, offset: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    start = end = count = 0
    different: set[str] = set()
    for word in chain(_WORD.finditer(run), (None,)):
        if word is not None and word[0] in SEED_WORDS:
            start, end = start if count else word.start(), word.end()
            count += 1
            different.add(word[0])
        elif count:
            if count >= _SHORTEST and len(different) > _SHORTEST // 2:
                found.append((offset + start, offset + end))
            count = 0
            different.clear()
    return found
