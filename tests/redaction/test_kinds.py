"""Every kind of secret that people leave in conversations is found, wherever they leave it.

Each kind is drawn a hundred times from a seed; a draw is found when nothing of it is left in any of the texts
in which such a secret usually stands.
"""

from __future__ import annotations

import json
import re
from random import Random

import pytest

from branchline.redaction import redact, redact_bytes
from branchline.redaction.rules import INNER, RULES
from secret_kinds import KINDS, Kind
from support import ROOT

DRAWS = 100


def is_left(secret: str, text: str) -> bool:
    """Whether the secret or a good part of it is still to be read."""
    if secret in text:
        return True
    middle = len(secret) // 2
    return len(secret) > 20 and (secret[middle : middle + 8] in text or secret[-8:] in text)


def missed(kind: Kind, random: Random, *, draws: int = DRAWS) -> list[str]:
    """One text for each draw that was not wholly removed."""
    texts: list[str] = []
    for _ in range(draws):
        secret = kind.draw(random)
        left = [text for place in kind.places if is_left(secret, redact(text := place.format(secret)).text)]
        texts += left[:1]
    return texts


def test_there_are_many_kinds() -> None:
    assert len(KINDS) >= 250


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_is_found(name) -> None:
    left = missed(KINDS[name], Random(name))

    assert len(left) <= DRAWS * 2 // 100, left[:3]


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_is_found_in_a_session_and_in_json_inside_its_strings(name) -> None:
    random = Random(name)
    left = 0
    for _ in range(10):
        secret = KINDS[name].draw(random)
        for place in KINDS[name].places:
            text = place.format(secret)
            line = {"type": "message", "id": "0a1b2c3d", "parentId": None, "message": {"content": text}}
            nested = {"type": "custom", "id": "1b2c3d4e", "parentId": "0a1b2c3d", "data": json.dumps(line)}

            done = redact_bytes(f"{json.dumps(line)}\n{json.dumps(nested)}\n".encode())

            first, second = map(json.loads, done.data.splitlines())
            assert (first["id"], second["parentId"]) == ("0a1b2c3d", "0a1b2c3d")
            assert first["message"]["content"] == redact(text).text
            inner = json.loads(second["data"])["message"]["content"]
            left += is_left(json.dumps(secret)[1:-1], first["message"]["content"]) or is_left(secret, inner)

    assert left <= len(KINDS[name].places)


@pytest.mark.parametrize("name", KINDS)
def test_hits_say_where_a_secret_was(name) -> None:
    random = Random(name)
    for place in KINDS[name].places:
        text = f"Before.\n{place.format(KINDS[name].draw(random))}\nBehind."

        clean, hits = redact(text)

        rebuilt, end = [], 0
        for hit in hits:
            assert end <= hit.start < hit.end <= len(text)
            rebuilt += [text[end : hit.start], f"[redacted:{hit.kind}]"]
            end = hit.end
        assert clean == "".join([*rebuilt, text[end:]])
        assert redact(clean) == (clean, [])


def test_every_rule_says_where_its_facts_come_from() -> None:
    for rule in (*RULES, *INNER):
        assert rule.source.startswith(("gitleaks: ", "vendor: ", "spec: ")), rule.kind


def test_the_guide_lists_the_kinds_that_have_a_form() -> None:
    page = (ROOT / "docs" / "guides" / "redaction.md").read_text(encoding="utf-8")
    listed = page.partition("<!-- kinds -->")[2].partition("<!-- /kinds -->")[0]

    assert re.findall(r"`([^`]+)`", listed) == sorted({rule.kind for rule in (*RULES, *INNER)})


def test_heads_of_rules_are_long_enough_to_mean_something() -> None:
    for rule in RULES:
        for head in rule.heads:
            assert len(head) >= 2, rule.kind
