"""What the index makes of a text: every part of a name can be found, in any script."""

from __future__ import annotations

import sqlite3

import pytest

from branchline.catalog.words import expression, has_tokens, prepared


def finds(text: str, word: str, *, prefix: bool = False) -> bool:
    """Whether FTS5 itself finds a word in a text, both prepared."""
    with sqlite3.connect(":memory:") as database:
        database.execute(
            "CREATE VIRTUAL TABLE text USING fts5 (said, content='', tokenize='unicode61 remove_diacritics 2')"
        )
        database.execute("INSERT INTO text (rowid, said) VALUES (1, ?)", prepared([text]))
        found = database.execute(
            "SELECT count(*) FROM text WHERE text MATCH ?", (expression(word, prefix=prefix),)
        )
        (count,) = found.fetchone()
    database.close()
    return bool(count)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("def parseQuery(text):", "query"),
        ("def parseQuery(text):", "parsequery"),
        ("def parseQuery(text):", "parse query"),
        ("class HTTPServerError", "server"),
        ("see GitHub", "github"),
        ("see GitHub", "hub"),
        ("a parse_query call", "query"),
        ("a parse_query call", "parse_query"),
        ("in src/auth/login.py", "login.py"),
        ("in src/auth/login.py", "auth"),
        ("我想去東京タワー", "東京"),
        ("한국어로 말하다", "국어"),
        ("a naïve café", "cafe"),
        ("a naive cafe", "café"),
        ("Don't panic, now!", "don't panic now"),
        ("half \ud83d of a pair", "pair"),
        ('say "yes"', 'say "yes"'),
    ],
)
def test_parts_of_names_and_words_in_any_script_are_found(text: str, word: str) -> None:
    assert finds(text, word)


def test_a_word_of_three_letters_finds_words_that_begin_with_it() -> None:
    assert finds("the session", "ses", prefix=True)
    assert not finds("the session", "ses")
    assert not finds("the session", "se", prefix=True)


def test_punctuation_alone_has_no_tokens() -> None:
    assert not has_tokens("=> {}")
    assert has_tokens("a=>b")


def test_encoded_data_is_not_taken_for_names() -> None:
    data = "aB" * 40

    assert prepared([data]) == [data]


def test_the_parts_of_names_stay_with_the_text_that_holds_them() -> None:
    texts = ["plain", "parseQuery", "", "東京 aTower", "a café", "HTTPServer and parseQuery"]

    ready = prepared(texts)

    assert ready == [
        "plain",
        "parseQuery\nparse Query",
        "",
        " 東  京  aTower\na Tower",
        "a café",
        "HTTPServer and parseQuery\nparse Query\nHTTP Server",
    ]
