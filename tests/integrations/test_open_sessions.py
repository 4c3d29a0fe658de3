"""The pool of open sessions: different ones are used concurrently, each by one thread at a time."""

from __future__ import annotations

import threading

from branchline import SessionLibrary
from branchline.integrations.open_sessions import OpenSessions


def test_two_sessions_are_used_at_once_and_one_session_is_not():
    sessions: OpenSessions[str] = OpenSessions()
    both = threading.Barrier(2, timeout=10)
    order: list[str] = []

    def use(name: str, word: str) -> None:
        with sessions.hold(name):
            if word == "together":
                both.wait()
            order.append(word)

    threads = [threading.Thread(target=use, args=(name, "together")) for name in "ab"]
    with sessions.hold("c"):
        threads.append(threading.Thread(target=use, args=("c", "alone")))
        for thread in threads:
            thread.start()
        for thread in threads[:2]:
            thread.join()
        order.append("held")
    threads[2].join()

    assert order == ["together", "together", "held", "alone"]


def test_of_too_many_sessions_those_are_closed_that_nobody_used_for_longest(tmp_path):
    library = SessionLibrary(tmp_path)
    sessions: OpenSessions[str] = OpenSessions(limit=2)
    made = {}

    with sessions.hold("held"):
        for name in "abc":
            with sessions.hold(name) as slot:
                made[name] = slot.session = library.get_or_create(name)
        with sessions.hold("c") as slot:
            assert slot.session is made["c"]
        with sessions.hold("a") as slot:
            assert slot.session is None

    sessions.close()
    with sessions.hold("c") as slot:
        assert slot.session is None
