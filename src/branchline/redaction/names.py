r"""Secrets recognized by their name: ``DB_PASSWORD=…``, ``"api_key": "…"``, ``--token …``, ``x-api-key: …``.

A name is an identifier that ends with one of a few words. The value must look random. The value of a password
may also be weak, unless it is a placeholder, a reference or a type.
"""

from __future__ import annotations

import re
import string
from typing import NamedTuple

from branchline.redaction.languages import WORDS_ABROAD
from branchline.redaction.randomness import (
    LONGEST,
    is_placeholder,
    is_reference,
    looks_like_words,
    looks_random,
)

__all__ = ["NAME_SIGNS", "Assigned", "assigned_value", "is_plain_password", "secret_kind_by_name"]

# -- words ------------------------------------------------------------------------------------------------

_WORDS = {
    "k": (("token", 2), ("key", 0), ("psk", 2)),
    "w": (("password", 4), ("passwd", 4), ("passwort", 4), ("pwd", 1), ("pw", 1)),
    "c": (("secret", 2), ("credentials", 0), ("credential", 0), ("creds", 0), ("passcode", 4)),
    "u": (("authorization", 1), ("auth", 1)),
    "p": (("passphrase", 4), ("pass", 0), ("pat", 0)),
}
"""The words by their sign, a letter that is rare in text, each with the index of that letter."""

_PASSWORDS = frozenset(
    {"password", "passwd", "passwort", "passphrase", "passcode", "pwd", "pw", "pass", "psk"}
)
_STRONG = frozenset({"secret", "credential", "credentials", "creds"})

_SECRET_KEYS = frozenset(
    "api access account private secret auth signing encryption decryption master service app application shared "
    "preshared psk subscription license licence integration consumer admin server write ingest deploy root jwt "
    "hmac aes webhook client rest live prod production sas storage functions host default".split()
)
_OTHER_KEYS = frozenset(
    "public publishable primary foreign cache sort partition idempotency object hash row lookup query group index "
    "map dict dedupe dedup range composite unique translation message registry column json field react issue "
    "project bucket file s3 storage event host known fingerprint item node entry config setting option menu tab "
    "state context session thread job task queue topic metric label route path url dom element component prop "
    "test tool cursor page order filter feature flag anon i18n locale lang cell step run trace span prompt".split()
)
_OTHER_TOKENS = frozenset(
    "page next sync cancel cancellation cancelation continuation resume cursor public max min num input output "
    "total stop eos bos pad unk sep mask start end first last current previous per prompt completion reasoning "
    "syntax lexer parser peek new line string comment keyword punctuation operator design color css".split()
)
_LAST_WORD = re.compile(r"([A-Z]?[a-z0-9]+|[A-Z0-9]+)[_ .-]?\Z")
_JOINED = string.ascii_letters + string.digits + "_"

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
_AWS_NAME = re.compile(r"(?i:aws|secret[_ -]?access)")
_NEAR = 16
_AWS_SECRET = re.compile(r"[0-9A-Za-z+/]{40}")
_BLANK = re.compile(r"\s", re.ASCII)
_KEY = re.compile(
    r"(?i:(?P<word>password|passwd|passwort|passphrase|passcode|pwd|(?<=[_-])pw|pass|secret|credentials?|creds"
    r"|key|token|authorization|auth|(?<=[_-])pat))"
    rf"{_SUFFIX}\Z",
    re.ASCII,
)
_KEY_ABROAD = re.compile(rf"(?:{WORDS_ABROAD})\Z")


class Assigned(NamedTuple):
    """The value of a name: its span, its kind if it is a secret, and how far the text was read."""

    start: int
    end: int
    kind: str | None
    until: int


def assigned_value(text: str, place: int) -> Assigned | None:
    """Return the value of the name that ends with a word around this offset."""
    for word, offset in _WORDS[text[place].lower()]:
        start = place - offset
        end = start + len(word)
        if start >= 0 and text[start:end].lower() == word:
            return _value(text, start, end)
    return None


