"""Flows under the blocking and the asynchronous driver."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from branchline.errors import FlowError, SummaryFailed
from branchline.flows import (
    AbortSignal,
    Cancel,
    Chosen,
    HookSummary,
    SessionBeforeTreeResult,
    arun,
    compact,
    fork,
    navigate,
    run,
    turn,
)
from branchline.flows.steps import act
from flows.kit import PlainHooks, Recorder, Writer, branched, state
from session.kit import reopened, words


async def awaited_summary(request):
    await asyncio.sleep(0)
    return "awaited"


def test_both_drivers_do_the_same(place):
    one, names = branched(place / "one")
    other, _names = branched(place / "other")
    heard = [Recorder(), Recorder()]

    went = run(navigate(one, names["second"], summarize=True), hooks=heard[0], summarizer=Writer())
    awaited = asyncio.run(
        arun(navigate(other, names["second"], summarize=True), hooks=heard[1], summarizer=Writer())
    )

    assert went == awaited
    assert state(one)[0].split(b"\n")[1:] == state(other)[0].split(b"\n")[1:]
    assert heard[0].names == heard[1].names


def test_coroutine_functions_serve_as_hooks_summarizer_and_chooser_under_both(place):
    for awaiting in (False, True):
        session, names = branched(place / str(awaiting))
        told = []

        async def before(event, context):
            await asyncio.sleep(0)
            return SessionBeforeTreeResult(label="async")

        async def after(event, context, told=told):
            await asyncio.sleep(0)
            told.append(event.new_leaf)

        async def choose(step):
            await asyncio.sleep(0)
            return Chosen(key="summarize")

        flow = navigate(session, names["second"], summarize=None)
        given = {
            "hooks": PlainHooks(session_before_tree=before, session_tree=after),
            "summarizer": awaited_summary,
            "choose": choose,
        }
        went = asyncio.run(arun(flow, **given)) if awaiting else run(flow, **given)

        assert session.labels == {went.summary_entry: "async"}
        assert "awaited" in session.entry(went.summary_entry).summary
        assert told == [went.new_leaf]


def test_run_inside_of_a_running_loop_refuses_to_wait_for_a_coroutine(place):
    session, names = branched(place)
    before = state(session)
    hooks = PlainHooks(session_before_tree=awaited_hook)

    async def inside():
        with pytest.raises(FlowError, match=r"use arun\(\)"):
            run(navigate(session, names["second"], summarize=True), summarizer=awaited_summary)
        assert state(session) == before
        return run(navigate(session, names["second"]), hooks=hooks)

    went = asyncio.run(inside())

    assert went.status == "done"
    assert [problem.plugin for problem in hooks.problems] == ["plugin 1"]
    assert "use arun()" in hooks.problems[0].message


async def awaited_hook(event, context):
    return Cancel("never heard")


def test_plain_functions_do_not_hold_up_the_event_loop(place):
    session, names = branched(place)
    here, threads = threading.get_ident(), []

    def slow(request):
        threads.append(threading.get_ident())
        time.sleep(0.05)
        return "slow"

    async def main():
        ticks = 0
        work = asyncio.ensure_future(
            arun(navigate(session, names["second"], summarize=True), summarizer=slow)
        )
        while not work.done():
            await asyncio.sleep(0.005)
            ticks += 1
        return ticks, await work

    ticks, went = asyncio.run(main())

    assert went.status == "done"
    assert ticks >= 4
    assert here not in threads


def test_an_abort_stops_the_waiting_at_once(place):
    session, names = branched(place)
    before, abort, cancelled = state(session), AbortSignal(), []

    async def endless(request):
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async def main():
        threading.Timer(0.05, abort.set, ("Escape",)).start()
        flow = navigate(session, names["second"], summarize=True, abort=abort)
        return await asyncio.wait_for(arun(flow, summarizer=endless), 10)

    went = asyncio.run(main())

    assert (went.status, went.reason) == ("aborted", "Escape")
    assert cancelled == [True]
    assert state(session) == before


def test_an_abort_stops_waiting_for_a_hook_and_no_problem_is_reported(place):
    session, names = branched(place)
    before, abort = state(session), AbortSignal()

    async def endless(event, context):
        await asyncio.sleep(60)

    hooks = PlainHooks(session_before_tree=endless)

    async def main():
        asyncio.get_running_loop().call_later(0.02, abort.set)
        return await arun(navigate(session, names["second"], abort=abort), hooks=hooks)

    assert asyncio.run(main()).status == "aborted"
    assert state(session) == before
    assert hooks.problems == []


def test_a_task_that_is_cancelled_in_a_question_changes_nothing(place):
    session, names = branched(place)
    before = state(session)

    async def endless(request):
        await asyncio.sleep(60)

    async def main():
        work = asyncio.ensure_future(
            arun(navigate(session, names["second"], summarize=True), summarizer=endless)
        )
        await asyncio.sleep(0.02)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(main())

    assert state(session) == before


def test_a_task_that_is_cancelled_while_writing_waits_until_it_is_written(place):
    session, names = branched(place)
    begun, go_on = threading.Event(), threading.Event()

    def slowly(flow):
        """The flow, its act held up in the middle."""
        step = next(flow)
        while True:
            if type(step).__name__ == "Act":
                inner = step.call

                def call(inner=inner):
                    begun.set()
                    go_on.wait(10)
                    return inner()

                answer = yield from act(step.verb, call)
            else:
                answer = yield step
            try:
                step = flow.send(answer)
            except StopIteration as done:
                return done.value

    async def main():
        work = asyncio.ensure_future(arun(slowly(navigate(session, names["old"]))))
        await asyncio.to_thread(begun.wait, 10)
        work.cancel()
        await asyncio.sleep(0.02)
        assert not work.done()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(main())

    assert session.leaf == reopened(session).leaf == names["old"]


@pytest.mark.parametrize("awaiting", [False, True])
def test_a_plugin_that_fails_is_reported_by_name_and_counts_as_silent(place, awaiting):
    session, names = branched(place)
    own = SessionBeforeTreeResult(summary=HookSummary(text="from the healthy one"))

    def broken(event, context):
        raise RuntimeError("boom")

    def healthy(event, context):
        return own

    hooks = PlainHooks(session_before_tree=[broken, healthy], session_tree=[broken, broken])
    flow = navigate(session, names["second"], summarize=True)
    went = asyncio.run(arun(flow, hooks=hooks)) if awaiting else run(flow, hooks=hooks)

    assert session.entry(went.summary_entry).summary == "from the healthy one"
    assert [(problem.plugin, problem.hook) for problem in hooks.problems] == [
        ("plugin 1", "session_before_tree"),
        ("plugin 1", "session_tree"),
        ("plugin 2", "session_tree"),
    ]
    assert hooks.problems[0].message == "RuntimeError: boom"


def test_a_hook_that_takes_no_answer_but_cancel_reports_anything_else(place):
    session, _names = branched(place)
    hooks = PlainHooks(session_before_fork=lambda event, context: True)

    assert run(fork(session), hooks=hooks).status == "done"
    assert hooks.problems[0].message == "answered with a bool; session_before_fork takes a Cancel or nothing"


def test_a_turn_needs_somebody_who_asks_the_model(place):
    session, _names = branched(place)

    with pytest.raises(FlowError, match="attempt="):
        run(turn(session))


def test_something_that_is_no_step_is_a_mistake_of_the_flow():
    def odd():
        yield "what?"

    with pytest.raises(TypeError, match="not a step"):
        run(odd())


def test_a_summarizer_that_raises_under_arun_is_a_failed_summary(place):
    session, names = branched(place)
    before = state(session)

    async def broken(request):
        raise ConnectionError("no network")

    with pytest.raises(SummaryFailed, match="no network"):
        asyncio.run(arun(navigate(session, names["second"], summarize=True), summarizer=broken))

    assert state(session) == before


# -- what a plugin can do ---------------------------------------------------------------------------------


@pytest.mark.parity("OPR-16")
def test_a_plugin_writes_data_that_the_model_does_not_see_and_messages_that_it_sees(place):
    session, names = branched(place)

    def note(event, context):
        context.append_custom("acme.moves", {"to": event.new_leaf})
        context.append_message("acme", "I was here", display=False)
        context.label(names["old"], "other way")

    run(navigate(session, names["answer"]), hooks=PlainHooks(session_tree=note))

    assert words(reopened(session)) == ["question 1", "answer 1", "I was here"]
    assert [entry.data for entry in session.entries() if entry.type == "custom"] == [{"to": names["answer"]}]
    assert session.labels == {names["old"]: "other way"}


@pytest.mark.parity("OMP-16")
@pytest.mark.parametrize("awaiting", [False, True])
def test_a_plugin_can_branch_navigate_and_fork(place, awaiting):
    session, names = branched(place)
    seen = []

    def act_on(event, context):
        context.move_to(names["first"])
        seen.append(context.session.leaf)
        went = context.navigate(names["old"], summarize=True)
        seen.append(went.summary_entry)
        seen.append(words(context.fork(names["answer"]).session))

    async def awaits(event, context):
        context.move_to(names["first"])
        seen.append(context.session.leaf)
        went = await context.anavigate(names["old"], summarize=True)
        seen.append(went.summary_entry)
        seen.append(words((await context.afork(names["answer"])).session))

    hooks = PlainHooks(session_compact=awaits if awaiting else act_on)
    flow = compact(session, keep_recent_tokens=1)
    if awaiting:
        asyncio.run(arun(flow, hooks=hooks, summarizer=awaited_summary))
    else:
        run(flow, hooks=hooks, summarizer=Writer())

    assert hooks.problems == []
    assert seen == [names["first"], None, ["question 1", "answer 1"]]
    assert session.leaf == reopened(session).leaf == names["old"]


def test_a_plugin_that_is_asked_can_look_but_not_write(place):
    session, names = branched(place)
    before, looked = state(session), []
    tries = [
        lambda context: context.append_custom("x"),
        lambda context: context.append_message("x", "y"),
        lambda context: context.label(names["old"], "x"),
        lambda context: context.move_to(names["old"]),
        lambda context: context.navigate(names["old"]),
        lambda context: context.fork(),
    ]

    def ask(number):
        def hook(event, context):
            looked.append(context.session.entry(event.target).message)
            tries[number](context)

        return hook

    hooks = PlainHooks(
        session_before_tree=[*map(ask, range(len(tries))), lambda event, context: Cancel("enough")]
    )
    went = run(navigate(session, names["second"]), hooks=hooks)

    assert went.status == "cancelled"
    assert len(looked) == len(hooks.problems) == len(tries)
    assert all("cannot change the session" in problem.message for problem in hooks.problems)
    assert state(session) == before


def test_plugins_that_answer_each_other_come_to_an_end(place):
    session, names = branched(place)

    def ping(event, context):
        context.navigate(names["old"] if context.session.leaf == names["new"] else names["new"])

    hooks = PlainHooks(session_tree=ping)
    went = run(navigate(session, names["old"]), hooks=hooks)

    assert went.status == "done"
    assert [problem.message.split(":")[0] for problem in hooks.problems] == ["FlowError"]
    assert "deep" in hooks.problems[0].message
    assert session.leaf == reopened(session).leaf
