"""The abort signal is set once and seen by all waiters."""

from __future__ import annotations

import threading
from functools import partial

import pytest

from branchline.flows import Aborted, AbortSignal


def test_the_first_reason_stays():
    abort = AbortSignal()
    assert (abort.aborted, abort.reason) == (False, "")
    abort.check()

    abort.set("Escape")
    abort.set("again")

    assert (abort.aborted, abort.reason) == (True, "Escape")
    with pytest.raises(Aborted, match="Escape"):
        abort.check()


def test_who_waits_in_another_thread_is_woken():
    abort = AbortSignal()
    seen = []
    waiting = threading.Thread(target=lambda: seen.append(abort.wait(10)))
    waiting.start()

    abort.set()
    waiting.join(10)

    assert seen == [True]
    assert not AbortSignal().wait(0)


def test_a_callback_is_called_once_whenever_it_comes():
    abort, calls = AbortSignal(), []
    abort.on_abort(lambda: calls.append("before"))
    undo = abort.on_abort(lambda: calls.append("undone"))
    undo()

    abort.set()
    abort.set()
    abort.on_abort(lambda: calls.append("after"))

    assert calls == ["before", "after"]


def test_many_threads_set_it_and_every_callback_is_called_once():
    for _round in range(50):
        abort, calls = AbortSignal(), []
        threads = [threading.Thread(target=abort.set, args=(str(number),)) for number in range(4)]
        threads += [
            threading.Thread(target=abort.on_abort, args=(partial(calls.append, 1),)) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(calls) == 4
