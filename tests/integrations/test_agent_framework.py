"""The history for the Microsoft Agent Framework. Skipped if it is not installed."""

from __future__ import annotations

import asyncio
import re
from typing import Any, ClassVar

import pytest

pytest.importorskip("agent_framework", reason="agent-framework-core is not in the locked environment")

from agent_framework import Agent, ChatResponse, Content, Message

from branchline import SessionLibrary
from branchline.errors import SessionMoved
from branchline.integrations.agent_framework import BranchlineHistory
from support import ROOT


@pytest.fixture(params=["sessions", "app.db", "PostgreSQL"])
def where(request, tmp_path) -> str:
    if request.param == "PostgreSQL":
        return str(request.getfixturevalue("postgres_address"))
    return str(tmp_path / request.param)


def said(*messages: Message) -> list[dict[str, Any]]:
    return [message.to_dict() for message in messages]


def exchange(number: int) -> list[Message]:
    return [Message("user", [f"question {number}"]), Message("assistant", [f"answer {number}"])]


def test_messages_come_back_equal_after_reopening(where):
    messages = [
        Message("system", ["be kind"]),
        Message("user", ["2+3?", Content.from_uri("https://example.org/x.png", media_type="image/png")]),
        Message(
            "assistant",
            [Content.from_text("I add."), Content.from_function_call("c1", "add", arguments='{"a": 2}')],
        ),
        Message("tool", [Content.from_function_result("c1", result="5")]),
        Message("assistant", ["5"], author_name="calculator", message_id="m1"),
    ]

    async def talk() -> list[Message]:
        async with BranchlineHistory(where) as history:
            await history.save_messages("user:42", messages)
        async with BranchlineHistory(where) as history:
            assert await history.get_messages("somebody else") == []
            return await history.get_messages("user:42")

    assert said(*asyncio.run(talk())) == said(*messages)

    with SessionLibrary(where) as library, library.get("user:42") as session:
        roles = [session.index.roles[session.index.position(key)] for key in session.path()]
        assert roles == ["developer", "user", "assistant", "toolResult", "assistant"]


def test_a_save_of_the_whole_history_adds_what_is_new(where):
    async def talk() -> None:
        async with BranchlineHistory(where) as history:
            await history.save_messages("s", exchange(1))
            await history.save_messages("s", [*exchange(1), *exchange(2)])
            await history.save_messages("s", exchange(3))
            assert said(*await history.get_messages("s")) == said(*exchange(1), *exchange(2), *exchange(3))
            await history.save_messages("s", [])
            with pytest.raises(ValueError, match="session with an id"):
                await history.get_messages(None)

    asyncio.run(talk())


@pytest.mark.parametrize(("policy", "seen"), [("append", 6), ("branch", 4)])
def test_two_processes_see_each_other_as_their_policy_says(where, policy, seen):
    async def talk() -> int:
        async with (
            BranchlineHistory(where, on_conflict=policy) as one,
            BranchlineHistory(where, on_conflict=policy) as two,
        ):
            await one.save_messages("s", exchange(1))
            await two.get_messages("s")
            await one.save_messages("s", exchange(2))
            await two.save_messages("s", exchange(3))
            return len(await two.get_messages("s"))

    assert asyncio.run(talk()) == seen


def test_a_process_that_must_not_branch_is_told(where):
    async def talk() -> None:
        async with (
            BranchlineHistory(where, on_conflict="raise") as one,
            BranchlineHistory(where, on_conflict="raise") as two,
        ):
            await one.save_messages("s", exchange(1))
            await two.get_messages("s")
            await one.save_messages("s", exchange(2))
            with pytest.raises(SessionMoved):
                await two.save_messages("s", exchange(3))
            await two.get_messages("s")
            await two.save_messages("s", exchange(3))
            assert len(await two.get_messages("s")) == 6

    asyncio.run(talk())


class Echo:
    """A chat client that answers with the number of messages it was given."""

    additional_properties: ClassVar[dict[str, Any]] = {}

    async def get_response(self, messages: Any, **_options: Any) -> ChatResponse:
        return ChatResponse(messages=[Message("assistant", [f"{len(list(messages))} messages"])])


def test_a_real_agent_remembers(where):
    async def talk() -> list[str]:
        async with BranchlineHistory(where) as history:
            agent = Agent(client=Echo(), context_providers=[history])
            session = agent.create_session(session_id="s")
            return [(await agent.run(text, session=session)).text for text in ("a", "b")]

    assert asyncio.run(talk()) == ["1 messages", "3 messages"]


def test_the_guide_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "guides" / "agent-framework.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```py\n(.*?)^```", page, re.MULTILINE | re.DOTALL)

    exec(compile(code, "agent-framework.md", "exec"), {"__name__": "example"})

    assert capsys.readouterr().out.splitlines() == re.findall(r"print\(.*\)  # (.*)", code)
