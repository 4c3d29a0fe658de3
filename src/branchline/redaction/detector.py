r"""Detect secrets in text: keys, tokens, passwords, private keys.

A secret is recognized by its form (``ghp_…``, ``AKIA…``), by its context (after ``Bearer``, in a URL before
the ``@``) or by its name (``PASSWORD=…``, ``"api_key": "…"``).

The search is linear in the length of the text. One pass stops at anchor characters ("signs"), which are rare
and part of the prefix or name of every secret, and checks the text around them. The text read from there is
bounded, or is not read again. Escapes inside the text (``\n``, ``\"``, ``\/``: JSON inside a string, source
code) are handled without decoding.
"""

from __future__ import annotations

import re
import string
from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

from branchline.redaction.aws_keys import aws_secret_keys
from branchline.redaction.disguises import disguised, disguised_by, merged
from branchline.redaction.languages import escaped_words, passwords_abroad
from branchline.redaction.name_rules import is_plain_password
from branchline.redaction.names import NAME_SIGNS, assigned_value, secret_kind_by_name
from branchline.redaction.places import PLACE_SIGNS, PLACES, Read, Secret
from branchline.redaction.randomness import is_placeholder, looks_like_words
from branchline.redaction.rules import INNER, RULES, Inner, Rule
from branchline.redaction.seed_phrases import seed_phrases
from branchline.redaction.tables import column_secrets, table_signs
from branchline.redaction.vendors import VENDOR_SIGN, vendor_key

__all__ = [
    "Reason",
    "Secret",
    "SecretSearch",
    "explain",
    "find_secrets",
    "has_own_form",
    "may_begin",
    "search",
    "secret_kind_by_name",
]

# -- signs ------------------------------------------------------------------------------------------------

_SIGNS = "~{}$|_-.KJVAWCUPBG" + "kwpcub" + string.digits + "/" + string.ascii_letters
"""Characters to stop at, best first: separators, capitals, rare letters, letters that names need anyway.
The fewer different ones are used, the faster the pass."""


def _sign(head: str) -> int:
    """Return the index of the character of a literal at which the pass stops."""
    return min(range(len(head)), key=lambda place: (_SIGNS.index(head[place]), place))


class _Form(NamedTuple):
    """A rule with one of its prefixes."""

    head: str
    sign: int
    rule: Rule

    @property
    def pattern(self) -> re.Pattern[str]:
        return _token_pattern(self.head, self.rule.body)

    @property
    def reason(self) -> str:
        return f"form: {self.head}… ({self.rule.source})"

    @property
    def joined(self) -> bool:
        """Whether such a token is known behind another word as well: ``backup-ghp_…``.

        A short head may be the end of a name, and hexadecimal digits behind a word are often a hash.
        """
        return len(self.head) > _SHORT and not self.rule.words and _HASH.search(self.rule.body) is None


_SHORT = 3
_HASH = re.compile(r"0-9a-f|0-9A-F")


@cache
def _token_pattern(head: str, body: str) -> re.Pattern[str]:
    """Compile a pattern on demand: compiling all of them takes longer than a small export."""
    return re.compile(f"{re.escape(head)}(?P<body>{body})", re.ASCII)


_FORMS = sorted(
    (_Form(head, _sign(head), rule) for rule in RULES for head in rule.heads),
    # The longest prefix wins: sk-ant-… is not the key that starts with sk-.
    key=lambda form: -len(form.head),
)


def _grouped(keyed: Iterable[tuple[str, _Form]]) -> dict[str, list[_Form]]:
    groups: dict[str, list[_Form]] = {}
    for key, form in keyed:
        groups.setdefault(key, []).append(form)
    return groups


_BY_HEAD = _grouped((form.head, form) for form in _FORMS)
_BY_SIGN = _grouped((form.head[: form.sign + 1], form) for form in _FORMS)
"""The forms by their prefix up to and including the sign."""
_HEAD_SIZES = tuple(sorted({len(head) for head in _BY_HEAD}, reverse=True))
_SIGN_SIZES: dict[str, tuple[int, ...]] = {
    sign: tuple(sorted({len(known) for known in _BY_SIGN if known[-1] == sign}, reverse=True))
    for sign in {known[-1] for known in _BY_SIGN}
}


