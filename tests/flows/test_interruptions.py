"""Law: whatever stops a flow at a question leaves file and leaf exactly as they were.

Every flow is stopped at every one of its steps, by a no, by an abort and by an exception, blocking and
awaiting. After the act only telling is left, and stopping there takes nothing back.
"""

from __future__ import annotations

import asyncio

import pytest

from branchline.compaction import Summary
from branchline.errors import SummaryFailed
from branchline.flows import (
    AbortSignal,
    Act,
    AskHook,
    Cancel,
    Choice,
    Choose,
    Chosen,
    Notify,
    Summarize,
    arun,
    branch_to_new_session,
    compact,
    fork,
    navigate,
    resume,
    run,
    switch,
)
from flows.kit import LONG, branched, state
from session.kit import assistant, snapshot, user

SUMMARY = Summary(text="so far")


class Boom(Exception):
    pass


def start_of(place):
    session, names = branched(place)
    session.append_message(user(f"question 3 {LONG}"))
    session.append_message({**assistant(f"answer 3 {LONG}"), "usage": None})
    return session, names


FLOWS = {
    "navigate": lambda session, names, abort: navigate(
        session, names["second"], summarize=None, label="L", abort=abort
    ),
    "navigate without summary": lambda session, names, abort: navigate(
        session, names["first"], label="L", abort=abort
    ),
    "compact": lambda session, names, abort: compact(session, keep_recent_tokens=50, abort=abort),
    "fork": lambda session, names, abort: fork(
        session, names["second"], position="before", switch=True, abort=abort
    ),
    "branch": lambda session, names, abort: branch_to_new_session(session, names["second"], abort=abort),
    "switch": lambda session, names, abort: switch(session, session.fork, reason="new", abort=abort),
    "resume": lambda session, names, abort: resume(
        session,
        [Choice(key="k", label="k")],
        open_session=lambda key: session.fork(),
        new_session=session.new_session,
        abort=abort,
    ),
}


def choose(step):
    return Chosen(key="k" if step.choices[0].key == "k" else "summarize")


def summarizer(request):
    return SUMMARY


def interfering(flow, index, way, abort, log):
    """The same flow, stopped at one step; writes down every step in ``log``."""
    step = next(flow)
    while True:
        here = len(log)
        log.append(step)
        try:
            if here == index and way == "exception":
                step = flow.throw(Boom())
                continue
            if here == index and way == "cancel":
                answer = Cancel("no") if isinstance(step, AskHook) else None
            else:
                if here == index:
                    abort.set("Escape")
                try:
                    answer = yield step
                except BaseException as problem:
                    step = flow.throw(problem)
                    continue
            step = flow.send(answer)
        except StopIteration as done:
            return done.value


def stop(place, name, index, way, *, awaiting):
    session, names = start_of(place)
    before, files, abort, log = state(session), snapshot(place), AbortSignal(), []
    flow = interfering(FLOWS[name](session, names, abort), index, way, abort, log)
    try:
        if awaiting:
            asyncio.run(arun(flow, choose=choose, summarizer=summarizer))
        else:
            run(flow, choose=choose, summarizer=summarizer)
    except (Boom, SummaryFailed):
        if way != "exception":
            raise
    return session, before, files, log


def kinds(name, place):
    """The steps of a flow that nobody stops."""
    _session, _before, _files, log = stop(place, name, -1, "", awaiting=False)
    return [type(step) for step in log]


@pytest.mark.parametrize("name", FLOWS)
def test_a_flow_asks_acts_once_and_tells_in_this_order(name, place):
    found = kinds(name, place)

    order = [{AskHook: 0, Choose: 0, Summarize: 0, Act: 1, Notify: 2}[kind] for kind in found]

    assert order == sorted(order)
    assert found.count(Act) == 1
    assert order[0] == 0


@pytest.mark.parametrize("awaiting", [False, True], ids=["run", "arun"])
@pytest.mark.parametrize("way", ["cancel", "abort", "exception"])
@pytest.mark.parametrize("name", FLOWS)
def test_stopping_at_any_step_leaves_file_and_leaf_as_they_were(name, way, awaiting, place):
    found = kinds(name, place / "rehearsal")

    for index, kind in enumerate(found):
        room = place / str(index)
        if way == "cancel" and kind not in (AskHook, Choose):
            continue  # these cannot be answered with a no
        session, before, files, log = stop(room, name, index, way, awaiting=awaiting)
        acted = [type(step) for step in log].count(Act) and not (kind is Act and way == "exception")
        if index < found.index(Act) or not acted:
            assert state(session) == before, (name, way, kind)
            assert snapshot(room) == files, (name, way, kind)
            assert not acted
        else:
            assert snapshot(room) != files or name in ("switch", "resume")


@pytest.mark.parametrize("name", FLOWS)
def test_ctrl_c_in_a_question_changes_nothing(name, place):
    session, names = start_of(place)
    before, files = state(session), snapshot(place)

    def interrupt(given):
        raise KeyboardInterrupt

    class Interrupting:
        def implementations(self, hook, /):
            from branchline.flows import Implementation

            return [Implementation("p", lambda event, context: interrupt(event))]

        def report(self, problem, /):
            pytest.fail("Ctrl-C is no problem of a plugin")

    with pytest.raises(KeyboardInterrupt):
        run(
            FLOWS[name](session, names, AbortSignal()),
            hooks=Interrupting(),
            choose=choose,
            summarizer=summarizer,
        )

    assert state(session) == before
    assert snapshot(place) == files
