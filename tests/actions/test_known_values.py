"""A value that is a secret in one place is a secret wherever it stands, in every output."""

from __future__ import annotations

import base64
import html
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from urllib.parse import quote

import pytest

from branchline import AssistantMessage, Session, Text, ToolCall
from branchline.actions import export as exports
from branchline.actions.export import Choices, ExportRequest, export, render
from branchline.actions.review import review
from branchline.actions.single_file import page_parts
from branchline.errors import SecretsLeft
from branchline.redaction import KnownValues, redact_known, redact_known_bytes
from branchline.redaction.known import is_distinctive
from secret_kinds import AN, some

FORMATS: list[exports.ExportFormat] = ["jsonl", "md", "html", "atif", "otel", "openai"]
PASSWORD = "Kestrel-Quiet7"
WITH_SIGNS = 'p"q&Quiet<7\\x/é9'


def shown(data: bytes, format_: str) -> str:
    """All that a reader can get out of an export."""
    if format_ != "html":
        return data.decode()
    parts = page_parts(lambda start, size: data[start : start + size])
    return data.decode() + "\n".join(part if isinstance(part, str) else part.decode() for part in parts)


def talk(password: str, url: str) -> Session:
    """The value in every place of a session; only the address in the last call tells that it is secret."""
    session = Session.in_memory(cwd=f"/srv/{password}/shop")
    asked = session.append_message(f"The database takes {password}, as the folder /srv/{password}/x does.")
    session.append_message(AssistantMessage(content=(Text(text=f"Is it **{password}** or `{password}`?"),)))
    session.append_message(
        AssistantMessage(
            content=(
                Text(text=f"I call it with {json.dumps({'p': password})}."),
                ToolCall(id="c1", name="bash", arguments={"command": f"psql {url}", f"for_{password}": 1}),
            )
        )
    )
    session.append_message("The word password, the user admin, test and localhost are shop words.")
    session.append_label(asked, f"asked with {password}")
    session.set_title(f"About {password}")
    return session


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("password", [PASSWORD, WITH_SIGNS, "correct-horse-battery-staple", "hunter2"])
def test_a_password_of_an_address_is_replaced_everywhere(
    password: str, format_: exports.ExportFormat
) -> None:
    session = talk(password, f"postgres://app:{quote(password, safe='')}@db.internal/shop")

    done = render(session, ExportRequest(format=format_))

    text = shown(done.data, format_)
    for spelling in {password, html.escape(password), json.dumps(password)[1:-1], quote(password, safe="")}:
        assert spelling not in text
    assert "[redacted:url-password]" in text
    assert "The word password, the user admin, test and localhost are shop words." in text
    assert {each.kind for each in done.redacted or ()} == {"url-password"}


@pytest.mark.parametrize("format_", ["jsonl", "md", "html"])
def test_a_value_on_another_branch_is_replaced_too(format_: exports.ExportFormat) -> None:
    session = Session.in_memory()
    asked = session.append_message(f"take {PASSWORD}")
    session.append_message(f"postgres://app:{PASSWORD}@db.internal/shop")
    session.branch(asked)
    session.append_message("another way")

    assert PASSWORD not in shown(render(session, ExportRequest(format=format_, branch=True)).data, format_)


SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "in JSON": lambda value: json.dumps(value)[1:-1],
    "in JSON in JSON": lambda value: json.dumps(json.dumps(value))[3:-3],
    "in HTML": html.escape,
    "in a URL": lambda value: quote(value, safe=""),
    "in base64": lambda value: base64.b64encode(value.encode()).decode(),
    "in base64 with others": lambda value: base64.b64encode(f"the user me: {value} it is".encode()).decode(),
    "in hexadecimal digits": lambda value: f"the password is {value}".encode().hex(),
    "with emphasis": lambda value: f"{value[:5]}**{value[5:]}",
    "with a zero-width space": lambda value: f"{value[:5]}\u200b{value[5:]}",
    "after a colour": lambda value: f"\x1b[31m{value}\x1b[0m",
}