@cache
def _inner_by_sign() -> dict[str, list[tuple[Inner, re.Pattern[str], re.Pattern[str]]]]:
    found: dict[str, list[tuple[Inner, re.Pattern[str], re.Pattern[str]]]] = {}
    for inner in INNER:
        around = re.compile(re.escape(inner.sign) + inner.around, re.ASCII)
        found.setdefault(inner.sign, []).append((inner, around, re.compile(inner.pattern, re.ASCII)))
    return found


_SEPARATORS = "~{}$|_-."
_LEAST = {"_": r"(?=[\w.+/=-]{12})", "-": r"(?=[\w.+/=-]{8})", ".": r"(?=[\w.+/=-]{16})"}
"""The minimum text after a separator; a stricter test means fewer prefixes to try."""


def _token_sign(form: _Form) -> tuple[str, str]:
    """Return the sign of a form and the condition around it, including the body if the prefix is short."""
    head, sign = form.head, form.sign
    rest = re.escape(head[sign + 1 :])
    if head[sign] in _SEPARATORS and len(head) > _SHORT:
        return head[sign], f"(?<={re.escape(head[: sign + 1])}){rest}"
    return head[sign], f"{rest}(?<={re.escape(head)})(?={_bounded(form.rule.body)})"


def _bounded(pattern: str) -> str:
    """Return the start of a pattern up to its first unbounded part, so that trying it often is cheap."""
    start, unlimited, _ = pattern.partition(",}")
    if not unlimited:
        return pattern
    return start + "}" if start.count("(") == start.count(")") else ""


@cache
def _anchors() -> tuple[re.Pattern[str], ...]:
    """Return one pattern for each sign, with the conditions around it.

    A pattern that starts with a literal is searched at memory speed, so many passes take less time than one
    with alternatives.
    """
    around: dict[str, dict[str, None]] = {}
    for sign, condition in map(_token_sign, _FORMS):
        around.setdefault(sign, {})[condition] = None
    joined = {
        sign: [_by_letter_before(sign)] if sign in _SEPARATORS else list(conditions)
        for sign, conditions in around.items()
    }
    for letters, condition in (*((inner.sign, inner.around) for inner in INNER), *PLACE_SIGNS, *NAME_SIGNS):
        for letter in letters:
            joined.setdefault(letter, []).append(condition)
    # Most colons of JSON stand before a blank, a quote or a brace, as none of these conditions allows.
    joined[":"] = [f'(?![ "{{\\[])(?:{"|".join(joined[":"])})']
    letters, condition = VENDOR_SIGN
    for letter in letters:
        joined[letter].append(f"{condition}()")
    return tuple(
        re.compile(f"{re.escape(sign)}(?:{'|'.join(conditions)})", re.ASCII)
        for sign, conditions in joined.items()
    )


_LITERAL_BEFORE = re.compile(r"\(\?<=((?:\\.|[^\\()])+)\)")


def _by_letter_before(sign: str) -> str:
    """Join the conditions of a separator as alternatives, by the letter before it: few words end like a prefix."""
    letters: dict[str, dict[str, None]] = {}
    for form in _FORMS:
        if form.head[form.sign] == sign:
            letters.setdefault(form.head[: form.sign][-1:], {})[_token_sign(form)[1]] = None
    alternatives = [
        f"(?<={re.escape(letter + sign)})(?:{_by_size(conditions)})" for letter, conditions in letters.items()
    ]
    any_letter = "".join(map(re.escape, sorted(letters)))
    first = "" if "" in letters else f"(?<=[{any_letter}]{re.escape(sign)})"
    return f"{first}{_LEAST.get(sign, '')}(?:{'|'.join(alternatives)})"


def _by_size(conditions: Iterable[str]) -> str:
    """Join conditions as alternatives, with literals of one length in one assertion."""
    sized: dict[int, list[str]] = {}
    others: list[str] = []
    for condition in conditions:
        literal = _LITERAL_BEFORE.fullmatch(condition)
        if literal is None:
            others.append(condition)
        else:
            sized.setdefault(len(re.sub(r"\\(.)", r"\1", literal[1])), []).append(literal[1])
    return "|".join([*(f"(?<={'|'.join(group)})" for group in sized.values()), *others])