def _value(text: str, word_start: int, word_end: int) -> Assigned | None:
    word = text[word_start:word_end]
    before = text[max(0, word_start - _LONGEST_KEY) : word_start]
    outside = before.rstrip(_IN_NAMES)
    if outside.endswith("\\") and before[len(outside) : len(outside) + 1] in ("n", "r", "t"):
        outside = before[: len(outside) + 1]  # a JSON escape, which is not part of the name
    if outside.endswith("${"):  # a variable, which may have a default
        default = _DEFAULT.match(text, word_end)
        if default is None:
            return Assigned(word_end, word_end, None, word_end)
        upper = (before[len(outside) :] + word).isupper()
        kind = _kind(word, before, default[1], upper=upper, quoted=True, code=False)
        return Assigned(*default.span(1), kind, default.end())
    assign = _ASSIGN.match(text, word_end)
    if assign is None:
        return _netrc_or_sql(text, word_start, word_end)
    start = assign.end()
    sign = assign["sign"]
    prose = sign[-1:] in " \"'`su" and not sign.rstrip(" \t\\t").endswith((":", "=", ">", ","))
    if prose and word.lower() in _PASSWORDS and (found := _netrc_or_sql(text, word_start, word_end)):
        return found
    name = before[len(outside) :] + word
    upper = name.isupper() and not prose
    secret_name = word.lower() in _PASSWORDS
    if secret_name and (app := _APP_PASSWORD.match(text, start)):
        return Assigned(*app.span(1), "password", app.end())
    if secret_name and upper and (phrase := _PHRASE.match(text, start)):
        known = not is_placeholder(phrase[2]) and not is_reference(phrase[2])
        return Assigned(*phrase.span(2), "password" if known else None, phrase.end())
    quoted = _QUOTED.match(text, start)
    if quoted is not None:
        start, end = quoted.span(1)
        value = _QUOTE_INSIDE.split(quoted[1], maxsplit=1)[0]
        complete = len(value) < len(quoted[1]) or text[end : end + 1] in ('"', "'", "`")
    else:
        begins = _LINE_BEGINS.search(outside) or (
            upper and sign in ("=", ":") and outside[-1:] in (" ", "\t", '"', "'")
        )
        lined = not prose and sign.rstrip()[-1:] in ("=", ":") and begins
        bare = (_WHOLE_WORD if lined else _BARE).match(text, start)
        if bare is None:
            return Assigned(start, start, None, start)
        end = bare.end()
        value = bare[0].rstrip(".:*,;)")
        complete = text[end : end + 1] not in ("(", "[", "{") and not _is_call(value)
    if not complete:
        return Assigned(start, start, None, end)  # a call or an index is code
    if value.startswith("${"):
        return Assigned(start, start, None, start)  # a variable, which may have a default
    # A rejected value is not read again, unless it is short enough to be a name: key="ApiKey" value="…".
    whole = Assigned(start, start + len(value), None, end if len(value) > _LONGEST_NAME else start)
    if sign == ":" and outside.endswith(":"):
        return whole  # a part of a longer name, such as an ARN
    if sign.endswith(">") and not (sign.endswith("=>") or outside.endswith("<")):
        return whole  # a comparison, not <password>…</password>
    if prose:
        kind = _prose_kind(word, before, value)
    else:
        # Without quotes, password = value may be an expression; PASSWORD=value and …;password=value are not.
        spaced = sign.endswith((" =", " :")) or (text[start - 1 : start] == " " and "=" in sign)
        given = upper or name.startswith("-") or _is_set(outside)
        code = quoted is None and "=" in sign and (spaced or not given)
        kind = _kind(word, before, value, upper=upper, quoted=quoted is not None, code=code)
    return whole._replace(kind=kind)


def _is_call(value: str) -> bool:
    """Return whether a value is a call or an item: words in and around brackets, unlike in a password."""
    words = _BRACKETS.split(value)
    return len(words) > 1 and all(looks_like_words(word.strip(",;:\"'")) for word in words)


def _is_set(outside: str) -> bool:
    """Return whether a name starts a line or follows another setting, as in a query or connection string."""
    return outside.endswith((";", "&", "?", '"', "'")) or _LINE_BEGINS.search(outside) is not None


def _netrc_or_sql(text: str, word_start: int, word_end: int) -> Assigned | None:
    gap = _SQL_OR_NETRC.match(text, word_end)
    if gap is None:
        return None
    before = text[max(0, word_start - 200) : word_start]
    if gap[0].endswith("'"):
        end = text.find("'", gap.end(), gap.end() + 200)
        value = text[gap.end() : max(end, gap.end())]
        known = value and _SQL.search(before) and not is_placeholder(value) and not is_reference(value)
        return Assigned(
            gap.end(), gap.end() + len(value), "password" if known else None, gap.end() + len(value)
        )
    word = _WHOLE_WORD.match(text, gap.end())
    if word is None or not _NETRC.search(before):
        return None
    known = len(word[0]) >= 3 and not is_placeholder(word[0]) and not is_reference(word[0])
    return Assigned(*word.span(), "password" if known else None, word.end())


