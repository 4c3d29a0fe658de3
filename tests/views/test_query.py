"""The search language of session lists: what a person types, what is found, and what is said when it is wrong."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchline.views.fuzzy import fuzzy_score
from branchline.views.query import FIELDS, Query, SearchFields, parse_query, role_name

NOW = datetime(2026, 1, 21, 12, tzinfo=UTC)
DAY = 86_400_000


def face(name: str = "fix the login test", **more: object) -> SearchFields:
    fields = {
        "around": "019b /home/u/shop",
        "cwd": "/home/u/shop",
        "agent": "pi",
        "model": "anthropic/claude",
    }
    return SearchFields(name=name, **{**fields, "active_ms": round(NOW.timestamp() * 1000) - DAY, **more})  # type: ignore[arg-type]


def found(text: str, **options: bool) -> bool | None:
    """Whether the query finds the session; None while only its messages could say."""
    verdict = parse_query(text, now=NOW).match(face(), **options)
    return None if verdict.open else verdict.found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("login", True),
        ("LOGIN test", True),
        ('"login test"', True),
        ("shop", True),
        ("re:log.n", True),
        ("agent:pi", True),
        ("agent:zot", False),
        ("cwd:shop", True),
        ("cwd:/etc", False),
        ("model:claude", True),
        ("after:7d", True),
        ("after:today", False),
        ("before:today", True),
        ("before:2026-01-01", False),
        ("after:2026-01-01 before:2026-02-01", True),
        ("agent:zot midnight", False),
        ("cwd:/etc tool:bash", False),
        ("after:today x", False),
    ],
)
def test_every_term_must_match_in_its_place(text: str, expected: bool) -> None:
    assert found(text) is expected


@pytest.mark.parametrize(
    "text",
    [
        "midnight",
        "login nowhere",
        '"test login"',
        "std::string",
        "tool:bash",
        "label:works",
        "role:user login",
        "in:said login",
        "model:gpt",
        "re:midnight",
        "is:fork",
        "cost:>1",
    ],
)
def test_what_only_the_messages_can_tell_stays_open(text: str) -> None:
    assert found(text) is None


def test_letters_in_their_order_are_found_only_where_asked_for() -> None:
    assert found("fxlgn") is None
    assert found("fxlgn", fuzzy=True) is True


def test_a_match_in_the_name_comes_before_one_elsewhere_before_one_of_letters() -> None:
    scores = [
        parse_query(text, now=NOW).match(face(), fuzzy=True).score for text in ("login", "019b", "fxlgn")
    ]

    assert scores == sorted(scores)
    assert len(set(scores)) == 3


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("re:", "re: needs a regular expression"),
        ("re:(", "invalid regular expression"),
        ("after:soon", "is not a valid time"),
        ("agent:", "agent: the value is missing"),
        ("x re:y", "re: must be the whole query"),
    ],
)
def test_a_query_that_cannot_be_understood_says_why_and_finds_nothing(text: str, says: str) -> None:
    query = parse_query(text, now=NOW)

    assert query.problem is not None
    assert says in query.problem
    assert not query.match(face()).found


def test_half_a_phrase_is_words_until_the_other_quote_is_typed() -> None:
    assert parse_query('"test login', now=NOW).words == ("test", "login")
    assert parse_query('"test login"', now=NOW).words == ("test login",)


@given(st.lists(st.sampled_from([*'": re(ab[*\\7dw', *FIELDS, "\x1b", "é"]), max_size=20))
def test_whatever_is_typed_gives_a_query_and_a_verdict(pieces: list[str]) -> None:
    query = parse_query("".join(pieces), now=NOW)

    assert isinstance(query, Query)
    query.match(face())
    query.match(face(), fuzzy=True)


@given(st.text(alphabet="abc -/1", min_size=1, max_size=8), st.text(alphabet="abc -/12", max_size=30))
def test_letters_have_a_score_exactly_where_they_occur_in_order(letters: str, text: str) -> None:
    rest = iter(text)
    in_order = all(letter in rest for letter in letters)

    if in_order:
        assert fuzzy_score(letters, text) is not None
    elif not any(letter.isdigit() for letter in letters):
        assert fuzzy_score(letters, text) is None


def test_whole_words_beside_each_other_score_better_than_scattered_letters() -> None:
    whole = fuzzy_score("auth", "auth refactor")
    scattered = fuzzy_score("auth", "a bunch of things")

    assert whole is not None
    assert scattered is not None
    assert whole < scattered
    assert fuzzy_score("abc12", "12abc") is not None


@pytest.mark.parametrize(
    ("written", "hours"), [("3m", 0.05), ("12h", 12), ("3mo", 3 * 30 * 24), ("1y", 365 * 24)]
)
def test_the_units_of_times_are_those_that_lists_print(written, hours):
    """``3m`` is three minutes and ``3mo`` three months, in a search as in a list."""
    now = datetime(2026, 11, 15, 12, tzinfo=UTC)

    (term,) = parse_query(f"after:{written}", now=now).terms

    assert term.moment_ms == (now.timestamp() - hours * 3600) * 1000


def test_an_agent_is_found_by_the_names_people_know_it_by():
    theirs = face(agent="oh-my-pi")

    assert parse_query("agent:omp", now=NOW).match(theirs).found
    assert not parse_query("agent:claude", now=NOW).match(theirs).found


def test_the_whole_name_of_an_agent_is_no_part_of_another():
    """``agent:pi`` leaves out Copilot and oh-my-pi; a part of a name finds all that have it."""
    pi, copilot = parse_query("agent:pi", now=NOW), face(agent="copilot")

    assert pi.match(face(agent="pi")).found
    assert not pi.match(copilot).found
    assert not pi.match(face(agent="oh-my-pi")).found
    assert parse_query("agent:pilot", now=NOW).match(copilot).found


def test_fields_may_be_written_in_capitals():
    query = parse_query("Role:USER Is:Branch Path:src error:x", now=NOW)

    assert [(term.field, term.text) for term in query.terms] == [
        ("role", "user"),
        ("is", "branch"),
        ("file", "src"),
        (None, "error:x"),
    ]
    assert parse_query("Dir:shop", now=NOW).problem is not None
    assert parse_query("File: auth.py", now=NOW).words == ("file:", "auth.py")


def test_the_roles_that_lines_show_are_those_of_the_field():
    names = ["answer", "prompt", "result", "bash"]

    assert [role_name(name) for name in names] == ["assistant", "user", "toolresult", "bashexecution"]


@pytest.mark.parametrize("start", ["", "re:", "file:"])
def test_a_query_that_is_too_long_says_so(start):
    query = parse_query(start + "x" * 100_000, now=NOW)

    assert "characters is too long; use at most 10,000" in (query.problem or "")
    assert parse_query(start + "x" * 9_000, now=NOW).problem is None
