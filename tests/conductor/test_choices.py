"""Model, thinking level, title, labels and usage: set in a conversation and restored from the path."""

import pytest

from branchline import Session
from branchline.conductor import Conductor
from branchline.context import ModelRef, UsageSum
from branchline.entries import AssistantMessage, Text, Usage
from branchline.errors import AuthMissing
from branchline.models import OfflineModel, model_name
from conductor.kit import (
    Watched,
    bytes_of,
    conductor,
    ended,
    events_of,
    new_session,
    reopened,
    require_kept,
    talk,
)


def test_the_first_prompt_records_which_model_answers(tmp_path):
    async def work():
        async with conductor(tmp_path, OfflineModel("parrot")) as talking:
            await events_of(talking.send("hello"))
            return talking.session.index.types[0], talking.session.context().model

    assert talk(work) == ("model_change", ModelRef(provider="offline", id="parrot"))


@pytest.mark.parity("ZOT-10")
def test_a_change_of_model_or_level_survives_resume(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            await events_of(talking.send("hello"))
            talking.set_model("offline:parrot")
            talking.set_thinking("high")
            await events_of(talking.send("again"))
            file = talking.session.file
        async with Conductor(Session.open(file)) as again:
            return model_name(again.model), again.thinking, again.model_problem

    assert talk(work) == ("offline:parrot", "high", None)


def test_opening_writes_nothing_and_an_unchanged_choice_is_not_recorded_again(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            talking.set_thinking("low")
            await events_of(talking.send("hello"))
            file = talking.session.file
        before = bytes_of(file)
        async with Conductor(Session.open(file), OfflineModel("other")):
            pass
        untouched = bytes_of(file) == before
        async with Conductor(Session.open(file)) as again:
            await events_of(again.send("again"))
            return untouched, again.session.index.types.count("model_change"), again.session.index.types

    untouched, models, types = talk(work)
    assert untouched
    assert models == 1
    assert types.count("thinking_level_change") == 1


def test_the_model_that_is_given_wins_over_the_path_and_is_recorded_with_the_next_prompt(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            await events_of(talking.send("hello"))
            file = talking.session.file
        async with Conductor(Session.open(file), OfflineModel("other")) as again:
            await events_of(again.send("again"))
            return again.session.context().model.id, again.session.index.types.count("model_change")

    assert talk(work) == ("other", 2)


def test_a_model_that_cannot_be_had_here_is_said_and_another_can_be_chosen(tmp_path):
    def find(reference):
        raise AuthMissing(f"{reference.provider} needs a key")

    async def work():
        async with conductor(tmp_path) as talking:
            await events_of(talking.send("hello"))
            file = talking.session.file
        async with Conductor(Session.open(file), find_model=find) as again:
            problem = again.model_problem
            again.set_model(OfflineModel("other"))
            end = ended(await events_of(again.send("again")))
            return problem, again.model_problem, end.reason

    assert talk(work) == ("offline needs a key", None, "stop")


def test_going_to_another_branch_brings_back_its_model_and_its_level(tmp_path):
    async def work():
        one, other = OfflineModel("one"), OfflineModel("other")
        async with conductor(tmp_path, one) as talking:
            first = ended(await events_of(talking.send("hello"))).entry
            talking.set_model(other)
            talking.set_thinking("high")
            second = ended(await events_of(talking.send("again"))).entry
            talking.branch(first)
            back = talking.model is one, talking.thinking
            await talking.navigate(second)
            return back, (talking.model is other, talking.thinking)

    assert talk(work) == ((True, "off"), (True, "high"))


def test_a_level_that_nobody_knows_is_refused_with_those_that_there_are(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            with pytest.raises(ValueError, match="off, minimal, low"):
                talking.set_thinking("hard")

    talk(work)


def test_a_name_and_labels_are_kept(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            end = ended(await events_of(talking.send("hello")))
            talking.set_title("The build")
            talking.label(end.entry, "here")
            require_kept(talking)
            with reopened(talking.session) as again:
                return again.title, again.labels == {end.entry: "here"}, again.leaf == end.entry

    assert talk(work) == ("The build", True, True)


@pytest.mark.parity("ZOT-11")
def test_usage_and_cost_are_told_per_turn_and_add_up_over_all_turns_and_after_resume(tmp_path):
    async def work():
        async with conductor(tmp_path, OfflineModel(price=1_000_000)) as talking:
            turns = [
                ended(await events_of(talking.send(prompt))).usage
                for prompt in ["hello", 'count the words of "a b"', "bye"]
            ]
            total, file = talking.usage.all.total, talking.session.file
            await talking.compact(keep_recent_tokens=0)
            after = talking.usage
            require_kept(talking)
        async with Conductor(Session.open(file)) as again:
            return turns, total, after, again.usage

    turns, total, after, again = talk(work)
    assert all(turn.cost > 0 for turn in turns)
    assert sum(turns, UsageSum()) == total
    assert after == again
    assert again.all.total.cost > total.cost
    assert "tools and summaries" in again.all.models


def test_the_size_of_the_context_is_what_the_last_answer_reported_and_what_came_after(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            empty = talking.context_tokens - talking.request_overhead
            end = ended(await events_of(talking.send("hello")))
            reported = talking.context_tokens
            talking.append_message({"role": "user", "content": "x" * 400})
            return empty, end.usage.total_tokens, reported, talking.context_tokens, talking.context_window

    empty, spent, reported, after, window = talk(work)
    assert empty == 0
    assert reported == spent
    assert after == reported + 100
    assert window == 32_000


@pytest.mark.parametrize("reported", [20_000, 3])
def test_the_size_of_the_context_never_falls_because_of_a_prompt(tmp_path, reported):
    """What another program or model reported, with its own prompt and tools, says nothing about our requests.

    Neither does a server that leaves out of its report what it had in its cache.
    """

    async def work():
        session = new_session(tmp_path)
        session.append_message("word " * 100)
        session.append_message(
            AssistantMessage(
                content=(Text(text="word " * 100),),
                provider="anthropic",
                model="claude-sonnet-5",
                stop_reason="stop",
                usage=Usage(input=reported, output=2, total_tokens=reported + 2),
            )
        )
        async with conductor(session, OfflineModel()) as talking:
            sizes = [talking.context_tokens]
            for _ in range(3):
                await events_of(talking.send("offline: say more"))
                sizes.append(talking.context_tokens)
            return sizes, talking.request_overhead

    sizes, overhead = talk(work)
    assert sizes == sorted(sizes)
    assert overhead > 0  # the tool that every request declares
    assert 250 <= sizes[0] - overhead < 300


def test_the_models_are_closed_with_the_conversation(tmp_path):
    async def work():
        one, other = Watched(OfflineModel("one")), Watched(OfflineModel("other"))
        async with conductor(new_session(tmp_path), one) as talking:
            await events_of(talking.send("hello"))
            talking.set_model(other)
        with pytest.raises(ValueError, match="is closed"):
            talking.session.append_message("too late")
        return one.closed, other.closed

    assert talk(work) == (1, 1)
