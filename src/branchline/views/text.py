"""Text for terminals: filtering, width and truncation.

Text of a session is untrusted. :func:`safe` makes everything visible that would act on a terminal: ``␛[31m``
for a colour, ``‹U+202E›`` for a character that changes the direction, ``‹U+200B›`` for one without width,
``‹U+D83D›`` for half of a surrogate pair. Newline and tab are the only control characters that pass.

Three kinds of characters without width pass, because text is wrong without them and they cannot hide
anything: combining marks; one variation selector after a character (emoji or text style); and a single joiner
or non-joiner between two letters of a script that needs them (Persian, Hindi …) or two emoji.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple
from unicodedata import category, east_asian_width

__all__ = [
    "ESCAPES",
    "Cluster",
    "clusters",
    "cut",
    "cut_start",
    "one_line",
    "pad",
    "safe",
    "width",
    "without_escapes",
]

_PLAIN = bytes([9, 10, *range(32, 127)])
_JOINING = "\u0620-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u17b3\u17b6-\u17ff\u1820-\u18aa"
_EMOJI = "\u2190-\u21ff\u2300-\u27bf\u2b00-\u2bff\ufe0f\U0001f000-\U0001faff"
_ALWAYS = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and newline
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2028\u2029\u2060-\u2065\u206a-\u206f\u3164"
    "\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"  # without width, and the tags
    "\ud800-\udfff"  # halves of surrogate pairs
)
_SUSPECT = f"[{_ALWAYS}\u200c\u200d\ufe0e\ufe0f]"
_ORDINARY = (
    "[\t\n -~\xa0-\xac\xae-\u034e\u0350-\u061b\u061d-\u115e\u1161-\u17b3\u17b6-\u180a\u1810-\u200a"
    "\u2010-\u2027\u202f-\u205f\u2070-\u3163\u3165-\ud7ff\ue000-\ufdff\ufe10-\ufefe\uff00-\uff9f"
    "\uffa1-\uffef\ufffc-\uffff]*+"
)
"""Unsuspicious characters of the basic plane: without others, a class is matched much faster."""
_UNSEEN = (
    f"[{_ALWAYS}]"
    f"|\u200c(?![{_JOINING}])|(?<![{_JOINING}])\u200c"
    f"|\u200d(?![{_JOINING}{_EMOJI}])|(?<![{_JOINING}{_EMOJI}])\u200d"
    f"|(?<=[{_JOINING}])\u200d(?=[{_EMOJI}])|(?<=[{_EMOJI}])\u200d(?=[{_JOINING}])"
    "|(?:(?<=[\ufe00-\ufe0f\t\n])|\\A)[\ufe0e\ufe0f]"
)
"""Compiled on demand, which few texts need: it takes longer than showing a list."""

_ONE = " -~\xa1-\xac\xae-\u02ff\u2010-\u2027\u2039\u203a\u2190-\u21ff\u2400-\u2426\u2500-\u25fc"
_TWO = "\u3001-\u3029\u3041-\u3096\u30a0-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60"
_NARROW = f"[{_ONE}]*+"
"""Lines in which every character has one column and none joins another: most of them."""
_UNJOINED = f"[{_ONE}{_TWO}]*+"
"""Lines in which some have two and none joins another: most that are left."""
_NARROW_RUN = f"[{_ONE}]++"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern on demand; ASCII text needs none."""
    return re.compile(pattern)


MARKS_PER_CHARACTER = 30
"""The most combining marks per character in truncated text; no script uses more."""

ESCAPES = "\x1b\\[([0-9;]{0,40})m|\x1b(?:\\[[0-9;?]{0,40}[A-Za-z]|\\][^\x07\x1b]{0,400}(?:\x07|\x1b\\\\))"
"""A pattern for the escape sequences of terminals; its group has the numbers of a style."""


def without_escapes(text: str) -> str:
    """The text without escape sequences, which :func:`safe` would spell out."""
    return _compiled(ESCAPES).sub("", text) if "\x1b" in text else text


def safe(text: str) -> str:
    """Return the text with everything visible that would act on a terminal or hide. Never fails."""
    if text.isprintable() and text.replace("…", "").isascii():  # as most pieces of text are that were cut
        return text
    # Deleting the plain characters of a long text is many times as fast as searching for another one.
    if text.isascii() and not text.encode().translate(None, _PLAIN):
        return text
    if _compiled(_ORDINARY).fullmatch(text) or _compiled(_SUSPECT).search(text) is None:
        return text
    seen = re.sub(_UNSEEN, _seen, text.replace("\r\n", "\n"))
    # A joiner may have followed a selector that was just made visible.
    return re.sub(_UNSEEN, _seen, seen) if "\u200d" in seen else seen


def one_line(text: str) -> str:
    """Return the filtered text on one line: newlines and tabs become spaces, and the ends are trimmed."""
    return safe(text).replace("\n", " ").replace("\t", " ").strip()


