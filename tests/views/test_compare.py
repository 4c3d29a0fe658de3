"""Two paths side by side: turns, words, tools, files, tokens."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline import Session
from branchline.clock import FixedClock
from branchline.context import totals
from branchline.tree import ROOT
from branchline.views.compare import CompareView, compare_view
from branchline.views.compare_lines import side_by_side, totals_table, unified
from branchline.views.spans import line_text, line_width
from branchline.views.text import width
from branchline.views.text_difference import text_difference
from support import CORPUS


def answer(text: str, *calls: tuple[str, str], cost: float = 0.0) -> dict:
    blocks = [
        {"type": "toolCall", "id": f"{name}{path}", "name": name, "arguments": {"path": path}}
        for name, path in calls
    ]
    return {
        "role": "assistant",
        "content": [{"type": "text", "text": text}, *blocks],
        "provider": "acme",
        "model": "one",
        "stopReason": "stop",
        "usage": {
            "input": 10,
            "output": 5,
            "cacheRead": 0,
            "cacheWrite": 0,
            "totalTokens": 15,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": cost},
        },
    }


@pytest.fixture
def session():
    """One beginning, two ends: left (the leaf) has two turns, right has one."""
    with Session.in_memory("/shop", clock=FixedClock()) as made:
        made.append_message("How do we start?")
        fork = made.append_message(answer("Read the tests."))
        made.append_message("Then what?")
        made.right = made.append_message(answer("one\ntwo\nthree", ("read", "a.py"), cost=0.25))  # type: ignore[attr-defined]
        made.branch(fork)
        made.append_message("And then?")
        made.append_message(
            answer("one\n2\nthree", ("edit", "a.py"), ("edit", "b.py"), ("read", "c.py"), cost=0.5)
        )
        made.append_message("Thanks")
        made.append_message(answer("Welcome", cost=0.25))
        yield made


def compared(session: Session) -> CompareView:
    index = session.index
    one, other = index.position(session.leaf), index.position(session.right)  # type: ignore[arg-type, attr-defined]
    return compare_view(session.transcript, one, session.transcript, other)


def test_turns_are_paired_from_the_common_ancestor_on(session):
    view = compared(session)

    assert view.shared == 2
    assert view.common_ancestor == session.path()[1]
    assert [(pair.left is not None, pair.right is not None) for pair in view.pairs] == [
        (True, True),
        (True, False),
    ]
    assert view.pairs[0].prompt == (("-", "And then?"), ("+", "Then what?"))
    assert view.pairs[0].answer == ((" ", "one"), ("-", "2"), ("+", "two"), (" ", "three"))
    assert not view.pairs[0].same_words


def test_each_side_says_what_it_did_touched_and_spent(session):
    view = compared(session)

    assert view.left.tools == (("edit", 2), ("read", 1))
    assert view.left.changed == ("a.py", "b.py")
    assert view.left.read == ("c.py",)
    assert view.left.usage.cost == 0.75
    assert view.left.messages == 4
    assert view.right.read == ("a.py",)
    assert view.right.usage.total_tokens == 15


def test_two_sessions_are_compared_like_two_branches(session):
    fork = session.fork()
    fork.append_message("Only in the fork")

    view = compare_view(
        session.transcript,
        session.index.position(session.leaf),
        fork.transcript,
        fork.index.position(fork.leaf),
    )

    assert view.shared == 6
    assert [(pair.left, pair.right and pair.right.prompt) for pair in view.pairs] == [
        (None, "Only in the fork")
    ]


def test_the_same_path_has_nothing_to_compare(session):
    place = session.index.position(session.leaf)

    assert compare_view(session.transcript, place, session.transcript, place).pairs == ()
    assert compare_view(session.transcript, ROOT, session.transcript, ROOT).pairs == ()


def test_two_models_for_the_same_prompt_have_the_same_prompt(session):
    session.branch(session.path()[2])
    session.append_message(answer("another answer"))
    index = session.index
    earlier = session.children(session.path()[2])[0]

    view = compare_view(
        session.transcript, index.position(session.leaf), session.transcript, index.position(earlier)
    )

    assert view.pairs[0].prompt == ()
    assert view.pairs[0].answer[0] == ("-", "another answer")


# -- lines ------------------------------------------------------------------------------------------------


def test_unified_lines_mark_what_is_only_on_one_side(session):
    text = [line_text(line) for line in unified(compared(session))]

    assert text[:4] == ["Turn 1", "  user", "  - And then?", "  + Then what?"]
    assert "  - tools: edit ×2, read" in text
    assert "  + read: a.py" in text
    assert "Turn 2  only on the left" in text
    assert "  - 15 tokens · $0.25 · acme/one" in text


@pytest.mark.parametrize("columns", [30, 80, 160])
def test_side_by_side_lines_are_two_columns_that_fit(session, columns):
    session.append_message("日本語 " * 30 + "x" * 300)

    lines = list(side_by_side(compared(session), columns))

    assert all(line_width(line) <= columns for line in lines)
    rows = [line_text(line) for line in lines if "│" in line_text(line)]
    assert len({width(row.split("│")[0]) for row in rows}) == 1


def test_the_sums_stand_side_by_side(session):
    text = [line_text(line).split() for line in totals_table(compared(session), ("left", "right"))]

    assert text[0] == ["left", "right"]
    assert ["turns", "2", "1"] in text
    assert ["changed", "a.py,", "b.py", "nothing"] in text
    assert ["cost", "$0.75", "$0.25"] in text


def test_what_is_the_same_is_left_out_but_for_the_lines_around_a_difference():
    with Session.in_memory("/", clock=FixedClock()) as session:
        root = session.append_message("q")
        lines = [f"line {number}" for number in range(50)]
        session.append_message(answer("\n".join(lines)))
        other = session.leaf
        session.branch(root)
        lines[25] = "changed"
        session.append_message(answer("\n".join(lines)))
        index = session.index

        view = compare_view(
            session.transcript, index.position(other), session.transcript, index.position(session.leaf)
        )

    text = [line_text(line) for line in unified(view)]
    assert text[:10] == [
        "Turn 1",
        "  assistant",
        "    ⋯ 23 lines of both",
        "    line 23",
        "    line 24",
        "  - line 25",
        "  + changed",
        "    line 26",
        "    line 27",
        "    ⋯ 22 lines of both",
    ]


words = st.lists(st.sampled_from(["a", "b", "", "c d", "é"]), max_size=12).map("\n".join)


@settings(deadline=None)
@given(words, words)
def test_a_difference_holds_both_texts(left, right):
    difference = text_difference(left, right)

    assert "\n".join(text for mark, text in difference if mark != "+") == left
    assert "\n".join(text for mark, text in difference if mark != "-") == right
    if left == right:
        assert all(mark == " " for mark, _ in difference)


def test_long_texts_with_nothing_in_common_are_compared_in_a_moment():
    left = "\n".join(f"left {number}" for number in range(20_000))
    right = "\n".join(f"right {number}" for number in range(20_000))

    assert len(text_difference(left, right)) == 40_000


def test_tokens_that_stand_in_records_beside_the_path_count():
    """zot writes what an answer took into a row of its own."""
    with Session.open(CORPUS / "zot" / "damaged" / "blank-lines.jsonl") as session:
        source = session.transcript
        spent = totals(source).all.total

        view = compare_view(source, source.reading.leaf, source, ROOT)

    assert view.left.usage.total_tokens == spent.total_tokens == 440
