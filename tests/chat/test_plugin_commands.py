"""Commands that plugins add to the chat."""

from __future__ import annotations

import pytest

from branchline.chat.completion import suggestions
from branchline.conductor import Conductor, Policy
from branchline.flows import ChatCommand, SessionCompactingResult
from branchline.models import OfflineModel
from branchline.plugins import Plugins, hookimpl
from branchline.session import Session
from chat.kit import Talk, drive


class Marks:
    """Adds ``/mark``, which labels the leaf, and ``/back``, which goes to the first prompt."""

    @hookimpl
    def chat_commands(self, event):
        assert {"tree", "quit", "q"} <= set(event.taken)
        return [
            ChatCommand(name="mark", help="Label where you are.", arguments="TEXT", run=self.mark),
            ChatCommand(name="back", help="Go to the first answer.", run=self.back),
            ChatCommand(name="break", run=self.fail),
            ChatCommand(name="odd", run=lambda context, words: 5),
        ]

    def mark(self, context, words):
        context.label(context.session.leaf, words)
        return f"marked as {words}"

    async def back(self, context, words):
        await context.anavigate(context.session.path()[2])

    def fail(self, context, words):
        raise KeyError("no")


def talk_with(project, *plugins: object) -> tuple[Talk, Plugins]:
    talk = Talk(project)
    hooks = Plugins()
    for number, plugin in enumerate(plugins):
        hooks.register(plugin, f"plugin{number}")
    conductor = Conductor(
        Session.create(project),
        OfflineModel(),
        hooks=hooks,
        policy=Policy(retry_delay=0, keep_recent_tokens=0),
    )
    talk.conductor.session.close()
    talk.conductor = talk.chat.conductor = conductor
    return talk, hooks


class Watching(Marks):
    """The same, and it looks on while the context is being summed up."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    @hookimpl
    def session_compacting(self, event, context):
        self.seen.append(f"{event.reason}, {len(context.session.path())} entries")
        return SessionCompactingResult(instructions="Keep the names.")


@pytest.mark.parity("OMP-19")
def test_a_plugin_is_called_while_a_compaction_runs_and_adds_commands(project):
    async def work() -> None:
        plugin = Watching()
        talk, hooks = talk_with(project, plugin)
        async with talk.conductor:
            front = await talk.say("offline: say one", "offline: say two", "/mark here", "/compact")

            assert hooks.problems == []
            assert "marked as here" in front.lines
            assert [seen.partition(",")[0] for seen in plugin.seen] == ["manual"]
            assert len(talk.session.context().messages) < 4

    drive(work)


@pytest.mark.parity("OMP-19")
def test_a_plugin_adds_commands_that_act_on_the_session(project):
    async def work() -> None:
        talk, hooks = talk_with(project, Marks())
        async with talk.conductor:
            front = await talk.say("offline: say one", "offline: say two", "/mark here", "/back")

            assert hooks.problems == []
            assert "marked as here" in front.lines
            assert list(talk.session.labels.values()) == ["here"]
            assert talk.words() == ["offline: say one", "one"]
            await talk.say("offline: say three")
            assert talk.words()[-1] == "three"

    drive(work)


def test_they_are_in_the_help_and_complete(project):
    async def work() -> None:
        talk, _hooks = talk_with(project, Marks())
        async with talk.conductor:
            front = await talk.say("/help", "/help mark")

            assert front.lines[-1].split("  ", 1)[0] == "/mark TEXT"
            assert "Label where you are. (plugin plugin0)" in front.lines[-1]
            assert any(line.startswith("/back [WORDS]") for line in front.lines)
            assert [one.text for one in suggestions(talk.chat, "/ma")] == ["/mark"]

    drive(work)


def test_a_command_that_fails_is_said_with_its_plugin_and_the_chat_goes_on(project):
    async def work() -> None:
        talk, _hooks = talk_with(project, Marks())
        async with talk.conductor:
            front = await talk.say("/break", "/odd", "offline: say still here")

            assert front.remarks[:2] == [
                "/break of the plugin plugin0 failed: 'no'",
                "/odd of the plugin plugin0 returned a int; expected a text or None",
            ]
            assert talk.words()[-1] == "still here"

    drive(work)


class Greedy:
    def __init__(self, answer: object) -> None:
        self.answer = answer

    @hookimpl
    def chat_commands(self):
        return self.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (ChatCommand(name="tree", run=print), "returned a command /tree, which exists already"),
        (ChatCommand(name="mark", run=print), "returned a command /mark, which exists already"),
        (ChatCommand(name="two words", run=print), "which cannot be typed"),
        ([5], "returned a int; chat_commands takes ChatCommand records"),
    ],
)
def test_a_command_that_cannot_be_is_a_problem_of_its_plugin_and_the_others_stay(project, answer, message):
    async def work() -> None:
        talk, hooks = talk_with(project, Greedy(answer), Marks())  # who was added last is asked first
        async with talk.conductor:
            front = await talk.say("offline: say one", "/mark here", "/undo", "/undo")

            (problem,) = hooks.problems
            assert problem.plugin == "plugin0"
            assert message in problem.message
            assert "marked as here" in front.lines
            assert front.given == ["offline: say one"]

    drive(work)
