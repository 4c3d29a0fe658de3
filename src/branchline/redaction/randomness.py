"""Does a value look random, as keys and good passwords do, or was it written by a person?

Identifiers, paths, URLs, dates, variables and placeholders are common values of names such as ``password``.
They are not secret, and redacting them would make a text hard to read.

Only ASCII counts as random: keys are made of it, and words in other scripts are words. A text and its UTF-8
read as Latin-1 therefore give the same answer.
"""

from __future__ import annotations

import re

__all__ = ["LONGEST", "is_placeholder", "is_reference", "looks_like_words", "looks_random"]

LONGEST = 4096
"""The longest credential; longer values are files."""

_EXAMPLE = re.compile(
    r"x{5}|\*{3}|\.{3}|…|â\x80¦|example|placeholder|redacted|(?:\A|[-_.])your|your[-_]|change[-_]?(?:me|this)\b"
    r"|replace[-_]?(?:me|this|with)|insert[-_]|dummy|(?:\A|[-_])(?:fake|sample|mock)[-_]|[-_]here\b"
    r"|0123456789|1234567890|abcdefgh|\$\{|\$\(|\{\{|#\{|(?<![0-9A-Za-z])%[sdv](?=\Z|[:/@&])|<[\w -]+>|\[\w-\w",
    re.ASCII | re.IGNORECASE,
)
_NO_VALUE = re.compile(
    r"\$[A-Za-z_]\w*(?:[./:-].*)?\Z|%(?:\(|\w+%\Z|\w\Z)|\{.*\}\Z|(?:process|import)\b.*\benv\b|os\.|env[.:]"  # to be filled in
    r"|\.{0,2}/[^/]*/(?!.*(?:\+|=\Z))[^/]*/|[.~]{1,2}/|[A-Za-z]:\\|.*\.(?:pem|key|crt|cer|p12|pfx|jks|pub|json|ya?ml|toml|txt|py|[jt]sx?|go|rs|md"
    r"|gz|tgz|zip|whl|png|jpe?g|svg|html?|css|lock|env|sh|sql|csv|db|log|xml|ini|cfg|conf)\Z"
    r"|(?:workspace|npm|link|file|catalog):|data:|[a-z][a-z+.-]*:\\*/|\d{4}-\d\d-\d\d|sha\d{1,3}[-:]|[\w.+-]+@[\w-]+\.[\w.]+\Z",
    re.ASCII,
)
_COMMIT_OR_UUID = re.compile(
    r"[0-9a-f]{40}|[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"
)
_BETWEEN_WORDS = re.compile(r"[-_.:/@+=,|~$#!?]|%[0-9A-F]{2}")
_TECHNICAL = re.compile(
    r"i18n|k8s|e2e|sha\d{1,3}|md5|(?:base|b)64|utf16|x509|ed25519|nistp\d{3}|pkcs\d{1,2}|oauth2|argon2id?|pbkdf2"
    r"|[hre]s\d{3}|aes\d{3}|\bv\d{1,3}\b",
    re.IGNORECASE,
)
_ACRONYM = re.compile(r"(?<=[a-z])(?:ID|URL|URI|API|HTTPS?|JSON|XML|HTML|SQL|CLI|UUID)(?![a-z])")
_WORD = re.compile(r"\d{0,8}|(?:[a-z]+|[A-Z][a-z]*|[A-Z]+)\d{0,4}")
_WORDS_JOINED = re.compile(r"[A-Z]*[a-z]*\d?(?:(?:[A-Z][a-z]+|V)\d?)*")
_PART = re.compile(r"[A-Z]?[a-z]+")
_SPEAKABLE = re.compile(
    r"[a-z]*?[aeiouy][a-z]*|[a-z]|https?|html|css|xml|sql|ssl|tls|ssh|jwt|str|ctx|cfg|pwd?|db|[jt]s|fs|ws|vm|md|tmp|src",
    re.IGNORECASE,
)
_CHANGE_OF_CASE = re.compile(r"(?<=[a-z])[A-Z]|(?<=[A-Z])[a-z]")
_UNSPEAKABLE = re.compile(r"[b-df-hj-np-tv-xz]{6}", re.IGNORECASE)
_HARDLY_SPEAKABLE = re.compile(r"[b-df-hj-np-tv-xz]{4}", re.IGNORECASE)
_MANY_CHANGES = 4
_NOT_ASCII = re.compile(r"[^\x00-\x7f]|\\+u[0-9A-Fa-f]{4}")
_SYMBOLS = frozenset("!@#$%^&*?~+")


_NO_DIGIT_BUT_RANDOM = re.compile(r"[b-df-hj-np-tv-xz]{5}")
_BASE32 = re.compile(r"(?=.*[B-DF-HJ-NP-TV-XZ]{4})[A-Z2-7]{16,}=*")


def is_placeholder(value: str) -> bool:
    """Return whether a value is a placeholder: ``YOUR_API_KEY``, ``${TOKEN}``, ``xxxx``, ``AKIA…EXAMPLE``."""
    alike = value.isascii() and len(set(value)) < min(8, len(value) // 2)
    return alike or _EXAMPLE.search(value) is not None


def is_reference(value: str) -> bool:
    """Return whether a value is a reference: a variable, a path, a URL, a date or a hash."""
    return _NO_VALUE.match(value) is not None


def looks_like_words(value: str) -> bool:
    """Return whether a value consists of words and small numbers: ``my-app_v2``, ``config.apiKey``."""
    return all(map(_is_word, _BETWEEN_WORDS.split(_ACRONYM.sub("", _TECHNICAL.sub("", value)))))


def _is_word(text: str) -> bool:
    if _WORD.fullmatch(text):
        return True
    return bool(_WORDS_JOINED.fullmatch(text)) and all(map(_SPEAKABLE.fullmatch, _PART.findall(text)))


def looks_random(value: str, *, shortest: int, hashes: bool) -> bool:
    """Return whether the value of a field with a secret-like name is a secret.

    With ``hashes``, UUIDs and commit hashes count too: right for names that denote secrets, wrong for
    ``token``, which often names an id.
    """
    if not shortest <= len(value) < LONGEST or is_placeholder(value) or is_reference(value):
        return False
    value = _NOT_ASCII.sub("", value)
    if len(value) < shortest:
        return False
    if not hashes and _COMMIT_OR_UUID.fullmatch(value):
        return False
    if hashes and (_BASE32.fullmatch(value) or (value.islower() and _NO_DIGIT_BUT_RANDOM.search(value))):
        return True
    if looks_like_words(value):
        return False
    characters = set(value)
    if any(map(str.isdigit, characters)) or characters & _SYMBOLS:
        return any(map(str.isalpha, characters))
    changes = len(_CHANGE_OF_CASE.findall(value))
    if not hashes:
        return changes * 5 >= len(value) * 2
    if changes * 3 >= len(value):
        return True
    unspeakable = _UNSPEAKABLE if changes < _MANY_CHANGES else _HARDLY_SPEAKABLE
    return changes > 0 and unspeakable.search(value) is not None
