"""The one way of text to a terminal: nothing in it can move the cursor, turn the writing or hide itself.

Text of a session is data. What a terminal would obey becomes something to look at: ``␛[31m`` for a colour,
``‹U+202E›`` for a character that turns the direction of writing, ``‹U+200B›`` for one that has no width,
``‹U+D83D›`` for half of a surrogate pair. Newline and tab are the only control characters that pass.

Three kinds of characters without width stay, because text is wrong without them and they can hide nothing:
combining marks; one variation selector after a character (emoji or text style); and a single joiner or
non-joiner between two letters of a script that needs them (Persian, Hindi …) or two emoji.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

__all__ = ["cut", "one_line", "safe", "width"]

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
_SUSPECT = re.compile(f"[{_ALWAYS}\u200c\u200d\ufe0e\ufe0f]")
_UNSEEN = re.compile(
    f"[{_ALWAYS}]"
    f"|\u200c(?![{_JOINING}])|(?<![{_JOINING}])\u200c"
    f"|\u200d(?![{_JOINING}{_EMOJI}])|(?<![{_JOINING}{_EMOJI}])\u200d"
    f"|(?<=[{_JOINING}])\u200d(?=[{_EMOJI}])|(?<=[{_EMOJI}])\u200d(?=[{_JOINING}])"
    "|(?:(?<=[\ufe00-\ufe0f\t\n])|\\A)[\ufe0e\ufe0f]"
)

MARKS_PER_CHARACTER = 30
"""How many combining marks on one character are kept when a text is cut; no script uses more."""


def safe(text: str) -> str:
    """The text for a terminal: everything that would act or hide is made visible. Never fails."""
    if _SUSPECT.search(text) is None:
        return text
    seen = _UNSEEN.sub(_seen, text.replace("\r\n", "\n"))
    # A joiner may have followed a selector that was just made visible.
    return _UNSEEN.sub(_seen, seen) if "\u200d" in seen else seen


def one_line(text: str) -> str:
    """The text for one line of a terminal: newlines and tabs are blanks, the ends are trimmed."""
    return safe(text).replace("\n", " ").replace("\t", " ").strip()


def width(text: str) -> int:
    """How many columns a terminal takes for a line that passed :func:`safe`."""
    if text.isascii():
        return len(text)
    columns = 0
    before = ""
    for character in text:
        columns += _columns(before, character)
        before = character
    return columns


def cut(text: str, columns: int, mark: str = "…") -> str:
    """As much of a line as fits, with the mark where something is missing; no character is cut apart."""
    if text.isascii() and len(text) <= columns:
        return text
    if columns <= 0:
        return ""
    mark = mark if width(mark) <= columns else ""
    room = columns - width(mark)
    used = marks = 0
    end = 0  # where the text would be cut to make room for the mark
    before = ""
    for place, character in enumerate(text):
        step = _columns(before, character)
        marks = marks + 1 if step == 0 else 0
        if step > 0 and character != "\ufe0f" and used <= room:
            end = place
        used += step
        if used > columns or marks > MARKS_PER_CHARACTER:
            return text[:end] + mark
        before = character
    return text


def _seen(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"‹U+{code:04X}›"


def _columns(before: str, character: str) -> int:
    """The columns that a character adds to a line in which it follows another one."""
    own = _own_columns(character)
    if not before or character.isascii():
        return own
    if character == "\ufe0f":  # asks for the wide, coloured form of a symbol, a digit on a key
        symbol = before in "0123456789#*" or unicodedata.category(before) == "So"
        return 1 if symbol and _own_columns(before) == 1 else 0
    if own == 2 and (before == "\u200d" or "\U0001f3fb" <= character <= "\U0001f3ff"):
        return 0 if _own_columns(before) != 1 else own  # joined to, or the skin of, the emoji before
    return own


@lru_cache(maxsize=4096)
def _own_columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf", "Cc"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
