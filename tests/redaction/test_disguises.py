"""Secrets are found in other spellings than their own, and tables and other languages say what a password is."""

from __future__ import annotations

import base64
import json
import time
from random import Random

import pytest

from branchline.redaction import redact, redact_bytes
from secret_kinds import AN, some

RANDOM = Random(20261119)
TOKEN = "gh" + "p_" + some(RANDOM, AN, 33) + "7qK"
OTHER = "gl" + "pat-" + some(RANDOM, AN, 17) + "7qK"


def each(pattern: str, text: str) -> str:
    return "".join(pattern.format(ord(letter)) for letter in text)


def disguised(secret: str) -> dict[str, str]:
    middle = len(secret) // 2
    first, second = secret[:middle], secret[middle:]
    return {
        "colour inside": f"{first}\x1b[1;31m{second}\x1b[0m",
        "colour, escaped": f"{first}\\x1b[0m{second}",
        "zero width": f"{first}\u200b{second}",
        "soft hyphen": f"{first}\u00ad{second}",
        "byte order mark": f"{first}\ufeff{second}",
        "emphasis": f"{first}**{second}",
        "emphasis, twice": f"{secret[:9]}**{secret[9:15]}**{secret[15:]}",
        "tag": f"{first}<wbr>{second}",
        "tags": f"{secret[:9]}<b>{secret[9:15]}</b>{secret[15:]}",
        "Markdown": secret.replace("_", "\\_").replace("-", "\\-"),
        "entity": f"&#{ord(secret[0])};{secret[1:]}",
        "entities": each("&#x{:x};", secret),
        "percent": each("%{:02X}", secret),
        "hexadecimal escapes": each("\\x{:02x}", secret),
        "Unicode escapes": each("\\u{:04x}", secret),
        "octal escapes": each("\\{:03o}", secret),
        "next line": f"{first}\n{second}",
        "next line, quoted": f"{first}\n> {second}",
        "three lines": f"{secret[:16]}\n{secret[16:30]}\n{secret[30:]}"
        if len(secret) > 36
        else f"{first}\r\n{second}",
        "base64": base64.b64encode(secret.encode()).decode(),
        "base64 of a setting": base64.b64encode(f"export DEPLOY_TOKEN={secret}\n".encode()).decode(),
        "hexadecimal digits": f"0x{secret.encode().hex()}"[2:],
    }


NAMES = list(disguised(TOKEN))


def is_left(secret: str, text: str) -> bool:
    return any(secret[start : start + 8] in text for start in range(len(secret) - 7))


@pytest.mark.parametrize("secret", [TOKEN, OTHER], ids=["underscore", "hyphen"])
@pytest.mark.parametrize("name", NAMES)
def test_a_token_in_another_spelling_is_found(name: str, secret: str) -> None:
    kind = redact(secret).hits[0].kind
    spelled = disguised(secret)[name]
    text = f"Before, use {spelled} for it.\nAnd after."

    clean = redact(text)

    assert f"[redacted:{kind}]" in clean.text
    assert clean.text.startswith("Before, use ")
    assert clean.text.endswith("\nAnd after.")
    assert not is_left(secret, clean.text)
    assert spelled not in clean.text
    assert redact(clean.text) == (clean.text, [])


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_a_line_is_searched_as_its_text_is(name: str, ascii_only: bool) -> None:
    text = f"Before, use {disguised(TOKEN)[name]} for it.\nAnd after."
    line = {"type": "message", "id": "0a1b2c3d", "message": {"role": "user", "content": text}}

    done = redact_bytes(json.dumps(line, ensure_ascii=ascii_only).encode())

    assert json.loads(done.data)["message"]["content"] == redact(text).text
    assert json.loads(done.data)["id"] == "0a1b2c3d"


PASSWORDS = ["Kestrel!42x", "hunter2", "Sommer2024!"]


