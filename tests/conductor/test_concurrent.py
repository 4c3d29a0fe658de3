"""Two conversations on one session continue on separate branches, and each is notified."""

import asyncio

from branchline import Session
from branchline.conductor import Conductor, ForeignAppend, MessageAppended, TextDelta
from branchline.entries import message_text
from branchline.models import OfflineModel
from conductor.kit import QUICK, conductor, ended, events_of, talk


def told(events):
    return sum(event.entries for event in events if isinstance(event, ForeignAppend))


def texts(talking):
    return [message_text(item.message) for item in talking.session.context().messages]


def second(file):
    return Conductor(Session.open(file, durability="os"), OfflineModel(), policy=QUICK)


def test_both_go_on_from_where_they_stand_and_are_told_of_each_other(tmp_path):
    async def work():
        async with conductor(tmp_path) as one:
            await events_of(one.send("offline: say shared"))
            async with second(one.session.file) as other:
                a = await events_of(one.send("offline: say a"))
                b = await events_of(other.send("offline: say b"))
                c = await events_of(one.send("offline: say c"))
                d = await events_of(other.send("offline: say d"))
                quiet = await events_of(other.send("offline: say e"))
                one.poll()
                for talking in (one, other):
                    assert talking.context() == talking.session.context()
                assert one.session.index.keys == other.session.index.keys
                return [told(events) for events in (a, b, c, d, quiet)], texts(one), texts(other), one.usage

    counts, one, other, usage = talk(work)
    assert counts == [0, 2, 2, 2, 0]
    assert one[1::2] == ["shared", "a", "c"]
    assert other[1::2] == ["shared", "b", "d", "e"]
    assert usage.all.total.total_tokens > 0


def test_one_that_only_looks_is_told_too_and_stays_where_it_is(tmp_path):
    async def work():
        async with conductor(tmp_path) as one:
            end = ended(await events_of(one.send("hello")))
            async with second(one.session.file) as other:
                await events_of(other.send("again"))
                return one.poll(), one.poll(), one.session.leaf == end.entry

    assert talk(work) == (2, 0, True)


def test_two_that_talk_at_the_same_time_lose_nothing(tmp_path):
    async def work():
        async with conductor(tmp_path, OfflineModel(delay=0.001)) as one:
            await events_of(one.send("offline: say shared"))
            async with second(one.session.file) as other:

                async def talks(talking, name):
                    shown, heard = [], 0
                    for number in range(4):
                        events = await events_of(talking.send(f"{name} {number}"))
                        shown += [event for event in events if isinstance(event, MessageAppended)]
                        heard += told(events)
                    return shown, heard

                (a, heard_a), (b, heard_b) = await asyncio.gather(talks(one, "a"), talks(other, "b"))
                one.poll()
                other.poll()
                with Session.open(one.session.file) as again:
                    for event in [*a, *b]:
                        assert again.entry(event.entry).message == event.message
                for each in (one, other):
                    assert each.context() == each.session.context()
                    assert each.usage == each.session.usage()
                return heard_a, heard_b, texts(one)[2::2], texts(other)[2::2]

    heard_a, heard_b, one, other = talk(work)
    assert one == [f"a {number}" for number in range(4)]
    assert other == [f"b {number}" for number in range(4)]
    assert heard_a > 0
    assert heard_b > 0


def test_being_told_comes_in_the_middle_of_a_turn_too(tmp_path):
    async def work():
        async with conductor(tmp_path) as one:
            await events_of(one.send("offline: say shared"))
            events = []
            with Session.open(one.session.file) as somebody:
                async for event in one.send("offline: say one two"):
                    events.append(event)
                    if isinstance(event, TextDelta) and event.text == "one ":
                        somebody.append_message("from elsewhere")
            return events, one.session.leaf

    events, leaf = talk(work)
    assert told(events) == 1
    assert leaf == ended(events).entry
