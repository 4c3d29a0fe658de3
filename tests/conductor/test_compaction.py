"""Automatic compaction: before the window is full, after an overflow, and when it fails."""

import pytest

from branchline.conductor import (
    CompactionFailed,
    CompactionStarted,
    ContextCompacted,
    MessageAppended,
    Policy,
    SummaryDelta,
)
from branchline.entries import AssistantMessage, message_text
from branchline.errors import ContextOverflow, NothingToCompact, SummaryFailed
from branchline.flows import Cancel, SessionBeforeCompactResult
from branchline.models import OfflineModel
from branchline.plugins import Plugins, hookimpl
from conductor.kit import Watched, conductor, ended, events_of, require_kept, talk

SMALL = OfflineModel("small", context_window=2000)
LONG = "word " * 320  # 400 tokens
TIGHT = Policy(retry_delay=0, reserve_tokens=500, keep_recent_tokens=300)


def kinds(events):
    wanted = CompactionStarted | CompactionFailed | ContextCompacted
    return [(type(event).__name__, event.reason) for event in events if isinstance(event, wanted)]


def test_a_context_that_fills_its_window_is_compacted_before_the_next_request(tmp_path):
    async def work():
        model = Watched(SMALL)
        async with conductor(tmp_path, model, policy=TIGHT, tools=()) as talking:
            turns = []
            for number in range(8):
                turns.append(await events_of(talking.send(f"{LONG}\noffline: say answer {number}")))
                require_kept(talking)
            return (
                turns,
                model.requests,
                talking.session.index.types.count("compaction"),
                len(talking.session),
            )

    turns, requests, compactions, size = talk(work)
    assert all(ended(events).reason == "stop" for events in turns)
    assert compactions >= 2
    flat = [event for events in turns for event in events]
    assert (
        kinds(flat) == [("CompactionStarted", "threshold"), ("ContextCompacted", "threshold")] * compactions
    )
    assert any(isinstance(event, SummaryDelta) for event in flat)
    prompts = [request for request in requests if not request.system]
    assert all("condensed" in message_text(request.messages[0]) for request in prompts[-2:])
    assert size == 1 + 16 + compactions, "nothing is removed"


def test_a_plugin_may_say_something_right_after_a_compaction(tmp_path):
    class Remarks:
        @hookimpl
        def session_compact(self, event, context):
            context.append_message("remark", f"compacted because of {event.reason}")

    async def work():
        plugins = Plugins()
        plugins.register(Remarks(), "remarks")
        async with conductor(tmp_path, SMALL, policy=TIGHT, tools=(), hooks=plugins) as talking:
            turns = [await events_of(talking.send(f"{LONG}\noffline: say {number}")) for number in range(4)]
            require_kept(talking)
            texts = [message_text(item.message) for item in talking.context().messages]
            spent = sum(ended(events).usage.total_tokens for events in turns)
            return turns, texts, spent, talking.usage.all.total.total_tokens

    turns, texts, spent, total = talk(work)
    assert all(ended(events).reason == "stop" for events in turns)
    assert ("ContextCompacted", "threshold") in kinds([event for events in turns for event in events])
    assert "compacted because of threshold" in texts
    assert spent == total


def test_what_was_spent_on_the_summary_belongs_to_the_turn(tmp_path):
    async def work():
        async with conductor(tmp_path, SMALL, policy=TIGHT, tools=()) as talking:
            spent = [ended(await events_of(talking.send(LONG))).usage for _ in range(5)]
            return sum(usage.total_tokens for usage in spent), talking.usage.all.total.total_tokens

    told, total = talk(work)
    assert told == total


@pytest.mark.parametrize("midway", ["", " midway"])
def test_an_overflow_is_compacted_away_once_and_tried_once_more(tmp_path, midway):
    async def work():
        policy = Policy(auto_compact=False, keep_recent_tokens=20)
        model = Watched()
        async with conductor(tmp_path, model, policy=policy) as talking:
            await events_of(talking.send("first"))
            events = await events_of(
                talking.send(f"offline: fail overflow 1{midway}\noffline: say fine then")
            )
            require_kept(talking)
            texts = [message_text(item.message) for item in talking.context().messages]
            return events, texts, talking.session.index.roles.count("assistant"), model.requests

    events, texts, said, requests = talk(work)
    assert kinds(events) == [("CompactionStarted", "overflow"), ("ContextCompacted", "overflow")]
    assert ended(events).reason == "stop"
    assert texts[-1] == "fine then"
    assert said == 3, "the record of the failed attempt stays"
    assert "fine " not in texts
    assert "condensed" in message_text(requests[-1].messages[0])


