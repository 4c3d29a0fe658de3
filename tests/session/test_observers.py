"""Observers are notified of appended entries after they are saved."""

from __future__ import annotations

import logging
import threading

import pytest

from branchline.errors import NotSaved
from session.kit import new, reopened, talked, user


def test_an_observer_gets_every_entry_that_we_append_once_it_is_in_the_file(place):
    session = talked(place)
    seen = []
    session.subscribe(lambda key: seen.append((key, key in reopened(session), key in session)))

    made = [
        session.append_message(user("more")),
        session.append_label(session.leaf, "x"),
        session.set_title("t"),
    ]
    session.branch(session.path()[0])

    assert [key for key, *_rest in seen[:3]] == made
    assert session.entry(seen[3][0]).type == "leaf"
    assert all(saved and known for _key, saved, known in seen)


def test_who_stops_listening_hears_nothing_more(place):
    session = talked(place)
    seen = []
    stop = session.subscribe(seen.append)

    first = session.append_message(user("one"))
    stop()
    stop()
    session.append_message(user("two"))

    assert seen == [first]


def test_an_observer_that_fails_is_reported_and_the_entry_is_saved(place):
    session = talked(place)
    problems, seen = [], []

    def broken(key):
        raise RuntimeError("boom")

    session.subscribe(broken, on_problem=problems.append)
    session.subscribe(seen.append)
    entry = session.append_message(user("more"))

    assert [str(problem) for problem in problems] == ["boom"]
    assert seen == [entry]
    assert reopened(session).leaf == entry


def test_a_failure_that_nobody_wants_to_hear_is_logged(place, caplog):
    session = talked(place)
    session.subscribe(lambda key: 1 / 0)

    with caplog.at_level(logging.ERROR, "branchline"):
        session.append_message(user("more"))

    assert "an observer of a session failed" in caplog.text


def test_what_an_observer_appends_is_saved_and_told_to_nobody(place):
    session = talked(place)
    seen = []
    session.subscribe(lambda key: (seen.append(key), session.append_custom("echo", key)))

    entry = session.append_message(user("more"))

    assert seen == [entry]
    assert [made.data for made in session.entries() if made.type == "custom"] == [entry]
    session.append_message(user("again"))
    assert len(seen) == 2


def test_nobody_is_told_of_what_could_not_be_saved(place, monkeypatch):
    session = talked(place)
    seen = []
    session.subscribe(seen.append)

    def full(make):
        raise NotSaved("no space")

    monkeypatch.setattr(session._writer, "append", full)
    with pytest.raises(NotSaved):
        session.append_message(user("more"))

    assert seen == []


def test_a_fork_has_no_observers_of_its_parent(place):
    session = talked(place)
    seen = []
    session.subscribe(seen.append)

    session.fork().append_message(user("in the fork"))

    assert seen == []


def test_the_first_entry_of_a_new_session_is_told_too(place):
    session = new(place)
    seen = []
    session.subscribe(seen.append)

    assert [session.append_message(user("hello"))] == seen


def test_what_another_thread_appends_while_an_observer_is_busy_is_told(place):
    session = talked(place)
    seen = []

    def busy(key):
        seen.append(key)
        if len(seen) == 1:
            thread = threading.Thread(target=session.append_message, args=(user("from elsewhere"),))
            thread.start()
            thread.join(10)

    session.subscribe(busy)
    session.append_message(user("more"))

    assert len(seen) == 2
