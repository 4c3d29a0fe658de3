"""``explain`` names the rule that decided about each value, and the tables of rules have no dead ones."""

from __future__ import annotations

from random import Random

import pytest

from branchline.redaction import explain, redact
from branchline.redaction.name_rules import PASSWORD_VALUES, RULES, Given, Spelling, decide
from secret_kinds import AN, KINDS, some

RANDOM = Random(20261120)
TOKEN = "gh" + "p_" + some(RANDOM, AN, 33) + "7qK"
KEY = some(RANDOM, AN, 31) + "7qK2"


@pytest.mark.parametrize(
    ("text", "value", "kind", "rule"),
    [
        ("export DB_PASSWORD=hunter2", "hunter2", "password", "password; value: set in capitals"),
        ("password: Sommer2024!", "Sommer2024!", "password", "value: letters, digits and a sign"),
        ("password: string", "string", None, "value: a word of code or forms"),
        ("password: $DB_PASS", "$DB_PASS", None, "value: a variable, a path, an address or a date"),
        ("DB_PASSWORD=DB_PASSWORD", "DB_PASSWORD", None, "the name of a constant"),
        (f"api_key={KEY}", KEY, "api-key", "name, assigned: API key"),
        ("api_key=your-key-here", "your-key-here", None, "API key; value: not random"),
        (f"cache_key={KEY}", KEY, None, "key of something public"),
        (f"nextPageToken: {KEY}", KEY, None, "token of a page"),
        (f"the access token is {KEY}", KEY, "token", "name, in a sentence: token"),
        ("token = get(x)", "get(x)", None, "a call or an item of code"),
        ("${DB_PASSWORD:-hunter2}", "hunter2", "password", "default of a variable"),
        ("CREATE ROLE a WITH PASSWORD 'Kestrel7'", "Kestrel7", "password", "in SQL"),
        ("machine a login b password Kestrel7", "Kestrel7", "password", "netrc"),
        (f"see {TOKEN}", TOKEN, "github-token", "form: ghp_… (gitleaks: github-pat"),
        (f"token: {TOKEN}", TOKEN, "github-token", "form: ghp_…"),
        (f"{TOKEN[:9]}**{TOKEN[9:]}", f"{TOKEN[:9]}**{TOKEN[9:]}", "github-token", "characters inside, or escapes; form"),
        ("https://me:Kestrel7@host", "Kestrel7", "url-password", "place: user and password of an address"),
        ("Bearer requirements", "Bearer requirements", None, "place: Bearer and Basic"),
        ("heroku: 3f2a9c4e-5b6d-4f80-91a2-b3c4d5e6f708", "3f2a9c4e-5b6d-4f80-91a2-b3c4d5e6f708", "api-key", "name of a service"),
        ("hasło: Kestrel7!", "Kestrel7!", "password", "name in another language"),
        ("| password |\n|---|\n| Kestrel7! |", "Kestrel7!", "password", "column of a table"),
    ],
)  # fmt: skip
def test_the_rule_that_decided_is_named(text: str, value: str, kind: str | None, rule: str) -> None:
    reasons = [one for one in explain(text) if text[one.start : one.end] == value]

    assert [one.kind for one in reasons] == [kind]
    assert rule in reasons[0].rule


def test_nothing_is_said_about_text_without_a_sign_of_a_secret() -> None:
    assert explain("The release is on Thursday.") == []


@pytest.mark.parametrize("name", KINDS)
def test_each_secret_that_is_replaced_has_a_rule(name: str) -> None:
    random = Random(name)
    for place in KINDS[name].places:
        text = place.format(KINDS[name].draw(random))
        secrets = [one for one in explain(text) if one.kind is not None]

        assert all(one.rule not in ("", "form", "name") for one in secrets)
        for hit in redact(text).hits:
            assert any(hit.start < one.end and one.start < hit.end for one in secrets)


def test_the_last_rule_for_each_word_and_spelling_always_applies() -> None:
    """``decide`` always has an answer, whatever it is given."""
    for spelling in Spelling:
        for word in {word for rule in RULES for word in rule.words}:
            assert decide(Given(word, "", "", spelling)).rule
    assert PASSWORD_VALUES[-1].applies(Given("password", "", ""))
