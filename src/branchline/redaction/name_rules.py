r"""The table of rules that say whether the value of a name is a secret, and of which kind.

:data:`RULES` is read from top to bottom: the first rule for the last word of a name that applies decides, and no
other is asked. Its ``value`` test says whether the value is a secret of its kind; a rule without a kind says that
such values are none. :data:`PASSWORD_VALUES` is the same for the value of a password, which may be weak.

How a name and its value are found in a text is the concern of :mod:`branchline.redaction.names`.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from branchline.redaction.randomness import is_placeholder, is_reference, looks_like_words, looks_random

__all__ = [
    "PASSWORDS",
    "RULES",
    "Decision",
    "Given",
    "NameRule",
    "Spelling",
    "decide",
    "is_plain_password",
]

# -- words ------------------------------------------------------------------------------------------------

PASSWORDS = frozenset(
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


class Spelling(Enum):
    """How a value stands behind its name."""

    ASSIGNED = "assigned"
    """Behind a sign, or as the value of a field."""
    SENTENCE = "in a sentence"
    """Behind a blank or a verb: ``the token is …``."""


class Given(NamedTuple):
    """A value, its name, and how they are written."""

    word: str
    """The last word of the name, in lower case."""
    before: str
    """The text before this word: the rest of the name, and what stands before that."""
    value: str
    spelling: Spelling = Spelling.ASSIGNED
    case: str = ""
    """The last word as it is written."""
    upper: bool = False
    """Whether the name is in capitals."""
    quoted: bool = True
    code: bool = False
    """Whether the value may be an expression."""

    @property
    def joined(self) -> bool:
        """Whether the word is a part of a longer name."""
        return self.before != "" and self.before[-1] in _JOINED + "-"

    @property
    def qualifier(self) -> str:
        """The word before the last, in lower case."""
        if self.spelling is Spelling.ASSIGNED and not self.joined and self.before[-1:] != " ":
            return ""
        last = _LAST_WORD.search(self.before)
        return "" if last is None else last[1].lower()


class Decision(NamedTuple):
    """The kind of a value if it is a secret, and the rule that says so."""

    kind: str | None
    rule: str


Test = Callable[[Given], bool]

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
_CODE = re.compile(r"[A-Za-z_]+\(|[][{}()<>|]")
_PLAIN_PASSWORD = re.compile(
    r"(?!#[0-9A-Fa-f]{3,8}\Z)(?=.*[A-Za-z])(?=.*\d)(?=.*[!#$%&*?@^])[!#$%&*+=?@^~_0-9A-Za-z-]{6,40}"
)
"""Letters, digits and symbols, as many password rules require; not a colour."""
_CHOSEN_PASSWORD = re.compile(
    r"(?=.*[a-z])(?=.*[A-Z])(?=.*[!#$%&*@^])(?=.*[_!#$%&*?@^-].*[_!#$%&*?@^-])[_!#$%&*?@^A-Za-z-]{8,40}"
    r"|(?=.*[A-Z])(?=.*[_-])(?=.*(?:[A-Za-z]\d\d|\d[A-Za-z]{2}))[_0-9A-Za-z-]{8,40}"
)
"""Letters with two symbols, or with digits inside words: ``Hidden-Word!``, ``Pa55_Qa79``."""


def _random(shortest: int, *, hashes: bool = True) -> Test:
    return lambda given: looks_random(given.value, shortest=shortest, hashes=hashes)


def _never(_: Given) -> bool:
    return False


def _always(_: Given) -> bool:
    return True


def _is_example(given: Given) -> bool:
    return _IN_EXAMPLES.search(given.value.lower()) is not None


def _is_mixed(given: Given) -> bool:
    """Return whether a value has letters, and something besides letters, hyphens and underscores."""
    letters = given.value.replace("-", "").replace("_", "")
    return any(map(str.isalpha, given.value)) and not letters.isalpha()


def _is_versioned(value: str) -> bool:
    """Return whether a value is words with separators, such as the identifier ``new-password-1``."""
    return ("-" in value or "_" in value or "." in value) and looks_like_words(value)


def _is_set_in_capitals(given: Given) -> bool:
    """``PWD=/home`` is a directory, and ``PASSWORD=DB_PASSWORD`` names another variable."""
    constant = _CONSTANT.fullmatch(given.value) is not None
    return not constant and not (given.word in ("pwd", "pw") and "/" in given.value)


def _is_weak_password(given: Given) -> bool:
    if not _is_mixed(given) or given.code or given.word == "pass":
        return False
    return not _is_example(given) and not _is_versioned(given.value)


class ValueRule(NamedTuple):
    """A rule for the value of a password."""

    name: str
    applies: Test
    password: Test


PASSWORD_VALUES: tuple[ValueRule, ...] = (
    ValueRule("a placeholder", lambda given: is_placeholder(given.value), _never),
    ValueRule("a variable, a path, an address or a date", lambda given: is_reference(given.value), _never),
    ValueRule("not ASCII, or escaped", lambda given: not given.value.isascii() or "\\u" in given.value, _random(8)),
    ValueRule("a word of code or forms", lambda given: given.value.lower() in _NOT_PASSWORDS, _never),
    ValueRule("brackets without quotes", lambda given: not given.quoted and _CODE.search(given.value) is not None, _never),
    ValueRule("random", _random(8), _always),
    ValueRule("too short", lambda given: len(given.value) < (3 if given.upper else 6), _never),
    ValueRule("the name of a constant", lambda given: not given.quoted and _CONSTANT.fullmatch(given.value) is not None, _never),
    ValueRule("set in capitals", lambda given: given.upper and (not given.code or _is_mixed(given)), _is_set_in_capitals),
    ValueRule("a common password", lambda given: given.value.lower() in _COMMON, lambda given: given.quoted or not given.code),
    ValueRule("letters, digits and a sign", lambda given: not given.code and _PLAIN_PASSWORD.fullmatch(given.value) is not None, _always),
    ValueRule("words with signs or digits", lambda given: not given.code and _CHOSEN_PASSWORD.fullmatch(given.value) is not None, lambda given: not _is_example(given)),
    ValueRule("letters with something else", _always, _is_weak_password),
)  # fmt: skip
"""The first that applies to a value decides whether it is a password."""


def _password_value(given: Given) -> tuple[bool, str]:
    rule = next(rule for rule in PASSWORD_VALUES if rule.applies(given))
    return rule.password(given), rule.name


def _is_password(given: Given) -> bool:
    return _password_value(given)[0]


def is_plain_password(value: str) -> bool:
    """Return whether the value of a name that denotes a password is one, and not a word or a placeholder."""
    return _is_password(Given("password", "", value))


# -- names ------------------------------------------------------------------------------------------------

_AWS_NAME = re.compile(r"(?i:aws|secret[_ -]?access)")
_NEAR = 16
_AWS_SECRET = re.compile(r"[0-9A-Za-z+/]{40}")
_API = ("api", "api_", "api-", "api ", "apis_", "app_", "application-", "application_")


def _is_aws_secret(given: Given) -> bool:
    if _AWS_SECRET.fullmatch(given.value) is None or is_placeholder(given.value):
        return False
    return _AWS_NAME.search(given.before[-_NEAR:] + given.word) is not None


def _is_chosen_password(given: Given) -> bool:
    """``pass: …``, unlike ``PASS: …``, which is a test result."""
    if not (given.case.islower() or given.case.istitle()):
        return False
    plain = _PLAIN_PASSWORD.fullmatch(given.value) is not None and not is_placeholder(given.value)
    return plain or looks_random(given.value, shortest=8, hashes=True)


def _is_for_something_secret(given: Given) -> bool:
    if given.word == "authorization" or given.qualifier in _SECRET_KEYS:
        return True
    return given.joined and given.qualifier != ""


def _is_clearly_random(given: Given) -> bool:
    """Most values behind a name in a sentence are the next word of it."""
    value, sure = given.value, given.qualifier in _SECRET_KEYS
    if not looks_random(value, shortest=16, hashes=sure) or not any(map(str.isdigit, value)):
        return False
    path = ("/" in value and len(value) < 32) or "." in value
    words = value.count("-") > (4 if sure else 2) or value.count("_") > 2
    return not path and not words


_KEY = frozenset({"key"})
_TOKENS = frozenset({"token", "auth", "authorization"})
_ANY = frozenset({*PASSWORDS, *_STRONG, *_KEY, *_TOKENS, "pat"})


class NameRule(NamedTuple):
    """A rule for the value of a name that ends with one of these words."""

    name: str
    words: frozenset[str]
    spelling: Spelling
    applies: Test
    kind: str | None
    value: Test = _never


_IS = Spelling.ASSIGNED
_SAID = Spelling.SENTENCE

RULES: tuple[NameRule, ...] = (
    NameRule("AWS secret access key", _ANY, _IS, _is_aws_secret, "aws-secret-key", _always),
    NameRule("end of another word: bypass", frozenset({"pass"}), _IS, lambda given: given.before[-1:].islower() and given.case.islower(), None),
    NameRule("pass alone", frozenset({"pass"}), _IS, lambda given: given.before != "" and not given.joined, "password", _is_chosen_password),
    NameRule("password", PASSWORDS, _IS, _always, "password", _is_password),
    NameRule("secret or credentials", _STRONG, _IS, _always, "secret", _random(8)),
    NameRule("key parameter of an address", _KEY, _IS, lambda given: given.before[-1:] in ("?", "&"), "api-key", _random(12)),
    NameRule("KEY alone, in capitals", _KEY, _IS, lambda given: not given.qualifier and given.upper and not given.before, "secret", _random(20, hashes=False)),
    NameRule("key without a word before it", _KEY, _IS, lambda given: not given.qualifier, None),
    NameRule("API key", _KEY, _IS, lambda given: given.before.lower().endswith(_API), "api-key", _random(8)),
    NameRule("key of something secret", _KEY, _IS, lambda given: given.qualifier in _SECRET_KEYS, "secret", _random(8)),
    NameRule("key of something public: cache_key", _KEY, _IS, lambda given: given.qualifier in _OTHER_KEYS, None),
    NameRule("key of anything, in capitals", _KEY, _IS, lambda given: given.upper, "secret", _random(16)),
    NameRule("key behind another word", _KEY, _IS, lambda given: given.before[-1:] == " ", None),
    NameRule("key of anything", _KEY, _IS, _always, "secret", _random(20, hashes=False)),
    NameRule("token of a page or a parser: page_token", frozenset({"token"}), _IS, lambda given: given.qualifier in _OTHER_TOKENS, None),
    NameRule("personal access token", frozenset({"pat"}), _IS, _always, "token", _random(16)),
    NameRule("_auth of npm", _TOKENS, _IS, lambda given: given.before.endswith("_auth"), "npm-token", _random(8)),
    NameRule("token of something", _TOKENS, _IS, _is_for_something_secret, "token", _random(12)),
    NameRule("token alone", _TOKENS, _IS, _always, "token", _random(16, hashes=False)),
    NameRule("key without a word before it", _KEY, _SAID, lambda given: not given.qualifier, None),
    NameRule("key of something public: cache key", _KEY, _SAID, lambda given: given.qualifier in _OTHER_KEYS, None),
    NameRule("token of a page or a parser: page token", frozenset({"token"}), _SAID, lambda given: given.qualifier in _OTHER_TOKENS, None),
    NameRule("password of letters, digits and a sign", PASSWORDS, _SAID, lambda given: _PLAIN_PASSWORD.fullmatch(given.value) is not None, "password", _always),
    NameRule("password", PASSWORDS, _SAID, _always, "password", _is_clearly_random),
    NameRule("token", frozenset({"token", "auth"}), _SAID, _always, "token", _is_clearly_random),
    NameRule("secret", _ANY, _SAID, _always, "secret", _is_clearly_random),
)  # fmt: skip

_BY_WORD = {
    (word, spelling): tuple(rule for rule in RULES if word in rule.words and rule.spelling is spelling)
    for word in _ANY
    for spelling in Spelling
}


def decide(given: Given) -> Decision:
    """Return what the first rule for this name that applies says about the value."""
    rule = next(rule for rule in _BY_WORD[given.word, given.spelling] if rule.applies(given))
    name = f"name, {given.spelling.value}: {rule.name}"
    if rule.kind is None:
        return Decision(None, name)
    if rule.value is _is_password:
        secret, value = _password_value(given)
        return Decision(rule.kind if secret else None, f"{name}; value: {value}")
    if rule.value(given):
        return Decision(rule.kind, name)
    return Decision(None, f"{name}; value: not random, or a placeholder")
