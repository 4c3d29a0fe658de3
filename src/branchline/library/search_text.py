"""A test on the bytes of session files, to skip those that cannot contain the words of a search."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache

__all__ = ["file_may_hold", "may_hold", "needles"]

_PIECE = 1 << 23
_LONGEST_LETTER = 12  # bytes, as two JSON escapes

_PLAIN_RUN = re.compile(rb"[a-z0-9]+")
"""Characters that every agent writes into JSON verbatim, so that the bytes can be searched for them."""
_LATIN = re.compile(rb"[\xc2-\xcb]")
_ESCAPED_LATIN = re.compile(rb"\\u0[012]")
_TOKEN = re.compile(r"[^\W_]+")


def may_hold(words: Sequence[str], data: bytes) -> bool:
    """Return whether the data may contain all these words, whatever their accents."""
    lowered = data.lower()
    return all(_occurs(word, lowered) for word in words)


def file_may_hold(words: Sequence[str], read: Callable[[int, int], bytes]) -> bool:
    """Return the same for a whole file, of which only a piece is in memory at a time."""
    missing = list(words)
    overlap = max((_LONGEST_LETTER * len(word) for word in words), default=0)
    if overlap > _PIECE // 2:
        return True
    offset = 0
    while missing and (data := read(offset, _PIECE)):
        lowered = data.lower()
        missing = [word for word in missing if not _occurs(word, lowered)]
        if len(data) < _PIECE:
            break
        offset += _PIECE - overlap
    return not missing


def _occurs(word: str, lowered: bytes) -> bool:
    if any(needle in lowered for needle in needles(word)):
        return True
    pattern = _accented(word)
    if not word.isascii() or not any(map(str.isalnum, word)):
        return pattern.search(lowered) is not None
    # Such a word can only match here if a letter has an accent, and most files have few.
    return (not lowered.isascii() and _matches_near(_LATIN, pattern, len(word), lowered)) or (
        b"\\u0" in lowered and _matches_near(_ESCAPED_LATIN, pattern, len(word), lowered)
    )


def _matches_near(
    accent: re.Pattern[bytes], pattern: re.Pattern[bytes], letters: int, lowered: bytes
) -> bool:
    """Return whether a pattern of so many letters matches where there is an accent."""
    reach, position = _LONGEST_LETTER * letters, 0
    while (found := accent.search(lowered, position)) is not None:
        start = found.start()
        if pattern.search(lowered, max(0, start - reach), start + 2 * reach) is not None:
            return True
        position = start + reach  # accents up to here would have been part of that match
    return False


def needles(word: str) -> list[bytes]:
    """Return lower-case byte strings; data that contains the word verbatim contains one of them."""
    plain = max(_PLAIN_RUN.findall(word.encode("utf-8", "surrogatepass")), key=len, default=b"")
    if plain:
        return [plain]
    longest = max(_TOKEN.findall(word), key=len, default=word.strip() or word)
    forms = [form for text in (longest.lower(), longest.upper()) for form in (text, _escaped(text))]
    return list(dict.fromkeys(form.encode("utf-8", "surrogatepass") for form in forms))


def _escaped(text: str) -> str:
    """Return the text as JSON with all non-ASCII characters escaped, in lower case."""
    return json.dumps(text)[1:-1].lower()


@lru_cache(maxsize=64)
def _accented(word: str) -> re.Pattern[bytes]:
    """Match the longest token of a word with any accents, as UTF-8 or as JSON escapes."""
    longest = max(_TOKEN.findall(word.lower()), key=len, default="")
    letters = [
        b"(?:%s|[\xc2-\xcb][\x80-\xbf]|\\\\u0[012][0-9a-f]{2})" % char.encode()
        if char.isascii()
        else b".{1,12}?"
        for char in longest
    ]
    return re.compile(b"".join(letters) or b".", re.DOTALL)
