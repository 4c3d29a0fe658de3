"""The abandoned branch after a move, and the part of it that a summary covers."""

from __future__ import annotations

from branchline.compaction import (
    FileOperations,
    branch_budget,
    collect_branch,
    prepare_branch_summary,
)
from branchline.entries import message_text
from branchline.tree import ROOT
from context.story import Watched, answer, at, call, compaction, edit, label, result, story, user

LONG = "x" * 400  # a hundred tokens


def collect(session, target):
    return collect_branch(session, at(session), ROOT if target is None else at(session, target))


def texts(preparation):
    return [message_text(message) for message in preparation.messages]


def prepared(session, target, budget=0):
    return prepare_branch_summary(session, collect(session, target), budget)


def test_with_no_old_leaf_nothing_is_left_behind():
    session = story(user("q"))

    collection = collect_branch(session, ROOT, at(session, "e1"))

    assert (collection.common_ancestor, collection.entries) == (None, ())


def test_going_back_leaves_what_came_after_the_target():
    session = story(user("one"), answer("two"), label("e1"), user("three"), answer("four"))

    collection = collect(session, "e2")

    assert collection.common_ancestor == "e2"
    assert collection.entries == ("e4", "e5")


def test_going_to_another_branch_leaves_what_it_does_not_share():
    session = story(user("one"), answer("two"), user("here"), {**user("there"), "parentId": "e2"})

    assert collect(session, "e3").entries == ("e4",)
    assert collect(session, "e3").common_ancestor == "e2"


def test_going_before_the_first_entry_leaves_everything():
    session = story(user("one"), answer("two"))

    assert collect(session, None).entries == ("e1", "e2")
    assert collect(session, None).common_ancestor is None


def test_a_compaction_does_not_end_the_collection():
    session = story(user("one"), user("two"), compaction("sum", None), user("three"))

    assert texts(prepared(session, "e1")) == ["two", "sum", "three"]


def test_the_newest_messages_fit_first():
    session = story(user("start"), user("old"), user(LONG), user("new"), answer("newer"))

    assert texts(prepared(session, "e1", budget=50)) == ["new", "newer"]


def test_a_summary_is_taken_beyond_the_budget_while_a_tenth_is_left():
    session = story(user("start"), user("old"), compaction(LONG, None), user("x" * 40))

    assert texts(prepared(session, "e1", budget=20)) == [LONG, "x" * 40]
    assert texts(prepared(session, "e1", budget=11)) == ["x" * 40]


def test_results_are_left_out_and_edits_count():
    session = story(
        user("start"), answer("long"), result("big"), user("gone"), edit("e2", "short"), edit("e4")
    )

    assert texts(prepared(session, "e1")) == ["short"]


def test_files_are_noted_up_to_the_entry_that_does_not_fit():
    session = story(
        user("start"),
        answer(call("edit", path="far.py")),
        answer(LONG, call("read", path="near.py")),
        answer("end"),
    )

    assert prepared(session, "e1", budget=50).files == FileOperations(read=("near.py",))


def test_files_of_earlier_branch_summaries_are_carried_on():
    details = {"readFiles": ["a.py"], "modifiedFiles": ["b.py"]}
    summary = {"type": "branch_summary", "fromId": "x", "summary": "tried", "details": details}
    session = story(user("start"), summary, {**summary, "fromHook": True, "details": {"readFiles": ["c.py"]}})

    assert prepared(session, "e1").files == FileOperations(read=("a.py",), modified=("b.py",))


def test_a_branch_of_marks_alone_is_empty():
    """An empty branch summary only marks a position; nobody need be asked to sum that up."""
    mark = {"type": "branch_summary", "fromId": "x", "summary": ""}

    assert prepared(story(user("start"), mark, label("e1")), "e1").empty
    assert not prepared(story(user("start"), mark, user("word")), "e1").empty


def test_a_long_branch_is_read_only_as_far_as_the_budget_reaches():
    session = story(user("start"), *[user(LONG)] * 1000)
    watched = Watched(session)

    prepare_branch_summary(watched, collect(session, "e1"), 1000)

    assert len(watched.decoded) <= 256


def test_the_budget_is_the_window_without_a_reserve():
    assert branch_budget(200_000) == 183_616
    assert branch_budget(None) == 111_616
