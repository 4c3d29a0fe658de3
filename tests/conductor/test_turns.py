"""Prompts and answers: every reported message is on disk, even if the answer fails."""

import asyncio

import pytest

from branchline.conductor import (
    Conductor,
    MessageAppended,
    Policy,
    RetryScheduled,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolStarted,
    TurnEnded,
)
from branchline.context import NO_RESULT, close_tool_calls
from branchline.entries import AssistantMessage, Image, Text, ToolCall, ToolResult, UserMessage, message_text
from branchline.errors import ModelRefused, NetworkFailure, NotSaved, RateLimited, UnknownModel
from branchline.models import OfflineModel, request_for, tool
from branchline.views.entry_rows import row_text
from conductor.kit import (
    QUICK,
    Watched,
    answers,
    conductor,
    ended,
    events_of,
    into,
    new_session,
    reopened,
    request_from_disk,
    require_kept,
    shown,
    talk,
)


def test_a_message_is_on_disk_when_it_is_shown(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            checked = 0
            async for event in talking.send('count the words of "a b c"'):
                if isinstance(event, MessageAppended):
                    with reopened(talking.session) as again:
                        assert again.entry(event.entry).message == event.message
                        assert again.leaf == event.entry
                    checked += 1
            return checked

    assert talk(work) == 4  # prompt, call, result, answer


def test_the_prompt_is_on_disk_before_the_model_is_asked(tmp_path):
    async def work():
        session = new_session(tmp_path)
        seen = []

        def look(request):
            with reopened(session) as again:
                seen.append([message_text(item.message) for item in again.context().messages])
            assert request == request_from_disk(session, tools=talking.tools)

        async with conductor(session, Watched(look=look)) as talking:
            await events_of(talking.send("hello"))
            return seen

    assert talk(work) == [["hello"]]


def test_the_pieces_come_first_and_then_the_whole_message(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            talking.set_thinking("high")
            events = await events_of(talking.send("hello"))
            require_kept(talking)
            return events

    events = talk(work)
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    thought = "".join(event.text for event in events if isinstance(event, ThinkingDelta))
    answer = [event.message for event in events if isinstance(event, MessageAppended)][-1]
    assert message_text(answer) == text
    assert answer.content[0].thinking == thought
    assert answer.thinking_level == "high"
    assert ended(events).reason == "stop"


def test_a_prompt_may_have_pictures(tmp_path):
    async def work():
        model = Watched()
        async with conductor(tmp_path, model) as talking:
            await events_of(talking.send((Text(text="look"), Image(data="aGk=", mime_type="image/png"))))
            return model.requests

    (request,) = talk(work)
    assert request.messages[0].content == (Text(text="look"), Image(data="aGk=", mime_type="image/png"))


def test_tools_are_called_and_their_results_go_back(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            events = await events_of(talking.send('count the words of "a b c"'))
            require_kept(talking)
            return events

    events = talk(work)
    assert shown(events)[0] == 'user: count the words of "a b c"'
    assert shown(events)[2] == 'toolResult: {"words": 3, "lines": 1, "characters": 5}'
    assert shown(events)[3].startswith('assistant: count_words gave: {"words": 3')
    assert [type(event) for event in events].count(ToolStarted) == 1
    assert any(isinstance(event, ToolCallDelta) for event in events)


def test_a_tool_that_fails_or_does_not_exist_is_a_result_and_the_turn_goes_on(tmp_path):
    def explode() -> str:
        raise RuntimeError("bang")

    async def work():
        async with conductor(tmp_path, tools=(tool(explode),)) as talking:
            return await events_of(talking.send("offline: call explode {}\noffline: call missing {}"))

    events = talk(work)
    results = [event.message for event in events if isinstance(event, MessageAppended)][2:4]
    assert [message.is_error for message in results] == [True, True]
    assert [message_text(message) for message in results] == [
        "RuntimeError: bang",
        "Unknown tool: missing.",
    ]
    assert ended(events).reason == "stop"


def test_tools_may_not_go_on_for_ever(tmp_path):
    async def work():
        policy = Policy(max_rounds=3)
        async with conductor(tmp_path, policy=policy) as talking:
            first = await events_of(
                talking.send('offline: call count_words {"text": "a"}\noffline: rounds 99')
            )
            then = await events_of(talking.send("offline: say enough"))
            require_kept(talking)
            return first, then

    first, then = talk(work)
    assert ended(first).reason == "rounds"
    assert sum(isinstance(event, ToolStarted) for event in first) == 3
    assert ended(then).reason == "stop"


def test_what_is_steered_is_heard_between_two_rounds_of_tools(tmp_path):
    async def work():
        model = Watched()
        async with conductor(tmp_path, model) as talking:
            events = []
            async for event in talking.send('offline: call count_words {"text": "a"}\noffline: rounds 5'):
                events.append(event)
                if isinstance(event, ToolStarted):
                    talking.steer("offline: say changed my mind")
            require_kept(talking)
            return events, model.requests

    events, requests = talk(work)
    assert [line.partition(":")[0] for line in shown(events)] == [
        "user",
        "assistant",
        "toolResult",
        "user",
        "assistant",
    ]
    assert shown(events)[3:] == ["user: offline: say changed my mind", "assistant: changed my mind"]
    assert len(requests) == 2
    assert ended(events).unsent == ()


def test_what_is_steered_while_it_answers_is_said_after_the_answer(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            events = []
            async for event in talking.send("offline: say one two"):
                events.append(event)
                if isinstance(event, TextDelta) and event.text == "one ":
                    talking.steer("offline: say three")
            return events

    assert shown(talk(work))[1:] == ["assistant: one two", "user: offline: say three", "assistant: three"]


def test_what_is_steered_too_late_is_given_back(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            events = []
            async for event in talking.send("offline: say one two three"):
                events.append(event)
                if isinstance(event, TextDelta) and event.text == "one ":
                    talking.steer("wait")
                    talking.abort()
            return events

    assert ended(talk(work)).unsent == ("wait",)


def test_everything_that_is_steered_is_said_in_its_order(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            events = []
            async for event in talking.send("offline: say one two"):
                events.append(event)
                if isinstance(event, TextDelta) and event.text == "one ":
                    talking.steer("first")
                    talking.steer("offline: say second")
            return events

    assert shown(talk(work))[2:] == ["user: first", "user: offline: say second", "assistant: second"]


def test_only_something_that_runs_can_be_steered(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            async for event in talking.send("hello"):
                if isinstance(event, TurnEnded):
                    with pytest.raises(RuntimeError, match="no turn is running"):
                        talking.steer("too late")
            assert talking.abort() is False
            with pytest.raises(RuntimeError, match="no turn is running"):
                talking.steer("hello")

    talk(work)


def test_an_abort_keeps_what_was_shown_and_the_next_prompt_works(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            seen, events = "", []
            async for event in talking.send("offline: say one two three four five"):
                events.append(event)
                if isinstance(event, TextDelta):
                    seen += event.text
                    if event.text == "three ":
                        talking.abort()
            require_kept(talking)
            assert not talking.running
            then = await events_of(talking.send("offline: say go on"))
            require_kept(talking)
            return seen, events, then

    seen, events, then = talk(work)
    partial = [event.message for event in events if isinstance(event, MessageAppended)][-1]
    assert message_text(partial) == seen
    assert (partial.stop_reason, partial.error_message) == ("aborted", "Aborted.")
    assert ended(events).reason == "aborted"
    assert shown(then) == ["user: offline: say go on", "assistant: go on"]


def test_a_tool_that_is_aborted_says_so_and_the_others_are_not_begun(tmp_path):
    async def forever() -> str:
        await asyncio.Event().wait()
        return "never"

    async def work():
        async with conductor(tmp_path, tools=(tool(forever),)) as talking:
            events = []
            async for event in talking.send("offline: call forever {}\noffline: call forever {}"):
                events.append(event)
                if isinstance(event, ToolStarted):
                    talking.abort()
            require_kept(talking)
            request = request_for(talking.context())
            then = await events_of(talking.send("offline: say fine"))
            return events, request, then

    events, request, then = talk(work)
    assert shown(events)[2:] == ["toolResult: Aborted before it finished."]
    assert ended(events).reason == "aborted"
    assert [message_text(message) for message in request.messages if isinstance(message, ToolResult)] == [
        "Aborted before it finished.",
        NO_RESULT,
    ]
    assert ended(then).reason == "stop"


@pytest.mark.parametrize("midway", ["", " midway"])
@pytest.mark.parametrize("kind", ["rate_limit", "network", "malformed", "auth", "refused"])
def test_whatever_fails_what_was_shown_is_kept_and_the_next_prompt_works(tmp_path, kind, midway):
    async def work():
        async with conductor(tmp_path, policy=Policy(retries=0)) as talking:
            await events_of(talking.send("hello"))
            events = await events_of(
                talking.send(f"offline: fail {kind}{midway}\noffline: say one two three four")
            )
            require_kept(talking)
            then = await events_of(talking.send("offline: say fine"))
            require_kept(talking)
            return events, then

    events, then = talk(work)
    seen = "".join(event.text for event in events if isinstance(event, TextDelta))
    failed = [event.message for event in events if isinstance(event, MessageAppended)][-1]
    assert seen == ("one two " if midway else "")
    assert message_text(failed) == seen
    assert failed.stop_reason == "error"
    assert failed.error_message == str(ended(events).error)
    assert ended(events).reason == "error"
    assert ended(then).reason == "stop"


@pytest.mark.parity("OPR-15")
def test_a_failure_that_passes_is_tried_again_and_leaves_the_context_but_not_the_tree(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            events = await events_of(talking.send("offline: fail rate_limit 2 midway\noffline: say one two"))
            require_kept(talking)
            session = talking.session
            prompt = next(event.entry for event in events if isinstance(event, MessageAppended))
            return events, answers(session), [session.entry(key).message for key in session.children(prompt)]

    events, said, tried = talk(work)
    waits = [event for event in events if isinstance(event, RetryScheduled)]
    assert [(event.attempt, event.attempts) for event in waits] == [(1, 4), (2, 4)]
    assert all(isinstance(event.error, RateLimited) for event in waits)
    assert [message_text(message) for message in said] == ["one two"]
    assert [(message_text(message), message.stop_reason) for message in tried] == [
        ("one ", "error"),
        ("one ", "error"),
        ("one two", "stop"),
    ]
    assert ended(events).reason == "stop"


def test_a_failure_that_does_not_pass_is_given_up_after_the_last_retry(tmp_path):
    async def work():
        model = Watched()
        async with conductor(tmp_path, model, policy=Policy(retries=2, retry_delay=0)) as talking:
            events = await events_of(talking.send("offline: fail network"))
            return events, model.requests

    events, requests = talk(work)
    assert len(requests) == 3
    assert requests[0] == requests[1] == requests[2]
    assert isinstance(ended(events).error, NetworkFailure)


@pytest.mark.parametrize("prompt", ["offline: fail network", "offline: fail network 3\noffline: say at last"])
def test_a_connection_that_fails_again_and_again_is_one_entry_in_the_tree(tmp_path, prompt):
    """Beside the answer if one comes at last, else at the end of the path; nobody said it."""

    async def work():
        async with conductor(tmp_path) as talking:
            events = await events_of(talking.send(prompt))
            require_kept(talking)
            session = talking.session
            said = next(event.entry for event in events if isinstance(event, MessageAppended))
            tried = [session.entry(key).message for key in session.children(said)]
            texts = [row_text(session.entry(key)) for key in session.children(said)]
            again = ended(await events_of(talking.retry()))
            return events, tried, texts, answers(session), again

    events, tried, texts, _said, again = talk(work)
    failed, *others = tried
    assert sum(isinstance(event, RetryScheduled) for event in events) == 3
    assert (failed.content, failed.stop_reason) == ((), "error")
    assert texts[0].startswith("error: ")
    if "at last" in prompt:
        assert [message_text(message) for message in others] == ["at last"]
        assert again.reason == "stop"
    else:
        assert others == []
        assert ended(events).reason == again.reason == "error"


def test_a_failure_that_never_passes_is_not_tried_again(tmp_path):
    async def work():
        model = Watched()
        async with conductor(tmp_path, model) as talking:
            events = await events_of(talking.send("offline: fail refused"))
            return events, model.requests

    events, requests = talk(work)
    assert len(requests) == 1
    assert isinstance(ended(events).error, ModelRefused)


def test_waiting_for_another_try_can_be_aborted(tmp_path):
    async def work():
        async with conductor(tmp_path, policy=Policy(retry_delay=50)) as talking:
            events = []
            async for event in talking.send("offline: fail network"):
                events.append(event)
                if isinstance(event, RetryScheduled):
                    talking.abort()
            require_kept(talking)
            return events

    events = talk(work)
    assert ended(events).reason == "aborted"
    assert isinstance(ended(events).error, NetworkFailure)


@pytest.mark.parametrize(
    ("error", "attempt", "delay"),
    [
        (NetworkFailure("x"), 1, 2),
        (NetworkFailure("x"), 2, 4),
        (NetworkFailure("x"), 3, 8),
        (NetworkFailure("x"), 4, None),
        (RateLimited("x", retry_after=7), 1, 7),
        (RateLimited("x", retry_after=700), 1, None),
        (ModelRefused("x"), 1, None),
    ],
)
def test_how_long_is_waited_is_what_the_provider_says_or_twice_as_long_each_time(error, attempt, delay):
    assert Policy().delay(error, attempt) == delay


@pytest.mark.parity("OPR-15")
def test_retry_takes_the_failed_answer_out_of_the_context_and_keeps_its_record(tmp_path):
    async def work():
        model = Watched()
        policy = Policy(retries=0)
        async with conductor(tmp_path, model, policy=policy) as talking:
            failed = await events_of(talking.send("offline: fail malformed 1 midway\noffline: say one two"))
            events = await events_of(talking.retry())
            require_kept(talking)
            session = talking.session
            prompt = session.index.parent(ended(failed).entry)
            return events, ended(failed).entry, session.path(), session.children(prompt), model.requests

    events, failed, path, children, requests = talk(work)
    assert shown(events) == ["assistant: one two"]
    assert failed not in path
    assert children == [failed, ended(events).entry]
    assert requests[0] == requests[1]


def test_retry_of_a_good_answer_gives_another_one_beside_it(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            first = await events_of(talking.send("hello"))
            second = await events_of(talking.retry())
            return talking.session.children(talking.session.index.parent(ended(first).entry)), first, second

    children, first, second = talk(work)
    assert children == [ended(first).entry, ended(second).entry]


def test_retry_after_a_crash_answers_the_prompt_that_is_there(tmp_path):
    async def work():
        session = new_session(tmp_path)
        session.append_message("offline: say here")
        async with conductor(session) as talking:
            return await events_of(talking.retry())

    assert shown(talk(work)) == ["assistant: here"]


def test_there_is_nothing_to_retry_before_the_first_prompt(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            with pytest.raises(ValueError, match="no messages yet"):
                await events_of(talking.retry())
            assert not talking.running
            assert ended(await events_of(talking.send("hello"))).reason == "stop"

    talk(work)


def test_only_one_thing_goes_on_at_a_time(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            async for event in talking.send("hello"):
                assert talking.running
                if isinstance(event, TextDelta):
                    with pytest.raises(RuntimeError, match="abort it first"):
                        await anext(talking.send("again"))
                    with pytest.raises(RuntimeError, match="abort it first"):
                        await talking.compact()
                    with pytest.raises(RuntimeError, match="abort it first"):
                        talking.branch(talking.session.leaf)
                    with pytest.raises(RuntimeError, match="abort it first"):
                        talking.set_model("offline:other")
            assert not talking.running
            require_kept(talking)

    talk(work)


def test_without_a_model_nothing_is_written(tmp_path):
    async def work():
        session = new_session(tmp_path, persist="at_once")
        async with Conductor(session) as talking:
            with pytest.raises(UnknownModel, match="choose one"):
                await events_of(talking.send("hello"))
            return len(session)

    assert talk(work) == 0


def test_asking_waits_for_the_answer_or_raises(tmp_path):
    async def work():
        async with conductor(tmp_path, policy=Policy(retries=0)) as talking:
            answer = await talking.ask("offline: say yes")
            with pytest.raises(NetworkFailure):
                await talking.ask("offline: fail network")
            return answer

    assert message_text(talk(work)) == "yes"


def test_a_message_of_another_kind_can_be_put_into_the_conversation(tmp_path):
    async def work():
        model = Watched()
        async with conductor(tmp_path, model) as talking:
            talking.append_message(
                {"role": "bashExecution", "command": "ls", "output": "a.txt", "exitCode": 0}
            )
            await events_of(talking.send("what is there?"))
            return model.requests[0].messages

    first, _second = talk(work)
    assert "Ran `ls`" in message_text(first)


def test_the_system_prompt_is_sent_and_not_stored(tmp_path):
    async def work():
        model = Watched()
        async with conductor(tmp_path, model, policy=Policy(system_prompt="be brief")) as talking:
            await events_of(talking.send("hello"))
            return model.requests[0], talking.session.index.roles

    request, roles = talk(work)
    assert request.system == "be brief"
    assert "system" not in roles


def test_what_cannot_be_saved_is_raised_and_said_to_nobody(tmp_path, monkeypatch):
    async def work():
        async with conductor(tmp_path) as talking:
            await events_of(talking.send("hello"))
            session, real = talking.session, talking.session.append_message

            def full(message):
                if isinstance(message, AssistantMessage):
                    raise NotSaved("the disk is full")
                return real(message)

            monkeypatch.setattr(session, "append_message", full)
            events = []
            with pytest.raises(NotSaved):
                await into(events, talking.send("offline: say lost"))
            monkeypatch.undo()
            require_kept(talking)
            then = await events_of(talking.send("offline: say fine"))
            require_kept(talking)
            return events, then

    events, then = talk(work)
    assert shown(events) == ["user: offline: say lost"]
    assert not any(isinstance(event, TurnEnded) for event in events)
    assert ended(then).reason == "stop"


def test_a_session_appears_with_its_first_answer_and_its_draft_is_kept_before(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            return [
                (type(event.message), talking.session.is_draft)
                async for event in talking.send("hello")
                if isinstance(event, MessageAppended)
            ]

    assert talk(work) == [(UserMessage, True), (AssistantMessage, False)]


def test_every_call_in_a_request_has_its_answer(tmp_path):
    async def work():
        model = Watched()
        async with conductor(tmp_path, model) as talking:
            async for event in talking.send("offline: call count_words {}\noffline: call count_words {}"):
                if isinstance(event, ToolStarted):
                    talking.abort()
            await events_of(talking.send("and now?"))
            return model.requests[-1]

    request = talk(work)
    assert close_tool_calls(request.messages) == list(request.messages)
    assert any(isinstance(block, ToolCall) for block in request.messages[1].content)


def test_a_model_with_a_bug_does_not_take_the_conversation_with_it(tmp_path):
    class Buggy(Watched):
        async def stream(self, request):
            async for event in super().stream(request):
                yield event
                raise KeyError("oops")

    async def work():
        async with conductor(tmp_path, Buggy()) as talking:
            events = []
            with pytest.raises(KeyError):
                await into(events, talking.send("offline: say one two three"))
            require_kept(talking)
            kept = answers(talking.session)
            talking.set_model(OfflineModel("other"))
            then = await events_of(talking.send("offline: say fine"))
            return kept, then

    kept, then = talk(work)
    assert [(message_text(message), message.stop_reason) for message in kept] == [("one ", "error")]
    assert ended(then).reason == "stop"
    assert QUICK.retries == 3
