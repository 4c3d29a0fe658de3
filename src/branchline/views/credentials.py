r"""Which parts of a text are credentials: keys, tokens, passwords, private keys.

A credential is known by its form (``ghp_…``, ``AKIA…``, the block of a private key), by where it stands
(behind ``Bearer``, in an address before the ``@``) or by its name (``PASSWORD=…``, ``"api_key": "…"``). What
is known by its name only must also look drawn by lot: a word, a path, a variable or an example is no
credential, nor is a UUID or the hash of a commit that is merely called a token.

Looking takes time in proportion to the text. One pass over it stops where a credential may begin, and what
is read from there is bounded, or is not read again. Text with escapes of its own (``\n``, ``\"``, ``\/``:
JSON inside a string, source code) is understood as it stands.
"""

from __future__ import annotations

import base64
import binascii
import re
import string
from collections.abc import Iterable
from typing import NamedTuple

from branchline.views.chance import LONGEST, is_drawn, is_example, is_worded

__all__ = ["ANCHOR", "Secret", "assigned", "find"]


class Secret(NamedTuple):
    """A credential in a text: where it begins and ends, and what it is."""

    start: int
    end: int
    kind: str


# -- known by their form ----------------------------------------------------------------------------------


class _Form(NamedTuple):
    """Tokens of one kind: how they begin, and a pattern whose only group is drawn by lot."""

    kind: str
    starts: tuple[str, ...]
    pattern: str
    like_words: bool = False
    """Whether names with hyphens have this form too."""
    group_only: bool = False
    """Whether what stands around the group tells no secret and stays."""


_FORMS = (
    _Form("anthropic-key", ("sk-ant-",), r"sk-ant-(?:[a-z]+\d\d-)?([\w-]{20,}+)", like_words=True),
    _Form("openrouter-key", ("sk-or-",), r"sk-or-(?:v\d-)?([\w-]{20,}+)", like_words=True),
    _Form("openai-key", ("sk-",), r"sk-(?:(?:proj|svcacct|admin|None)-)?([\w-]{20,}+)", like_words=True),
    _Form("google-key", ("AIza",), r"AIza([\w-]{35,}+)"),
    _Form("google-token", ("ya29.", "GOCSPX-"), r"(?:ya29\.|GOCSPX-)([\w-]{24,}+)", like_words=True),
    _Form("xai-key", ("xai-",), r"xai-([\w-]{32,}+)", like_words=True),
    _Form("groq-key", ("gsk_",), r"gsk_([0-9A-Za-z]{32,}+)"),
    _Form("huggingface-token", ("hf_", "api_org_"), r"(?:hf|api_org)_([0-9A-Za-z]{30,}+)", like_words=True),
    _Form(
        "github-token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        r"gh[pousr]_([0-9A-Za-z]{30,}+(?:[._-][\w-]{16,}+){0,4}+)",
    ),
    _Form("github-token", ("github_pat_",), r"github_pat_(\w{22,}+)", like_words=True),
    _Form(
        "gitlab-token",
        ("glpat-", "gloas-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-"),
        r"gl[a-z]{2,4}-([\w-]{20,}+(?:\.[0-9a-z]{2}\.?[0-9a-z]{7})?)",
        like_words=True,
    ),
    _Form("slack-token", ("xox",), r"xox[a-z](?:\.xox[a-z])?-([\w-]{10,}+)", like_words=True),
    _Form("slack-token", ("xapp-",), r"xapp-([\w-]{16,}+)", like_words=True),
    _Form(
        "slack-webhook",
        ("hooks.slack.com",),
        r"hooks\.slack\.com\\*/(?:services|workflows|triggers)\\*/(T\w{6,}+(?:\\*/\w{6,}+){2,4}+)",
        group_only=True,
    ),
    _Form("aws-access-key-id", ("AKIA", "ASIA"), r"A[KS]IA([0-9A-Z]{16})(?![0-9A-Za-z])"),
    _Form(
        "stripe-key",
        ("sk_live_", "sk_test_", "rk_live_", "rk_test_"),
        r"[sr]k_(?:live|test)_([0-9A-Za-z]{16,}+)",
    ),
    _Form("stripe-key", ("whsec_",), r"whsec_([0-9A-Za-z+/]{24,}+={0,2})"),
    _Form("npm-token", ("npm_",), r"npm_([0-9A-Za-z]{36,}+)"),
    _Form(
        "npm-token",
        ("_authToken",),
        r"_authToken\\*[\"']?[ ]{0,4}[=:][ ]{0,4}\\*[\"']?([\w.+/-]{16,}+={0,2})",
        like_words=True,
        group_only=True,
    ),
    _Form("pypi-token", ("pypi-AgE",), r"pypi-AgE([\w-]{40,}+)"),
    _Form("jwt", ("eyJ",), r"(eyJ[\w-]{8,}+\.(?:[\w-]{8,}+|(?=\.[\w-]{8}))\.[\w-]*+(?:\.[\w-]++){0,2})"),
    _Form(
        "api-key",
        ("pplx-", "nvapi-", "csk-", "tvly-", "r8_", "lin_api_", "dckr_pat_", "dop_v1_", "sntrys_", "hvs."),
        r"(?:(?:pplx|nvapi|csk|tvly)-|(?:r8|lin_api|dckr_pat|dop_v1|sntrys)_|hvs\.)([\w-]{24,}+)",
        like_words=True,
    ),
)
_TOKEN = re.compile("|".join(form.pattern for form in _FORMS), re.ASCII)

