"""The words behind a command."""

from __future__ import annotations

import shlex

__all__ = ["split_words"]


def split_words(words: str) -> list[str]:
    """Split words at spaces, except inside quotes. ValueError if a quote is not closed."""
    try:
        return shlex.split(words)
    except ValueError:
        raise ValueError(f"a quotation mark is not closed: {words}") from None
