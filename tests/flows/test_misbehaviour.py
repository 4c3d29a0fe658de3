"""Law: whatever plugins, summarizers and people do, a session is changed wholly or not at all.

Plugins raise, cancel, answer with nonsense, bring results and pull the emergency brake, in any mixture;
summarizers fail in every way. Either the flow is done, or the session is exactly what it was.
"""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from branchline import Session
from branchline.compaction import Summary
from branchline.errors import FlowError
from branchline.flows import (
    AbortSignal,
    Cancel,
    Chosen,
    HookSummary,
    SessionBeforeCompactResult,
    SessionBeforeTreeResult,
    arun,
    branch_to_new_session,
    compact,
    fork,
    navigate,
    run,
)
from flows.kit import LONG, PlainHooks, state
from session.kit import assistant, clock, facts, reopened, user

PLUGINS = st.lists(
    st.sampled_from(["silent", "raise", "cancel", "nonsense", "own", "empty", "abort", "await", "write"]),
    max_size=3,
)
SUMMARIZERS = st.sampled_from(["none", "good", "empty", "cut", "raise", "abort", "await"])
CHOICES = st.sampled_from([None, "no", "summarize", "instructions"])


class Boom(Exception):
    pass


def plugin(kind, abort):
    def hook(event, context):
        name = type(event).__name__
        match kind:
            case "raise":
                raise Boom
            case "cancel":
                return Cancel("no")
            case "nonsense":
                return 42
            case "own" if name == "SessionBeforeTreeEvent":
                return SessionBeforeTreeResult(summary=HookSummary(text="own"), label="by plugin")
            case "own" if name == "SessionBeforeCompactEvent":
                return SessionBeforeCompactResult(summary="own")
            case "empty" if name == "SessionBeforeTreeEvent":
                return SessionBeforeTreeResult(summary=HookSummary(text=" "))
            case "empty" if name == "SessionBeforeCompactEvent":
                return SessionBeforeCompactResult(summary="x", first_kept="nowhere")
            case "abort":
                abort.set("brake")
            case "write":
                context.append_custom("acme", 1)
        return None

    async def awaited(event, context):
        await asyncio.sleep(0)

    return awaited if kind == "await" else hook


def summarizer(kind, abort):
    def write(request):
        match kind:
            case "empty":
                return ""
            case "cut":
                return Summary(text="half", problem="cut off")
            case "raise":
                raise Boom
            case "abort":
                abort.set("Escape")
        return "a summary"

    async def awaited(request):
        await asyncio.sleep(0)
        return "awaited"

    return {"none": None, "await": awaited}.get(kind, write)


def session_of_three_turns():
    session = Session.in_memory("/home/u/proj", clock=clock())
    for number in range(3):
        session.append_message(user(f"question {number} {LONG}"))
        session.append_message({**assistant(f"answer {number} {LONG}"), "usage": None})
    return session


@given(
    data=st.data(),
    before=PLUGINS,
    after=PLUGINS,
    writer=SUMMARIZERS,
    choice=CHOICES,
    which=st.sampled_from(["navigate", "compact", "fork", "branch"]),
    awaiting=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_a_session_is_changed_wholly_or_not_at_all(data, before, after, writer, choice, which, awaiting):
    session, abort = session_of_three_turns(), AbortSignal()
    was = state(session)
    path = session.path()
    flow = {
        "navigate": lambda: navigate(
            session, data.draw(st.sampled_from(path)), summarize=None, label="L", abort=abort
        ),
        "compact": lambda: compact(session, keep_recent_tokens=150, abort=abort),
        "fork": lambda: fork(session, data.draw(st.sampled_from(path)), abort=abort),
        "branch": lambda: branch_to_new_session(session, data.draw(st.sampled_from(path[::2])), abort=abort),
    }[which]()
    early = [plugin(kind, abort) for kind in before]
    late = [plugin(kind, abort) for kind in after if kind != "write"]
    hooks = PlainHooks(
        **{f"session_before_{name}": early for name in ("tree", "compact", "fork", "branch")},
        **{f"session_{name}": late for name in ("tree", "compact", "fork", "branch")},
    )
    given_ = {
        "hooks": hooks,
        "summarizer": summarizer(writer, abort),
        "choose": lambda step: None if choice is None else Chosen(key=choice, text="focus"),
    }

    try:
        result = asyncio.run(arun(flow, **given_)) if awaiting else run(flow, **given_)
        status = result.status
    except FlowError:
        status = "failed"

    if status != "done" or which in ("fork", "branch"):
        assert state(session) == was
    else:
        assert state(session)[0].startswith(was[0])
        assert facts(session) == facts(reopened(session))
    if status == "cancelled":
        assert "cancel" in before or choice is None
    if status == "aborted":
        assert abort.aborted
    failing = {"raise", "nonsense", "write"} & set(before)
    assert not hooks.problems or failing or {"empty", "raise"} & {*before, *after}