# -- known by their name ----------------------------------------------------------------------------------

_KEY_WORDS = (
    *("api", "access", "account", "private", "secret"),
    *("auth", "signing", "encryption", "master", "service"),
)
_STRONG_WORDS = ("password", "passwd", "passphrase", "pwd", "secret", "credential", "credentials")
_WEAK_WORDS = ("token", "auth", "authorization", "pass")
_PASSWORD_WORDS = frozenset({"password", "passwd", "passphrase", "pwd", "pass"})


def _cases(word: str) -> tuple[str, ...]:
    return (word, word.capitalize(), word.upper())


_NAMES = (
    *(rf"{name}[_ -]?(?:key|Key|KEY)" for word in _KEY_WORDS for name in _cases(word)),
    *(name for word in _STRONG_WORDS + _WEAK_WORDS for name in _cases(word)),
)
_BLANKS = r"(?:[ \t]|\\+t){0,8}"
_QUOTE = r"(?:\\*[\"'`]|\\+u002[27])"
_SUFFIX = r"(?:[_-](?i:b64|base64|value|prod|dev|test|live|staging|old|new|default))?\d{0,2}"
_BEHIND = rf"(?:[*_]{{1,2}}|[ ]\[[^\]\n]{{0,30}}\]|{_QUOTE}?\]?)"  # **name**:  name [default]:  ["name"] =
_TYPE = r"[ ]?[A-Za-z][\w.\[\]|?]{0,30}[ ]"  # name: str = "…"
_OPERATOR = rf"(?::=|=>|=(?!=)|:(?![:=])(?:{_TYPE}=(?![=>]))?|>)"
_ASSIGNS = rf"{_SUFFIX}(?:{_BEHIND}{_BLANKS}{_OPERATOR}|{_QUOTE}{_BLANKS},(?={_BLANKS}{_QUOTE}))"
_FLAGS = r"(?:api|access|secret)-key|token|password|passphrase|secret"
_FLAG = rf"--(?:[a-z]{{1,20}}-){{0,3}}(?P<word>{_FLAGS})(?P<sign>[ \t]|\\+t)"


def _branching(patterns: Iterable[str], *, letters: int = 2) -> str:
    """An alternation that looks at each of the first letters once, which is what makes the one pass fast."""
    groups: dict[str, list[str]] = {}
    for pattern in patterns:
        first = pattern[0] if letters == 2 or (letters and pattern[0].isalnum()) else ""
        groups.setdefault(first, []).append(pattern[len(first) :])
    return "|".join(
        f"{first}(?:{_branching(rest, letters=letters - 1)})" if first else "|".join(rest)
        for first, rest in groups.items()
    )


