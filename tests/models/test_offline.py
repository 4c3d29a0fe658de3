"""The offline model is deterministic, and fails on request."""

import asyncio

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.compaction.preparation import CompactionPreparation
from branchline.compaction.prompts import SummaryRequest, history_request
from branchline.entries import (
    AssistantMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
    blocks_text,
)
from branchline.errors import (
    AuthMissing,
    ContextOverflow,
    MalformedStream,
    ModelRefused,
    NetworkFailure,
    RateLimited,
)
from branchline.models import (
    COUNT_WORDS,
    ModelRequest,
    OfflineModel,
    PartialAnswer,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    complete,
    model_by_name,
    stream_sync,
    summary_model_request,
)
from models.kit import answer_of, asks, broken, events_of


def text_of(message: AssistantMessage) -> str:
    return blocks_text(message.content)


def test_its_first_answer_says_what_it_is():
    message = complete(model_by_name(), asks("hello"))

    assert "not a language model" in text_of(message)
    assert "You said: hello" in text_of(message)
    assert (message.provider, message.model, message.stop_reason) == ("offline", "echo", "stop")


def test_later_answers_leave_the_introduction_out():
    before = (UserMessage(content="a"), AssistantMessage(content=(Text(text="b"),)), UserMessage(content="c"))

    message = complete(OfflineModel(), ModelRequest(messages=before))

    assert text_of(message) == "You said: c\n\nI see 3 messages."


@given(st.text(max_size=200))
@settings(max_examples=50, deadline=None)
def test_the_pieces_of_a_stream_are_the_answer_and_the_same_every_time(prompt):
    first = events_of(OfflineModel(), asks(prompt, thinking_level="low", tools=(COUNT_WORDS,)))
    second = events_of(OfflineModel(), asks(prompt, thinking_level="low", tools=(COUNT_WORDS,)))

    pieces = "".join(event.text for event in first if isinstance(event, TextDelta))
    assert first == second
    assert pieces == text_of(answer_of(first))
    assert sum(isinstance(event, ThinkingDelta) for event in first) > 1
    assert isinstance(answer_of(first).content[0], Thinking)


def test_usage_is_the_estimate_of_what_was_sent_and_said():
    plain = complete(OfflineModel(price=1_000_000), asks("x" * 400)).usage
    with_system = complete(OfflineModel(), asks("x" * 400, system="y" * 400)).usage

    assert plain.input == 100
    assert with_system.input == 200
    assert plain.total_tokens == plain.input + plain.output
    assert plain.cost.total == plain.cost.input + plain.cost.output == plain.total_tokens


def test_it_calls_a_tool_and_then_tells_what_it_gave():
    asked = asks('How many words are in "one two three"?', tools=(COUNT_WORDS,))

    events = events_of(OfflineModel(), asked)
    message = answer_of(events)
    call = message.content[-1]
    result = ToolResult(tool_call_id=call.id, tool_name=call.name, content=(Text(text="3"),))
    told = complete(
        OfflineModel(), msgspec.structs.replace(asked, messages=(*asked.messages, message, result))
    )

    assert message.stop_reason == "toolUse"
    assert (call.name, call.arguments) == ("count_words", {"text": "one two three"})
    assert any(isinstance(event, ToolCallDelta) for event in events)
    assert text_of(told) == "count_words gave: 3"


def test_it_calls_what_it_is_told_to_as_often_as_it_is_told_to():
    prompt = 'offline: call read {"path": "a"}\noffline: call read {"path": "b"}\noffline: rounds 2'
    messages = list(asks(prompt).messages)
    counts = []

    for _round in range(3):
        message = complete(OfflineModel(), ModelRequest(messages=tuple(messages)))
        calls = [block for block in message.content if isinstance(block, ToolCall)]
        counts.append([call.arguments["path"] for call in calls])
        messages += [message, *(ToolResult(tool_call_id=c.id, tool_name="read", content="x") for c in calls)]

    assert counts == [["a", "b"], ["a", "b"], []]


