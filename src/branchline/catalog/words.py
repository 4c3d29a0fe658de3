"""Text as the full-text index sees it: CJK characters set apart, parts of camelCase names beside them.

The tokenizer splits at everything that is neither a letter nor a digit and drops case and accents, so that
``snake_case``, paths and phrases over punctuation need nothing more. A run of Chinese or Japanese would be
one token, and so would a camelCase name; those are prepared here, for text and queries alike.
"""

from __future__ import annotations

import re

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


def prepared(text: str) -> str:
    """The text to give to the tokenizer."""
    data = text.encode("utf-8", "replace")  # SQLite takes no half surrogate pairs
    if len(data) != len(text) or not text.isascii():
        text = _spaced(data.decode())
    parts = _parts(data)
    return "\n".join((text, *parts)) if parts else text


def _parts(data: bytes) -> set[str]:
    """The parts of the camelCase names in a text.

    Whether there are any is asked of a copy in which letters of one kind are the same letter, because nearly
    all texts have none and a search for two bytes is the fastest question there is.
    """
    shape = data.translate(_SHAPE)
    found: set[bytes] = set()
    for change in (b"aA", b"AAa"):
        at = shape.find(change)
        while at >= 0:
            start, end = shape.rfind(b" ", 0, at) + 1, shape.find(b" ", at)
            end = len(shape) if end < 0 else end
            if end - start <= _LONGEST:
                found.add(data[start:end])
            at = shape.find(change, end)
    names = [name.decode() for name in found]
    return {
        " ".join(_PART.findall(name))
        for name in names
        if not (name.islower() or name.isupper() or name.istitle())
    }


def has_tokens(text: str) -> bool:
    """Whether the tokenizer sees anything in it."""
    return any(map(str.isalnum, text))


def expression(text: str, *, prefix: bool = False) -> str:
    """The FTS5 phrase that finds a word or phrase; with ``prefix`` its last token may go on."""
    plain = _spaced(text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")).strip()
    last = plain.split()[-1] if plain else ""
    star = " *" if prefix and len(last) >= _PREFIX_FROM and last[-1].isalnum() else ""
    return '"' + plain.replace('"', '""') + '"' + star


def _spaced(text: str) -> str:
    return text if text.isascii() else re.sub(_CJK, r" \g<0> ", text)
