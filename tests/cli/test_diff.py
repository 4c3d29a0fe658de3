"""``branchline diff``: which two are meant, and what is printed."""

from __future__ import annotations

import pytest


def test_the_two_branches_of_a_session_that_has_two(run, talk):
    result = run("diff", talk)

    assert "--- talk Auth refactor at" in result.stdout
    assert "2 entries shared, up to" in result.stdout
    assert "  - And the tests?\n  + Then what?\n" in result.stdout
    assert "[left]" in result.stdout


def test_branches_can_be_named_and_json_has_it_all(data, talk):
    view = data("diff", talk)
    left, right = view["left"]["leaf"], view["right"]["leaf"]

    swapped = data("diff", talk, right, left)

    assert (swapped["left"]["leaf"], swapped["right"]["leaf"]) == (right, left)
    assert swapped["pairs"][0]["prompt"] == [["-", "Then what?"], ["+", "And the tests?"]]
    assert data("diff", talk, right) == view


def test_two_sessions(run, data, talk):
    fork = data("fork", talk)["session"]
    run("append", fork, "Only here")

    view = data("diff", talk, fork)

    assert view["shared"] == 3
    assert view["right"]["session"] == fork
    assert view["pairs"][0]["left"] is None
    assert view["pairs"][0]["right"]["prompt"] == "Only here"


def test_two_columns_where_asked_for(run, talk):
    assert "And the tests?" in run("diff", talk, "-y").stdout.split(" │ ")[1].splitlines()[-1]


def test_the_same_path_is_told(run, talk):
    assert "both are the same path" in run("diff", talk, "@leaf").stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["nosuch"], 1, "neither an entry of talk nor a session"),
        (["a", "b", "c"], 2, "at most two names"),
        (["-y", "-u"], 2, "either --side-by-side or --unified"),
    ],
)
def test_what_cannot_be_compared_is_told(run, talk, arguments, code, words):
    assert words in run("diff", talk, *arguments, code=code).stderr


def test_one_branch_or_many_need_a_name(run, talk):
    run("new", "--id", "lonely")
    run("append", "lonely", "hi")
    assert "has only one branch" in run("diff", "lonely", code=1).stderr

    run("branch", talk, "@leaf~1")
    run("append", talk, "A third")

    assert "has 2 other branches; name one of them" in run("diff", talk, code=1).stderr


def test_branches_can_be_named_by_their_labels(run, data, talk):
    run("label", talk, "@leaf", "right")

    by_label = data("diff", talk, "LEFT", "right")

    assert by_label["pairs"][0]["prompt"] == [["-", "Then what?"], ["+", "And the tests?"]]
    run("label", talk, "@leaf~1", "right")
    assert "2 entries of talk have the label 'right'" in run("branch", talk, "right", code=1).stderr