def secret_kind_by_name(name: str, value: str) -> str | None:
    """Return the kind of secret that a value has under this name, or None."""
    named = _KEY.search(name[-_LONGEST_KEY:])
    value = _SCHEMED.sub("", value, count=1) if _SCHEMED.match(value) else value
    if len(value) >= LONGEST or _BLANK.search(value):
        return None
    if named is None:
        return "password" if _KEY_ABROAD.search(name.lower()) and is_plain_password(value) else None
    before = name[-_LONGEST_KEY:][: named.start("word")]
    upper = (before + named["word"]).isupper()
    return _kind(named["word"], before, value, upper=upper, quoted=True, code=False)


# -- values -----------------------------------------------------------------------------------------------

_NOT_PASSWORDS = frozenset(
    "string str text none null nil true false password passwd passwort pass pwd passphrase secret token key keys "
    "required optional undefined hidden username user any self varchar number boolean bool value here input field "
    "foo bar baz test todo hash hashed plain char prompt unset empty missing invalid wrong email login label "
    "env function object bytes int required, disabled enabled yes".split()
)
_COMMON = frozenset(
    "letmein qwerty qwertyuiop dragon monkey iloveyou sunshine princess welcome football baseball master shadow "
    "superman batman trustno1 starwars whatever freedom asdfgh asdfghjkl zxcvbnm hunter swordfish michael jennifer "
    "jordan harley ranger buster soccer hockey killer george charlie andrew michelle pepper ginger summer winter "
    "spring autumn secret1 abc123 changeme opensesame".split()
)
_IN_EXAMPLES = re.compile(
    r"passw(?:or)?d|secret|test|demo|user|foo|bar|token|field|label|error|invalid|wrong"
)
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_BRACKETS = re.compile(r"[][{}()]+")
_CODE = re.compile(r"[A-Za-z_]+\(|[][{}()<>|]")


def _kind(word: str, before: str, value: str, *, upper: bool, quoted: bool, code: bool) -> str | None:
    """Return the kind of a value whose name ends with this word; ``code`` means it may be an expression."""
    plain = word.lower()
    if (
        _AWS_SECRET.fullmatch(value)
        and _AWS_NAME.search(before[-_NEAR:] + word)
        and not is_placeholder(value)
    ):
        return "aws-secret-key"
    if plain in _PASSWORDS:
        if plain == "pass" and before[-1:].islower() and word.islower():
            return None  # the end of another word
        if plain == "pass" and before[-1:] not in _JOINED + "-":
            lower = word.islower() or word.istitle()  # PASS: is a test result
            chosen = _PLAIN_PASSWORD.fullmatch(value) and not is_placeholder(value)
            return "password" if lower and (chosen or looks_random(value, shortest=8, hashes=True)) else None
        return "password" if _is_password(plain, value, upper=upper, quoted=quoted, code=code) else None
    joined = before[-1:] in _JOINED + "-" and before != ""
    last = _LAST_WORD.search(before) if joined or before[-1:] == " " else None
    qualifier = "" if last is None else last[1].lower()
    if plain in _STRONG:
        return "secret" if looks_random(value, shortest=8, hashes=True) else None
    if plain == "key":
        return _key_kind(qualifier, before, value, upper=upper)
    if plain == "token" and qualifier in _OTHER_TOKENS:
        return None
    if plain == "pat":
        return "token" if looks_random(value, shortest=16, hashes=True) else None
    if before.endswith("_auth"):
        return "npm-token" if looks_random(value, shortest=8, hashes=True) else None
    sure = plain == "authorization" or (joined and qualifier != "") or qualifier in _SECRET_KEYS
    return "token" if looks_random(value, shortest=12 if sure else 16, hashes=sure) else None


