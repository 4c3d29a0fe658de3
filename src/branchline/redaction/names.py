r"""Secrets recognized by their name: ``DB_PASSWORD=…``, ``"api_key": "…"``, ``--token …``, ``x-api-key: …``.

A name is an identifier that ends with one of a few words. This module finds such names and reads their values,
in the spellings of :data:`_SPELLINGS`; :mod:`branchline.redaction.name_rules` says which values are secret.
"""

from __future__ import annotations

import re
import string
from typing import NamedTuple

from branchline.redaction.languages import WORDS_ABROAD
from branchline.redaction.name_rules import PASSWORDS, Given, Spelling, decide, is_plain_password
from branchline.redaction.randomness import LONGEST, is_placeholder, is_reference, looks_like_words

__all__ = ["NAME_SIGNS", "Assigned", "assigned_value", "secret_kind_by_name"]

# -- words ------------------------------------------------------------------------------------------------

_WORDS = {
    "k": (("token", 2), ("key", 0), ("psk", 2)),
    "w": (("password", 4), ("passwd", 4), ("passwort", 4), ("pwd", 1), ("pw", 1)),
    "c": (("secret", 2), ("credentials", 0), ("credential", 0), ("creds", 0), ("passcode", 4)),
    "u": (("authorization", 1), ("auth", 1)),
    "p": (("passphrase", 4), ("pass", 0), ("pat", 0)),
}
"""The words by their sign, a letter that is rare in text, each with the index of that letter."""

# -- assignments ------------------------------------------------------------------------------------------

_BLANKS = r"(?:[ \t]|\\+t){0,8}"
_QUOTE = r"(?:\\*[\"'`]|\\+u002[27])"
_SUFFIX = r"(?:[_-](?i:b64|base64|value|data|prod|dev|test|live|staging|old|new|default|confirm|confirmation|plain|raw|base))?\d{0,2}"
_BEHIND = rf"(?:[*_]{{1,2}}|[ ]\[[^\]\n]{{0,30}}\]|{_QUOTE}?\]?)"  # **name**:  name [default]:  ["name"] =
_TYPE = r"[ ]?(?:&(?:'static[ ])?)?[A-Za-z][\w.\[\]|?]{0,30}[ ]"  # name: str = "…", name: &str = "…"
_OPERATOR = rf"(?::=|\?=|=>|=(?!=(?![0-9A-Za-z+/_=-]{{14}}))|:(?![:=])(?:{_TYPE}=(?![=>]))?|>)"
_GAP = r"(?:[ \t,]|\\+[nrt]|[\r\n]){1,24}"
_PAIR = rf"{_QUOTE}?(?:{_GAP}{_QUOTE}?[vV]alue|[ ]\{{{_GAP}(?:type[ ]*=[ ]*\w+{_GAP}|sensitive[ ]*=[ ]*true{_GAP}){{0,2}}default){_QUOTE}?{_BLANKS}[:=]"  # name: X, value: …, variable "X" {{ default = … }}
_RANDOM = r"[0-9A-Za-z+/=_.~-]{16}"
_ASSIGNS = (
    rf"{_SUFFIX}(?:{_PAIR}|\((?={_QUOTE}{_RANDOM})|[*_]{{0,2}}[ ]{{1,8}}[|][ ]{{1,8}}{_QUOTE}?(?={_RANDOM})|{_BEHIND}{_BLANKS}{_OPERATOR}|(?<!pwd){_QUOTE}{_BLANKS},(?={_BLANKS}{_QUOTE}[^\s\"'`]{{1,200}}+{_QUOTE}(?!{_BLANKS}:))"
    rf"|{_QUOTE}?[ ](?:(?:is|was):?[ ])?{_QUOTE}?(?={_RANDOM})|[ ](?:is|was):?[ ]{_QUOTE}?(?=[^\s\"'`]{{6}}))"
)
_SCHEME = r"(?i:token|api-?key|key|ssws|geniekey|splunk|api-token|bot)[ ](?:token=)?"
"""Schemes of ``Authorization`` besides ``Bearer`` and ``Basic``."""
_BEHIND_THE_WORD = r"[ \t]+'(?=[^'\s])|(?:[ \t]|\\+[nrt]|[\r\n])+(?=[^\s'\"=:])"
"""``PASSWORD '…'`` in SQL, ``password …`` in a netrc file."""

