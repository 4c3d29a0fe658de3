"""Seed phrases of wallets: 12 to 24 consecutive BIP-39 words.

Ordinary sentences hardly ever have twelve of these words in a row, because the list has no articles, pronouns
or prepositions.
"""

from __future__ import annotations

import re
from itertools import pairwise

from branchline.redaction.seed_words import SEED_WORDS

__all__ = ["seed_phrases"]

_SHORTEST = 12
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
        words = run.replace(",", " ").split()
        # Among twelve words in a row, one has an index that is a multiple of twelve: most runs end here.
        if not SEED_WORDS.isdisjoint(words[_SHORTEST - 1 :: _SHORTEST]):
            found += _in_run(run, start)
        start = end
    return found


def _in_run(run: str, offset: int) -> list[tuple[int, int]]:
    words = list(_WORD.finditer(run))
    others = [place for place, word in enumerate(words) if word[0] not in SEED_WORDS]
    found: list[tuple[int, int]] = []
    for before, behind in pairwise([-1, *others, len(words)]):
        size = behind - before - 1
        if size >= _SHORTEST and len({word[0] for word in words[before + 1 : behind]}) > _SHORTEST // 2:
            found.append((offset + words[before + 1].start(), offset + words[behind - 1].end()))
    return found
