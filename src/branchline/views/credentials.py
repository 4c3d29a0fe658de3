r"""Which parts of a text are credentials: keys, tokens, passwords, private keys.

A credential is known by its form (``ghp_…``, ``AKIA…``, a block of a private key), by where it stands (behind
``Bearer``, in an address before the ``@``) or by its name (``PASSWORD=…``, ``"api_key": "…"``). What is known
by its name must also look like chance: a word, a path, a variable or an example value is none, nor is a
UUID or the hash of a commit that is called a token.

Looking takes time in proportion to the text: one pass over it stops at places where a credential may begin,
and what is read from there is either taken, or bounded, or cannot be read again. Text that holds escapes
itself (``\n``, ``\"``, ``\/``, ``\u0022``: JSON in a string, source code) is understood without undoing them.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["ANCHOR", "Secret", "assigned", "find"]


class Secret(NamedTuple):
    """A credential in a text: from where to where, and what it is."""

    start: int
    end: int
    kind: str


class _Form(NamedTuple):
    """Tokens of one kind: how they begin, and all of their text."""

    kind: str
    starts: tuple[str, ...]
    pattern: str
    wordy: bool = False
    """Whether words with hyphens can look the same, so that the rest must look like chance."""


_FORMS = (
    _Form("anthropic-key", ("sk-ant-",), r"sk-ant-(?:[a-z]+\d\d-)?([\w-]{20,}+)", wordy=True),
    _Form("openrouter-key", ("sk-or-",), r"sk-or-(?:v\d-)?([\w-]{20,}+)", wordy=True),
    _Form("openai-key", ("sk-",), r"sk-(?:(?:proj|svcacct|admin|None)-)?([\w-]{20,}+)", wordy=True),
    _Form("google-key", ("AIza",), r"AIza([\w-]{35,}+)"),
    _Form("google-token", ("ya29.", "GOCSPX-"), r"(?:ya29\.|GOCSPX-)([\w-]{24,}+)"),
    _Form("xai-key", ("xai-",), r"xai-([\w-]{32,}+)", wordy=True),
    _Form("groq-key", ("gsk_",), r"gsk_([0-9A-Za-z]{32,}+)"),
    _Form("huggingface-token", ("hf_", "api_org_"), r"(?:hf|api_org)_([0-9A-Za-z]{30,}+)", wordy=True),
    _Form(
        "github-token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        r"gh[pousr]_([0-9A-Za-z]{30,}+(?:[._-][\w-]{16,}+)*+)",
    ),
    _Form("github-token", ("github_pat_",), r"github_pat_(\w{22,}+)", wordy=True),
    _Form(
        "gitlab-token",
        ("glpat-", "gloas-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glagent-", "glsoat-"),
        r"gl[a-z]{2,5}-([\w-]{20,}+(?:\.[0-9a-z]{2}\.?[0-9a-z]{7})?)",
        wordy=True,
    ),
    _Form("slack-token", ("xox",), r"xox[a-z](?:\.xox[a-z])?-([\w-]{10,}+)", wordy=True),
    _Form("slack-token", ("xapp-",), r"xapp-([\w-]{16,}+)", wordy=True),
    _Form(
        "slack-webhook",
        ("hooks.slack.com",),
        r"hooks\.slack\.com\\*/(?:services|workflows|triggers)\\*/(T\w{6,}+\\*/[\w\\/]{16,}+)",
    ),
    _Form("aws-access-key-id", ("AKIA", "ASIA"), r"A[KS]IA([0-9A-Z]{16})(?![0-9A-Za-z])"),
    _Form(
        "stripe-key",
        ("sk_live_", "sk_test_", "rk_live_", "rk_test_"),
        r"[sr]k_(?:live|test)_([0-9A-Za-z]{16,}+)",
    ),
    _Form("stripe-key", ("whsec_",), r"whsec_([0-9A-Za-z+/]{24,}+={0,2})"),
    _Form("npm-token", ("npm_",), r"npm_([0-9A-Za-z]{36,}+)"),
    _Form("npm-token", ("_authToken",), r"_authToken\s{0,4}=\s{0,4}\\*[\"']?([\w.=+/-]{16,}+)"),
    _Form("pypi-token", ("pypi-AgE",), r"pypi-AgE([\w-]{40,}+)"),
    _Form("jwt", ("eyJ",), r"(eyJ[\w-]{8,}+\.(?:[\w-]{8,}+|(?=\.[\w-]{8}))\.[\w-]*+(?:\.[\w-]++){0,2})"),
    _Form(
        "api-key",
        ("pplx-", "nvapi-", "csk-", "tvly-", "r8_", "lin_api_", "dckr_pat_", "dop_v1_", "sntrys_", "hvs."),
        r"(?:pplx-|nvapi-|csk-|tvly-(?:dev-|prod-)?|r8_|lin_api_|dckr_pat_|dop_v1_|sntrys_|hvs\.)([\w-]{24,}+)",
        wordy=True,
    ),
)
_TOKEN = re.compile(
    "|".join(f"(?P<form{number}>{form.pattern})" for number, form in enumerate(_FORMS)), re.ASCII
)

# -- names of credentials ---------------------------------------------------------------------------------

_KEYS = ("api", "access", "account", "private", "secret", "auth", "signing", "encryption", "master", "service")
_STRONG = ("password", "passwd", "passphrase", "pwd", "secret", "credential")
_WEAK = ("token", "auth", "authorization", "pass")
_KINDS = {"password": "password", "passwd": "password", "passphrase": "password", "pwd": "password"} | {
    "pass": "password",
    "token": "token",
    "auth": "token",
    "authorization": "token",
    "key": "api-key",
}


def _cases(word: str) -> tuple[str, ...]:
    return (word, word.capitalize(), word.upper())


_NAMES = [
    *(rf"{name}[_ -]?(?:key|Key|KEY)" for word in _KEYS for name in _cases(word)),
    *(name for word in (*_STRONG, *_WEAK) for name in _cases(word)),
]
_BLANKS = r"(?:[ \t]|\\+t){0,8}"
_QUOTE = r"(?:\\*[\"'`]|\\+u002[27])"
_SUFFIX = r"s?(?:[_-](?i:b64|base64|value|prod|dev|test|live|staging|old|new|default))?\d{0,2}"
_BEHIND = rf"(?:{_QUOTE}?\]?|[*_]{{1,2}}|[ ]\[[^\]\n]{{0,30}}\])"
_TYPE = r"[ ]?[A-Za-z][\w.\[\]|?]{0,30}"
_OPERATOR = rf"(?::=|=>|=(?!=)|:(?![:=]){_TYPE}[ ]?=(?![=>])|:(?!:)|>)"
_ASSIGNS = rf"{_SUFFIX}(?:{_BEHIND}{_BLANKS}{_OPERATOR}|{_QUOTE}{_BLANKS},(?={_BLANKS}{_QUOTE}))"
_FLAG = r"--(?:[a-z]{1,20}-){0,3}(?:api-key|token|password|passphrase|secret|secret-key|access-key)[ \t]"


def _branching(patterns: Iterable[str], depth: int = 2) -> str:
    """An alternation that looks at each of the first letters once, which is what makes the one pass fast."""
    groups: dict[str, list[str]] = {}
    for pattern in patterns:
        first = pattern[:1] if depth and pattern[:1].isalnum() or depth==2 else ''
        groups.setdefault(first, []).append(pattern[len(first):])
    return "|".join(f"{first}(?:{_branching(rest, depth-1)})" if first else "|".join(rest) for first, rest in groups.items())


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