ANCHOR = re.compile(
    _branching(
        [
            *(re.escape(start) for form in _FORMS for start in form.starts),
            "-----BEGIN ",
            _FLAG,
            r":(?:\\*/){2}(?=[^\s/\"'<>]{1,700}@)",
            *(rf"{scheme}(?=[ \t\\%+])" for word in ("bearer", "basic") for scheme in _cases(word)),
            *(f"{name}(?={_ASSIGNS})" for name in _NAMES),
        ]
    ),
    re.ASCII,
)
"""Where a credential may begin. A text in which this finds nothing holds none."""

_NAMED = re.compile(
    rf"(?P<word>{'|'.join(_NAMES)})(?P<sign>{_ASSIGNS})[*]{{0,2}}{_BLANKS}(?:(?:Token|ApiKey|Key)[ ])?",
    re.ASCII,
)
_NAMED_BY_FLAG = re.compile(_FLAG + _BLANKS, re.ASCII)
_KEY = re.compile(rf"(?P<word>{'|'.join(_NAMES)}){_SUFFIX}\Z", re.ASCII)
_LONGEST_KEY = 100
_IN_NAMES = string.ascii_letters + string.digits + "_.-"
_BLANK = re.compile(r"\s", re.ASCII)
_NO_SECRET = re.compile(
    r"(?:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z]))"
    r"(?i:page|next|sync|cancel|cancell?ation|continuation|resume|cursor|public)[ _-]?\Z"
)
_AWS_NAME = re.compile(r"(?i:aws|secret[_ -]?access)")
_NEAR = 16
_AWS_SECRET = re.compile(r"[0-9A-Za-z+/]{40}")
_QUOTED = re.compile(rf"{_QUOTE}([^\s\"'`]{{1,{LONGEST}}}+)", re.ASCII)
_QUOTE_INSIDE = re.compile(r"\\+(?:u002[27]|\Z)")
_BARE = re.compile(rf"[!#$%*+./:=?@^_~0-9A-Za-z-]{{1,{LONGEST}}}+")

# -- known by where they stand ----------------------------------------------------------------------------

_PRESENTED = re.compile(
    r"(?i:(?P<bearer>bearer)|basic)(?:[ \t]|\\+t|%20|\+){1,4}(?P<value>[\w.~+/-]{8,}+={0,2})", re.ASCII
)
_ADDRESS = re.compile(
    r":(?:\\*/){2}(?P<user>[^\s/:@\"'<>\\\[\]]{0,128}+)(?::(?P<password>[^\s/\"'<>\\]{1,512}))?@", re.ASCII
)
_PORT = re.compile(r"\d{1,5}(?:[^\w.~!$%^*+=-]|\Z)", re.ASCII)
_NO_PASSWORDS = frozenset(
    {"password", "passwd", "pass", "pwd", "pw", "secret", "token", "key", "user", "username", "x-oauth-basic"}
)
_SHORTEST_USER = 20
_SHORTEST_PASSWORD = 4

