"""What a line does: it goes to the model, to the shell, or is a command; and nothing ends the chat."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from branchline import Session
from branchline.chat import COMMANDS
from branchline.chat.notices import event_problem
from branchline.chat.shell import MAX_OUTPUT
from branchline.conductor import MessageAppended, RetryScheduled, TextDelta
from branchline.entries import BashExecution
from branchline.errors import NetworkFailure
from branchline.models import OfflineModel
from chat.kit import Talk, drive


def test_what_was_said_and_answered_is_in_the_file(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            front = await talk.say("offline: say blue")

            assert front.written == "blue"
            assert talk.words() == ["offline: say blue", "blue"]

    drive(work)


def test_lines_are_read_until_the_person_leaves(project):
    async def work() -> None:
        talk = Talk(project)
        talk.front.to_read.extend(["offline: say one", "", "   ", "/quit", "offline: say two"])
        async with talk.conductor:
            await talk.chat.run()

            assert talk.words() == ["offline: say one", "one"]
            assert list(talk.front.to_read) == ["offline: say two"]

    drive(work)


@pytest.mark.parametrize(
    ("line", "near"),
    [
        ("/tre", "/tree"),
        ("/lable x", "/label"),
        ("/sesions", "/sessions"),
        ("/zzz", "/help"),
    ],
)
def test_an_unknown_command_is_answered_with_the_nearest_ones(project, line, near):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            front = await talk.say(line)

            assert near in front.remarks[-1]
            assert len(talk.session) == 0

    drive(work)


@pytest.mark.parametrize("line", ["/usr/bin/env is missing", " /tree", " !important"])
def test_a_path_and_whatever_has_a_blank_in_front_goes_to_the_model(project, line):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            await talk.say(line)

            assert talk.words()[0] == line.strip()

    drive(work)


def test_the_help_has_every_command_and_its_arguments(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            front = await talk.say("/help")
            for command in COMMANDS:
                assert any(
                    line.startswith(f"/{command.name} ")
                    and command.arguments in line
                    and command.help in line
                    for line in front.lines
                )

            front.lines.clear()
            await talk.say("/help label")
            assert len(front.lines) == 1

    drive(work)


def test_commands_have_names_of_their_own_and_a_sentence_each():
    names = [name for command in COMMANDS for name in (command.name, *command.aliases)]

    assert len(names) == len(set(names))
    assert all(command.help.endswith(".") and command.help[0].isupper() for command in COMMANDS)


def test_a_command_that_takes_no_words_says_that_they_were_left_out(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            front = await talk.say("/undo now")

            assert front.remarks[0] == "/undo takes no argument; 'now' was ignored"

    drive(work)


# -- the shell --------------------------------------------------------------------------------------------


def bash(session: Session) -> BashExecution:
    message = session.entry(session.leaf).message
    assert isinstance(message, BashExecution)
    return message


def test_a_shell_command_is_shown_to_the_model_and_a_double_one_is_not(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            front = await talk.say("!echo open; exit 3", "!!echo secret; pwd >&2", "what do you see?")

            assert front.lines == ["open", "secret", os.path.realpath(project)]
            assert front.remarks == ["exit code 3", "exit code 0, not shown to the model"]
            assert "I see 2 messages" in front.written
            done = [
                entry.message
                for entry in talk.session.entries()
                if isinstance(getattr(entry, "message", None), BashExecution)
            ]
            assert [(one.output, one.exit_code, one.exclude_from_context) for one in done] == [
                ("open\n", 3, None),
                (f"secret\n{os.path.realpath(project)}\n", 0, True),
            ]

    drive(work)


def test_of_a_long_output_the_end_is_kept(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            front = await talk.say("!seq 100000")

            assert bash(talk.session).truncated is True
            assert len(bash(talk.session).output) == MAX_OUTPUT
            assert bash(talk.session).output.endswith("\n100000\n")
            assert len(front.lines) == 100_000
            assert "only the end" in front.remarks[-1]

    drive(work)


def test_a_shell_command_can_be_stopped_with_all_that_it_started(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            running = asyncio.create_task(talk.say("!echo begun; sleep 77 & echo $! > pid; wait"))
            while not Path("pid").exists() or not Path("pid").read_text().strip():  # noqa: ASYNC110
                await asyncio.sleep(0.01)

            assert talk.chat.interrupt()
            front = await running

            assert front.remarks == ["stopped"]
            assert (bash(talk.session).cancelled, bash(talk.session).exit_code) == (True, None)
            await gone(int(Path("pid").read_text()))

    drive(work)


async def gone(process: int) -> None:
    """Wait until a process has ended."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return
        if "\nState:\tZ" in Path(f"/proc/{process}/status").read_text():
            return  # ended, and nobody has asked how
        await asyncio.sleep(0.01)
    raise AssertionError(f"{process} goes on")