def _signs(text: str) -> list[tuple[int, bool]]:
    """Return the offsets where a secret may be, and whether each is more than a value after ``:`` or ``=``.

    Nearly every line has such a value; it is checked only if the name of a service precedes it.
    """
    signs = [
        (anchor.start(), anchor.lastindex is None)
        for pattern in _anchors()
        for anchor in pattern.finditer(text)
    ]
    signs.sort()
    return signs


# -- search -----------------------------------------------------------------------------------------------

_PLACES_BY_SIGN = {
    letter: tuple((number, place) for number, place in enumerate(PLACES) if letter in place.signs)
    for letter in {letter for letters, _ in PLACE_SIGNS for letter in letters}
}
_NAME_LETTERS = frozenset("".join(letters for letters, _ in NAME_SIGNS))
_VENDOR_LETTERS = frozenset(VENDOR_SIGN[0])


class SecretSearch(NamedTuple):
    r"""The secrets in a text, in order and without overlaps, and the offsets where JSON may hide one.

    Searching JSON without decoding its strings can miss a secret with ``\/`` for a slash, and one in a list
    after a name.
    """

    secrets: list[Secret]
    unsure: list[int]


class Reason(NamedTuple):
    """A value that was judged: its span, its kind or None if it is no secret, and the rule that decided."""

    start: int
    end: int
    kind: str | None
    rule: str


Note = Callable[[Reason], None]


def find_secrets(text: str) -> list[Secret]:
    """Return the secrets in a text, in order and without overlaps, also those in another spelling."""
    secrets = _as_written(text)
    hidden = disguised(text, _as_written, _tokens, may_begin)
    return merged([*secrets, *hidden]) if hidden else secrets


def _as_written(text: str) -> list[Secret]:
    return search(text).secrets


_OWN_FORM = frozenset(
    [
        *(rule.kind for rule in RULES),
        *(inner.kind for inner in INNER),
        "private-key",
        "seed-phrase",
        "aws-secret-key",
    ]
)


def has_own_form(kind: str) -> bool:
    """Return whether secrets of a kind are recognized by their form, whatever stands around them."""
    return kind in _OWN_FORM


def _tokens(text: str) -> list[Secret]:
    """Return the secrets that are recognized by their form alone."""
    return [secret for secret in _as_written(text) if has_own_form(secret.kind)]


_BEGINNING = re.compile(r"(?<![0-9A-Za-z])[0-9A-Za-z]")
_BEGINNINGS = frozenset(head[:_SHORT] for head in _BY_HEAD if len(head) >= _SHORT)


def may_begin(word: str) -> bool:
    """Return whether a token may begin in a word."""
    for beginning in _BEGINNING.finditer(word):
        start = beginning.start()
        if word[start : start + _SHORT] in _BEGINNINGS and any(
            size >= _SHORT and word[start : start + size] in _BY_HEAD for size in _HEAD_SIZES
        ):
            return True
    return False


def search(text: str, note: Note | None = None) -> SecretSearch:
    """Return the secrets in a text, and the offsets where JSON may hide more.

    ``note`` gets what each rule decided, also about values that no secret is made of in the end.
    """
    narrow = _narrow(text)
    found: list[Secret] = []
    unsure: list[int] = []
    end = 0
    until = _Until(0, 0, [0] * len(PLACES))
    for place, sure in _signs(narrow.decode("latin-1")):
        if place < end:
            continue
        sign = text[place]
        read = _read(text, place, end, until, note) if sure else Read([], 0)
        if not read.found and sign in _VENDOR_LETTERS:
            read = vendor_key(text, place)._replace(rule="name of a service")
        here = [secret for secret in read.found if secret.start >= end]
        if note is not None:
            _note(here, read.rule, note)
        if here:
            found += here
            end = here[-1].end
        elif sure and ("\\/" in text[max(0, place - 64) : place + _WINDOW] or _LISTED.match(text, place)):
            unsure.append(place)
    seeds = [Secret(*span, "seed-phrase") for span in seed_phrases(narrow)]
    found += seeds
    if note is not None:
        _note(seeds, "form: words of a seed phrase", note)
    tables = table_signs(text)
    for rule, others in (
        ("name in another language", passwords_abroad(text, is_plain_password)),
        ("column of a table", column_secrets(text, tables, secret_kind_by_name)),
        (
            "form: an AWS secret access key",
            (Secret(*span, "aws-secret-key") for span in aws_secret_keys(narrow)),
        ),
    ):
        before = len(found)
        found = _with(found, others)
        if note is not None:
            _note(found[before:], rule, note)
    unsure += escaped_words(text)
    unsure += tables
    return SecretSearch(_apart(found), unsure)