_BLOCK_BEGINS = re.compile(r"-----BEGIN (?:[0-9A-Z]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_BLOCK_SIGN = re.compile(r"-----(?:BEGIN |(?P<end>END )[0-9A-Z ]{0,60}-----)")
_BLOCK_LINE = re.compile(r"[0-9A-Za-z+/]{32,}+={0,2}")
_BLOCK_JUNK = r"(?:\s|\\+[nrt]|(?:Proc-Type|DEK-Info|Version|Comment)[^\n\\]{0,100}|\d{1,5}|[^\s\w\\-])*+"
_BLOCK_BODY = re.compile(
    rf"(?={_BLOCK_JUNK}[0-9A-Za-z+/]{{32}})(?:{_BLOCK_JUNK}[0-9A-Za-z+/]{{20,}}+={{0,2}})++"
    r"(?:(?:\s|\\+[nrt])*+[0-9A-Za-z+/]{1,64}={1,2})?",
    re.ASCII,
)
_LONGEST_BLOCK = 32_768

# -- looking ----------------------------------------------------------------------------------------------


def find(text: str) -> list[Secret]:
    """The credentials in a text, in order; none overlaps another."""
    found: list[Secret] = []
    end = named_until = presented_until = 0
    for anchor in ANCHOR.finditer(text):
        start = anchor.start()
        if start < end:
            continue
        match text[start]:
            case ":":
                here = _in_address(text, start)
            case "-":
                here = _block(text, start) or _named(text, _NAMED_BY_FLAG.match(text, start)).found
            case _:
                here = _token(text, start)
                # What was read and refused is not read again for each name in it: that would take time in
                # proportion to the square of its length.
                if not here and start >= presented_until:
                    here, presented_until = _presented(text, start)
                if not here and start >= named_until:
                    here, named_until = _named(text, _NAMED.match(text, start))
        if here:
            found += here
            end = here[-1].end
    return found


def assigned(name: str, value: str) -> str | None:
    """The kind of credential that a value is under this name, if it is one."""
    named = _KEY.search(name[-_LONGEST_KEY:])
    if named is None or len(value) >= LONGEST or _BLANK.search(value):
        return None
    return _kind(named["word"], name[: -len(named[0])], value)


def _kind(word: str, before: str, value: str) -> str | None:
    """What a value is under a name that ends with this word."""
    plain = word.lower()
    weak = plain in _WEAK_WORDS
    if _AWS_SECRET.fullmatch(value) and _AWS_NAME.search(before[-_NEAR:] + word) and not is_example(value):
        return "aws-secret-key"
    if not is_drawn(value, name_says_all=not weak or before.endswith("_auth")):
        return None
    if weak and _NO_SECRET.search(before[-_NEAR:]):
        return None
    if plain == "pass" and before[-1:].islower() and word.islower():
        return None  # the end of another word
    if plain in _PASSWORD_WORDS:
        return "password"
    if weak:
        return "token"
    return "api-key" if plain.startswith("api") else "secret"


class _Read(NamedTuple):
    """What was found, and how far the text was read for it."""

    found: list[Secret]
    until: int


def _named(text: str, named: re.Match[str] | None) -> _Read:
    """The value behind a name."""
    if named is None:
        return _Read([], 0)
    start = named.end()
    quoted = _QUOTED.match(text, start)
    if quoted is not None:
        start, end = quoted.span(1)
        value = _QUOTE_INSIDE.split(quoted[1], maxsplit=1)[0]
        complete = len(value) < len(quoted[1]) or text[end : end + 1] in ('"', "'", "`")
    else:
        bare = _BARE.match(text, start)
        if bare is None:
            return _Read([], start)
        end = bare.end()
        value = bare[0].rstrip(".:*")
        complete = text[end : end + 1] not in ("(", "[", "{")  # what is called or looked into is code
    if not complete:
        return _Read([], end)
    token = _token(text, start)
    if token and token[0].end >= start + len(value):
        return _Read(token, end)
    before = text[max(0, named.start("word") - _LONGEST_KEY) : named.start("word")]
    above = before.rstrip(_IN_NAMES)
    sign = named["sign"]
    if sign == ":" and above.endswith(":"):
        return _Read([], end)  # a part of a longer name, such as an ARN
    if sign.endswith(">") and not (sign.endswith("=>") or above.endswith("<")):
        return _Read([], end)  # a comparison, not <password>…</password>
    kind = _kind(named["word"], before, value)
    return _Read([] if kind is None else [Secret(start, start + len(value), kind)], end)


def _token(text: str, start: int) -> list[Secret]:
    """What begins here and is known by its form."""
    if not _begins(text, start):
        return []  # asked first, so that of a long word only the beginning is looked at
    token = _TOKEN.match(text, start)
    if token is None:
        return []
    assert token.lastindex is not None
    form = _FORMS[token.lastindex - 1]
    drawn = token[token.lastindex]
    if is_example(drawn) or (form.like_words and drawn.islower() and is_worded(drawn)):
        return []
    return [Secret(*token.span(token.lastindex if form.group_only else 0), form.kind)]


_LETTERS = frozenset(string.ascii_letters + string.digits)
_DATA = re.compile(r"[0-9A-Za-z+/]{32}")
_ESCAPE_ENDS = re.compile(
    r"(?:\\[abefnrtv0]|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|%[0-9A-Fa-f]{2}"
    r"|(?:[\x1b␛]|\\u001[bB]|\\x1[bB]|\\033|\\e)\[[0-9;]{0,12}[A-Za-z])\Z"
)
_LONGEST_ESCAPE = 20


def _begins(text: str, start: int) -> bool:
    """Whether something begins here and is not the middle of a word or of data in base64."""
    before = text[start - 1 : start]
    if before in ("-", "_"):
        before = text[max(0, start - _LONGEST_ESCAPE) : start].rstrip("-_")[-1:]
        return before not in _LETTERS
    if before in ("+", "/"):
        return _DATA.fullmatch(text, max(0, start - 33), start - 1) is None
    if before not in _LETTERS:
        return True
    return _ESCAPE_ENDS.search(text, max(0, start - _LONGEST_ESCAPE), start) is not None


def _presented(text: str, start: int) -> _Read:
    """What stands behind ``Bearer`` or ``Basic``."""
    header = _PRESENTED.match(text, start)
    if header is None:
        return _Read([], 0)
    start, until = header.span("value")
    value = header["value"].rstrip(".")
    if token := _token(text, start):
        return _Read(token, until)
    if header["bearer"] is not None:
        kind = "bearer-token" if len(value) >= 12 and is_drawn(value, name_says_all=True) else None
    else:
        kind = "basic-auth" if _is_user_and_password(value) else None
    return _Read([] if kind is None else [Secret(start, start + len(value), kind)], until)


def _is_user_and_password(value: str) -> bool:
    if len(value) >= LONGEST:
        return False
    try:
        _, colon, password = base64.b64decode(value, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return False
    return colon != "" and password.isprintable() and not _is_no_password(password)


def _is_no_password(text: str) -> bool:
    return (
        (len(text) < _SHORTEST_PASSWORD and text.isascii())
        or text.lower() in _NO_PASSWORDS
        or is_example(text)
        or text.startswith(("$", "<", "{", "[", "%", "&lt;"))
    )


def _in_address(text: str, start: int) -> list[Secret]:
    """The user of an address, where that is a token, and the password."""
    address = _ADDRESS.match(text, start)
    if address is None:
        return []
    user, password = address["user"], address["password"]
    found = _token(text, address.start("user"))
    if not found and len(user) >= _SHORTEST_USER and is_drawn(user, name_says_all=False):
        found = [Secret(*address.span("user"), "url-password")]
    if password is not None and not _is_no_password(password) and _PORT.match(password) is None:
        found.append(Secret(*address.span("password"), "url-password"))
    return found


def _block(text: str, start: int) -> list[Secret]:
    """A private key from its first line to its last, or as far as it goes where the last is missing."""
    begins = _BLOCK_BEGINS.match(text, start)
    if begins is None:
        return []
    sign = _BLOCK_SIGN.search(text, begins.end(), begins.end() + _LONGEST_BLOCK)
    if sign is not None and sign["end"] is not None:
        lines = _BLOCK_LINE.findall(text, begins.end(), sign.start())
        # The other sign may belong to something else; what lies between is mostly key only in a block.
        if lines and sum(map(len, lines)) * 3 >= sign.start() - begins.end():
            return [Secret(start, sign.end(), "private-key")]
    body = _BLOCK_BODY.match(text, begins.end())
    return [] if body is None else [Secret(start, body.end(), "private-key")]