NAME_SIGNS = (
    ("k", rf"(?:ey|en(?<=oken)|(?<=psk)(?<![0-9A-Za-z]psk))(?={_ASSIGNS})"),
    ("K", rf"(?:ey|EY|EN(?<=OKEN))(?={_ASSIGNS})"),
    ("w", rf"(?:d(?<=passwd)|ord(?<=password)|ord(?<=Password))(?={_ASSIGNS}|{_BEHIND_THE_WORD})"),
    ("w", rf"(?:d(?<=pwd)|d(?<=Pwd)|d(?<=Passwd)|ort(?<=asswort)|(?<=[_-]pw))(?={_ASSIGNS})"),
    ("W", rf"(?:D(?<=PASSWD)|ORD(?<=PASSWORD))(?={_ASSIGNS}|{_BEHIND_THE_WORD})"),
    ("W", rf"(?:D(?<=PWD)|ord(?<=PassWord)|(?<=_PW))(?={_ASSIGNS})"),
    ("c", rf"(?:ret(?<=ecret)|red(?:ential)?s?|ode(?<=asscode))(?={_ASSIGNS})"),
    ("C", rf"(?:RET(?<=SECRET)|red(?:ential)?s?|RED(?:ENTIAL)?S?|ODE(?<=PASSCODE))(?={_ASSIGNS})"),
    ("u", rf"(?:th(?<=[aA]uth)(?:orization)?)(?={_ASSIGNS})"),
    ("U", rf"(?:TH(?<=AUTH)(?:ORIZATION)?)(?={_ASSIGNS})"),
    ("p", rf"(?:ass|hrase(?<=assphrase)|at(?<=[_-]pat))(?={_ASSIGNS})"),
    ("P", rf"(?:ass|ASS|HRASE(?<=PASSPHRASE)|hrase(?<=assPhrase)|AT(?<=_PAT))(?={_ASSIGNS})"),
)
"""The sign of each word in the three usual spellings, with the rest of the word and the text after it."""

_ASSIGN = re.compile(
    rf"(?P<sign>{_ASSIGNS})[*]{{0,2}}{_BLANKS}(?:{_QUOTE}?{_SCHEME})?",
    re.ASCII,
)
_SCHEMED = re.compile(_SCHEME, re.ASCII)
_SQL_OR_NETRC = re.compile(_BEHIND_THE_WORD, re.ASCII)
_NETRC = re.compile(
    r"(?:(?:\b|(?<=\\[nrt]))(?:machine(?:\s|\\+[nrt])+[^\s\\]{1,100}|default)(?:\s|\\+[nrt])+(?:login|user)(?:\s|\\+[nrt])+[^\s\\]{1,60}"
    r"|(?:\b|(?<=\\[nrt]))nmcli[ ][^\n\\]{1,120})(?:\s|\\+[nrt])+\Z",
    re.ASCII,
)
_DEFAULT = re.compile(r":[-=]([^\s}\"'`\\]{6,200})\}")
"""``${NAME:-value}`` in a shell."""
_SQL = re.compile(r"(?i:with|user|role|set|identified)\b[^\n]{0,120}\Z")
_LONGEST_KEY = 100
_LONGEST_NAME = 40
_IN_NAMES = string.ascii_letters + string.digits + "_.-"
_QUOTED = re.compile(rf"{_QUOTE}([^\s\"'`]{{1,{LONGEST}}}+)", re.ASCII)
_APP_PASSWORD = re.compile(rf"{_QUOTE}?([a-z]{{4}}(?:[ ][a-z]{{4}}){{3}})(?![a-z ])")
_PHRASE = re.compile(r"\\*([\"'])([^\s\"'\\]{2,40}(?:[ ][^\s\"'\\]{2,40}){1,7})\\*\1")
_QUOTE_INSIDE = re.compile(r"\\+(?:u002[27]|\Z)")
_BARE = re.compile(rf"[!#$%*+./:=?@^_~0-9A-Za-z-]{{1,{LONGEST}}}+")
_WHOLE_WORD = re.compile(rf"[^\s\"'`\\<>\x00-\x1f]{{1,{LONGEST}}}+")
_LINE_BEGINS = re.compile(
    r"(?:\A|[\n\r]|\\n)[ \t>+-]*(?:(?:export|set|ENV|ARG|SET|Export|declare -x)[ ])?[ \t]*\Z"
)
_BLANK = re.compile(r"\s", re.ASCII)
_KEY = re.compile(
    r"(?i:(?P<word>password|passwd|passwort|passphrase|passcode|pwd|(?<=[_-])pw|pass|secret|credentials?|creds"
    r"|key|token|authorization|auth|(?<=[_-])pat))"
    rf"{_SUFFIX}\Z",
    re.ASCII,
)
_KEY_ABROAD = re.compile(rf"(?:{WORDS_ABROAD})\Z")


_BRACKETS = re.compile(r"[][{}()]+")


class Assigned(NamedTuple):
    """The value of a name: its span, its kind if it is a secret, how far the text was read, and why."""

    start: int
    end: int
    kind: str | None
    until: int
    rule: str


