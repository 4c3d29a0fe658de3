"""Closing the event stream at any time: reported messages are on disk, and the next prompt works."""

import asyncio
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from branchline import Session
from branchline.conductor import Conductor, MessageAppended, TextDelta, ToolStarted
from branchline.entries import AssistantMessage, message_text
from branchline.errors import NotSaved
from branchline.models import OfflineModel, tool
from conductor.kit import Watched, answers, conductor, ended, events_of, into, require_kept, talk, until

PROMPT = 'offline: call count_words {"text": "a b"}\noffline: rounds 2\noffline: say never'


def all_of_a_turn(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            return len(await events_of(talking.send(PROMPT)))

    return talk(work)


def test_whoever_stops_listening_after_any_event_finds_what_was_shown(tmp_path):
    count = all_of_a_turn(tmp_path)
    assert count > 20

    for number in range(count):

        async def work(number=number):
            async with conductor(tmp_path / str(number)) as talking:
                events = talking.send(PROMPT)
                shown, text = [], ""
                for _ in range(number + 1):
                    event = await anext(events)
                    if isinstance(event, MessageAppended):
                        shown.append(event)
                        text = ""
                    elif isinstance(event, TextDelta):
                        text += event.text
                await events.aclose()
                assert not talking.running
                require_kept(talking)
                for event in shown:
                    assert talking.session.entry(event.entry).message == event.message
                if text:
                    assert message_text(answers(talking.session)[-1]).startswith(text)
                end = ended(await events_of(talking.send("offline: say fine")))
                require_kept(talking)
                return end.reason

        assert talk(work) == "stop"


def test_a_listener_that_is_cancelled_while_it_waits_leaves_the_session_whole(tmp_path):
    async def work():
        async with conductor(tmp_path, OfflineModel(delay=0.01)) as talking:
            seen = []

            async def listen():
                await into(seen, talking.send("offline: say one two three four five six seven"))

            task = asyncio.create_task(listen())
            await until(lambda: sum(isinstance(event, TextDelta) for event in seen) >= 3)
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()
            assert not talking.running
            require_kept(talking)
            text = "".join(event.text for event in seen if isinstance(event, TextDelta))
            return message_text(answers(talking.session)[-1]), text, answers(talking.session)[-1].stop_reason

    kept, seen, reason = talk(work)
    assert kept.startswith(seen)
    assert reason == "aborted"


def test_a_second_ctrl_c_does_not_keep_what_was_shown_from_being_put_away(tmp_path):
    class Slow(Watched):
        async def stream(self, request):
            try:
                async for event in super().stream(request):
                    yield event
            finally:
                await asyncio.sleep(0.05)  # a line that takes its time to close

    async def work():
        async with conductor(tmp_path, Slow(OfflineModel(delay=0.001))) as talking:
            seen = []

            async def listen():
                await into(seen, talking.send("offline: say one two three four five six seven"))

            task = asyncio.create_task(listen())
            await until(lambda: sum(isinstance(event, TextDelta) for event in seen) >= 3)
            task.cancel()
            await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()
            kept = answers(talking.session)
            require_kept(talking)
            return [message.stop_reason for message in kept]

    assert talk(work) == ["aborted"]


def test_breaking_out_of_the_loop_is_an_abort(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            async for event in talking.send("offline: say one two three"):
                if isinstance(event, TextDelta):
                    break
            await until(lambda: not talking.running)
            require_kept(talking)
            return answers(talking.session)[-1].stop_reason

    assert talk(work) == "aborted"


def test_closing_the_conversation_ends_a_turn_that_nobody_listens_to(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            events = talking.send("offline: say one two three")
            async for event in events:
                if isinstance(event, TextDelta):
                    break
            file = talking.session.file
            await talking.aclose()
            late = [event async for event in events]
        with Session.open(file) as again:
            return answers(again)[-1].stop_reason, late

    assert talk(work) == ("aborted", [])


def test_whoever_stops_listening_is_told_when_what_was_shown_could_not_be_saved(tmp_path, monkeypatch):
    async def work():
        async with conductor(tmp_path) as talking:
            await events_of(talking.send("hello"))
            events = talking.send("offline: say one two three")
            async for event in events:
                if isinstance(event, TextDelta):
                    break

            def full(_message):
                raise NotSaved("the disk is full")

            monkeypatch.setattr(talking.session, "append_message", full)
            with pytest.raises(NotSaved):
                await events.aclose()
            monkeypatch.undo()
            assert not talking.running
            require_kept(talking)
            return ended(await events_of(talking.send("offline: say fine"))).reason

    assert talk(work) == "stop"


def test_an_abort_may_come_from_another_thread(tmp_path):
    async def work():
        async with conductor(tmp_path, OfflineModel(delay=0.005)) as talking:
            events = []
            async for event in talking.send("offline: say one two three four five six seven eight nine ten"):
                events.append(event)
                if isinstance(event, TextDelta) and event.text == "two ":
                    await asyncio.to_thread(talking.abort)
            return events

    assert ended(talk(work)).reason == "aborted"


def test_a_program_that_ends_in_the_middle_puts_away_what_was_shown(tmp_path):
    seen, files = [], []

    async def work():
        talking = conductor(tmp_path, OfflineModel(delay=0.01))

        async def forgotten():
            async for event in talking.send("offline: say one two three four five six"):
                seen.append(event)
                files[:] = [talking.session]

        task = asyncio.create_task(forgotten())
        await until(lambda: sum(isinstance(event, TextDelta) for event in seen) >= 2)
        return task  # and asyncio.run cancels everything

    talk(work)
    (session,) = files
    (answer,) = answers(session)
    session.close()
    assert message_text(answer).startswith("one two ")
    assert answer.stop_reason == "aborted"


def test_a_program_that_ends_while_a_tool_runs_records_that_it_was_not_finished(tmp_path):
    sessions = []

    async def forever() -> str:
        await asyncio.Event().wait()
        return "never"

    async def work():
        talking = conductor(tmp_path, tools=(tool(forever),))
        sessions.append(talking.session)
        started = asyncio.Event()

        async def forgotten():
            async for event in talking.send("offline: call forever {}"):
                if isinstance(event, ToolStarted):
                    started.set()

        task = asyncio.create_task(forgotten())
        await started.wait()
        return task

    talk(work)
    (session,) = sessions
    texts = [message_text(item.message) for item in session.context().messages]
    session.close()
    assert texts[-1] == "Aborted before it finished."


CHILD = """
import asyncio, sys
from branchline import Conductor, Session
from branchline.conductor import MessageAppended, TextDelta, TurnEnded
from branchline.models import COUNT_WORDS, OfflineModel

async def main():
    session = Session.create("/project", directory=sys.argv[1])
    async with Conductor(session, OfflineModel(delay=0.002), tools=(COUNT_WORDS,)) as talking:
        print("file", session.file, flush=True)
        for number in range(1000):
            async for event in talking.send(f'{number}: count the words of "a b c d e f"'):
                if isinstance(event, MessageAppended):
                    print("shown", event.entry, flush=True)
                elif isinstance(event, TextDelta):
                    print("text", event.text.replace(chr(10), " "), flush=True)

try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def interrupted(directory: Path, after: float, how: signal.Signals) -> tuple[str, list[str], str, bool]:
    """Start a talking program and stop it after a while: its file, what it showed, the text it was showing."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(directory)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert child.stdout is not None
    lines = [child.stdout.readline()]
    asyncio.run(asyncio.sleep(after))
    child.send_signal(how)
    rest, errors = child.communicate(timeout=30)
    lines += rest.splitlines(keepends=True)
    shown, text, gentle = [], "", False
    for line in lines[1:]:
        kind, _, words = line.rstrip("\n").partition(" ")
        if kind == "shown":
            shown.append(words)
            text = ""
        elif kind == "text":
            text += words
        else:
            gentle = kind == "interrupted"
    assert "Traceback" not in errors or how == signal.SIGKILL, errors
    return lines[0].split(maxsplit=1)[1].strip(), shown, text, gentle


@pytest.mark.parametrize("number", range(3))
def test_ctrl_c_at_any_moment_keeps_what_was_shown_and_the_next_prompt_works(tmp_path, number):
    after = random.Random(number).uniform(0.01, 0.4)

    file, shown, text, gentle = interrupted(tmp_path, after, signal.SIGINT)

    assert gentle
    require_found(file, shown, text)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(40))
def test_ctrl_c_at_very_many_moments(tmp_path, number):
    after = random.Random(1000 + number).uniform(0, 0.8)

    file, shown, text, _gentle = interrupted(tmp_path, after, signal.SIGINT)

    require_found(file, shown, text)


def test_a_killed_program_has_lost_no_message_that_was_shown(tmp_path):
    file, shown, _text, gentle = interrupted(tmp_path, 0.25, signal.SIGKILL)

    assert not gentle
    require_found(file, shown, "")


def require_found(file: str, shown: list[str], text: str) -> None:
    if not Path(file).exists():
        assert len(shown) <= 1, "only a prompt without an answer is a draft"
        return

    async def work():
        async with Conductor(Session.open(file), OfflineModel()) as talking:
            for entry in shown:
                assert entry in talking.session
            said = [
                entry.message
                for entry in talking.session.entries()
                if entry.type == "message" and isinstance(entry.message, AssistantMessage)
            ]
            if text.strip():
                assert any(
                    message_text(message).replace("\n", " ").startswith(text.rstrip()) for message in said
                )
            end = ended(await events_of(talking.send("offline: say fine")))
            require_kept(talking)
            return end.reason

    assert talk(work) == "stop"


def test_the_stream_of_the_model_is_closed_when_the_turn_is_aborted(tmp_path):
    closed = []

    class Closing(Watched):
        async def stream(self, request):
            try:
                async for event in super().stream(request):
                    yield event
            finally:
                closed.append(True)

    async def work():
        async with conductor(tmp_path, Closing()) as talking:
            async for event in talking.send("offline: say one two three"):
                if isinstance(event, TextDelta):
                    talking.abort()
                if isinstance(event, MessageAppended) and isinstance(event.message, AssistantMessage):
                    return list(closed)
        return None

    assert talk(work) == [True]
