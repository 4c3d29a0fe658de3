"""Values that are known to be secret, wherever they stand.

A password that is found in an address may stand in a sentence too, where no rule tells it from other words.
:class:`KnownValues` takes the values that were found, and finds each of them again, in whatever spelling: as it
is, with the escapes of JSON, HTML and URLs, and in the disguises of :mod:`branchline.redaction.disguises`.

All values are searched at once, by the words in a text, so that the time does not depend on their number.
"""

from __future__ import annotations

import base64
import html
import re
import string
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote, quote_plus, unquote

import msgspec

from branchline.redaction.disguises import disguised, disguises, merged, text_of_run, undisguised
from branchline.redaction.places import Secret
from branchline.redaction.randomness import is_placeholder, is_reference, looks_like_words

__all__ = ["KnownValues", "is_distinctive", "plain_values", "spellings_in_json", "without_escapes"]

# -- which values -----------------------------------------------------------------------------------------

_SHORTEST = 6
_SHORTEST_NUMBER = 8
_PHRASE_WORDS, _SHORTEST_PHRASE = 3, 16
_LONGEST = 4096
_COMMON = frozenset(
    "test tests testing user users username admin admins administrator root guest owner me pass password passwd "
    "passwort passphrase pwd secret token key apikey demo example sample dev prod production stage staging local "
    "localhost db database postgres postgresql pg mysql mariadb sqlite mongo mongodb redis rabbit rabbitmq kafka "
    "elastic minio docker python node java php ruby rust go ubuntu debian alpine linux windows macos app apps api "
    "web server client service host port proxy foo bar baz qwerty abc abcd asdf hello welcome changeme letmein "
    "default temp tmp data file name value string number version release build branch main master alice bob "
    "utf sha md http https ssl tls oauth ipv base aes rsa".split()
)
"""Words that a number behind them does not make a password that could be recognized."""
_STEM = re.compile(r"([A-Za-z]+)[\W_]?\d{0,8}[!?.]?\Z", re.ASCII)
_DATE = re.compile(r"(?:19|20)\d{6}(?:\d{6})?|1[5-9]\d{8}(?:\d{3})?")
_PARTS = re.compile(r"[\W_]+", re.ASCII)


def is_distinctive(value: str) -> bool:
    """Return whether a text that equals this value is the secret, and not a word that happens to be the same.

    Short values, single words and common words with a number are too frequent.
    """
    if not _SHORTEST <= len(value) <= _LONGEST or is_placeholder(value) or is_reference(value):
        return False
    if value.isdigit():
        different = len(set(value)) > len(value) // 3
        return len(value) >= _SHORTEST_NUMBER and different and _DATE.fullmatch(value) is None
    if value.isascii() and not any(map(str.isalnum, value)):
        return False
    stem = _STEM.match(value)
    if stem is not None and stem[1].lower() in _COMMON:
        return False
    if any(map(str.isdigit, value)) or not value.isascii():
        return True
    parts = [part for part in _PARTS.split(value) if part]
    if all(part.lower() in _COMMON for part in parts):
        return False
    if looks_like_words(value):
        return len(parts) >= _PHRASE_WORDS and len(value) >= _SHORTEST_PHRASE
    return True


_UNSEARCHED = frozenset({"private-key", "seed-phrase", "literal"})
"""Found by their form wherever they stand; a part of them is not."""


def plain_values(found: str, kind: str) -> set[str]:
    """Return the values that a secret stands for, given its text: without escapes, decoded."""
    if kind in _UNSEARCHED or len(found) > _LONGEST:
        return set()
    values = {found}
    for read in (_from_json, html.unescape, unquote, undisguised):
        values |= {read(value) for value in values}
    for value in [*values]:
        decoded = text_of_run(value) if len(value) >= _SHORTEST else None
        if decoded is not None and decoded.isascii():
            password = decoded.partition(":")[2] if kind == "basic-auth" else decoded
            values.add(password.strip())
    return values


def without_escapes(text: str) -> str:
    """Return a text as a reader sees it, without escapes and what hides it."""
    return undisguised(html.unescape(_from_json(text)))


def _from_json(text: str) -> str:
    for _ in range(3):
        if "\\" not in text:
            break
        try:
            text = msgspec.json.decode(f'"{text}"', type=str)
        except msgspec.MsgspecError:
            break
    return text


# -- how they are written ---------------------------------------------------------------------------------


def _spellings(value: str) -> set[str]:
    found = {value, *spellings_in_json(value)}
    found |= {inner for each in [*found] for inner in spellings_in_json(each)}
    escaped = html.escape(value)
    found |= {escaped, escaped.replace("&#x27;", "&#39;"), html.escape(value, quote=False)}
    for coded in (quote(value, safe=""), quote(value), quote_plus(value)):
        found |= {coded, re.sub("%..", lambda code: code[0].lower(), coded)}
    data = value.encode("utf-8", "surrogatepass")
    for digits in (base64.b64encode(data).decode(), base64.urlsafe_b64encode(data).decode(), data.hex()):
        found |= {digits, digits.rstrip("="), digits.upper() if digits == data.hex() else digits}
    found |= {
        each.encode("utf-8", "surrogatepass").decode("latin-1") for each in [*found] if not each.isascii()
    }
    return found


