"""Changes of the current session."""

from __future__ import annotations

import pytest

from branchline import Session, SessionLibrary
from branchline.flows import AbortSignal, Cancel, Choice, Chosen, resume, run, shut_down, start, switch
from flows.kit import PlainHooks, Recorder, branched
from session.kit import CWD, new, talked, words


def test_a_program_says_when_a_session_starts_and_when_it_ends(place):
    session, hooks = talked(place), Recorder()

    run(start(session), hooks=hooks)
    run(shut_down(session), hooks=hooks)

    assert [(name, event.reason) for name, event in hooks.heard] == [
        ("session_start", "startup"),
        ("session_shutdown", "quit"),
    ]


def test_switching_asks_leaves_starts_and_tells_in_this_order(place):
    old, hooks = talked(place), Recorder()

    went = run(switch(old, old.new_session, reason="new"), hooks=hooks)

    assert went.status == "done"
    assert went.session.id != old.id
    assert hooks.names == ["session_before_switch", "session_shutdown", "session_start", "session_switch"]
    assert {event.reason for _name, event in hooks.heard} == {"new"}
    assert hooks.event("session_switch").previous_session == old.id


def test_a_plugin_may_refuse_a_switch_and_nothing_is_opened(place):
    old = talked(place)
    hooks = PlainHooks(session_before_switch=lambda event, context: Cancel("unsaved work"))

    went = run(switch(old, lambda: pytest.fail("opened"), reason="resume"), hooks=hooks)

    assert (went.status, went.session, went.reason) == ("cancelled", old, "unsaved work")


def test_an_aborted_switch_stays(place):
    old, abort = talked(place), AbortSignal()
    abort.set()

    went = run(switch(old, lambda: pytest.fail("opened"), reason="new", abort=abort))

    assert (went.status, went.session) == ("aborted", old)


def test_at_the_beginning_there_is_nothing_to_leave(place):
    hooks = Recorder()

    went = run(switch(None, lambda: new(place), reason="new"), hooks=hooks)

    assert hooks.names == ["session_start", "session_switch"]
    assert len(went.session) == 0


@pytest.fixture
def shelf(place):
    first, second = talked(place, turns=1), talked(place, turns=2, clock=None, id="other")
    return SessionLibrary(place), first, second


def choices(library):
    return [Choice(key=row.key, label=row.id) for row in library.list().rows]


@pytest.mark.parity("IND-13", part="resume")
def test_resume_goes_on_in_the_session_that_was_picked(shelf):
    library, first, second = shelf
    asked = []

    def pick(step):
        asked.append(sorted(choice.key for choice in step.choices))
        return Chosen(key=second.key)

    flow = resume(first, choices(library), open_session=library.open, new_session=first.new_session)
    went = run(flow, choose=pick)

    assert asked == [sorted([first.key, second.key])]
    assert went.session.id == second.id
    assert words(went.session) == words(second)


@pytest.mark.parity("IND-13", part="picking nothing")
def test_who_picks_nothing_at_the_beginning_starts_afresh(shelf):
    library, first, _second = shelf
    hooks = Recorder()

    flow = resume(None, choices(library), open_session=library.open, new_session=first.new_session)
    went = run(flow, hooks=hooks, choose=lambda step: None)

    assert (went.status, len(went.session)) == ("done", 0)
    assert hooks.event("session_start").reason == "new"


def test_who_picks_nothing_later_stays_where_they_are(shelf):
    library, first, _second = shelf

    flow = resume(first, choices(library), open_session=library.open, new_session=first.new_session)
    went = run(flow, choose=lambda step: None)

    assert (went.status, went.session) == ("cancelled", first)


def test_something_that_was_not_offered_cannot_be_picked(shelf):
    library, first, _second = shelf

    flow = resume(first, choices(library), open_session=library.open, new_session=first.new_session)
    with pytest.raises(ValueError, match="not one of the choices"):
        run(flow, choose=lambda step: Chosen(key="../elsewhere"))


@pytest.mark.parity("IND-13", part="everything but the picker's screen")
def test_continue_resume_and_fresh_in_one_directory(place, shelf):
    """Continue takes the newest session of this directory, resume lets the person pick, nothing picked is fresh."""
    library, first, second = shelf
    first.append_message("the newest word")

    newest = Session.continue_recent(CWD, directory=place)
    flow = resume(newest, choices(library), open_session=library.open, new_session=newest.new_session)
    picked = run(flow, choose=lambda step: Chosen(key=second.key))
    flow = resume(None, choices(library), open_session=library.open, new_session=newest.new_session)
    fresh = run(flow, choose=lambda step: None)

    assert newest.id == first.id
    assert picked.session.id == second.id
    assert fresh.session.id not in {first.id, second.id}


@pytest.mark.parity("IND-10")
def test_a_reset_starts_a_new_root_and_a_new_session_stands_beside_the_old_one(place):
    session, names = branched(place)

    session.reset()
    root = session.append_message("from the start")
    went = run(switch(session, session.new_session, reason="new"))

    assert session.children(None) == [names["first"], root]
    assert (len(went.session), went.session.cwd, went.session.parent_session) == (0, session.cwd, None)