def test_an_abort_right_after_the_compaction_of_an_overflow_stops_the_second_attempt(tmp_path):
    async def work():
        class Interrupts:
            @hookimpl
            def session_compact(self, event, context):
                talking.abort("Escape")

        plugins = Plugins()
        plugins.register(Interrupts(), "interrupts")
        model = Watched()
        policy = Policy(auto_compact=False, keep_recent_tokens=20)
        async with conductor(tmp_path, model, policy=policy, hooks=plugins) as talking:
            await events_of(talking.send("first"))
            events = await events_of(talking.send("offline: fail overflow 1\noffline: say too late"))
            require_kept(talking)
            return events, len(model.requests), talking.session.index.roles.count("assistant")

    events, requests, answered = talk(work)

    assert ended(events).reason == "aborted"
    assert kinds(events) == [("CompactionStarted", "overflow"), ("ContextCompacted", "overflow")]
    assert requests == 3, "two prompts and a summary"
    assert answered == 2, "the first answer and the record of the failed attempt"


def test_a_plugin_that_refuses_to_compact_an_overflow_is_reported(tmp_path):
    class Refuses:
        @hookimpl
        def session_before_compact(self, event, context):
            return Cancel("not now")

    async def work():
        plugins = Plugins()
        plugins.register(Refuses(), "refuses")
        policy = Policy(auto_compact=False, keep_recent_tokens=20)
        async with conductor(tmp_path, policy=policy, hooks=plugins) as talking:
            await events_of(talking.send("first"))
            events = await events_of(talking.send("offline: fail overflow 1"))
            require_kept(talking)
            return events

    events = talk(work)

    assert kinds(events) == [("CompactionStarted", "overflow"), ("CompactionFailed", "overflow")]
    assert [event.message for event in events if isinstance(event, CompactionFailed)] == ["not now"]
    assert isinstance(ended(events).error, ContextOverflow)


def test_an_overflow_that_stays_is_not_compacted_again_and_again(tmp_path):
    async def work():
        policy = Policy(auto_compact=False, keep_recent_tokens=20)
        model = Watched()
        async with conductor(tmp_path, model, policy=policy) as talking:
            await events_of(talking.send("first"))
            events = await events_of(talking.send("offline: fail overflow"))
            require_kept(talking)
            then = await events_of(talking.send("offline: say fine"))
            require_kept(talking)
            return events, then, talking.session.index.types.count("compaction")

    events, then, compactions = talk(work)
    assert isinstance(ended(events).error, ContextOverflow)
    assert compactions == 1
    assert ended(then).reason == "stop"


def test_an_overflow_that_cannot_be_summed_up_is_told_and_the_next_prompt_works(tmp_path):
    async def work():
        async with conductor(tmp_path, policy=Policy(auto_compact=False)) as talking:
            events = await events_of(talking.send("offline: fail overflow"))
            require_kept(talking)
            then = await events_of(talking.send("offline: say fine"))
            return events, then

    events, then = talk(work)
    assert kinds(events) == [("CompactionStarted", "overflow"), ("CompactionFailed", "overflow")]
    assert isinstance(ended(events).error, ContextOverflow)
    assert ended(then).reason == "stop"


def test_a_prompt_that_is_too_long_itself_is_summed_up_in_pieces_and_stays_in_the_tree(tmp_path):
    async def work():
        async with conductor(tmp_path, SMALL, policy=TIGHT) as talking:
            await events_of(talking.send("hello"))
            events = await events_of(talking.send(LONG * 10))
            require_kept(talking)
            prompt = next(event.entry for event in events if isinstance(event, MessageAppended))
            kept = message_text(talking.session.entry(prompt).message)
            then = await events_of(talking.send("offline: say fine"))
            return events, kept, then

    events, kept, then = talk(work)
    assert kinds(events)[-2:] == [("CompactionStarted", "overflow"), ("ContextCompacted", "overflow")]
    assert ended(events).reason == "stop"
    assert kept == LONG * 10
    assert ended(then).reason == "stop"