@pytest.mark.parametrize("spell", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("value", [PASSWORD, 'ab"cd&Ef<7x', "Zq7Rt2Lm9Xc4"])
def test_a_known_value_is_found_in_every_spelling(value: str, spell: Callable[[str], str]) -> None:
    known = KnownValues()
    known.learn(value, "password")
    text = f"Look: {spell(value)} there."
    line = json.dumps({"id": value, "text": text}).encode()

    clean = redact_known(text, known).text
    lines = redact_known_bytes(line, known)

    assert clean.startswith("Look: ")
    assert clean.endswith(" there.")
    assert "[redacted:password]" in clean
    assert spell(value) not in clean
    assert json.loads(lines.data) == {"id": value, "text": clean}


@pytest.mark.parametrize(
    "value",
    [
        "password",
        "test",
        "admin",
        "postgres",
        "localhost",
        "secret",
        "shop",
        "hunter",
        "x7!Q",
        "4711",
        "20241119",
        "admin123",
        "python3",
        "my-password",
    ],
)
def test_a_common_or_short_value_blanks_no_prose(value: str) -> None:
    session = Session.in_memory()
    session.append_message(f"we say {value} here")
    session.append_message(f"postgres://app:{value}@db.internal/shop")

    assert not is_distinctive(value)
    assert f"we say {value} here" in render(session, ExportRequest(format="jsonl")).data.decode()


def test_a_known_value_is_no_part_of_a_longer_word() -> None:
    known = KnownValues()
    known.learn("hunter2", "password")

    assert redact_known("hunter22 xhunter2 hunter2", known).text == "hunter22 xhunter2 [redacted:password]"
    assert redact_known("say\\nhunter2, %20hunter2", known).text.count("[redacted:password]") == 2


def test_what_a_reviewer_keeps_stays_in_every_place() -> None:
    session = talk(PASSWORD, f"postgres://app:{PASSWORD}@db.internal/shop")
    findings = review(session, ExportRequest(format="html"))

    kept = Choices(keep=frozenset(one.value for one in findings))

    assert [one.value for one in findings] == [PASSWORD]
    assert findings[0].count > 5
    assert (findings[0].role, bool(findings[0].time)) == ("assistant", True)
    for format_ in FORMATS:
        done = render(session, ExportRequest(format=format_, choices=kept))
        assert done.redacted == ()
        assert f"The database takes {PASSWORD}" in shown(done.data, format_)


KEY = "\n".join(
    [
        "-----BEGIN RSA PRIVATE" + " KEY-----",
        *(some(Random(n), AN, 64) for n in range(5)),
        "-----END RSA PRIVATE" + " KEY-----",
    ]
)
TOKEN = "gh" + "p_" + "Zq7Rt2Lm9Xc4Vb8Nw3Kd6Hf1Js5Gy0PuTeAo"


@pytest.mark.parametrize("format_", FORMATS)
def test_a_kept_key_is_kept_however_it_is_shown(format_: exports.ExportFormat) -> None:
    """A key over many lines, and one that is the name of an argument."""
    session = Session.in_memory()
    session.append_message(f"my key:\n\n{KEY}\n")
    call = ToolCall(id="c1", name="bash", arguments={"command": f"echo '{KEY}'", TOKEN: {TOKEN: KEY}})
    session.append_message(AssistantMessage(content=(Text(text=KEY), call)))
    keep = frozenset(one.value for one in review(session, ExportRequest(format=format_)))

    done = render(session, ExportRequest(format=format_, choices=Choices(keep=keep)))

    assert done.redacted == ()
    assert TOKEN in shown(done.data, format_)


@pytest.fixture
def blind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first search finds nothing."""
    from branchline import redaction

    monkeypatch.setattr(redaction, "redact", lambda text: redaction.Redacted(text, []))
    monkeypatch.setattr(redaction, "redact_bytes", lambda data: redaction.RedactedBytes(data, []))


@pytest.mark.usefixtures("blind")
@pytest.mark.parametrize("format_", FORMATS)
def test_the_second_search_names_the_entry_and_offers_the_finding(
    format_: exports.ExportFormat, tmp_path: Path
) -> None:
    session = Session.in_memory()
    session.append_message("nothing here")
    entry = session.append_message(f"the token is {TOKEN} of course")
    target = tmp_path / "out"

    with pytest.raises(SecretsLeft) as problem:
        export(session, target, ExportRequest(format=format_))

    assert f"github-token in entry {entry}, user, " in str(problem.value)
    assert "--no-redact" not in str(problem.value)
    assert TOKEN not in str(problem.value)
    assert not target.exists()
    (finding,) = problem.value.findings
    assert (finding.kind, finding.value, finding.entry, finding.left) == ("github-token", TOKEN, entry, True)
    masked = render(session, ExportRequest(format=format_, choices=Choices(left=(finding,))))
    kept = render(session, ExportRequest(format=format_, choices=Choices(keep=frozenset({finding.value}))))
    assert TOKEN not in shown(masked.data, format_)
    assert TOKEN in shown(kept.data, format_)


@pytest.mark.parametrize(
    "address", ['http://127.0.0.1:9/"onclick="alert(1)', "http://127.0.0.1:81/'onmouseover='x=1"]
)
@pytest.mark.parametrize("name", [None, "password", "token", "secret"])
def test_a_value_that_its_own_name_does_not_make_secret_is_no_finding(name: str | None, address: str) -> None:
    """A page shows names and values side by side, where a quotation mark of one ends the other."""
    value = f'"onmouseover="x" {address} a=1:b:c:d'
    session = Session.in_memory()
    call = ToolCall(id="c1", name="bash", arguments={name or value: value, "items": [value]})
    session.append_message(AssistantMessage(content=(Text(text="x"), call)))

    assert "onmouseover" in shown(render(session, ExportRequest(format="html")).data, "html")


def values(number: int) -> Iterator[str]:
    random = Random(5)
    for _ in range(number):
        yield f"{some(random, AN, 6)}-Red7{some(random, AN, 5)}9"


def test_the_time_does_not_depend_on_the_number_of_values() -> None:
    words = Path(__file__).read_text(encoding="utf-8") * 60
    text = json.dumps({"text": words}) + "\n"

    def seconds(number: int) -> float:
        known = KnownValues()
        for value in values(number):
            known.learn(value, "password")
        assert len(known) == number
        start = time.process_time()
        redact_known_bytes(text.encode(), known)
        redact_known(words, known)
        return time.process_time() - start

    assert any(seconds(400) < 4 * max(seconds(4), 0.02) for _ in range(3))