def spellings_in_json(text: str) -> Iterator[str]:
    """Yield the ways to write a text in JSON, with and without escapes."""
    plain = msgspec.json.encode(text).decode()[1:-1]
    yield plain
    yield "".join(
        letter if letter.isascii() else "".join(f"\\u{unit:04x}" for unit in _units(letter))
        for letter in plain
    )
    yield plain.replace("/", "\\/")


def _units(letter: str) -> list[int]:
    data = letter.encode("utf-16-be")
    return [int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)]


class _Spelling(NamedTuple):
    """A way to write a value, and the longest run of letters and digits in it, by which it is found."""

    text: str
    kind: str
    anchor: int
    """Where that run begins."""


# -- search -----------------------------------------------------------------------------------------------

_ALNUM = string.ascii_letters + string.digits
_CLASSES = bytes(code if chr(code) in _ALNUM else ord(" ") for code in range(256))
_RUN = re.compile(r"[0-9A-Za-z]+")
_AT_ONCE = 1 << 20
_ESCAPE_BEFORE = re.compile(
    r"(?:\\[abefnrtv0]|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|%[0-9A-Fa-f]{2}|\[[0-9;]{0,12}[A-Za-z])\Z"
)
_LONGEST_ESCAPE = 16
_TAIL = 4
_PREFIX = 4


class KnownValues:
    """Values that are secret, each with its kind."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._anchors: dict[str, list[_Spelling]] = {}
        self._tails: dict[str, list[str]] = {}
        """The anchors at the start of a spelling, by their end: an escape before them may look like letters."""
        self._prefixes: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)

    def __contains__(self, value: object) -> bool:
        return value in self._kinds

    def learn(self, found: str, kind: str) -> None:
        """Take a secret that was found, if its value can be recognized elsewhere."""
        for value in plain_values(found, kind):
            if is_distinctive(value):
                self.add(value, kind)

    def add(self, value: str, kind: str) -> None:
        """Take a value, whatever it looks like."""
        value = value.encode("utf-8", "replace").decode()  # no file holds half of a character
        if not value or value in self._kinds:
            return
        self._kinds[value] = kind
        self._prefixes.add(value[:_PREFIX])
        for text in _spellings(value):
            runs = [*_RUN.finditer(text)]
            if not runs:
                continue
            run = max(runs, key=lambda each: len(each[0]))
            self._anchors.setdefault(run[0], []).append(_Spelling(text, kind, run.start()))
            if run.start() == 0:
                self._tails.setdefault(run[0][-_TAIL:], []).append(run[0])

    def find(self, text: str) -> list[Secret]:
        """Return the known values in a text, in order and without overlaps."""
        if not self._kinds:
            return []
        found = self._as_written(text)
        hidden = disguised(text, self._as_written, self._as_written, self._may_begin)
        return merged([*found, *hidden]) if hidden or len(found) > 1 else found

    def suspects(self, text: str) -> list[Secret]:
        """Return the places where there may be a known value, or anything that hides one (no kind)."""
        if not self._kinds:
            return []
        places = [(start, end) for start, end, _ in self._words(text)]
        places += [(place, place + 1) for place in disguises(text, self._may_begin)]
        return [Secret(start, end, "") for start, end in sorted(places)]

    def _as_written(self, text: str) -> list[Secret]:
        found = []
        for _, stop, anchor in self._words(text):
            for spelling in self._anchors[anchor]:
                start = stop - len(anchor) - spelling.anchor
                end = start + len(spelling.text)
                if start >= 0 and text.startswith(spelling.text, start) and _is_apart(text, start, end):
                    found.append(Secret(start, end, spelling.kind))
        return merged(found)

    def _words(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield the words that are, or end with, a part of a value: start, end and that part."""
        try:
            plain = text.encode("latin-1")
        except UnicodeEncodeError:
            plain = text.encode("ascii", "replace")
        letters = plain.translate(_CLASSES)
        start = 0
        while start < len(letters):
            end = letters.find(b" ", start + _AT_ONCE)
            end = len(letters) if end < 0 else end
            part = letters[start:end].decode("ascii")
            known = self._known_in(set(part.split()))
            if known:
                for run in _RUN.finditer(part):
                    for anchor in known.get(run[0], ()):
                        yield start + run.start(), start + run.end(), anchor
            start = end

    def _known_in(self, words: set[str]) -> dict[str, list[str]]:
        """Return the anchors in words, by the word."""
        known = {word: [word] for word in words & self._anchors.keys()}
        for word in words:
            for anchor in self._tails.get(word[-_TAIL:], ()):
                if len(anchor) < len(word) and word.endswith(anchor):
                    known.setdefault(word, []).append(anchor)
        return known

    def _may_begin(self, word: str) -> bool:
        return any(word[run.start() : run.start() + _PREFIX] in self._prefixes for run in _RUN.finditer(word))


def _is_apart(text: str, start: int, end: int) -> bool:
    """Return whether a value is not a part of a longer word."""
    if text[end - 1].isalnum() and text[end : end + 1].isalnum():
        return False
    if not (text[start].isalnum() and text[start - 1 : start].isalnum()) or start == 0:
        return True
    return _ESCAPE_BEFORE.search(text, max(0, start - _LONGEST_ESCAPE), start) is not None