def _key_kind(qualifier: str, before: str, value: str, *, upper: bool) -> str | None:
    if before[-1:] in ("?", "&"):
        return "api-key" if looks_random(value, shortest=12, hashes=True) else None
    if not qualifier:
        return "secret" if upper and not before and looks_random(value, shortest=20, hashes=False) else None
    if before.lower().endswith(
        ("api", "api_", "api-", "api ", "apis_", "app_", "application-", "application_")
    ):
        return "api-key" if looks_random(value, shortest=8, hashes=True) else None
    if qualifier in _SECRET_KEYS or (upper and qualifier not in _OTHER_KEYS):
        return (
            "secret"
            if looks_random(value, shortest=8 if qualifier in _SECRET_KEYS else 16, hashes=True)
            else None
        )
    if qualifier in _OTHER_KEYS or before[-1:] == " ":
        return None
    return "secret" if looks_random(value, shortest=20, hashes=False) else None


def is_plain_password(value: str) -> bool:
    """Return whether the value of a name that denotes a password is one, and not a word or a placeholder."""
    return _is_password("password", value, upper=False, quoted=True, code=False)


def _is_password(word: str, value: str, *, upper: bool, quoted: bool, code: bool) -> bool:
    if is_placeholder(value) or is_reference(value):
        return False
    if not value.isascii() or "\\u" in value:
        return looks_random(value, shortest=8, hashes=True)  # text in another script, or escaped
    plain = value.lower()
    if plain in _NOT_PASSWORDS or (_CODE.search(value) and not quoted):
        return False
    if looks_random(value, shortest=8, hashes=True):
        return True
    if len(value) < (3 if upper else 6) or (not quoted and _CONSTANT.fullmatch(value)):
        return False
    mixed = any(map(str.isalpha, value)) and not value.replace("-", "").replace("_", "").isalpha()
    if upper and (not code or mixed):
        return not _CONSTANT.fullmatch(value) and not (word in ("pwd", "pw") and "/" in value)
    if plain in _COMMON:
        return quoted or not code
    if not code and (_PLAIN_PASSWORD.fullmatch(value) or _CHOSEN_PASSWORD.fullmatch(value)):
        return _IN_EXAMPLES.search(plain) is None or _PLAIN_PASSWORD.fullmatch(value) is not None
    return (
        mixed and not code and word != "pass" and _IN_EXAMPLES.search(plain) is None and not _versioned(value)
    )


def _versioned(value: str) -> bool:
    """Return whether a value is words with separators, such as the identifier ``new-password-1``."""
    return ("-" in value or "_" in value or "." in value) and looks_like_words(value)


_PLAIN_PASSWORD = re.compile(
    r"(?!#[0-9A-Fa-f]{3,8}\Z)(?=.*[A-Za-z])(?=.*\d)(?=.*[!#$%&*?@^])[!#$%&*+=?@^~_0-9A-Za-z-]{6,40}"
)
"""Letters, digits and symbols, as many password rules require; not a colour."""
_CHOSEN_PASSWORD = re.compile(
    r"(?=.*[a-z])(?=.*[A-Z])(?=.*[!#$%&*@^])(?=.*[_!#$%&*?@^-].*[_!#$%&*?@^-])[_!#$%&*?@^A-Za-z-]{8,40}"
    r"|(?=.*[A-Z])(?=.*[_-])(?=.*(?:[A-Za-z]\d\d|\d[A-Za-z]{2}))[_0-9A-Za-z-]{8,40}"
)
"""Letters with two symbols, or with digits inside words: ``Hidden-Word!``, ``Pa55_Qa79``."""


def _prose_kind(word: str, before: str, value: str) -> str | None:
    """Return the kind of a value in prose (``the token is …``), which must be clearly random."""
    plain = word.lower()
    last = _LAST_WORD.search(before)
    qualifier = "" if last is None else last[1].lower()
    if (plain == "key" and (qualifier in _OTHER_KEYS or not qualifier)) or (
        plain == "token" and qualifier in _OTHER_TOKENS
    ):
        return None
    sure = qualifier in _SECRET_KEYS
    if plain in _PASSWORDS and _PLAIN_PASSWORD.fullmatch(value):
        return "password"
    if not looks_random(value, shortest=16, hashes=sure) or not any(map(str.isdigit, value)):
        return None
    if (
        ("/" in value and len(value) < 32)
        or value.count("-") > (4 if sure else 2)
        or value.count("_") > 2
        or "." in value
    ):
        return None
    return "password" if plain in _PASSWORDS else "token" if plain in ("token", "auth") else "secret"
