"""A complete conversation with a real HTTP server that speaks OpenAI's streaming protocol."""

import pytest

from branchline import Session
from branchline.conductor import Conductor, Policy, RetryScheduled, TextDelta
from branchline.entries import message_text
from branchline.errors import MalformedStream, NetworkFailure
from branchline.models import model_by_name
from conductor.kit import conductor, ended, events_of, require_kept, shown, talk
from models.server import calls, chunk, refuses, says, serving, stream


@pytest.fixture
def server():
    with serving() as server:
        yield server


def test_a_conversation_with_tools_failures_and_an_overflow_goes_over_the_line(server, tmp_path):
    server.will(
        says("Hello", " there"),
        calls("count_words", '{"text":', ' "a b"}'),
        says("two"),
        refuses(429, {"message": "slow down"}, retry_after="0"),
        refuses(503, {"message": "busy"}),
        says("three"),
        refuses(400, {"message": "too long", "code": "context_length_exceeded"}),
        says("a summary of it all"),
        says("and of the turn so far"),
        says("four"),
    )

    async def work():
        model = model_by_name("test-model", base_url=server.url)
        policy = Policy(retry_delay=0, keep_recent_tokens=1)
        async with conductor(tmp_path, model, policy=policy) as talking:
            turns = []
            for prompt in ["one", "two", "three", "four"]:
                turns.append(await events_of(talking.send(prompt)))
                require_kept(talking)
            return turns, talking.usage, talking.session.file

    turns, usage, file = talk(work)
    assert shown(turns[0]) == ["user: one", "assistant: Hello there"]
    assert shown(turns[1])[2:] == ['toolResult: {"words": 2, "lines": 1, "characters": 3}', "assistant: two"]
    assert [type(event.error).__name__ for event in turns[2] if isinstance(event, RetryScheduled)] == [
        "RateLimited",
        "NetworkFailure",
    ]
    assert shown(turns[2])[-1] == "assistant: three"
    assert shown(turns[3])[-1] == "assistant: four"
    assert [ended(events).reason for events in turns] == ["stop"] * 4
    assert usage.all.total.output == 7 * 7
    assert usage.all.total.cache_read == 7 * 40
    assert "a summary of it all" in server.requests[-1]["messages"][0]["content"]
    assert server.requests[2]["messages"][-1]["role"] == "tool"
    with Session.open(file) as again:
        assert again.context().model.provider == "openai-compatible"


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (stream(chunk({"content": "Hal"}), end=False), NetworkFailure),
        (stream(chunk({"content": "Hal"}), b"data: {not json\n\n"), MalformedStream),
    ],
    ids=["dropped", "malformed"],
)
def test_a_stream_that_breaks_off_leaves_its_words_in_the_session(server, tmp_path, reply, error):
    server.will(reply, says("fine"))

    async def work():
        model = model_by_name("test-model", base_url=server.url)
        async with conductor(tmp_path, model, policy=Policy(retries=0)) as talking:
            events = await events_of(talking.send("hello"))
            require_kept(talking)
            then = await events_of(talking.retry())
            require_kept(talking)
            return events, then, [message_text(item.message) for item in talking.context().messages]

    events, then, texts = talk(work)
    assert isinstance(ended(events).error, error)
    assert shown(events) == ["user: hello", "assistant: Hal"]
    assert shown(then) == ["assistant: fine"]
    assert texts == ["hello", "fine"]


def test_an_answer_over_the_line_can_be_aborted_and_the_line_used_again(server, tmp_path):
    pieces = [chunk({"content": f"{number} "}) for number in range(200)]
    server.will(stream(*pieces, end=False), says("fine"))

    async def work():
        model = model_by_name("test-model", base_url=server.url)
        async with conductor(tmp_path, model) as talking:
            events = []
            async for event in talking.send("count"):
                events.append(event)
                if isinstance(event, TextDelta) and event.text == "5 ":
                    talking.abort()
            require_kept(talking)
            return events, await events_of(talking.send("and now?"))

    events, then = talk(work)
    assert ended(events).reason == "aborted"
    assert shown(events)[1].startswith("assistant: 0 1 2 3 4 5 ")
    assert shown(then)[1] == "assistant: fine"


def test_a_conversation_is_resumed_with_a_model_behind_the_same_address(server, tmp_path):
    server.will(says("first"), says("second"))

    def find(reference):
        return model_by_name(f"{reference.provider}:{reference.id}", base_url=server.url)

    async def work():
        async with conductor(tmp_path, model_by_name("test-model", base_url=server.url)) as talking:
            await events_of(talking.send("one"))
            file = talking.session.file
        async with Conductor(Session.open(file), find_model=find) as again:
            events = await events_of(again.send("two"))
            return events, again.session.index.types.count("model_change")

    events, changes = talk(work)
    assert shown(events) == ["user: two", "assistant: second"]
    assert changes == 1
