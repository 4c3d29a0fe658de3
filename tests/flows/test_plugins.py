"""Plugins with pluggy: loaded, ordered, called one by one, and reported by name on failure."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys

import pytest

from branchline.flows import (
    HOOKS,
    Cancel,
    HookSpecs,
    SessionBeforeTreeResult,
    arun,
    compact,
    fork,
    navigate,
    run,
)
from branchline.plugins import Plugin, Plugins, hookimpl
from flows.kit import Writer, branched, state
from session.kit import assistant, reopened, user

SPECIFIED = [
    "session_before_tree",
    "session_tree",
    "session_before_branch",
    "session_branch",
    "session_before_fork",
    "session_fork",
    "session_before_compact",
    "session_compacting",
    "session_compact",
    "session_compact_failed",
    "session_start",
    "session_before_switch",
    "session_switch",
    "session_shutdown",
    "chat_commands",
    "entry_appended",
]


def test_every_hook_is_specified_in_one_place_with_a_sentence():
    assert list(HOOKS) == SPECIFIED
    assert all(getattr(HookSpecs, hook).__doc__ for hook in HOOKS)


class Guard:
    """Refuses forks, and remembers moves."""

    def __init__(self):
        self.moves = []

    @hookimpl
    def session_before_fork(self, event):
        return Cancel("one session is enough")

    @hookimpl
    def session_tree(self, event, context):
        self.moves.append((event.new_leaf, context.session.id))


def test_a_plugin_takes_the_arguments_that_it_names(place):
    session, names = branched(place)
    guard, plugins = Guard(), Plugins()

    assert plugins.register(guard, "guard")
    refused = run(fork(session), hooks=plugins)
    run(navigate(session, names["old"]), hooks=plugins)

    assert (refused.status, refused.reason) == ("cancelled", "one session is enough")
    assert guard.moves == [(names["old"], session.id)]
    assert plugins.installed == [Plugin(name="guard", hooks=("session_tree", "session_before_fork"))]
    assert plugins.problems == []


def test_a_class_is_made_an_object_of():
    plugins = Plugins()

    assert plugins.register(Guard, "guard")
    assert plugins.installed[0].hooks == ("session_tree", "session_before_fork")


def test_plugins_are_asked_in_the_order_of_pluggy(place):
    session, names = branched(place)
    order, plugins = [], Plugins()

    def make(name, **options):
        class Asked:
            @hookimpl(**options)
            def session_before_tree(self):
                order.append(name)

        return Asked()

    plugins.register(make("first"), "first")
    plugins.register(make("eager", tryfirst=True), "eager")
    plugins.register(make("patient", trylast=True), "patient")
    plugins.register(make("last"), "last")
    run(navigate(session, names["old"]), hooks=plugins)

    assert order == ["eager", "last", "first", "patient"]


@pytest.mark.parametrize("awaiting", [False, True])
def test_coroutine_functions_are_hooks_too(place, awaiting):
    session, names = branched(place)
    plugins = Plugins()

    class Awaiting:
        @hookimpl
        async def session_before_tree(self, event):
            await asyncio.sleep(0)
            return SessionBeforeTreeResult(label="awaited")

    plugins.register(Awaiting(), "awaiting")
    flow = navigate(session, names["old"])
    if awaiting:
        asyncio.run(arun(flow, hooks=plugins))
    else:
        run(flow, hooks=plugins)

    assert session.labels == {names["old"]: "awaited"}
    assert plugins.problems == []


# -- failure ----------------------------------------------------------------------------------------------


class Broken:
    """Fails wherever it can."""


def _broken(self, event, context):
    raise RuntimeError(f"boom in {type(event).__name__}")


for _hook in SPECIFIED:
    _function = type(_broken)(_broken.__code__, globals(), _hook)
    setattr(Broken, _hook, hookimpl(_function))


def test_a_plugin_that_fails_everywhere_changes_nothing_and_is_named(place):
    heard = []
    plugins = Plugins(on_problem=heard.append)
    plugins.register(Broken(), "acme")
    session, names = branched(place / "with")
    healthy, _names = branched(place / "without")
    plugins.attach(session)

    for live, hooks in ((session, plugins), (healthy, Plugins())):
        run(navigate(live, names["second"], summarize=True), hooks=hooks, summarizer=Writer())
        live.append_message(user("more"))
        run(compact(live, keep_recent_tokens=1), hooks=hooks, summarizer=Writer())
        run(fork(live), hooks=hooks)

    assert state(session)[0].split(b"\n")[1:] == state(healthy)[0].split(b"\n")[1:]
    assert {problem.plugin for problem in plugins.problems} == {"acme"}
    assert {problem.hook for problem in plugins.problems} == {
        "session_before_tree",
        "session_tree",
        "session_before_compact",
        "session_compacting",
        "session_compact",
        "session_before_fork",
        "session_fork",
        "entry_appended",
    }
    assert heard == plugins.problems
    assert plugins.problems[0].message == "RuntimeError: boom in SessionBeforeTreeEvent"


class Leaving:
    """Ends programs, by different ways."""

    def __init__(self, error, awaits):
        self.error, self.awaits = error, awaits

    @hookimpl
    def session_before_tree(self):
        return self.later() if self.awaits else self.now()

    @hookimpl
    def entry_appended(self):
        self.now()

    def now(self):
        raise self.error

    async def later(self):
        await asyncio.sleep(0)
        raise self.error


@pytest.mark.parametrize("error", [SystemExit(3), StopIteration(), RecursionError("too deep")], ids=repr)
@pytest.mark.parametrize("awaits", [False, True])
@pytest.mark.parametrize("awaiting", [False, True])
def test_no_plugin_ends_the_program_or_hangs_it(error, awaits, awaiting, place):
    session, names = branched(place)
    plugins = Plugins()
    plugins.register(Leaving(error, awaits), "leaving")
    plugins.attach(session)

    flow = navigate(session, names["old"])
    if awaiting:
        went = asyncio.run(asyncio.wait_for(arun(flow, hooks=plugins), 20))
    else:
        went = run(flow, hooks=plugins)

    assert (went.status, session.leaf) == ("done", names["old"])
    assert [problem.hook for problem in plugins.problems] == ["session_before_tree", "entry_appended"]


def test_a_coroutine_that_cannot_be_awaited_is_a_problem_and_no_warning(place):
    session, names = branched(place)
    plugins = Plugins()

    class Awaiting:
        @hookimpl
        def entry_appended(self):
            return asyncio.sleep(0)

        @hookimpl
        async def session_before_tree(self):
            return Cancel("never heard")

    plugins.register(Awaiting(), "awaiting")
    plugins.attach(session)

    async def inside():
        return run(navigate(session, names["old"]), hooks=plugins)

    assert asyncio.run(inside()).status == "done"
    gc.collect()
    assert [problem.hook for problem in plugins.problems] == ["session_before_tree", "entry_appended"]


def test_problems_do_not_pile_up_for_ever(place):
    plugins = Plugins()
    plugins.register(Broken(), "acme")
    session, _names = branched(place)
    plugins.attach(session)

    for _number in range(1010):
        session.append_custom("x")

    assert len(plugins.problems) == 1000


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (
            "    @hookimpl\n    def session_befor_tree(self, event): pass\n",
            "did it mean session_before_tree?",
        ),
        ("    @hookimpl\n    async def entry_appended(self, event): pass\n", "use a plain function"),
        ("    @hookimpl(wrapper=True)\n    def session_tree(self): yield\n", "hook wrappers are not called"),
        ("    @hookimpl\n    def session_tree(self, evnt): pass\n", "evnt"),
        ("    def __init__(self): raise OSError('no disk')\n", "OSError: no disk"),
    ],
    ids=["unknown hook", "awaited observer", "wrapper", "unknown argument", "cannot be made"],
)
def test_a_mistake_in_a_plugin_is_said_when_it_is_added(body, problem, place):
    space = {"hookimpl": hookimpl}
    exec(f"class Mistaken:\n{body}", space)
    plugins = Plugins()

    plugins.register(space["Mistaken"], "mistaken")
    session, names = branched(place)
    plugins.attach(session)
    run(navigate(session, names["old"]), hooks=plugins)

    assert len(plugins.problems) == 1
    assert plugins.problems[0].plugin == "mistaken"
    assert problem in plugins.problems[0].message


def test_a_name_is_taken_once():
    plugins = Plugins()
    plugins.register(Guard(), "guard")

    assert not plugins.register(Guard(), "guard")
    assert "another plugin has the same name" in plugins.problems[0].message


# -- entries ----------------------------------------------------------------------------------------------


def test_entry_appended_knows_the_entry_that_is_already_in_the_file(place):
    session, names = branched(place)
    seen, plugins = [], Plugins()

    class Watching:
        @hookimpl
        def entry_appended(self, event, context):
            seen.append((event.type, event.role, event.parent, event.entry in reopened(context.session)))

    plugins.register(Watching(), "watching")
    stop = plugins.attach(session)
    session.append_message(user("more"))
    session.append_label(names["first"], "x")
    run(navigate(session, names["old"]), hooks=plugins)
    stop()
    session.append_message(assistant("unseen"))

    assert [kind for kind, *_rest in seen] == ["message", "label", "leaf"]
    assert seen[0] == ("message", "user", names["new"], True)
    assert all(there for *_rest, there in seen)


def test_entry_appended_may_write_side_records_and_nothing_that_moves_the_leaf(place):
    session, names = branched(place)
    plugins = Plugins()

    class Noting:
        @hookimpl
        def entry_appended(self, event, context):
            if event.type == "message":
                context.append_custom("acme.seen", event.entry)
                context.label(event.entry, "seen")
                for verb in (
                    lambda: context.append_message("acme", "x"),
                    lambda: context.move_to(names["old"]),
                    lambda: context.navigate(names["old"]),
                    context.fork,
                ):
                    with pytest.raises(Exception, match="while an append returns"):
                        verb()

    plugins.register(Noting(), "noting")
    plugins.attach(session)
    prompt = session.append_message(user("more"))

    assert plugins.problems == []
    assert session.leaf == prompt == reopened(session).leaf
    assert session.labels == {prompt: "seen"}


# -- found on this machine --------------------------------------------------------------------------------


def package(directory, name, code, entry_points):
    """A package as an installer would leave it."""
    (directory / f"{name}.py").write_text(code)
    info = directory / f"{name}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(f"[branchline.plugins]\n{entry_points}\n")


GOOD = """
from branchline.flows import Cancel
from branchline.plugins import hookimpl