def assigned_value(text: str, place: int) -> Assigned | None:
    """Return the value of the name that ends with a word around this offset."""
    for word, offset in _WORDS[text[place].lower()]:
        start = place - offset
        end = start + len(word)
        if start >= 0 and text[start:end].lower() == word:
            return _value(_named(text, start, end))
    return None


# -- how names and values are written -----------------------------------------------------------------------


class _Name(NamedTuple):
    """A name in a text, and what stands behind it."""

    text: str
    start: int
    """Where the last word of the name begins and ends."""
    end: int
    word: str
    before: str
    """The text before the last word, and the part of it that does not belong to the name."""
    outside: str
    assign: re.Match[str] | None
    prose: bool
    """Whether only a blank or a verb stands behind the name."""

    @property
    def whole(self) -> str:
        return self.before[len(self.outside) :] + self.word

    @property
    def upper(self) -> bool:
        return self.whole.isupper() and not self.prose

    @property
    def of_password(self) -> bool:
        return self.word.lower() in PASSWORDS

    @property
    def sign(self) -> str:
        return "" if self.assign is None else self.assign["sign"]

    @property
    def value_start(self) -> int:
        return self.end if self.assign is None else self.assign.end()


def _named(text: str, start: int, end: int) -> _Name:
    before = text[max(0, start - _LONGEST_KEY) : start]
    outside = before.rstrip(_IN_NAMES)
    if outside.endswith("\\") and before[len(outside) : len(outside) + 1] in ("n", "r", "t"):
        outside = before[: len(outside) + 1]  # a JSON escape, which is not part of the name
    assign = _ASSIGN.match(text, end)
    sign = "" if assign is None else assign["sign"]
    prose = sign[-1:] in " \"'`su" and not sign.rstrip(" \t\\t").endswith((":", "=", ">", ","))
    return _Name(text, start, end, text[start:end], before, outside, assign, prose)


def _value(name: _Name) -> Assigned | None:
    """Return what the first spelling that fits says about the value."""
    for read in _SPELLINGS:
        if value := read(name):
            return value
    return None


def _default_of_variable(name: _Name) -> Assigned | None:
    """``${NAME:-value}`` in a shell; without a default, a variable has no value here."""
    if not name.outside.endswith("${"):
        return None
    default = _DEFAULT.match(name.text, name.end)
    if default is None:
        return Assigned(name.end, name.end, None, name.end, "variable without a default")
    decision = decide(_given(name._replace(prose=False), default[1], quoted=True, code=False))
    return Assigned(*default.span(1), decision.kind, default.end(), f"default of a variable, {decision.rule}")


def _sql_or_login(name: _Name) -> Assigned | None:
    if name.assign is not None and not (name.prose and name.of_password):
        return None
    gap = _SQL_OR_NETRC.match(name.text, name.end)
    if gap is None:
        return None
    before = name.text[max(0, name.start - 200) : name.start]
    return (_in_sql if gap[0].endswith("'") else _in_login)(name.text, before, gap.end())


def _in_sql(text: str, before: str, start: int) -> Assigned:
    """``CREATE ROLE … PASSWORD '…'``."""
    end = max(text.find("'", start, start + 200), start)
    value = text[start:end]
    known = value and _SQL.search(before) and not is_placeholder(value) and not is_reference(value)
    return Assigned(start, end, "password" if known else None, end, "PASSWORD '…' in SQL")


def _in_login(text: str, before: str, start: int) -> Assigned | None:
    """``machine … login … password …`` in a netrc file, and in arguments of nmcli."""
    word = _WHOLE_WORD.match(text, start)
    if word is None or not _NETRC.search(before):
        return None
    known = len(word[0]) >= 3 and not is_placeholder(word[0]) and not is_reference(word[0])
    return Assigned(*word.span(), "password" if known else None, word.end(), "password of a login (netrc)")


def _app_password(name: _Name) -> Assigned | None:
    """Four groups of four letters, as Google writes them."""
    if name.assign is None or not name.of_password:
        return None
    app = _APP_PASSWORD.match(name.text, name.value_start)
    return app and Assigned(*app.span(1), "password", app.end(), "password of four groups of letters")


def _phrase(name: _Name) -> Assigned | None:
    """``PASSPHRASE="several words"``: without capitals, this is a label or a message."""
    if name.assign is None or not (name.of_password and name.upper):
        return None
    phrase = _PHRASE.match(name.text, name.value_start)
    if phrase is None:
        return None
    known = not is_placeholder(phrase[2]) and not is_reference(phrase[2])
    return Assigned(*phrase.span(2), "password" if known else None, phrase.end(), "words in quotes")


