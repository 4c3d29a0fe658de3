"""A test on the bytes of session files, to skip those that cannot contain the words of a search."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache

__all__ = ["may_hold", "needles"]

_PLAIN_RUN = re.compile(rb"[a-z0-9]+")
"""Characters that every agent writes into JSON verbatim, so that the bytes can be searched for them."""
_TOKEN = re.compile(r"[^\W_]+")


def may_hold(words: Sequence[str], data: bytes) -> bool:
    """Return whether the data may contain all these words, whatever their accents."""
    lowered = data.lower()
    return all(
        any(needle in lowered for needle in needles(word)) or _accented(word).search(lowered) is not None
        for word in words
    )


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
