r"""Passwords behind a word of another language: ``Kennwort: …``, ``La contraseña es …``, ``密码：…``.

The words are searched by a part that all their spellings have in common, at the speed of memory. A text may be
UTF-8 read as Latin-1, or have escapes for its letters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from branchline.redaction.places import Secret

__all__ = ["WORDS_ABROAD", "escaped_words", "passwords_abroad"]

WORDS_ABROAD = (
    "kennwort|codewort|wachtwoord|mot[ _-]?de[ _-]?passe|mdp|contrase(?:n|ñ|\xc3\xb1)a|senha|palavra[_-]passe"
    "|adgangskode|passord|heslo|salasana"
)
"""As the names of fields and columns, in lower case."""


def _spelled(text: str) -> str:
    """Return a pattern for a text, its UTF-8 read as Latin-1, and its escapes."""
    letters = []
    for letter in text:
        pattern = re.escape(letter)
        if not letter.isascii():
            pattern = rf"(?:{pattern}|{re.escape(letter.encode().decode('latin-1'))}|\\+u{ord(letter):04x})"
        letters.append(pattern)
    return "".join(letters)


_IN_LATIN = {
    "wort": "(?:[Pp]ass|[Kk]enn|[Cc]ode)wort",
    "WORT": "(?:PASS|KENN)WORT",
    "achtwoord": "[Ww]achtwoord",
    "de passe": "[Mm]ot de passe",
    "mdp": r"(?<!\w)mdp",
    "ontrase": rf"[Cc]ontrase(?:n|{_spelled('ñ')})a",
    "lave": r"(?<!\w)[Cc]lave",
    "enha": r"(?<!\w)[Ss]enha",
    "arola": r"(?<!\w)[Pp]arola(?: d['’]ordine)?",
    "senord": rf"[Ll]{_spelled('ö')}senord",
    "angskode": "[Aa]dgangskode",
    "assord": "[Pp]assord",
    "eslo": r"(?<!\w)[Hh]eslo",
    "alasana": "[Ss]alasana",
}
"""The part that is searched, and the word."""
_IN_OTHER_LETTERS = (
    "hasło Hasło jelszó Jelszó şifre Şifre пароль Пароль κωδικός Κωδικός סיסמה 密码 密碼 口令 パスワード 비밀번호 암호"
).split()  # fmt: skip
_LATIN = tuple((part, re.compile(word)) for part, word in _IN_LATIN.items())


def _signs() -> Iterator[re.Pattern[str]]:
    """Yield a pattern for each first letter that is not ASCII, which is rare and searched at the speed of memory."""
    by_letter: dict[str, list[str]] = {}
    for word in _IN_OTHER_LETTERS:
        for spelling in (word, word.encode().decode("latin-1")):
            place = next(place for place, letter in enumerate(spelling) if not letter.isascii())
            rest = re.escape(spelling[place + 1 :])
            by_letter.setdefault(spelling[place], []).append(f"(?<={re.escape(spelling[: place + 1])}){rest}")
    for letter, words in by_letter.items():
        yield re.compile(f"{letter}(?:{'|'.join(words)})")


_OTHERS = tuple(_signs())
_ESCAPED = re.compile(r"\\u(?=0142o|00f3|015f|015e|043f|041f|03ba|039a|05e1|5bc6|53e3|30d1|be44|c554)")

_QUOTE = "(?:" + r"\\*[\"'`]|[*_]{1,3}|" + "|".join(map(_spelled, "“”„«»‘’")) + ")"
_IS = "|".join(
    map(_spelled, "ist lautet heißt est es is jest je är er é è on 是 为 為 は は、 는 은 이".split())
)
_COLON = rf"(?::|=>?|{_spelled('：')}|{_spelled('→')})"
_ABOUT = r"(?:[ ][^\s:=\"'`{}\[\]|,;]{1,24}){0,4}?"  # für den Server
_VALUE = re.compile(
    rf"{_QUOTE}{{0,2}}{_ABOUT}[ ]{{0,2}}(?:{_COLON}|(?:{_IS}):?(?=[ ]|{_QUOTE})|(?:{_spelled('は')}|{_spelled('是')}))"
    rf"[*_]{{0,3}}(?:[ \t]{{0,4}}|[ \t]{{0,2}}(?:\n|\\+n)[ \t]{{0,4}}){_QUOTE}{{0,2}}"
    r"(?P<value>(?:[!#-&(-;=?-\[\]^_a-~]|[\u00c0-\u024f](?![\x80-\xbf])|[\xc3-\xc9][\x80-\xbf]){4,200})"
)
_LONGEST = 40


def passwords_abroad(text: str, is_password: Callable[[str], bool]) -> Iterator[Secret]:
    """Yield the passwords behind words of other languages."""
    for word in _words(text):
        given = _VALUE.match(text, word)
        if given is None:
            continue
        value = given["value"].rstrip(".,:;)*_")
        if is_password(value):
            yield Secret(given.start("value"), given.start("value") + len(value), "password")


def escaped_words(text: str) -> Iterator[int]:
    """Yield the offsets in JSON of escapes that may be a part of such a word."""
    for escape in _ESCAPED.finditer(text):
        yield escape.start()


def _words(text: str) -> Iterator[int]:
    """Yield where each such word ends."""
    for sign in () if text.isascii() else _OTHERS:
        for other in sign.finditer(text):
            yield other.end()
    for part, word in _LATIN:
        place = text.find(part)
        while place >= 0:
            for found in word.finditer(text, max(0, place - _LONGEST), place + _LONGEST):
                if found.start() <= place < found.end():
                    yield found.end()
            place = text.find(part, place + len(part))