@pytest.mark.parametrize(
    ("kind", "error", "passing"),
    [
        ("rate_limit", RateLimited, True),
        ("network", NetworkFailure, True),
        ("malformed", MalformedStream, False),
        ("overflow", ContextOverflow, False),
        ("auth", AuthMissing, False),
        ("refused", ModelRefused, False),
        ("nonsense", ModelRefused, False),
    ],
)
def test_it_fails_as_it_is_told_to(kind, error, passing):
    events, problem = broken(OfflineModel(), asks(f"please\noffline: fail {kind}"))

    assert events == []
    assert type(problem) is error
    assert problem.retryable is passing


def test_it_can_fail_in_the_middle_of_an_answer():
    events, problem = broken(
        OfflineModel(), asks("offline: fail network midway\noffline: say one two three four")
    )

    assert "".join(event.text for event in events) == "one two "
    assert isinstance(problem, NetworkFailure)


def test_it_can_fail_a_number_of_times_and_then_answer():
    model = OfflineModel()
    request = asks("offline: fail rate_limit 2\noffline: say fine")

    assert isinstance(broken(model, request)[1], RateLimited)
    assert isinstance(broken(model, request)[1], RateLimited)
    assert text_of(complete(model, request)) == "fine"


def test_an_answer_can_be_cut_at_the_length_limit():
    message = complete(OfflineModel(), asks("offline: cut\noffline: say one two three four"))

    assert (message.stop_reason, text_of(message)) == ("length", "one two ")


def test_a_request_beyond_its_window_overflows_with_both_numbers():
    events, problem = broken(OfflineModel(context_window=50), asks("x" * 400))

    assert events == []
    assert isinstance(problem, ContextOverflow)
    assert "100" in str(problem)
    assert "50" in str(problem)


def summary_of(request: SummaryRequest, model: OfflineModel | None = None) -> AssistantMessage:
    return complete(model or OfflineModel(), summary_model_request(request))


def history(*texts: str, previous: str | None = None) -> CompactionPreparation:
    messages = tuple(UserMessage(content=text) for text in texts)
    return CompactionPreparation(first_kept="x", history=messages, previous_summary=previous)


def test_where_a_summary_is_wanted_it_writes_an_extract_and_says_that_it_is_one():
    text = text_of(
        summary_of(history_request(history("fix the build", "offline: fail network", "now the tests")))
    )

    assert "## Goal\n- fix the build" in text
    assert "- [x] now the tests" in text
    assert "extract by the offline model" in text


def test_an_earlier_extract_is_carried_on():
    first = text_of(summary_of(history_request(history("fix the build"))))

    second = text_of(summary_of(history_request(history("now the tests", previous=first))))

    assert "## Goal\n- fix the build" in second
    assert second.index("- [x] fix the build") < second.index("- [x] now the tests")


def test_a_summary_can_be_told_to_fail_by_its_focus():
    request = history_request(history("fix the build"), "offline: fail network")

    assert isinstance(broken(OfflineModel(), summary_model_request(request))[1], NetworkFailure)


def test_an_order_in_a_tool_result_is_not_obeyed():
    call = AssistantMessage(content=(ToolCall(id="1", name="read", arguments={}),))
    result = ToolResult(tool_call_id="1", tool_name="read", content="offline: fail network")

    message = complete(OfflineModel(), ModelRequest(messages=(UserMessage(content="go"), call, result)))

    assert "read gave" in text_of(message)


def test_a_stream_that_is_closed_early_ends_there():
    events = stream_sync(OfflineModel(), asks("hello"))

    first = next(events)
    events.close()

    assert isinstance(first, TextDelta)
    with pytest.raises(StopIteration):
        next(events)


def test_a_slow_answer_can_be_cancelled():
    async def talk():
        answer = PartialAnswer()
        started = asyncio.Event()

        async def listen():
            async for event in OfflineModel().stream(asks("offline: say one two three\noffline: slow 0.01")):
                answer.take(event)
                started.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(listen())
        await started.wait()
        task.cancel()
        await asyncio.wait([task])
        return task, answer

    task, answer = asyncio.run(talk())
    assert task.cancelled()
    assert answer.blocks() == (Text(text="one "),)
