"""Text for the full-text index: CJK characters separated, camelCase names followed by their parts.

The tokenizer splits at everything that is neither a letter nor a digit and drops case and accents, which
suffices for ``snake_case``, paths and phrases with punctuation. A run of Chinese or Japanese would be
one token, and so would a camelCase name; those are prepared here, for text and queries alike.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

__all__ = ["expression", "has_tokens", "prepared"]

_CJK = (
    "[\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003134f]"
)
_SHAPE = bytes(
    ord("A") if one in b"ABCDEFGHIJKLMNOPQRSTUVWXYZ" else ord("a") if chr(one).isalnum() and one < 128 else 32
    for one in range(256)
)
"""A for upper case, a for lower case and digits, a blank for everything else."""
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_LONGEST = 64
"""Characters of a name that is split; longer ones are encoded data, not names."""
_PREFIX_FROM = 3
"""Letters of a word from which on it also finds words that begin with it."""


def prepared(texts: Sequence[str]) -> list[str]:
    """Return the texts for the tokenizer.

    ASCII texts, which are nearly all, are scanned together: most are so short that scanning each of them
    would take longer.
    """
    ready = [text if text.isascii() else _spaced(_encodable(text)) for text in texts]
    data = "\n".join(ready).encode()
    ends = list(accumulate(len(text) + 1 if text.isascii() else len(text.encode()) + 1 for text in ready))
    for number, parts in _parts(data, ends).items():
        ready[number] = "\n".join((ready[number], *parts))
    return ready


def _parts(data: bytes, ends: list[int]) -> dict[int, dict[str, None]]:
    """Return the parts of the camelCase names in some texts, by number of the text; ``ends`` separates them.

    They are found in a copy that has one letter for each kind of letter, because a search for two bytes is
    the fastest.
    """
    shape = data.translate(_SHAPE)
    found: dict[int, dict[str, None]] = {}
    for change in (b"aA", b"AAa"):
        at = shape.find(change)
        while at >= 0:
            start, end = shape.rfind(b" ", 0, at) + 1, shape.find(b" ", at)
            end = len(shape) if end < 0 else end
            if end - start <= _LONGEST and (split := _split(data[start:end])):
                found.setdefault(bisect_right(ends, at), {})[split] = None
            at = shape.find(change, end)
    return found


@lru_cache(maxsize=8192)
def _split(name: bytes) -> str:
    """Return the parts of a name; empty if it has only one."""
    text = name.decode()
    return "" if text.islower() or text.isupper() or text.istitle() else " ".join(_PART.findall(text))


def has_tokens(text: str) -> bool:
    """Return whether the tokenizer finds any token in a text."""
    return any(map(str.isalnum, text))


def expression(text: str, *, prefix: bool = False) -> str:
    """Return the FTS5 phrase that finds a word or phrase; with ``prefix``, its last token is a prefix."""
    plain = _spaced(_encodable(text).replace("\0", " ")).strip()
    last = plain.split()[-1] if plain else ""
    star = " *" if prefix and len(last) >= _PREFIX_FROM and last[-1].isalnum() else ""
    return '"' + plain.replace('"', '""') + '"' + star


def _spaced(text: str) -> str:
    return text if text.isascii() else re.sub(_CJK, r" \g<0> ", text)


def _encodable(text: str) -> str:
    """Return the text without lone surrogates, which SQLite rejects."""
    return text.encode("utf-8", "replace").decode()