class _Until:
    """How far the text was read: what was rejected is not read again for each sign in it, in quadratic time."""

    def __init__(self, token: int, name: int, places: list[int]) -> None:
        self.token, self.name, self.places = token, name, places


def _read(text: str, place: int, end: int, until: _Until, note: Note | None) -> Read:
    """Return what the forms, the places and the names say about the text around a sign, the first that finds."""

    def judged(read: Read, rule: str) -> Read:
        read = read if read.rule else read._replace(rule=rule)
        if note is not None and read.rejected is not None:
            note(Reason(*read.rejected, None, read.rule))
        return read

    read = Read([], 0)
    if place >= until.token:
        read = judged(_token_around(text, place, end), "form")
        until.token = read.until
    for number, context in _PLACES_BY_SIGN.get(text[place], ()):
        if not read.found and place >= until.places[number]:
            read = context.read(text, place, _token_at)
            until.places[number] = read.until
            if note is not None:
                given_up = (place, read.until) if read.until > place and not read.found else None
                read = judged(read._replace(rejected=given_up), f"place: {context.name}")
    if not read.found and text[place] in _NAME_LETTERS and place >= until.name:
        read = judged(_named(text, place), "name")
        until.name = read.until
    return read


def _note(secrets: list[Secret], rule: str, note: Note) -> None:
    for secret in secrets:
        note(Reason(*secret, rule))


def explain(text: str) -> list[Reason]:
    """Return the secrets in a text, and the values that were judged and are none, each with the rule that decided.

    Where nothing is returned, no form, place or name of a secret was found at all.
    """
    reasons: list[Reason] = []
    inside: list[Reason] = []
    search(text, reasons.append)

    def find(part: str) -> list[Secret]:
        return search(part, inside.append).secrets

    def find_tokens(part: str) -> list[Secret]:
        return [secret for secret in find(part) if has_own_form(secret.kind)]

    for way, secret in disguised_by(text, find, find_tokens, may_begin):
        rule = next((one.rule for one in reversed(inside) if one.kind == secret.kind), "form")
        reasons.append(Reason(*secret, f"{way}; {rule}"))
    found = find_secrets(text)
    explained = [Reason(*secret, _rule_of(secret, reasons)) for secret in found]
    starts = [secret.start for secret in found]
    for reason in dict.fromkeys(reasons):
        before = bisect_right(starts, reason.end) - 1
        if reason.kind is None and (before < 0 or found[before].end < reason.start):
            explained.append(reason)
    return sorted(explained, key=lambda reason: reason[:2])


def _rule_of(secret: Secret, reasons: list[Reason]) -> str:
    """Return the rule of a secret; where several were joined, of the one that gives the kind."""
    same = (reason.rule for reason in reasons if reason[:3] == secret)
    part = (
        reason.rule
        for reason in reasons
        if reason.kind == secret.kind and reason.start < secret.end and secret.start < reason.end
    )
    return next(same, None) or next(part, "form")