@pytest.mark.parametrize("password", PASSWORDS)
@pytest.mark.parametrize(
    "text",
    [
        "Passwort: {}",
        "Das Passwort für den Server lautet {}",
        "Kennwort = {}",
        "KENNWORT: {}",
        "Passwort:\n{}\n",
        "Mot de passe : {}",
        "La contraseña es {}",
        "senha: {}",
        "wachtwoord: {}",
        "hasło: {}",
        "Пароль: {}",
        "密码：{}",
        "パスワードは {} です",
        '{{"kennwort": "{}"}}',
        "\x1b[1mPassword\x1b[0m: \x1b[32m{}\x1b[0m",
        "pass\u200bword: {}",
        "Kennwort: nein, Kennwort: {}",
        "密码：没有，密码：{}",
        "htpasswd -nb me {}",
        "htpasswd -nbB me '{}'",
        "htpasswd -c -b /etc/users me {}",
        "| user | password |\n|---|---|\n| anna | {} |\n| bert | … |",
        "| Name | Passwort | Rolle |\n|:--|:-:|--:|\n| anna | `{}` | admin |",
        "| variable | value |\n| --- | --- |\n| DB_PASSWORD | {} |",
        " user | password\n------+----------\n anna | {}\n(1 row)",
        "+------+----------+\n| user | password |\n+------+----------+\n| anna | {} |\n+------+----------+",
        "│ user │ password │\n├──────┼──────────┤\n│ anna │ {} │",
    ],
)
def test_a_password_is_known_by_what_it_stands_with(text: str, password: str) -> None:
    text = text.format(password)
    lines = [json.dumps({"text": text}, ensure_ascii=escaped).encode() for escaped in (True, False)]

    assert password not in redact(text).text
    for line in lines:
        assert json.loads(redact_bytes(line).data) == {"text": redact(text).text}


@pytest.mark.parametrize(
    "text",
    [
        "Das Passwort ist falsch. Kennwort vergessen? Passwort: (leer)",
        "Das Passwort muss mindestens 12 Zeichen haben.",
        "mot de passe oublié, contraseña incorrecta, clave: valor",
        "| name | type |\n|---|---|\n| password | string |\n| token | Optional[str] |",
        "| user | password |\n|---|---|\n| anna | ******** |\n| bert | <password> |",
        "| token | count |\n|---|---|\n| the | 1234 |\n| of | 987 |",
        "a**b**c + x\\_1 + 2*3*4 and first_name\\_second_name",
        "\x1b[32mPASS\x1b[0m tests/test_token.py::test_password\x1b[0m 3 passed",
        "The release of\n2024-11-19 has the\ntoken2 parser, see\nsrc/Token1.py",
        "https://host/a%2Fb%20c?x=%41%42",
        "SGVsbG8gd29ybGQsIHRoaXMgaXMgYSB0ZXN0",
        "48656c6c6f20776f726c642c2074686973206973",
        "caf&#233; &#39;quoted&#39; &amp; &#65;&#66;",
        "\\x41\\x42\\x43 and \\u0041 and \\101\\102",
    ],
)
def test_what_hides_nothing_stays(text: str) -> None:
    assert redact(text) == (text, [])
    assert redact_bytes(json.dumps({"text": text}).encode()).hits == []


def test_base64_is_replaced_as_far_as_it_holds_the_secret() -> None:
    text = base64.b64encode(f"first line\ntoken: {TOKEN}\nlast line\n".encode()).decode()

    clean = redact(text).text

    before, _, behind = clean.partition("[redacted:github-token]")
    assert base64.b64decode(before).startswith(b"first line")
    assert base64.b64decode(behind).endswith(b"ast line\n")


def test_wrapped_base64_is_read_as_one() -> None:
    text = base64.encodebytes(f"{'word ' * 20}\ntoken: {TOKEN}\n{'word ' * 20}".encode()).decode()

    assert "[redacted:github-token]" in redact(text).text
    assert "[redacted:github-token]" in redact(text.replace("\n", "\\n")).text


def test_a_complete_token_takes_nothing_of_the_next_line() -> None:
    text = f"{TOKEN}\n{OTHER}\nQ7x9Lm2Zp4\n"

    assert redact(text).text == "[redacted:github-token]\n[redacted:gitlab-token]\nQ7x9Lm2Zp4\n"


UNITS = [
    "\\", "\\\\n", "\x1b[1m", "a\\_", "&#103;", "%67", "\\x67", "\\147", "a**b", "a\u200bb", "a<b>c", "Z2hwX1px", "6768706f",
    "ghp_a1\n", "ghp_a\n1b", "sk-a1b2\\n", "| a ", "|---|", "|---|---|\n", "| password |\n|---|\n| a |\n", "+---", "│ ",
    "Passwort ", "Passwort: ", "mdp a b c d ", "密码", "\\u5bc6",
]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS, ids=repr)
def test_time_grows_with_the_text(unit: str) -> None:
    def seconds(size: int) -> float:
        text = (unit * (size // len(unit) + 1))[:size]
        start = time.process_time()
        redact(text)
        redact_bytes(json.dumps({"text": text}).encode())
        return time.process_time() - start

    first = min(seconds(4_000) for _ in range(2))

    assert any(seconds(32_000) < 24 * max(first, 0.003) for _ in range(3))
