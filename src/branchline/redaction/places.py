r"""Secrets recognized by their context.

After ``Bearer`` or ``Basic``, in a URL before the ``@`` or in a signature parameter, after a command-line
option (``curl -u``, ``mysql -p``), in a cookie, in a line of a ``.pgpass`` file, or between the first and the
last line of a private key.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import NamedTuple

from branchline.redaction.randomness import LONGEST, is_placeholder, is_reference, looks_random

__all__ = ["PLACES", "PLACE_SIGNS", "PlaceRule", "Read", "Secret", "private_key"]


class Secret(NamedTuple):
    """A secret in a text: its start, end and kind."""

    start: int
    end: int
    kind: str


class Read(NamedTuple):
    """The secrets found, how far the text was read, and for :func:`~branchline.redaction.explain` the rule."""

    found: list[Secret]
    until: int
    rule: str = ""
    rejected: tuple[int, int] | None = None
    """The value that the rule says is no secret."""


Token = Callable[[str, int], "list[Secret]"]
"""Returns the token that starts at an offset, recognized by its form."""

_NO_PASSWORDS = frozenset(
    "password passwd pass pwd pw secret token key user username x-oauth-basic pw. string null none".split()
)
_SHORTEST_USER = 20
_SHORTEST_PASSWORD = 4
_SHORTEST_CHOSEN = 6
_LINE = 240
_NOTHING = Read([], 0)


def _is_no_password(text: str) -> bool:
    return (
        (len(text) < _SHORTEST_PASSWORD and text.isascii())
        or text.lower() in _NO_PASSWORDS
        or is_placeholder(text)
        or is_reference(text)
        or text.startswith(("<", "{", "[", "&lt;"))
    )


# -- behind Bearer and Basic ------------------------------------------------------------------------------

_PRESENTED = re.compile(
    r"(?i:(?P<bearer>bearer)|basic)(?:[ \t]|\\+t|%20|\+){1,4}(?P<value>[\w.~+/-]{8,}+={0,2})", re.ASCII
)


def _presented(text: str, place: int, token: Token) -> Read:
    header = _PRESENTED.match(text, place)
    if header is None:
        return _NOTHING
    start, until = header.span("value")
    value = header["value"].rstrip(".")
    found = token(text, start)
    if found and found[-1].end >= start + len(value):
        return Read(found, until)
    if header["bearer"] is not None:
        kind = "bearer-token" if looks_random(value, shortest=12, hashes=True) else None
    else:
        kind = "basic-auth" if _is_user_and_password(value) else None
    return Read([] if kind is None else [Secret(start, start + len(value), kind)], until)


def _is_user_and_password(value: str) -> bool:
    if len(value) >= LONGEST:
        return False
    try:
        _, colon, password = base64.b64decode(value, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return False
    return colon != "" and password.isprintable() and not _is_no_password(password)


# -- in URLs ----------------------------------------------------------------------------------------------

_ADDRESS = re.compile(
    r":(?:\\*/){2}(?P<user>[^\s/:@\"'<>\\\[\]]{0,128}+)(?::(?P<password>[^\s/\"'<>\\]{1,512}))?@", re.ASCII
)
_OTPAUTH = re.compile(r"(?<=otpauth)://[^\s\"'<>\\]{1,300}?[?&]secret=(?P<secret>[A-Za-z2-7%=]{16,200}+)")
_PORT = re.compile(r"\d{1,5}(?:[^\w.~!$%^*+=-]|\Z)", re.ASCII)


def _address(text: str, place: int, token: Token) -> Read:
    """Find the password of a URL, its user if that is a token, and the secret of an otpauth URL."""
    if otpauth := _OTPAUTH.match(text, place):
        return Read([Secret(*otpauth.span("secret"), "otp-secret")], otpauth.end())
    address = _ADDRESS.match(text, place)
    if address is None:
        return _NOTHING
    user, password = address["user"], address["password"]
    found = token(text, address.start("user"))
    if not found and len(user) >= _SHORTEST_USER and looks_random(user, shortest=16, hashes=True):
        found = [Secret(*address.span("user"), "url-password")]
    if password is not None and not _is_no_password(password) and _PORT.match(password) is None:
        found = [*found, Secret(*address.span("password"), "url-password")]
    return Read(found, address.end())


_PARAMETER = re.compile(r"[=](?P<value>[0-9A-Za-z%+/=_.~-]{8,}+)", re.ASCII)


def _signature(text: str, place: int, _: Token) -> Read:
    """Find the signature of a URL, such as Azure's ``sig=`` and S3's ``X-Amz-Signature=``."""
    parameter = _PARAMETER.match(text, place)
    if parameter is None:
        return _NOTHING
    value = parameter["value"].rstrip(".")
    start = parameter.start("value")
    found = looks_random(value, shortest=16, hashes=True)
    return Read([Secret(start, start + len(value), "url-signature")] if found else [], parameter.end())


# -- in commands ------------------------------------------------------------------------------------------

_JOINED = r"(?:[\"']|\\+[\"'])?(?P<value>[^\s\"'\\|;&<>]{3,200}+)"
_APART = rf"(?:[ \t=]|\\+t){{1,4}}{_JOINED}"
_EITHER = rf"(?:[ \t=]|\\+t){{0,4}}{_JOINED}"
_WITH_USER = (
    r"(?:[ \t=]|\\+t){0,4}(?:[\"']|\\+[\"'])?[^\s\"'\\:/|;&<>]{0,64}+:(?P<value>[^\s\"'\\|;<>]{3,200}+)"
)


class _Option(NamedTuple):
    """A command-line option whose value is a secret."""

    commands: str
    option: str
    value: str


_OPTIONS = (
    _Option("curl|https?|wget|xh", "u", _WITH_USER),
    _Option("curl|wget|xh", "-user", _WITH_USER),
    _Option("curl|wget|xh", "-proxy-user", _WITH_USER),
    _Option("curl", "U", _WITH_USER),
    _Option("https?|xh", "a", _WITH_USER),
    _Option("https?|xh", "-auth", _WITH_USER),
    _Option(r"(?:mysql|mariadb)[\w-]*|mycli|7za?", "p", _JOINED),
    _Option("sshpass", "p", _EITHER),
    _Option(r"(?:docker|podman|helm|az|oc|buildah|skopeo|nerdctl|cf|nomad)\b[^\n]{0,80}\blogin|mongo\w*|sqlcmd|rabbitmqadmin|influx|vncpasswd", "p", _APART),
    _Option("redis-cli|valkey-cli|keydb-cli", "a", _APART),
    _Option("zip|unzip|mosquitto_[ps]ub|sqlcmd|bcp|tsql|isql", "P", _EITHER),
    _Option(r"ldap\w{3,8}|pg_\w+", "w", _APART),
    _Option("smbclient|rpcclient|net|mount|winexe", "U", r"(?:[ \t=]){0,4}(?:[\"']|\\+[\"'])?[^\s\"'\\%]{1,64}%(?P<value>[^\s\"'\\|;<>]{3,200}+)"),
    _Option("openssl|keytool", "passin", r"[ ]{1,4}pass:(?P<value>[^\s\"'\\|;<>]{3,200}+)"),
    _Option("openssl|keytool", "passout", r"[ ]{1,4}pass:(?P<value>[^\s\"'\\|;<>]{3,200}+)"),
    _Option("openssl", "pass", r"[ ]{1,4}pass:(?P<value>[^\s\"'\\|;<>]{3,200}+)"),
    _Option("openssl", "k", _APART),
    _Option("curl", "b", r"(?:[ \t]){0,4}(?:[\"']|\\+[\"'])?[\w.-]{1,40}=(?P<value>[^\s\"'\\|;&<>]{16,2000}+)"),
    _Option("keytool|jarsigner|apksigner", "storepass", _APART),
    _Option("keytool|jarsigner|apksigner", "keypass", _APART),
)  # fmt: skip
_VALUES = tuple(
    (
        f"-{each.option[0]}",
        re.compile(rf"-{each.option}{each.value}"),
        re.compile(rf"(?<![\w.-])(?:{each.commands})(?![\w.-])[^\n]*\Z"),
    )
    for each in _OPTIONS
)
_FLAGS = (
    r"(?:api|access|secret|auth|account|private|storage)-key|key|token|pass(?:word|wd|phrase)?|secret|pwd|pat"
)
_FLAG = re.compile(
    rf"--(?:[a-z]{{1,20}}-){{0,3}}?(?P<word>{_FLAGS})(?:[ \t]|\\+t){{1,8}}(?P<quote>\\*[\"'])?(?P<value>[^\s\"'\\`|;&<>\x00-\x1f]{{1,200}}+)"
)


def _option(text: str, place: int, token: Token) -> Read:
    begins = text[place : place + 2]
    for begin, option, command in _VALUES:
        given = option.match(text, place) if begin == begins else None
        if given is None:
            continue
        before = text[max(0, place - _LINE) : place].replace("\\n", "\n").replace("\\\n", "  ")
        if command.search(before.rpartition("\n")[2]) is None:
            continue
        password = given["value"]
        if _is_no_password(password) or password.startswith("-"):
            return Read([], given.end())
        found = token(text, given.start("value"))
        if found and found[-1].end >= given.end("value"):
            return Read(found, given.end())
        return Read([Secret(*given.span("value"), "password")], given.end())
    flag = _FLAG.match(text, place)
    if flag is None:
        return _NOTHING
    found = token(text, flag.start("value"))
    value = flag["value"].rstrip(".,)]")
    start = flag.start("value")
    if found and found[-1].end >= start + len(value):
        return Read(found, flag.end())
    password = flag["word"].startswith(("pass", "pwd"))
    if flag["word"].startswith("key"):
        secret = looks_random(value, shortest=20, hashes=False)
    elif password and not _is_no_password(value) and not is_reference(value) and _weak(value):
        secret = True
    else:
        secret = looks_random(value, shortest=8 if password else 12, hashes=True)
    kind = (
        "password"
        if password
        else "token"
        if flag["word"] == "token"
        else "api-key"
        if "api" in flag["word"]
        else "secret"
    )
    return Read([Secret(start, start + len(value), kind)] if secret else [], flag.end())


def _weak(value: str) -> bool:
    """Return whether this may be a weak password, rather than the next word of a sentence."""
    if len(value) < _SHORTEST_CHOSEN or not value.isascii() or value.isdigit():
        return False
    return any(map(str.isdigit, value)) or any(sign in value for sign in "#$%&*@^")


# -- arguments of commands that have no option for them -----------------------------------------------------

_WORD = r"(?:[\"']|\\+[\"'])?(?P<value>[^\s\"'\\|;&<>]{3,200}+)"
_OTHER_WORD = r"(?:[ \t]+[^\s|;&<>]{1,200}+)"
_FLAGS_OF_HTPASSWD = r"(?:[ ]-{1,2}[A-Za-z0-9]{1,8}(?:[ ]\d{1,9})?)"
_ARGUMENTS = {
    "w": re.compile(
        rf"(?<=htpass)wd(?:(?={_FLAGS_OF_HTPASSWD}*?[ ]-\w*n){_FLAGS_OF_HTPASSWD}+{_OTHER_WORD}[ ]{_WORD}"
        rf"|{_FLAGS_OF_HTPASSWD}+{_OTHER_WORD}{{2}}[ ]{_WORD.replace('value', 'other')})"
    ),  # htpasswd -b FILE USER …, htpasswd -nb USER …
    "_": re.compile(
        rf"(?:(?<=ctl add)_user|(?<=ctl change)_password)[ ]+[^\s|;&<>]{{1,64}}[ ]+{_WORD}"
    ),  # rabbitmqctl add_user USER …
    "-": re.compile(rf"(?<=ConvertTo)-SecureString[ ]+(?:-String[ ]+)?(?=[\"'\\]){_WORD}"),
    "u": re.compile(rf"(?<=net )user[ ]+[\w.-]{{1,32}}[ ]+(?!/){_WORD}[ ]+/add"),
    "p": re.compile(
        r"(?<=require)pass[ ]+(?:[\"']|\\+[\"'])?(?P<value>[^\s\"'\\|;&<>]{6,200}+)|(?<=sql)plus[ ][^\n/]{0,40}?\b\w{1,30}/(?P<other>[^\s\"'\\|;&<>/]{3,60})@"
    ),  # requirepass …, sqlplus USER/…@
    ":": re.compile(
        r"(?<=oracle):(?:thin|oci8?):\w{1,30}/(?P<value>[^\s\"'\\|;&<>/]{3,60})@"
        r"|:(?<=WIFI:)[^\n\"'\\]{0,80}?(?<=[:;])P:(?P<other>[^\s;\"'\\]{8,63});"
    ),  # jdbc:oracle:thin:USER/…@, WIFI:S:…;P:…;;
}


def _argument(text: str, place: int, _: Token) -> Read:
    given = _ARGUMENTS[text[place]].match(text, place)
    if given is None:
        return _NOTHING
    group = given.lastgroup or "value"
    if _is_no_password(given[group]):
        return Read([], given.end())
    return Read([Secret(*given.span(group), "password")], given.end())


_ECHOED = re.compile(
    r"(?:\b|(?<=\\[nrt]))echo[ ]+(?:-\w+[ ]+)?(?:[\"']|\\+[\"'])?(?:[\w.-]{1,32}:)?(?P<value>[^\s\"'\\|;<>]{3,200}+)(?:\\*[\"'])?[ ]*\|[ ]*(?:sudo[ ]+)?(?:\w+[ ]+)?(?:[^\n|;&]{0,160}--password)?\Z"
)


def _echoed(text: str, place: int, _: Token) -> Read:
    """Find the password before ``| chpasswd``, ``| sudo -S`` and ``| docker login --password-stdin``."""
    if text.startswith("-stdin", place):
        sign = place
    else:
        sign = place - 5 if text[place] == "-" else place - 6
        if not text.startswith(("sudo -", "chpasswd"), max(0, sign)):
            return _NOTHING
    begins = max(0, sign - _LINE)
    given = _ECHOED.search(text[begins:sign])
    if given is None or _is_no_password(given["value"]):
        return _NOTHING
    start, end = given.span("value")
    return Read([Secret(begins + start, begins + end, "password")], 0)


# -- in cookies, in .pgpass -------------------------------------------------------------------------------

_COOKIES = re.compile(
    r"(?i:kies?)(?:\\*[\"'])?(?:[ \t]{0,4}[:=]|[ \t])[ \t]{0,4}(?:\\*[\"'])?(?P<pairs>[!-~][^\r\n\"'\\<>]{2,4000}+)"
)
_COOKIE = re.compile(r"(?P<name>[\w.-]{1,64})=(?P<value>[^;\s,\"'\\]{6,2000}+)")
_ATTRIBUTES = frozenset({"path", "domain", "expires", "max-age", "samesite", "version", "priority"})
_SESSION = re.compile(r"(?i:sess|sid\b|token|auth|jwt|csrf|xsrf|remember|login|secret)")


def _cookies(text: str, place: int, token: Token) -> Read:
    header = _COOKIES.match(text, place)
    if header is None:
        return _NOTHING
    found: list[Secret] = []
    for cookie in _COOKIE.finditer(text, *header.span("pairs")):
        name, value = cookie["name"].lower(), cookie["value"]
        if name in _ATTRIBUTES or is_placeholder(value) or is_reference(value):
            continue
        known = token(text, cookie.start("value"))
        if known and known[-1].end >= cookie.end("value"):
            found += known
        elif looks_random(value, shortest=8 if _SESSION.search(name) else 16, hashes=True):
            found.append(Secret(*cookie.span("value"), "cookie"))
    return Read(found, header.end())


_PGPASS = re.compile(
    r":(?:\d{4,5}|\*):(?:[A-Za-z_][\w-]{0,62}|\*):(?:[A-Za-z_][\w.-]{0,62}|\*):(?P<value>[^\s:\"'\\]{3,200}+)(?![:\w])"
)


def _pgpass(text: str, place: int, _: Token) -> Read:
    line = _PGPASS.match(text, place)
    if line is None or is_placeholder(line["value"]) or is_reference(line["value"]):
        return _NOTHING
    if line["value"].lower() in _NO_PASSWORDS:
        return _NOTHING
    return Read([Secret(*line.span("value"), "password")], line.end())


_IDENTIFIED = re.compile(
    r"(?i:(?:BY (?:PASSWORD )?|(?<=PASSWORD)\()'(?P<value>[^'\s]{3,200}+)')"
)  # IDENTIFIED … BY '…', PASSWORD('…')
_SQL_BEFORE = re.compile(r"(?i:\bIDENTIFIED(?: WITH [\w'`]{1,40})? |\bSET PASSWORD\b[^\n]{0,120}PASSWORD)\Z")


def _identified(text: str, place: int, _: Token) -> Read:
    clause = _IDENTIFIED.match(text, place)
    if clause is None or _SQL_BEFORE.search(text[max(0, place - _LINE) : place]) is None:
        return _NOTHING
    if is_placeholder(clause["value"]) or is_reference(clause["value"]):
        return _NOTHING
    return Read([Secret(*clause.span("value"), "password")], clause.end())


# -- in code of wallets -----------------------------------------------------------------------------------

_WALLET_KEY = re.compile(r"x(?P<value>[0-9A-Fa-f]{64})", re.ASCII)
_WALLET = re.compile(
    r"(?i:wallet|private[ _-]?key|privkey|priv_key|signer|deployer|mnemonic|(?<![a-z])accounts\b|(?<![a-z])pk\b|eth key)"
)
_TRANSACTION = re.compile(r"(?i:tx|transaction|hash|block|topic|receipt|root|salt|public|code|slot)")


def _wallet_key(text: str, place: int, _: Token) -> Read:
    """Find a wallet key; other words in the line show whether 32 bytes are a key or a transaction hash."""
    key = _WALLET_KEY.match(text, place)
    before = text[max(0, place - _LINE) : place].replace("\\n", "\n").rpartition("\n")[2][-120:]
    if key is None or not _WALLET.search(before) or _TRANSACTION.search(before):
        return _NOTHING
    return Read([Secret(key.start() - 1, key.end(), "ethereum-key")], key.end())


# -- private keys -----------------------------------------------------------------------------------------

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
_PUTTY = re.compile(
    r"Private-Lines: \d{1,3}(?P<body>(?:(?:\s|\\+[nr])++[0-9A-Za-z+/]{4,64}={0,2}(?![\w-]*:)){1,99}+)(?:(?:\s|\\+[nr])++Private-MAC: [0-9a-f]{40,64})?",
    re.ASCII,
)


def private_key(text: str, start: int) -> list[Secret]:
    """Find a private key from its first line to its last, or as far as it goes if the last is missing."""
    begins = _BLOCK_BEGINS.match(text, start)
    if begins is None:
        return []
    sign = _BLOCK_SIGN.search(text, begins.end(), begins.end() + _LONGEST_BLOCK)
    if sign is not None and sign["end"] is not None:
        lines = _BLOCK_LINE.findall(text, begins.end(), sign.start())
        # The END line may belong to another block; in a real block, most of the text in between is key.
        if lines and sum(map(len, lines)) * 3 >= sign.start() - begins.end():
            return [Secret(start, sign.end(), "private-key")]
    body = _BLOCK_BODY.match(text, begins.end())
    return [] if body is None else [Secret(start, body.end(), "private-key")]


def _block(text: str, place: int, _: Token) -> Read:
    return Read(private_key(text, place - 4), 0)


def _putty(text: str, place: int, _: Token) -> Read:
    block = _PUTTY.match(text, place - 7)
    return _NOTHING if block is None else Read([Secret(block.start("body"), block.end(), "private-key")], 0)


class PlaceRule(NamedTuple):
    """A context: its name, the letters to stop at, the condition around them, and what reads the text there."""

    name: str
    signs: str
    around: str
    read: Callable[[str, int, Token], Read]


PLACES: tuple[PlaceRule, ...] = (
    PlaceRule("Bearer and Basic", "bB", r"(?:earer|asic)(?=[ \t\\%+])", _presented),
    PlaceRule("Bearer and Basic", "B", r"(?:EARER|ASIC)(?=[ \t\\%+])", _presented),
    PlaceRule("user and password of an address", ":", r"//(?:(?=[^\s/\"'<>]{1,700}@)|(?<=otpauth://))|\\+/\\+/(?=[^\s/\"'<>]{1,700}@)", _address),
    PlaceRule("line of .pgpass", ":", r"\d{4,5}:(?=[\w*-]{1,64}:[\w.*-]{1,64}:[^\s:])|\*:(?=[\w*-]{1,64}:[\w.*-]{1,64}:[^\s:])", _pgpass),
    PlaceRule("signature of an address", "=", r"(?:(?<=[?&;6]sig=)|(?<=ignature=)|(?<=[?&]hmac=)|(?<=[?&]code=)|(?<=[?&]appid=)|(?<=[?&]apikey=))", _signature),
    PlaceRule("private key", "-", r"(?<=-----)(?=BEGIN )", _block),
    PlaceRule("PuTTY private key", "-", r"(?<=Private-)(?=Lines: )", _putty),
    PlaceRule("option of a command", "-", rf"(?:(?=-(?:[a-z]{{1,20}}-){{0,3}}(?:{_FLAGS}|user|auth)(?:[ \t=]|\\+t))|(?<=[ \tn\"'\[,]-)(?=[uUawPpkb][^-]|passin |passout |pass |storepass |keypass ))", _option),
    PlaceRule("htpasswd -b", "w", r"d(?<=htpasswd)(?=(?:[ ]-\w{1,8}(?:[ ]\d{1,9})?){0,5}?[ ]-[a-zA-Z]{0,8}b)", _argument),
    PlaceRule("rabbitmqctl add_user", "_", r"(?<=ctl[ ]add_)(?=user[ ])|(?<=ctl[ ]change_)(?=password[ ])", _argument),
    PlaceRule("requirepass, sqlplus", "p", r"ass(?<=requirepass)(?=[ ])|lus(?<=sqlplus)(?=[ ])", _argument),
    PlaceRule("ConvertTo-SecureString", "-", r"(?<=ConvertTo-)(?=SecureString[ ])", _argument),
    PlaceRule("net user", "u", r"ser(?<=net user)(?=[ ])", _argument),
    PlaceRule("Oracle address, WIFI code", ":", r"(?<=oracle:)(?=thin:|oci8?:)|(?<=WIFI:)(?=[A-Z]:)", _argument),
    PlaceRule("chpasswd", "w", r"d(?<=chpasswd)", _echoed),
    PlaceRule("sudo -S, --password-stdin", "-", r"(?<=sudo -)(?=S\b)|(?<=--password-)(?=stdin\b)", _echoed),
    PlaceRule("cookie", "k", r"ies?(?<=[cC]ookie)(?=(?:\\*[\"'])?[ \t]{0,4}[:=]|[ \t]{1,4}[\"'\\])", _cookies),
    PlaceRule("cookie", "K", r"IES?(?<=COOKIE)(?=(?:\\*[\"'])?[ \t]{0,4}[:=])", _cookies),
    PlaceRule("IDENTIFIED BY", "bB", r"[yY] (?=(?i:password )?')", _identified),
    PlaceRule("PASSWORD(…)", "(", r"(?='[^'\s]{3})(?<=PASSWORD\()", _identified),
    PlaceRule("PASSWORD(…)", "(", r"(?='[^'\s]{3})(?<=password\()", _identified),
    PlaceRule("key of a wallet", "x", r"(?<=0x)(?=[0-9A-Fa-f]{64}(?!\w))", _wallet_key),
)  # fmt: skip

PLACE_SIGNS = tuple((place.signs, place.around) for place in PLACES)
