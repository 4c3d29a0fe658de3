"""What a search looks at inside a session, and which files need not be read for it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from branchline.library.search_text import contents_of, may_match
from branchline.views.query import parse_query
from library.kit import talk

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_contents_are_the_words_by_role_tools_labels_and_models_of_all_branches(tmp_path: Path) -> None:
    with talk(tmp_path, 0, "First Question") as session:
        first = session.path()[0]
        session.append_message(
            {
                "role": "assistant",
                "content": [{"type": "toolCall", "id": "c", "name": "Grep", "arguments": {}}],
                "provider": "openai",
                "model": "GPT-5",
            }
        )
        session.append_label(first, "Start")
        session.branch(first)
        session.append_message({"role": "assistant", "content": [{"type": "text", "text": "Another  way"}]})

        found = contents_of(session.transcript)

    assert found.texts["user"] == "first question"
    assert "another way" in found.texts["assistant"]
    assert "answer to first question" in found.texts["assistant"]
    assert found.tools == {"grep"}
    assert found.labels == ("start",)
    assert "openai/gpt-5" in found.models


@pytest.mark.parametrize(
    ("query", "worth"),
    [
        ("token", True),
        ("TOKEN", True),
        ("nowhere", False),
        ("token nowhere", False),
        ("tool:bash", True),
        ("tool:grep", False),
        ("label:x1", True),
        ("naïve", True),  # may be written as an escape: the bytes cannot say
        ('"quoted \\ word"', True),
        ("role:user token", True),
        ("after:2026-01-01 token", True),
        ("re:n.where", True),
    ],
)
def test_bytes_rule_a_file_out_only_where_every_program_would_write_the_word_as_it_is(
    query: str, worth: bool
) -> None:
    data = b'{"text":"the Token","name":"bash","label":"x1","quoted":1,"word":2}'

    assert may_match(parse_query(query, now=NOW), data) is worth