def test_only_the_marks_of_a_shell_command_explain_them(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            front = await talk.say("!", "!!")

            assert len(front.remarks) == 2
            assert len(talk.session) == 0

    drive(work)


# -- what goes wrong --------------------------------------------------------------------------------------


def test_an_interrupt_keeps_what_came_marks_it_and_the_next_prompt_works(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:

            def stop(event: object) -> None:
                if isinstance(event, TextDelta) and event.text == "two ":
                    assert talk.chat.interrupt()

            talk.front.when_heard = stop
            front = await talk.say("offline: say one two three four")

            partial = talk.session.entry(talk.session.leaf).message
            assert partial.stop_reason == "aborted"
            assert talk.words()[-1].startswith("one two ")
            assert talk.words()[-1] == front.written
            assert front.remarks[-1] == "aborted; partial output was saved"
            assert not talk.chat.interrupt()

            talk.front.when_heard = None
            await talk.say("offline: say again")
            assert talk.words()[-1] == "again"

    drive(work)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("network", "told to drop the connection"),
        ("rate_limit", "told to report a rate limit"),
        ("malformed", "told to send something that is not an answer"),
        ("overflow", "the context was compacted"),
        ("auth", "told to refuse the key"),
        ("refused", "told to refuse this request"),
    ],
)
def test_whatever_fails_is_said_and_the_next_prompt_works(project, kind, said):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            front = await talk.say(f"offline: fail {kind} midway")
            assert said in front.remarks[-1]

            await talk.say("offline: say fine")

            assert talk.words()[-1] == "fine"

    drive(work)


def test_a_prompt_that_could_not_be_saved_is_given_back(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            await talk.say("hello")
            os.unlink(talk.session.file)

            front = await talk.say("long and precious")

            assert front.given == ["long and precious"]
            assert front.remarks

    drive(work)


def test_a_file_that_somebody_cut_off_can_be_left_for_a_fresh_session(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            await talk.say("hello")
            os.truncate(talk.session.file, 100)

            front = await talk.say("precious", "/new", "offline: say fine")

            assert front.given == ["precious"]
            assert talk.words() == ["offline: say fine", "fine"]

    drive(work)


def test_what_is_shown_is_on_disk(project):
    async def work() -> None:
        talk = Talk(project)

        def look(event: object) -> None:
            if isinstance(event, MessageAppended) and not talk.session.is_draft:
                with Session.open(talk.session.file) as read:
                    assert event.entry in read

        talk.front.when_heard = look
        async with talk.conductor:
            await talk.say("hello", 'offline: call count_words {"text": "a b"}', "bye")
            assert not talk.session.is_draft

    drive(work)


def test_two_chats_on_one_session_go_on_as_branches_and_each_is_told(project):
    async def work() -> None:
        one = Talk(project)
        async with one.conductor:
            await one.say("offline: say begin")
            two = Talk(project, session=Session.open(one.session.file))
            async with two.conductor:
                await two.say("offline: say from two")
                await one.say("offline: say from one")
                await two.say("offline: say two again")

                assert "another writer appended" in one.front.remarks[-1]
                assert "another writer appended" in two.front.remarks[-1]
                assert [words for words in two.words() if "offline" not in words][-2:] == [
                    "from two",
                    "two again",
                ]
                with Session.open(one.session.file) as read:
                    begin = one.session.children(one.prompt("offline: say begin"))[0]
                    assert len(read.children(begin)) == 2

    drive(work)


def test_a_model_that_the_path_names_and_nobody_has_is_said_and_the_old_one_answers(project):
    async def work() -> None:
        other = Session.create(project)
        other.append_message("hi")
        other.append_message(
            {
                "role": "assistant",
                "content": [{"type": "text", "text": "yes"}],
                "provider": "nobody",
                "model": "x",
            }
        )
        other.append_model_change("nobody", "x")
        other.close()
        talk = Talk(project)
        async with talk.conductor:
            front = await talk.say(f"/resume {other.file}", "offline: say here")

            assert any("is unavailable" in remark for remark in front.remarks)
            assert talk.words()[-1] == "here"

    drive(work)


def test_the_offline_model_has_a_tool_to_show(project):
    async def work() -> None:
        talk = Talk(project, model=OfflineModel())
        async with talk.conductor:
            front = await talk.say('How many words are in "one two three"?')

            assert '"words": 3' in front.written

    drive(work)


def test_what_is_said_while_the_model_works_is_heard_after_its_answer(project):
    async def work() -> None:
        talk = Talk(project)

        def steer(event: object) -> None:
            if isinstance(event, TextDelta) and event.text == "one ":
                assert talk.chat.steer("offline: say steered")
                assert not talk.chat.steer("/fork --native")
                assert not talk.chat.steer("!touch file")

        talk.front.when_heard = steer
        async with talk.conductor:
            assert not talk.chat.steer("too early")
            await talk.say("offline: say one two")

            assert talk.words() == ["offline: say one two", "one two", "offline: say steered", "steered"]
            assert not talk.chat.steer("too late")
            assert talk.front.given == []

    drive(work)


def test_a_retry_says_which_of_how_many_it_is():
    error = NetworkFailure("test-model answered with error 500: oops")

    said = [
        event_problem(RetryScheduled(error=error, attempt=number, attempts=4, delay=2.0))
        for number in (1, 2, 3)
    ]

    assert said == [
        f"retry {number} of 3 in 2 s: test-model answered with error 500: oops" for number in (1, 2, 3)
    ]
