"""Forks, and prompts that continue in a new session."""

from __future__ import annotations

import pytest

from branchline import Session
from branchline.errors import EntryNotFound
from branchline.flows import AbortSignal, Cancel, branch_to_new_session, fork, run
from flows.kit import PlainHooks, Recorder, branched, state
from session.kit import assistant, reopened, user, words


@pytest.mark.parity("OMP-07", part="up to the parent")
def test_a_prompt_is_continued_in_a_new_file_up_to_its_parent_and_given_back(place):
    session, names = branched(place)
    before = state(session)

    made = run(branch_to_new_session(session, names["second"]))

    assert (made.status, made.text) == ("done", "question 2")
    assert words(made.session) == ["question 1", "answer 1"]
    assert made.session.parent_session == session.file
    assert made.session.file != session.file
    assert Session.open(made.session.file).leaf == names["answer"]
    assert state(session) == before


@pytest.mark.parity("OMP-07", part="from the first message")
def test_the_first_prompt_gives_an_empty_session_that_is_linked_to_the_old_one(place):
    session, names = branched(place)

    made = run(branch_to_new_session(session, names["first"]))

    assert (made.text, len(made.session), made.session.leaf) == ("question 1", 0, None)
    assert made.session.parent_session == session.file
    made.session.append_message(user("question 1, better"))
    made.session.append_message(assistant("fine"))
    again = Session.open(made.session.file)
    assert again.parent_session == session.file
    assert words(again) == ["question 1, better", "fine"]


@pytest.mark.parity("OMP-07")
def test_a_branch_can_be_made_from_each_prompt_of_a_session(place):
    session, names = branched(place)

    texts = [run(branch_to_new_session(session, names[name])).text for name in ("first", "second")]

    assert texts == ["question 1", "question 2"]


@pytest.mark.parametrize("kind", ["answer", "custom"])
def test_only_a_prompt_can_be_continued_like_this(place, kind):
    session, names = branched(place)
    names["custom"] = session.append_custom_message("acme", "hello")

    with pytest.raises(ValueError, match="not a prompt"):
        run(branch_to_new_session(session, names[kind]))


@pytest.mark.parity("OMP-13", part="branch")
def test_plugins_are_asked_before_a_branch_and_told_after_it(place):
    session, names = branched(place)
    hooks = Recorder()

    made = run(branch_to_new_session(session, names["second"]), hooks=hooks)

    assert hooks.names == [
        "session_before_branch",
        "session_shutdown",
        "session_start",
        "session_branch",
    ]
    assert hooks.event("session_before_branch").entry == names["second"]
    assert hooks.event("session_shutdown").reason == hooks.event("session_start").reason == "branch"
    assert hooks.event("session_shutdown").target_file == made.session.file
    assert hooks.event("session_start").previous_file == session.file
    told = hooks.event("session_branch")
    assert (told.session, told.previous_session) == (made.session.id, session.id)


@pytest.mark.parity("OMP-13", part="branch")
def test_a_plugin_may_refuse_a_branch(place):
    session, names = branched(place)
    hooks = PlainHooks(session_before_branch=lambda event, context: Cancel("keep together"))

    made = run(branch_to_new_session(session, names["second"]), hooks=hooks)

    assert (made.status, made.session, made.reason) == ("cancelled", None, "keep together")
    assert len(list(place.glob("*.jsonl"))) == 1


# -- forks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("position", "scope", "expected"),
    [
        ("at", "path", ["question 1", "answer 1", "question 2"]),
        ("before", "path", ["question 1", "answer 1"]),
        ("at", "tree", ["question 1", "answer 1", "question 2"]),
        ("before", "tree", ["question 1", "answer 1"]),
    ],
)
def test_a_fork_stands_at_an_entry_or_before_it_with_its_path_or_the_whole_tree(
    place, position, scope, expected
):
    session, names = branched(place)
    before = state(session)

    made = run(fork(session, names["second"], position=position, scope=scope))

    assert words(made.session) == words(reopened(made.session)) == expected
    assert (names["old"] in made.session) == (scope == "tree")
    assert made.text == ("question 2" if position == "before" else None)
    assert state(session) == before


def test_without_an_entry_the_leaf_is_forked(place):
    session, _names = branched(place)

    assert run(fork(session)).session.leaf == session.leaf


def test_an_unknown_entry_is_an_error_before_anybody_is_asked(place):
    session, _names = branched(place)
    hooks = Recorder()

    with pytest.raises(EntryNotFound):
        run(fork(session, "nowhere"), hooks=hooks)

    assert hooks.heard == []


@pytest.mark.parity("OPR-14", part="before a fork")
def test_plugins_are_asked_before_a_fork_and_told_after_it(place):
    session, names = branched(place)
    hooks = Recorder()

    made = run(fork(session, names["second"], position="before"), hooks=hooks)

    asked = hooks.event("session_before_fork")
    assert (asked.entry, asked.position, asked.scope) == (names["second"], "before", "path")
    told = hooks.event("session_fork")
    assert (told.session, told.file) == (made.session.id, made.session.file)
    assert hooks.names == ["session_before_fork", "session_fork"]


def test_who_goes_on_in_the_fork_leaves_one_session_and_starts_the_other(place):
    session, _names = branched(place)
    hooks = Recorder()

    run(fork(session, switch=True), hooks=hooks)

    assert hooks.names == ["session_before_fork", "session_shutdown", "session_start", "session_fork"]
    assert hooks.event("session_shutdown").reason == "fork"


@pytest.mark.parametrize("stop", ["cancel", "abort"])
def test_a_fork_that_is_stopped_makes_no_file(place, stop):
    session, _names = branched(place)
    abort = AbortSignal()

    def hook(event, context):
        if stop == "cancel":
            return Cancel("no")
        event.abort.set("Escape")
        return None

    made = run(fork(session, abort=abort), hooks=PlainHooks(session_before_fork=hook))

    assert made.session is None
    assert made.status == ("cancelled" if stop == "cancel" else "aborted")
    assert len(list(place.rglob("*.jsonl"))) == 1


@pytest.mark.parity("ZOT-14")
def test_everything_in_memory_is_on_disk_when_a_fork_or_a_move_is_asked_about(place):
    session, names = branched(place)
    session.append_message(user("the last word"))
    seen = []

    def look(event, context):
        again = Session.open(session.file)
        seen.append((words(again), again.leaf == session.leaf))

    hooks = PlainHooks(session_before_tree=look, session_before_fork=look, session_before_branch=look)
    run(fork(session), hooks=hooks)
    run(branch_to_new_session(session, names["second"]), hooks=hooks)
    run(flow_to(session, names["old"]), hooks=hooks)

    assert len(seen) == 3
    assert all(said[-1] == "the last word" and same for said, same in seen)


def flow_to(session, entry):
    from branchline.flows import navigate

    return navigate(session, entry)
