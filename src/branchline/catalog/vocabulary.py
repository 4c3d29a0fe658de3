"""Parts of words: the terms of the full-text index that contain a text.

The index finds whole words and their beginnings. Its vocabulary is much smaller than its texts, so that a
part of a word is looked for in the vocabulary first, which covers messages of any age.
"""

from __future__ import annotations

import sqlite3
import time
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from branchline.catalog.catalog import Catalog

__all__ = ["WordParts", "terms_holding"]

_SHORTEST = 3
_MOST = 500
"""Terms with one part; with more, the part is in so many words that it tells nothing."""
_STEPS = 20_000


class WordParts(NamedTuple):
    """The terms that contain parts of words."""

    terms: dict[str, list[str]]
    """By part; without parts that are looked for as they are."""
    is_complete: bool
    """Whether no indexed text can have all parts otherwise than in these terms."""


def terms_holding(catalog: Catalog, parts: Sequence[str], *, seconds: float) -> WordParts:
    """Return the terms that contain each part, unless reading the vocabulary takes longer than ``seconds``.

    Parts that the tokenizer splits, short ones and very common ones are left as they are. If some part is in
    no term, there are none: no text has all parts.
    """
    folded = {part: _folded(part) for part in parts}
    wanted = {part: text for part, text in folded.items() if text.isalnum() and len(text) >= _SHORTEST}
    if not wanted:
        return WordParts({}, is_complete=False)
    connection, end = catalog.connection, time.monotonic() + seconds
    with catalog.guarded():
        connection.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab(main, text, row)"
        )
        where = " OR ".join("instr(term, ?)" for _ in wanted)
        connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
        try:
            rows = connection.execute(f"SELECT term FROM temp.vocabulary WHERE {where}", [*wanted.values()])
            terms = [term for (term,) in rows]
        except sqlite3.OperationalError as problem:
            if "interrupted" not in str(problem):
                raise
            return WordParts({}, is_complete=False)
        finally:
            connection.set_progress_handler(None, 0)
    found = {part: [term for term in terms if text in term] for part, text in wanted.items()}
    # A token is a run of letters and digits, so that a part in ASCII is inside of one.
    if any(not some and part.isascii() for part, some in found.items()):
        return WordParts({}, is_complete=True)
    few = {part: some for part, some in found.items() if 0 < len(some) <= _MOST}
    return WordParts(few, is_complete=all(part in few and part.isascii() for part in parts))


def _folded(text: str) -> str:
    """Return the text in lower case without accents, as the tokenizer stores it."""
    letters = unicodedata.normalize("NFD", text.lower())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))
