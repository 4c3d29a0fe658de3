"""Usage of a session: every entry counts once, split into own and inherited."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.context import (
    TOOLS_AND_SUMMARIES,
    UsageBreakdown,
    UsageSum,
    build_context,
    totals,
    usage_rows,
)
from context.story import Watched, answer, compaction, label, message, result, story, usage, user
from support import CORPUS, load, sample, transcript

GOLDEN = sorted((CORPUS / "pi" / "golden").glob("*.jsonl"))


def spent(tokens: int) -> UsageSum:
    return UsageSum(input=tokens - tokens // 10, output=tokens // 10, total_tokens=tokens, cost=tokens / 4)


def test_everything_that_can_cost_counts():
    session = story(
        user("q"),
        answer("a", usage=usage(10), responseModel="claude-x"),
        result("r", usage=usage(20)),
        compaction("s", "e1", usage=usage(40)),
        {"type": "branch_summary", "fromId": "root", "summary": "b", "usage": usage(80)},
        {"type": "usage", "kind": "cache_warm", "provider": "p", "model": "m", "usage": usage(160)},
        answer("b", usage=usage(320)),
    )

    own = totals(session).own

    assert own.total == spent(630)
    assert own.models == {
        "anthropic/claude-x": spent(10),
        TOOLS_AND_SUMMARIES: spent(20) + spent(40) + spent(80),
        "p/m": spent(160),
        "anthropic/claude": spent(320),
    }


def test_branches_that_were_left_count_too():
    session = story(
        user("q"), answer("a", usage=usage(10)), {**answer("b", usage=usage(20)), "parentId": "e1"}
    )

    assert totals(session).all.total == spent(30)


def test_a_session_without_usage_spent_nothing():
    assert totals(story(user("q"), answer("a"))).all == UsageBreakdown()


@pytest.mark.parity("ZOT-02")
def test_what_a_fork_copied_is_inherited_and_counts_once_over_all_sessions():
    """«Cost is split into inherited and own, so that sums over sessions count everything once.»"""
    parent = [user("q"), answer("a", usage=usage(10))]
    fork = [*parent, answer("b", usage=usage(20))]

    first = totals(story(*parent))
    second = totals(story(*fork), inherited_entries=len(parent))

    assert second.inherited.total == spent(10)
    assert second.own.total == spent(20)
    assert first.own.total + second.own.total == spent(30)


@pytest.mark.parity("ZOT-11")
def test_rows_tell_each_turn_and_the_running_total():
    session = story(
        user("q"), answer("a", usage=usage(10)), user("q"), result("r"), answer("b", usage=usage(20))
    )

    rows = list(usage_rows(session))

    assert [(row.entry, row.usage, row.cumulative) for row in rows] == [
        ("e2", spent(10), spent(10)),
        ("e5", spent(20), spent(30)),
    ]


@pytest.mark.parity("ZOT-11")
def test_rows_can_follow_one_path():
    session = story(
        user("q"), answer("a", usage=usage(10)), {**answer("b", usage=usage(20)), "parentId": "e1"}
    )

    rows = usage_rows(session, session.tree.path_positions(session.tree.positions["e3"]))

    assert [row.cumulative for row in rows] == [spent(20)]


def test_only_what_can_cost_is_decoded():
    entries = [
        user("q"),
        label("e1"),
        answer("a", usage=usage(10)),
        message("bashExecution", command="ls", output=""),
    ]
    session = story(*entries * 600)
    watched = Watched(session)

    totals(watched)

    assert len(watched.decoded) == 600


def test_the_sums_of_a_real_session_are_right():
    """A year-old session of a thousand lines; the sums were made by another program."""
    expected = load(sample("pi", "large-session.expected.json"))
    session = transcript(sample("pi", "large-session.jsonl"))

    all_of_it = totals(session).all.total

    assert all_of_it.input == expected["usage"]["input"]
    assert all_of_it.output == expected["usage"]["output"]
    assert all_of_it.cache_read == expected["usage"]["cacheRead"]
    assert all_of_it.cache_write == expected["usage"]["cacheWrite"]
    assert all_of_it.cost == pytest.approx(expected["cost"])
    assert (
        len(build_context(session, session.reading.leaf).messages) == expected["pi-1.5.0"]["contextMessages"]
    )


@pytest.mark.parametrize("path", GOLDEN, ids=[path.stem for path in GOLDEN])
def test_own_and_inherited_add_up_to_all_wherever_the_cut_is(path):
    """Law: totals are additive."""
    session = transcript(path)
    whole = totals(session).all

    for cut in range(0, len(session.tree) + 1, 7):
        split = totals(session, inherited_entries=cut)

        assert split.all.total.total_tokens == whole.total.total_tokens
        assert split.all.total.cost == pytest.approx(whole.total.cost)
        assert split.all.models.keys() == whole.models.keys()
        for model, expected in whole.models.items():
            assert split.all.models[model].total_tokens == expected.total_tokens


@given(spendings=st.lists(st.integers(0, 1000), max_size=20), cut=st.integers(0, 20))
@settings(max_examples=50, deadline=None)
def test_the_last_running_total_is_the_total(spendings, cut):
    session = story(user("q"), *(answer("a", usage=usage(tokens)) for tokens in spendings))

    rows = list(usage_rows(session))

    assert len(rows) == len(spendings)
    assert (rows[-1].cumulative if rows else UsageSum()) == totals(session).own.total
    assert totals(session, inherited_entries=cut).all.total.total_tokens == sum(spendings)
