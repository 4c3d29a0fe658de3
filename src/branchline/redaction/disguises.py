r"""Secrets in another spelling than their own: with characters inside, encoded, or going on in the next line.

Each spelling is recognized by its characters, without knowing the secret. The text around it is read as a
reader, a terminal or a browser would read it, and searched again; the place of what is found there is mapped
back. No part of a text is read more than twice for each spelling, so the time stays linear.

- Inside a secret: terminal colours, zero-width characters, ``**`` and tags; ``\_`` of Markdown; ``&#103;``,
  ``%67``, ``\x67``, ``\u0067`` and ``\147`` for a letter.
- A token that goes on in the next line.
- base64 or hexadecimal digits of a text.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
import string
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from branchline.redaction.places import Secret
from branchline.redaction.randomness import looks_like_words

__all__ = [
    "Find",
    "disguised",
    "disguised_by",
    "disguises",
    "encoded_secrets",
    "holds_encoded_text",
    "merged",
    "text_of_run",
    "undisguised",
]

Find = Callable[[str], "list[Secret]"]


def disguises(text: str, begins: Callable[[str], bool]) -> list[int]:
    """Return the offsets in JSON at which something may hide a secret.

    ``begins`` says whether a word may be the beginning of a secret that goes on in the next line.
    """
    return [
        *_signs(text),
        *(place for place in map(re.Match.start, _newlines(text)) if _breaks(text, place, begins)),
        *(run.start for run in _runs(text)),
    ]


def disguised(text: str, find: Find, find_parts: Find, begins: Callable[[str], bool]) -> list[Secret]:
    """Return the secrets that ``find`` finds in the text as it is meant.

    ``begins`` says whether a word may be the beginning of a secret that goes on in the next line; such a secret
    is searched by ``find_parts``.
    """
    return [secret for _, secret in disguised_by(text, find, find_parts, begins)]


def disguised_by(
    text: str, find: Find, find_parts: Find, begins: Callable[[str], bool]
) -> Iterator[tuple[str, Secret]]:
    """Yield the same secrets, each with what hides it."""
    for way, secrets in (
        ("characters inside, or escapes", _inside(text, find)),
        ("goes on in the next line", _wrapped(text, find_parts, begins)),
        ("encoded as base64 or hexadecimal digits", encoded_secrets(text, find)),
    ):
        for secret in secrets:
            yield way, secret


def merged(secrets: Iterable[Secret]) -> list[Secret]:
    """Sort secrets, and join those that overlap; the longest gives the kind."""
    joined: list[Secret] = []
    for secret in sorted(secrets):
        if not joined or secret.start >= joined[-1].end:
            joined.append(secret)
            continue
        last = joined[-1]
        longest = max(last, secret, key=lambda one: one.end - one.start)
        joined[-1] = Secret(last.start, max(last.end, secret.end), longest.kind)
    return joined


# -- characters inside ------------------------------------------------------------------------------------

_WORD = "[0-9A-Za-z_-]"
_SLASHES = r"\\(?<!\\\\)\\*+"
"""All backslashes of a run: trying each of them would take quadratic time."""
_COLOUR = rf"(?:[\x1b␛]|{_SLASHES}(?:u001[bB]|x1[bB]|033|e))(?:\[[0-9;:?]{{0,24}}[A-Za-z]|\]8;[^\x07\x1b\\\n]{{0,400}}(?:\x07|\x1b\\|\\+u0007|\\+a))"
_INVISIBLE = "[\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff]"
_INVISIBLE_UTF8 = (
    r"\xe2(?:\x80[\x8b-\x8f\xaa-\xae]|\x81[\xa0-\xa4\xa6-\xa9])|\xef(?:\xbb\xbf|\xb8[\x80-\x8f])|\xc2\xad"
)
_INVISIBLE_ESCAPE = (
    rf"{_SLASHES}u(?:200[b-fB-F]|202[a-eA-E]|206[0-46-9]|[fF][eE](?:[fF][fF]|0[0-9a-fA-F])|00[aA][dD])"
)
_EMPHASIS = rf"(?<=[^\s*])\*{{2,3}}(?=[^\s*])|(?<={_WORD})(?:\*|~~|(?:</?(?:a|b|i|u|s|em|del|ins|bdi|code|font|kbd|mark|samp|small|span|strong|sub|sup|tt|var|wbr)(?:[ ][^<>]{{0,200}})?/?>){{1,4}})(?={_WORD})"
_MARKDOWN = rf"(?<={_WORD})\\+(?=[_*~+=$!@#%&^-][\w\\!@#$%&*+=~^-])"
_ENTITY = (
    r"&(?:#0{0,4}(?:4[35-9]|5[0-7]|6[1-9]|[78]\d|90|9[5-9]|1[01]\d|12[0-2])"
    r"|#[xX]0{0,4}(?:2[bBdDeEfF]|3[0-9dD]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff])|lowbar|period|equals|plus|sol);"
)
_PERCENT = r"%(?:2[Dd]|3\d|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff])"
_DIGITS = r"(?:2[dDfF]|3\d|[46][1-9A-Fa-f]|[57][0-9aA]|5[fF])"
_HEX = rf"{_SLASHES}(?:x{_DIGITS}|u00{_DIGITS}|u\{{0{{0,4}}{_DIGITS}\}})"
_OCTAL = rf"{_SLASHES}0?(?:0[4-7]|1[0-7])[0-7](?![0-9])"
_INSIDE = re.compile(
    rf"(?P<gone>{_COLOUR}|{_INVISIBLE}|{_INVISIBLE_UTF8}|{_INVISIBLE_ESCAPE}|&(?:ZeroWidthSpace|zwnj|zwj|shy);|{_EMPHASIS}|{_MARKDOWN})"
    rf"|(?P<entity>{_ENTITY})|(?P<percent>{_PERCENT})|(?P<hex>{_HEX})|(?P<octal>{_OCTAL})"
)
_SIGNS = tuple(
    re.compile(pattern)
    for pattern in (
        r"\x1b(?=[\[\]])",
        rf"{_SLASHES}(?=u00[1-7aA]|u20[026]|u[fF][eE]|u\{{|x[1-7]|[01][0-7][0-7]|e\[|[_*~+=$!@#%&^-][\w\\!@#$%&*+=~^-])",
        r"&(?=#[0-9xX]|lowb|peri|equa|plus|sol;|Zero|zwn?j|shy)",
        _PERCENT,
        rf"\*(?<=\S\*)(?=\*{{1,2}}[^\s*]|{_WORD})",
        rf"~(?<={_WORD}~)(?=~{_WORD})",
        rf"<(?<={_WORD}<)(?=/?[a-z]{{1,6}}[ />])",
    )
)
"""Each begins with one character, which is searched at the speed of memory."""
_WIDE_SIGNS = tuple(
    re.compile(pattern)
    for pattern in (
        r"\xe2(?:\x80[\x8b-\x8f\xaa-\xae]|\x81[\xa0-\xa9])(?=[!-~])",
        r"\xef(?:\xbb\xbf|\xb8[\x80-\x8f])(?=[!-~])",
        r"\xc2\xad(?=[!-~])",
        r"␛(?=[\[\]])",
        r"\u00ad(?=[!-~])",
    )
)
_INVISIBLE_SIGN = re.compile(rf"{_INVISIBLE}(?=[!-~])")
_BEFORE, _AFTER = 240, 400
"""How far around such a character the text is read, unless a word is longer."""
_TO_THE_END_OF_THE_WORD = re.compile(r"[^\s\"'<>]{0,4096}")


class _Piece(NamedTuple):
    """What stands for something else: where it ends when read, how long it is then, and its place."""

    end: int
    size: int
    raw_start: int
    raw_end: int


class _AsMeant(NamedTuple):
    """A text without disguise, and the pieces that were replaced in it."""

    text: str
    pieces: list[_Piece]
    ends: list[int]

    def raw(self, start: int, end: int) -> tuple[int, int]:
        """Return the place in the original of a span."""
        before = bisect_right(self.ends, start) - 1
        first = start if before < 0 else self.pieces[before].raw_end + start - self.ends[before]
        at = bisect_left(self.ends, end)
        if at < len(self.ends) and self.ends[at] == end and self.pieces[at].size:
            return first, self.pieces[at].raw_end
        last = end if at == 0 else self.pieces[at - 1].raw_end + end - self.ends[at - 1]
        return first, last


def undisguised(text: str) -> str:
    """Return a text without the characters that hide a secret."""
    return _as_meant(text, [(0, len(text))]).text


_GAP = "\n\0\n"


def _as_meant(text: str, windows: Iterable[tuple[int, int]]) -> _AsMeant:
    """Read parts of a text as they are meant; a gap stands for the rest."""
    parts: list[str] = []
    pieces: list[_Piece] = []
    size = end = 0

    def replace(start: int, stop: int, meant: str) -> None:
        nonlocal size, end
        size += start - end + len(meant)
        parts.extend((text[end:start], meant))
        pieces.append(_Piece(size, len(meant), start, stop))
        end = stop

    for first, last in windows:
        if first > end:
            replace(end, first, _GAP)
        for found in _INSIDE.finditer(text, first, last):
            replace(*found.span(), _meant(found))
        parts.append(text[end:last])
        size += last - end
        end = last
    return _AsMeant("".join(parts), pieces, [piece.end for piece in pieces])


def _meant(found: re.Match[str]) -> str:
    match found.lastgroup:
        case "entity":
            return html.unescape(found[0])
        case "percent":
            return chr(int(found[0][1:], 16))
        case "hex":
            return chr(int(found[0].lstrip("\\").strip("xu{}"), 16))
        case "octal":
            return chr(int(found[0].lstrip("\\"), 8))
        case _:
            return ""


def _latin_1(text: str) -> bytes | None:
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return None


def _signs(text: str) -> list[int]:
    patterns = _SIGNS if text.isascii() else (*_SIGNS, *_WIDE_SIGNS)
    if _latin_1(text) is None:
        patterns = (*patterns, _INVISIBLE_SIGN)
    places = [sign.start() for pattern in patterns for sign in pattern.finditer(text)]
    return [place for place in places if _INSIDE.match(text, place) is not None]


def _inside(text: str, find: Find) -> Iterator[Secret]:
    windows: list[tuple[int, int]] = []
    for place in sorted(_signs(text)):
        if windows and place < windows[-1][1] - _AFTER // 2:
            continue
        start, end = max(0, place - _BEFORE), min(len(text), place + _AFTER)
        word = _TO_THE_END_OF_THE_WORD.match(text, end)
        end = end if word is None else word.end()
        if windows and start <= windows[-1][1]:
            start = windows.pop()[0]
        windows.append((start, end))
    if not windows:
        return
    meant = _as_meant(text, windows)
    edges = {edge for window in windows for edge in window} - {0, len(text)}
    for secret in find(meant.text):
        first, last = meant.raw(secret.start, secret.end)
        # At the edge of a window it may be a part of something longer, which is found without it.
        if first not in edges and last not in edges and _GAP not in meant.text[secret.start : secret.end]:
            yield Secret(first, last, secret.kind)


# -- in the next line -------------------------------------------------------------------------------------

_QUOTED = r"(?:[ \t]|[>|│#*](?=[ \t])){0,12}"
_GOES_ON = rf"{_QUOTED}(?=[\w/+-]{{0,32}}?(?:\d|[a-z][A-Z]))[\w.+/=-]{{3}}"
_NEWLINES = (
    re.compile(rf"\n(?:(?<=[\w+/=\\-]\n)|(?<=[\w+/=-]\r\n))(?={_GOES_ON})", re.ASCII),
    re.compile(rf"\\(?<=[\w+/=-]\\)(?:\\*r)?\\*n(?={_GOES_ON})", re.ASCII),
)
_LINE_ENDS = "\r\\"
_IN_TOKENS = f"{string.ascii_letters}{string.digits}_.+/=-"
_NEXT_WORD = re.compile(
    rf"(?:\r?\n|\\+(?:r\\+)?n){_QUOTED}(?P<word>[\w.+/=-]{{3,600}})(?P<alone>[ \t]{{0,4}}\\*(?:\r|\\+r)?(?=\n|\\+n|\Z))?",
    re.ASCII,
)
_LONGEST_WORD = 600
_MOST_LINES = 24
_LONG_LINE = 60
_HEAD = 12


def _newlines(text: str) -> Iterator[re.Match[str]]:
    for pattern in _NEWLINES:
        yield from pattern.finditer(text)


def _breaks(text: str, place: int, begins: Callable[[str], bool]) -> bool:
    """Return whether the word before a line break in JSON may be the beginning of a secret."""
    before = text[max(0, place - _LONGEST_WORD) : place].rstrip(_LINE_ENDS)
    start = len(before.rstrip(_IN_TOKENS))
    if before[start - 1 : start] != "\\":
        return begins(before[start:])
    # The first letters may belong to an escape: \ttoken, \u00e9token.
    return begins(before[start:]) or begins(before[start + (5 if before.startswith("u", start) else 1) :])


def _wrapped(text: str, find: Find, begins: Callable[[str], bool]) -> Iterator[Secret]:
    done = 0
    for newline in sorted(_newlines(text), key=re.Match.start):
        place = newline.start()
        if place < done:
            continue
        before = text[max(0, place - _LONGEST_WORD) : place].rstrip(_LINE_ENDS)
        if begins(before[len(before.rstrip(_IN_TOKENS)) :]) and (
            secret := _over_lines(text, place, before, find, begins)
        ):
            done = secret.end
            yield secret


def _over_lines(
    text: str, place: int, before_it: str, find: Find, begins: Callable[[str], bool]
) -> Secret | None:
    """Return the secret that begins in the word before a line break and goes on behind it."""
    word = before_it[len(before_it.rstrip(_IN_TOKENS)) :]
    first = max(0, place - _LONGEST_WORD) + len(before_it) - len(word)
    words, starts, alone = [word], [first], True
    while alone and len(words) < _MOST_LINES and (after := _NEXT_WORD.match(text, place)):
        if begins(after["word"][:_HEAD]):
            break
        if len(words) > 1 and (len(after["word"]) > len(words[1]) or looks_like_words(after["word"])):
            break  # all lines but the last have the same length
        words.append(after["word"])
        starts.append(after.start("word"))
        alone, place = after["alone"] is not None, after.end()
    for secret in find("".join(words)):
        if not secret.start < len(word) < secret.end:
            continue
        number = 0
        before = 0
        while before + len(words[number]) < secret.end:
            before += len(words[number])
            number += 1
        complete = any(one.start == secret.start for one in find(word))
        line = first + len(word) - max(text.rfind("\n", 0, first), text.rfind("\\n", 0, first))
        if complete and (line < _LONG_LINE or any(map(looks_like_words, words[1 : number + 1]))):
            return None
        return Secret(first + secret.start, starts[number] + secret.end - before, secret.kind)
    return None


# -- base64 and hexadecimal digits of a text --------------------------------------------------------------

_SHORTEST_RUN = 20
_ALPHABET = string.ascii_letters + string.digits + "+/"
_CLASSES = bytes(ord("a" if chr(code) in _ALPHABET else " ") for code in range(256))
_RUN = b"a" * _SHORTEST_RUN
_BASE64_OF_TEXT = re.compile(
    r"(?:[CDI-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][0-9A-Za-z+/_-]){4}"
)
"""Each third byte of ASCII text leaves some of the bits of its four digits empty."""
_HEX_OF_TEXT = re.compile(r"(?:[2-7][0-9A-Fa-f]|0[9aAdD]){10,}+(?![0-9A-Za-z])")
_DIGITS_OF_RUN = re.compile(r"[0-9A-Za-z+/_-]*+={0,2}")
_NEXT_LINE = re.compile(r"(?:\r?\n|\\+r\\+n|\\+n)[ \t>]{0,8}(?=[0-9A-Za-z+/]{4})")
_LINE_OF_BASE64 = 60
_LARGEST_RUN = 1 << 23
_ESCAPE_BEFORE = re.compile(r"(?<=\\)(?:[nrtbf]|u00[0-9A-Fa-f]{2}|x[0-9A-Fa-f]{2})")


class _Run(NamedTuple):
    """Digits that may encode a text, and where they begin."""

    start: int
    is_hex: bool


def _runs(text: str) -> Iterator[_Run]:
    plain = _latin_1(text) or text.encode("ascii", "replace")
    classes = plain.translate(_CLASSES)
    start = 0
    while (start := classes.find(_RUN, start)) >= 0:
        end = classes.find(b" ", start)
        end = len(classes) if end < 0 else end
        begins = start
        if text[start - 1 : start] == "\\" and (escape := _ESCAPE_BEFORE.match(text, start)):
            begins = escape.end()
        if _HEX_OF_TEXT.match(text, begins):
            yield _Run(begins, is_hex=True)
        elif _BASE64_OF_TEXT.match(text, begins):
            yield _Run(begins, is_hex=False)
        start = end


def holds_encoded_text(text: str) -> bool:
    """Return whether base64 data may be a text."""
    return next(_runs(text[:4096]), None) is not None


def encoded_secrets(text: str, find: Find) -> Iterator[Secret]:
    """Return the secrets in texts that are encoded in a text: their digits, as far as they hold a part of one."""
    done = 0
    for run in _runs(text):
        if run.start < done:
            continue
        digits = _hex_digits(text, run.start) if run.is_hex else _base64_digits(text, run.start)
        done = digits[-1][1]
        joined = "".join(text[start:end] for start, end in digits)
        decoded = text_of_run(joined, is_hex=run.is_hex)
        if decoded is None:
            continue
        size = len(joined.rstrip("="))
        for secret in find(decoded):
            first, last = (len(decoded[:place].encode()) for place in secret[:2])
            if run.is_hex:
                first, last = 2 * first, 2 * last
            else:  # groups of four digits hold three bytes
                first, last = first // 3 * 4, -(-last // 3) * 4
            last = len(joined) if last >= size else last
            yield Secret(_place_in(digits, first), _place_in(digits, last - 1) + 1, secret.kind)


def text_of_run(digits: str, *, is_hex: bool = False) -> str | None:
    """Return the text that is encoded as base64 or hexadecimal digits; None if that is not a text."""
    try:
        if is_hex:
            data = bytes.fromhex(digits)
        else:
            plain = digits.rstrip("=").translate(_STANDARD)
            plain = plain[: len(plain) - 1] if len(plain) % 4 == 1 else plain
            data = base64.b64decode(plain + "=" * (-len(plain) % 4))
        decoded = data.decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None
    return decoded if decoded.isprintable() or "".join(decoded.split()).isprintable() else None


_STANDARD = str.maketrans("-_", "+/")


def _hex_digits(text: str, start: int) -> list[tuple[int, int]]:
    found = _HEX_OF_TEXT.match(text, start)
    return [(start, start if found is None else found.end())]


def _base64_digits(text: str, start: int) -> list[tuple[int, int]]:
    """Return the digits, line by line if they are wrapped."""
    lines: list[tuple[int, int]] = []
    while True:
        found = _DIGITS_OF_RUN.match(text, start)
        end = start if found is None else found.end()
        lines.append((start, end))
        first = lines[0][1] - lines[0][0]
        if end - start != first or first < _LINE_OF_BASE64 or first % 4 or end - lines[0][0] > _LARGEST_RUN:
            return lines
        newline = _NEXT_LINE.match(text, end)
        if newline is None:
            return lines
        start = newline.end()


def _place_in(digits: list[tuple[int, int]], place: int) -> int:
    for start, end in digits:
        if place < end - start:
            return start + place
        place -= end - start
    return digits[-1][1] - 1