def _narrow(text: str) -> bytes:
    """Encode to one byte per character: secrets are ASCII, and bytes are searched faster."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("ascii", "replace")


_LISTED = re.compile(r"\w{1,16}\"[ \t]*:[ \t]*\[", re.ASCII)
_WINDOW = 256


def _with(found: list[Secret], others: Iterable[Secret]) -> list[Secret]:
    """Add the secrets that do not overlap those that were found, which are more specific."""
    found.sort()
    starts = [secret.start for secret in found]
    more = sorted(others)
    before = (bisect_right(starts, secret.end - 1) - 1 for secret in more)
    return [
        *found,
        *(one for one, place in zip(more, before, strict=True) if place < 0 or found[place].end <= one.start),
    ]


def _apart(secrets: list[Secret]) -> list[Secret]:
    """Sort the secrets and drop those that overlap an earlier one."""
    kept: list[Secret] = []
    for secret in sorted(secrets):
        if not kept or secret.start >= kept[-1].end:
            kept.append(secret)
    return kept


def _named(text: str, place: int) -> Read:
    value = assigned_value(text, place)
    if value is None:
        return Read([], 0)
    if value.end > value.start:
        token = _token_with_rule(text, value.start)
        if token.found and token.found[0].end >= value.end:
            return token._replace(until=value.until)
    if value.kind is None:
        return Read([], value.until, value.rule, (value.start, max(value.end, value.until)))
    return Read([Secret(value.start, value.end, value.kind)], value.until, value.rule)


# -- tokens -----------------------------------------------------------------------------------------------


def _token_around(text: str, place: int, end: int) -> Read:
    """Return the token whose sign is here and which starts at or after ``end``."""
    sign = text[place]
    until = 0
    rejected = Read([], 0)
    for size in _SIGN_SIZES.get(sign, ()):
        if place + 1 - size < end:
            continue
        for form in _BY_SIGN.get(text[place + 1 - size : place + 1], ()):
            # In this order, so that only the start of a long word is read.
            start = place - form.sign
            begins = _begins(text, start, joined=form.joined)
            token = form.pattern.match(text, start) if begins else None
            if token is None:
                continue
            if _is_token(token["body"], form.rule):
                return Read([Secret(*token.span(), form.rule.kind)], token.end(), form.reason)
            until = token.end()
            rejected = Read([], until, f"form: {form.head}…, a placeholder or words", token.span())
    for inner, around, pattern in _inner_by_sign().get(sign, ()):
        if around.match(text, place) is None:
            continue
        for start in range(max(end, place - inner.lead), place + 1):
            token = pattern.match(text, start) if _begins(text, start) else None
            if token is None or token.end() <= place:
                continue
            if not is_placeholder(token[0]):
                return Read([_inner_secret(token, inner)], token.end(), _inner_reason(inner))
            until = token.end()
            rejected = Read([], until, f"form: {inner.kind}, a placeholder", token.span())
    return rejected._replace(until=until)


def _token_at(text: str, start: int) -> list[Secret]:
    """Return the token that starts here."""
    return _token_with_rule(text, start).found


def _token_with_rule(text: str, start: int) -> Read:
    if not _begins(text, start):
        return Read([], 0)
    for size in _HEAD_SIZES:
        for form in _BY_HEAD.get(text[start : start + size], ()):
            token = form.pattern.match(text, start)
            if token is not None and _is_token(token["body"], form.rule):
                return Read([Secret(*token.span(), form.rule.kind)], token.end(), form.reason)
    for inners in _inner_by_sign().values():
        for inner, _, pattern in inners:
            token = pattern.match(text, start)
            if token is not None and not is_placeholder(token[0]):
                return Read([_inner_secret(token, inner)], token.end(), _inner_reason(inner))
    return Read([], 0)


def _inner_secret(token: re.Match[str], inner: Inner) -> Secret:
    return Secret(*token.span(1 if inner.group else 0), inner.kind)


def _inner_reason(inner: Inner) -> str:
    return f"form: {inner.kind} ({inner.source})"


def _is_token(body: str, rule: Rule) -> bool:
    if is_placeholder(body):
        return False
    return not (rule.words and looks_like_words(body))


_LETTERS = frozenset(string.ascii_letters + string.digits)
_DATA = re.compile(r"[0-9A-Za-z+/]{32}")
_ESCAPE_ENDS = re.compile(
    r"(?:\\[abefnrtv0]|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|%[0-9A-Fa-f]{2}"
    r"|(?:[\x1b␛]|\\u001[bB]|\\x1[bB]|\\033|\\e)\[[0-9;]{0,12}[A-Za-z])\Z"
)
_LONGEST_ESCAPE = 20


def _begins(text: str, start: int, *, joined: bool = False) -> bool:
    """Return whether a token can start here: not in the middle of a word or of base64 data.

    With ``joined`` it may follow a word with a hyphen or an underscore.
    """
    before = text[start - 1 : start]
    if before in ("-", "_") and not joined:
        before = text[max(0, start - _LONGEST_ESCAPE) : start].rstrip("-_")[-1:]
        return before not in _LETTERS
    if before in ("+", "/"):
        return _DATA.fullmatch(text, max(0, start - 33), start - 1) is None
    if before not in _LETTERS:
        return True
    return _ESCAPE_ENDS.search(text, max(0, start - _LONGEST_ESCAPE), start) is not None
