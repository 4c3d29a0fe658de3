"""Sessions for the OpenAI Agents SDK, with its real Runner and scripted model."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, function_tool, handoff
from agents.memory import OpenAIResponsesCompactionSession, SessionSettings
from agents.memory import Session as SessionProtocol
from agents.memory.session import _CompactionSnapshot
from agents.testing import ScriptedModel, assistant_message, function_call
from openai.types.responses import ResponseReasoningItem

from branchline import SessionLibrary
from branchline.errors import SessionMoved
from branchline.integrations.openai_agents import BranchlineSession, _Snapshot

QUIET = RunConfig(tracing_disabled=True)
WHERE = ["sessions", "app.db", "PostgreSQL"]


@function_tool
def add(a: int, b: int) -> str:
    return str(a + b)


@pytest.fixture(params=WHERE)
def where(request, tmp_path: Path) -> str:
    if request.param == "PostgreSQL":
        return str(request.getfixturevalue("postgres_address"))
    return str(tmp_path / request.param)


def scripted(*turns: list[Any], **more: Any) -> Agent[Any]:
    return Agent(name="calculator", model=ScriptedModel(list(turns)), tools=[add], **more)


def asked(number: int) -> dict[str, Any]:
    return {"role": "user", "content": f"question {number}"}


def test_a_run_with_tools_comes_back_deep_equal_after_reopening(where):
    reasoning = ResponseReasoningItem(
        id="rs_1",
        summary=[{"text": "sum", "type": "summary_text"}],
        type="reasoning",
        encrypted_content="gAAA",
    )
    calls = [
        reasoning,
        function_call("add", {"a": 2, "b": 3}, call_id="c1"),
        function_call("add", {"a": 1, "b": 1}, call_id="c2"),
    ]
    agent = scripted(calls, [assistant_message("5 and 2")], [assistant_message("You are welcome")])

    async def talk() -> tuple[list[Any], list[Any]]:
        async with BranchlineSession("user:42", where) as session:
            assert isinstance(session, SessionProtocol)
            result = await Runner.run(agent, "2+3, 1+1?", session=session, run_config=QUIET)
            expected = result.to_input_list()
            await Runner.run(agent, "thanks", session=session, run_config=QUIET)
        async with BranchlineSession("user:42", where) as again:
            return expected, await again.get_items()

    expected, found = asyncio.run(talk())

    assert found[: len(expected)] == expected
    assert [item.get("type", item.get("role")) for item in found] == [
        "user", "reasoning", "function_call", "function_call", "function_call_output", "function_call_output",
        "message", "user", "message",
    ]  # fmt: skip
    with SessionLibrary(where) as library, library.get("user:42") as session:
        roles = [session.index.roles[session.index.position(key)] for key in session.path()]
    assert roles == ["user", "assistant", "toolResult", "toolResult", "assistant", "user", "assistant"]


def test_streaming_and_handoffs_are_kept_like_any_run(tmp_path):
    second = Agent(name="second", model=ScriptedModel([[assistant_message("from the second")]]))
    first = scripted([function_call("transfer_to_second", {}, call_id="h1")], handoffs=[handoff(second)])

    async def talk() -> tuple[list[Any], list[Any]]:
        async with BranchlineSession("s", tmp_path) as session:
            result = Runner.run_streamed(first, "hello", session=session, run_config=QUIET)
            async for _event in result.stream_events():
                pass
            return result.to_input_list(), await session.get_items()

    expected, found = asyncio.run(talk())

    assert found == expected


def test_an_interrupted_run_resumes_with_its_history(tmp_path):
    @function_tool(needs_approval=True)
    def drop() -> str:
        return "dropped"

    agent = Agent(
        name="careful",
        model=ScriptedModel([[function_call("drop", {}, call_id="c1")], [assistant_message("Done")]]),
        tools=[drop],
    )

    async def talk() -> list[Any]:
        async with BranchlineSession("s", tmp_path) as session:
            paused = await Runner.run(agent, "drop it", session=session, run_config=QUIET)
            state = paused.to_state()
            state.approve(paused.interruptions[0])
        async with BranchlineSession("s", tmp_path) as session:
            await Runner.run(agent, state, session=session, run_config=QUIET)
            return await session.get_items()

    found = asyncio.run(talk())

    assert [item.get("type", "user") for item in found] == [
        "user",
        "function_call",
        "function_call_output",
        "message",
    ]
    assert len({json.dumps(item, sort_keys=True) for item in found}) == 4


def test_limits_count_items_from_the_end(where):
    async def talk() -> None:
        async with BranchlineSession("s", where, session_settings=SessionSettings(limit=3)) as session:
            for number in range(100):
                await session.add_items([asked(number), assistant_message(f"{number}").model_dump()])

            assert [item["content"] for item in (await session.get_items())[1::2]] == ["question 99"]
            assert len(await session.get_items(limit=150)) == 150
            assert await session.get_items(limit=0) == []
            everything = await session.get_items(limit=1000)
            assert [item["content"] for item in everything[::2]] == [
                f"question {number}" for number in range(100)
            ]

    asyncio.run(talk())


def test_popping_takes_one_item_also_out_of_a_group(where):
    group = [
        function_call("add", {"a": 1, "b": number}, call_id=f"c{number}").model_dump() for number in range(3)
    ]

    async def talk() -> list[Any]:
        async with BranchlineSession("s", where) as session:
            await session.add_items([asked(1), *group])
            popped = [await session.pop_item() for _ in range(2)]
            assert popped == [group[2], group[1]]
            left = await session.get_items()
            rest = [await session.pop_item() for _ in range(3)]
            assert rest == [group[0], asked(1), None]
            assert await session.get_items() == []
            return left

    assert asyncio.run(talk()) == [asked(1), group[0]]


def test_clearing_starts_anew_and_keeps_everything_in_the_tree(where):
    async def talk() -> None:
        async with BranchlineSession("s", where) as session:
            await session.add_items([asked(1), assistant_message("a").model_dump()])
            await session.clear_session()
            assert await session.get_items() == []
            await session.add_items([asked(2)])
            assert await session.get_items() == [asked(2)]

    asyncio.run(talk())

    with SessionLibrary(where) as library, library.get("s") as session:
        assert session.index.types.count("message") == 3
        assert len(session.children(None)) == 2


@pytest.mark.parametrize(("policy", "seen"), [("append", 41), ("branch", 21)])
def test_two_handles_see_each_other_as_their_policy_says(where, policy, seen):
    async def talk() -> list[Any]:
        async with BranchlineSession("s", where, on_conflict=policy) as one:
            await one.add_items([asked(0)])
            async with BranchlineSession("s", where, on_conflict=policy) as two:
                await two.get_items()
                for number in range(20):
                    await one.add_items([asked(number)])
                    await two.add_items([asked(number)])
                return await two.get_items()

    assert len(asyncio.run(talk())) == seen


def test_a_handle_that_must_not_branch_is_told_and_nothing_is_written(where):
    async def talk() -> None:
        async with (
            BranchlineSession("s", where, on_conflict="raise") as one,
            BranchlineSession("s", where, on_conflict="raise") as two,
        ):
            await one.add_items([asked(1)])
            await two.refresh()
            await one.add_items([asked(2)])
            with pytest.raises(SessionMoved):
                await two.add_items([asked(3)])
            await two.refresh()
            await two.add_items([asked(3)])
            assert [item["content"] for item in await two.get_items()] == [f"question {n}" for n in (1, 2, 3)]

    asyncio.run(talk())


def test_turn_branches_and_their_names_survive_a_restart(where):
    async def talk() -> None:
        async with BranchlineSession("s", where) as session:
            for number in (1, 2, 3):
                await session.add_items([asked(number), assistant_message(str(number)).model_dump()])
            before = await session.get_items()
            assert await session.branch_from(turn=2, name="other") == "other"
            assert await session.get_items() == before[:2]
            await session.add_items([{"role": "user", "content": "another way"}])

        async with BranchlineSession("s", where) as session:
            assert [(one.name, one.turns, one.is_current) for one in await session.list_branches()] == [
                ("other", 2, True), ("main", 3, False),
            ]  # fmt: skip
            assert [turn.content for turn in await session.turns()] == ["question 1", "another way"]
            await session.switch_to_branch("main")
            assert await session.get_items() == before
            await session.add_items([asked(4)])
            await session.switch_to_branch("other")
            await session.switch_to_branch("main")
            assert await session.get_items() == [*before, asked(4)]
            for wrong in (
                session.branch_from(turn=9),
                session.branch_from(turn=1, name="other"),
                session.switch_to_branch("no"),
            ):
                with pytest.raises(ValueError, match=r"turn 9|taken|no branch"):
                    await wrong
            await session.delete_branch("other")
            assert [one.name for one in await session.list_branches()] == ["main"]

    asyncio.run(talk())


class _FakeResponses:
    async def compact(self, **_request: Any) -> Any:
        from types import SimpleNamespace

        output = [{"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"}]
        return SimpleNamespace(output=output, usage=None)


class _FakeClient:
    responses = _FakeResponses()


def test_compaction_replaces_what_is_seen_and_keeps_every_entry(where):
    async def talk() -> tuple[int, list[Any]]:
        async with BranchlineSession("s", where) as inner:
            session = OpenAIResponsesCompactionSession(
                "s",
                inner,
                client=_FakeClient(),
                compaction_mode="input",  # type: ignore[arg-type]
            )
            for number in range(12):
                await session.add_items([asked(number), assistant_message(str(number)).model_dump()])
            await session.run_compaction({"force": True})
            return len(await inner.list_branches()), await inner.get_items()

    _branches, items = asyncio.run(talk())

    assert [item["type"] for item in items if "type" in item][-1] == "compaction"
    assert len(items) < 24
    with SessionLibrary(where) as library, library.get("s") as session:
        assert session.index.types.count("message") >= 25


def test_a_suffix_is_replaced_only_if_nothing_moved(where):
    async def talk() -> None:
        async with BranchlineSession("s", where) as session:
            await session.add_items([asked(number) for number in range(4)])
            snapshot = await session._get_compaction_snapshot(3)
            assert (snapshot.items, snapshot.complete) == ([asked(1), asked(2), asked(3)], False)
            assert await snapshot.replace_suffix(1, [asked(9)])
            assert await session.get_items() == [asked(0), asked(1), asked(9)]
            assert not await snapshot.replace_suffix(1, [asked(8)])
            assert await session.get_items() == [asked(0), asked(1), asked(9)]

    asyncio.run(talk())
    assert list(_Snapshot.__dataclass_fields__) == list(_CompactionSnapshot.__dataclass_fields__)


def test_a_cancelled_add_is_stored_whole_or_not_at_all(where):
    async def talk() -> int:
        async with BranchlineSession("s", where) as session:
            await session.add_items([asked(0)])
            for number in range(20):
                task = asyncio.ensure_future(session.add_items([asked(number), asked(number)]))
                for _ in range(number % 4):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            return len(await session.get_items())

    assert asyncio.run(talk()) % 2 == 1


def test_text_is_stored_once_where_items_can_be_rebuilt(tmp_path):
    said = "a sentence that must not be stored twice"
    items = [
        {"role": "user", "content": said},
        assistant_message(said, item_id="m1").model_dump(exclude_unset=True),
    ]

    async def talk() -> list[Any]:
        async with BranchlineSession("s", tmp_path) as session:
            await session.add_items(items)
            return await session.get_items()

    assert asyncio.run(talk()) == items
    assert (tmp_path / "s.jsonl").read_text().count(said) == 2


def test_a_session_of_another_interface_is_read_as_items(tmp_path):
    with SessionLibrary(tmp_path).get_or_create("s") as session:
        session.append_message("hello")
        session.append_message(
            {"role": "assistant", "content": [{"type": "text", "text": "hi"}], "stopReason": "stop"}
        )
        signed = {"type": "text", "text": "ho", "textSignature": "msg_1, not JSON"}
        session.append_message({"role": "assistant", "content": [signed], "stopReason": "stop"})
        session.append_message({"role": "bashExecution", "command": "ls", "output": "", "exitCode": 0})

    async def read() -> list[Any]:
        async with BranchlineSession("s", tmp_path) as session:
            return await session.get_items()

    assert asyncio.run(read()) == [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "hi"},
        {"role": "assistant", "content": "ho"},
    ]


def test_an_item_that_a_context_edit_changed_or_removed_is_given_as_edited(tmp_path):
    items: Any = [{"role": "user", "content": f"word {number}", "extra": 1} for number in range(3)]

    async def add_and_edit() -> tuple[list[Any], list[Any]]:
        async with BranchlineSession("s", tmp_path) as session:
            await session.add_items(items)
            with SessionLibrary(tmp_path).get("s") as person:
                first, second, _third = person.path()
                person.append_context_edit(first, "other words")
                person.append_context_edit(second, None)
            return await session.get_items(), await session.get_items(limit=2)

    everything, last = asyncio.run(add_and_edit())

    assert everything == [{"role": "user", "content": "other words"}, items[2]]
    assert last == everything


def test_a_closed_session_refuses_everything_as_the_sessions_of_the_sdk_do(where):
    async def talk() -> None:
        session = BranchlineSession("s", where)
        await session.add_items([asked(1)])
        await session.close()
        await session.close()

        for late in (
            lambda: session.add_items([asked(2)]),
            lambda: session.add_items([]),
            session.get_items,
            session.pop_item,
            session.clear_session,
            session.list_branches,
        ):
            with pytest.raises(RuntimeError, match="BranchlineSession is closed"):
                await late()
        async with BranchlineSession("s", where) as again:
            assert await again.get_items() == [asked(1)]

    asyncio.run(talk())


def test_settings_may_be_a_dictionary_and_unknown_ones_are_refused_at_once(where):
    async def talk() -> list[Any]:
        async with BranchlineSession("s", where, session_settings={"limit": 1}) as session:
            await session.add_items([asked(1), asked(2)])
            return await session.get_items()

    assert asyncio.run(talk()) == [asked(2)]
    with pytest.raises(TypeError, match="limitt"):
        BranchlineSession("s", where, session_settings={"limitt": 1})