def test_room_that_cannot_be_made_does_not_stop_the_conversation(tmp_path):
    class Refuses:
        @hookimpl
        def session_before_compact(self, event):
            return SessionBeforeCompactResult(summary="   ")  # no words: counts as no opinion

    class Silent(Watched):
        async def stream(self, request):
            async for event in super().stream(request):
                yield event
            if request.system:
                raise SummaryFailed("no summaries here")

    async def work():
        plugins = Plugins()
        plugins.register(Refuses(), "refuses")
        async with conductor(tmp_path, Silent(SMALL), policy=TIGHT, tools=(), hooks=plugins) as talking:
            turns = [await events_of(talking.send(f"{LONG}\noffline: say {number}")) for number in range(4)]
            require_kept(talking)
            return turns, plugins.problems

    turns, problems = talk(work)
    assert [ended(events).reason for events in turns] == ["stop"] * 4
    assert ("CompactionFailed", "threshold") in kinds(turns[-1])
    assert problems[0].plugin == "refuses"


def test_an_abort_while_room_is_made_ends_the_turn_and_nothing_is_written(tmp_path):
    async def work():
        async with conductor(tmp_path, SMALL, policy=TIGHT, tools=()) as talking:
            await events_of(talking.send(LONG))
            await events_of(talking.send(LONG))
            events = []
            async for event in talking.send(LONG):
                events.append(event)
                if isinstance(event, SummaryDelta):
                    talking.abort()
            require_kept(talking)
            return events, talking.session.index.types.count("compaction")

    events, compactions = talk(work)
    assert ended(events).reason == "aborted"
    assert not any(
        isinstance(event, MessageAppended) and isinstance(event.message, AssistantMessage) for event in events
    )
    assert compactions == 0


def test_compacting_by_hand_takes_a_focus_and_keeps_the_end_verbatim(tmp_path):
    async def work():
        model = Watched()
        async with conductor(tmp_path, model) as talking:
            for prompt in ["first", "second", "third"]:
                await events_of(talking.send(prompt))
            last = talking.session.leaf
            pieces = []
            done = await talking.compact("the numbers", keep_recent_tokens=1, on_progress=pieces.append)
            require_kept(talking)
            texts = [message_text(item.message) for item in talking.context().messages]
            return done, texts, message_text(talking.session.entry(last).message), model.requests[-1], pieces

    done, texts, last, request, pieces = talk(work)
    assert done.status == "done"
    assert "Pay special attention to: the numbers" in message_text(request.messages[0])
    assert texts[-1] == last
    assert "".join(pieces[:20]) in texts[0]


def test_compacting_what_is_too_short_says_so(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            with pytest.raises(NothingToCompact):
                await talking.compact()
            await events_of(talking.send("hello"))
            with pytest.raises(NothingToCompact):
                await talking.compact()
            assert not talking.running

    talk(work)


def test_before_a_compaction_everything_can_still_be_branched_to(tmp_path):
    async def work():
        async with conductor(tmp_path) as talking:
            first = ended(await events_of(talking.send("first"))).entry
            await events_of(talking.send("second"))
            before = talking.session.context(first)
            await talking.compact(keep_recent_tokens=1)
            talking.branch(first)
            require_kept(talking)
            return before == talking.context()

    assert talk(work)


@pytest.mark.parametrize(
    ("window", "reserve", "keep"),
    [(200_000, 16_384, 20_000), (32_000, 8_000, 12_000), (4_000, 1_000, 1_500)],
)
def test_small_windows_are_shared_out_in_proportion(window, reserve, keep):
    room = Policy().budget(window)

    assert (room.reserve, room.keep) == (reserve, keep)
    assert Policy().budget(None) is None
    assert Policy().keep(None) == 20_000