def width(text: str) -> int:
    """Return the width of a filtered line in terminal columns.

    Where terminals disagree (conjuncts of Indian scripts, symbols that became wide recently), it is the
    larger width, so that a line never overflows.
    """
    if (text.isascii() and text.isprintable()) or _compiled(_NARROW).fullmatch(text):
        return len(text)
    if _compiled(_UNJOINED).fullmatch(text):
        return len(text) + len(_compiled(_NARROW_RUN).sub("", text))
    return sum(cluster.columns for cluster in clusters(text))


def cut(text: str, columns: int, mark: str = "…") -> str:
    """Truncate a line, with a mark at its end; grapheme clusters are not split."""
    if len(text) <= columns and _compiled(_NARROW).fullmatch(text):
        return text
    if columns <= 0:
        return ""
    mark = mark if width(mark) <= columns else ""
    room = columns - width(mark)
    if _compiled(_NARROW).fullmatch(text, 0, columns + 1):
        return text[:room] + mark  # what follows the cut is narrow too, so that nothing is cut apart
    used = end = 0  # end: where the text would be cut to make room for the mark
    for cluster in clusters(text):
        used += cluster.columns
        if used > columns or cluster.end - cluster.start > MARKS_PER_CHARACTER + 1:
            return text[:end] + mark
        if used <= room:
            end = cluster.end
    return text


def cut_start(text: str, columns: int) -> str:
    """Truncate a line at its start, with an ellipsis: for paths and models, whose ends differ."""
    if width(text) <= columns:
        return text
    room, start = columns - 1, len(text)
    for cluster in reversed(list(clusters(text))):
        room -= cluster.columns
        if room < 0:
            break
        start = cluster.start
    return "…" + text[start:] if columns > 0 else ""


def pad(text: str, columns: int, *, right: bool = False) -> str:
    """Pad a line with spaces to a width; ``right`` aligns it to the right. Longer lines do not change."""
    blanks = " " * (columns - width(text))
    return blanks + text if right else text + blanks


class Cluster(NamedTuple):
    """A grapheme cluster: its start and end in the text, and its width."""

    start: int
    end: int
    columns: int


def clusters(text: str) -> Iterator[Cluster]:
    """Yield the grapheme clusters of a filtered line.

    Marks, selectors, skin colours, joined emoji, flags and the parts of a Korean syllable belong to the
    character before them. A heap of more marks than any script has ends a cluster: what was flooded can be
    told by its length, and none of it is read twice.
    """
    start = columns = 0
    before = ""
    flag = False  # the cluster is one half of a flag so far
    for place, character in enumerate(text):
        own = _columns_of(character)
        if before and place - start <= MARKS_PER_CHARACTER + 1:
            grown = _grown(columns, before, character, own, flag=flag)
            if grown is not None:
                columns, before, flag = grown, character, False
                continue
        if before:
            yield Cluster(start, place, columns)
        start, columns, before = place, own, character
        flag = character in _FLAG_LETTERS
    if before:
        yield Cluster(start, len(text), columns)


def _seen(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"‹U+{code:04X}›"


def _grown(columns: int, before: str, character: str, own: int, *, flag: bool) -> int | None:
    """The columns of a cluster ending with ``before`` once this character joined it; None if it does not."""
    if character.isascii():
        return None
    if character == "\ufe0f":  # asks for the wide, coloured form of a symbol, a digit on a key
        return 2 if before in "0123456789#*ℹ" or category(before) in ("So", "Sm", "Po") else columns
    if category(character) == "Mc":  # a vowel sign beside its letter
        return columns + own
    if own == 0:
        return columns
    if before == "\u200d":
        joins = category(character) in ("So", "Sm")
    elif "\U0001f3fb" <= character <= "\U0001f3ff":
        joins = category(before) == "So" or before == "\ufe0f"
    else:
        joins = flag and character in _FLAG_LETTERS
    return 2 if joins else None


_FLAG_LETTERS = frozenset(map(chr, range(0x1F1E6, 0x1F200)))
_WIDE = (
    "[\u2630-\u2637\u268a-\u268f\u4dc0-\u4dff\U0001d300-\U0001d356\U0001d360-\U0001d376\U0001f1e6-\U0001f1ff]"
)
"""Symbols that Unicode 16 made wide, which the tables of older Pythons do not know; and halves of flags."""
_FORMAT_WITH_WIDTH = "[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd]"
"""Signs that are drawn around the following number."""
_VOWELS_AND_FINALS = "[\u1161-\u11ff\ud7b0-\ud7ff]"
"""Parts of a Korean syllable that are drawn with its first consonant."""


@lru_cache(maxsize=4096)
def _columns_of(character: str) -> int:
    """The width of a single character: 0, 1 or 2."""
    kind = category(character)
    if kind in ("Mn", "Me", "Cf", "Cc"):
        return 1 if _compiled(_FORMAT_WITH_WIDTH).match(character) else 0
    if _compiled(_VOWELS_AND_FINALS).match(character):
        return 0
    return 2 if east_asian_width(character) in "WF" or _compiled(_WIDE).match(character) else 1