class _Value(NamedTuple):
    """A value as it is written, and where it begins and the text that was read ends."""

    text: str
    start: int
    end: int
    quoted: bool
    complete: bool


def _quoted(name: _Name) -> _Value | None:
    quoted = _QUOTED.match(name.text, name.value_start)
    if quoted is None:
        return None
    start, end = quoted.span(1)
    value = _QUOTE_INSIDE.split(quoted[1], maxsplit=1)[0]
    complete = len(value) < len(quoted[1]) or name.text[end : end + 1] in ('"', "'", "`")
    return _Value(value, start, end, quoted=True, complete=complete)


def _bare(name: _Name) -> _Value | None:
    begins = _LINE_BEGINS.search(name.outside) or (
        name.upper and name.sign in ("=", ":") and name.outside[-1:] in (" ", "\t", '"', "'")
    )
    lined = not name.prose and name.sign.rstrip()[-1:] in ("=", ":") and begins
    bare = (_WHOLE_WORD if lined else _BARE).match(name.text, name.value_start)
    if bare is None:
        return None
    value = bare[0].rstrip(".:*,;)")
    complete = name.text[bare.end() : bare.end() + 1] not in ("(", "[", "{") and not _is_call(value)
    return _Value(value, *bare.span(), quoted=False, complete=complete)


def _word(name: _Name) -> Assigned | None:
    """Read one word, in quotes or not, and ask the rules of its name."""
    if name.assign is None:
        return None
    start = name.value_start
    value = _quoted(name) or _bare(name)
    if value is None:
        return Assigned(start, start, None, start, "no value behind the name")
    if not value.complete:
        return Assigned(value.start, value.start, None, value.end, "a call or an item of code")
    if value.text.startswith("${"):
        return Assigned(value.start, value.start, None, value.start, "a variable, which may have a default")
    # A rejected value is not read again, unless it is short enough to be a name: key="ApiKey" value="…".
    end = value.start + len(value.text)
    until = value.end if len(value.text) > _LONGEST_NAME else value.start
    if name.sign == ":" and name.outside.endswith(":"):
        return Assigned(value.start, end, None, until, "a part of a longer name, such as an ARN")
    if name.sign.endswith(">") and not (name.sign.endswith("=>") or name.outside.endswith("<")):
        return Assigned(value.start, end, None, until, "a comparison")  # not <password>…</password>
    decision = decide(_given(name, value.text, quoted=value.quoted, code=_may_be_code(name, value)))
    return Assigned(value.start, end, decision.kind, until, decision.rule)


_SPELLINGS = (_default_of_variable, _sql_or_login, _app_password, _phrase, _word)
"""The ways to write a name and its value; the first that fits decides."""


def _given(name: _Name, value: str, *, quoted: bool, code: bool) -> Given:
    spelling = Spelling.SENTENCE if name.prose else Spelling.ASSIGNED
    return Given(
        name.word.lower(), name.before, value, spelling, name.word, upper=name.upper, quoted=quoted, code=code
    )


def _may_be_code(name: _Name, value: _Value) -> bool:
    """Return whether a value may be an expression.

    Without quotes, ``password = value`` may be one; ``PASSWORD=value`` and ``…;password=value`` are not.
    """
    spaced = name.sign.endswith((" =", " :")) or (
        name.text[value.start - 1 : value.start] == " " and "=" in name.sign
    )
    given = name.upper or name.whole.startswith("-") or _is_set(name.outside)
    return not value.quoted and "=" in name.sign and (spaced or not given)


def _is_call(value: str) -> bool:
    """Return whether a value is a call or an item: words in and around brackets, unlike in a password."""
    words = _BRACKETS.split(value)
    return len(words) > 1 and all(looks_like_words(word.strip(",;:\"'")) for word in words)


def _is_set(outside: str) -> bool:
    """Return whether a name starts a line or follows another setting, as in a query or connection string."""
    return outside.endswith((";", "&", "?", '"', "'")) or _LINE_BEGINS.search(outside) is not None


# -- fields -----------------------------------------------------------------------------------------------


def secret_kind_by_name(name: str, value: str) -> str | None:
    """Return the kind of secret that a value has under this name, or None."""
    named = _KEY.search(name[-_LONGEST_KEY:])
    value = _SCHEMED.sub("", value, count=1) if _SCHEMED.match(value) else value
    if len(value) >= LONGEST or _BLANK.search(value):
        return None
    if named is None:
        return "password" if _KEY_ABROAD.search(name.lower()) and is_plain_password(value) else None
    word, before = named["word"], name[-_LONGEST_KEY:][: named.start("word")]
    return decide(Given(word.lower(), before, value, case=word, upper=(before + word).isupper())).kind