@hookimpl
def session_before_fork(event):
    return Cancel("by acme")
"""


def test_installed_plugins_are_found_by_their_entry_points(tmp_path, monkeypatch, place):
    package(tmp_path, "acme_good", GOOD, "good = acme_good")
    package(tmp_path, "acme_bad", "import nothing_of_this_name", "bad = acme_bad")
    package(tmp_path, "acme_exit", "raise SystemExit(4)", "exits = acme_exit")
    monkeypatch.syspath_prepend(tmp_path)
    session, _names = branched(place)

    plugins = Plugins.load()
    without = Plugins.load(without=["good", "bad", "exits"])

    assert Plugin(name="good", package="acme_good", version="1.2", hooks=("session_before_fork",)) in (
        plugins.installed
    )
    assert run(fork(session), hooks=plugins).reason == "by acme"
    assert [problem.plugin for problem in plugins.problems] == ["bad", "exits"]
    assert "it cannot be loaded: ModuleNotFoundError" in plugins.problems[0].message
    assert not {plugin.name for plugin in without.installed} & {"good", "bad", "exits"}


def test_nothing_of_this_is_loaded_before_it_is_needed():
    code = (
        "import sys, branchline; "
        "print([name for name in ('pluggy', 'asyncio', 'branchline.flows', 'logging') if name in sys.modules])"
        "; from branchline import flows; "
        "print([name for name in ('pluggy', 'asyncio') if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n[]\n"
