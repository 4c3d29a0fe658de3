"""The session service for Google's ADK, with its real Runner. Skipped if ADK is not installed."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

pytest.importorskip("google.adk", reason="google-adk is not in the locked environment")

from google.adk.agents import LlmAgent
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import GetSessionConfig
from google.genai import types

from branchline import SessionLibrary
from branchline.integrations.adk import BranchlineSessionService
from support import ROOT

ADA = {"app_name": "shop", "user_id": "ada@example.org"}
S1 = {**ADA, "session_id": "s1"}


@pytest.fixture(params=["sessions", "app.db", "PostgreSQL"])
def where(request, tmp_path) -> str:
    if request.param == "PostgreSQL":
        return str(request.getfixturevalue("postgres_address"))
    return str(tmp_path / request.param)


def event(text: str, author: str = "user", **delta: Any) -> Event:
    content = types.Content(role=author, parts=[types.Part(text=text)])
    actions = EventActions(state_delta={key.replace("__", ":"): value for key, value in delta.items()})
    return Event(author=author, content=content, invocation_id="i", actions=actions, id=Event.new_id())


def texts(session: Any) -> list[str]:
    return [found.content.parts[0].text for found in session.events if found.content]


class Scripted(BaseLlm):
    """A model that calls a tool and then answers."""

    model: str = "scripted"
    calls: int = 0

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        self.calls += 1
        part = types.Part(text="It is 5.")
        if self.calls % 2:
            call = types.FunctionCall(name="add", args={"a": 2, "b": 3})
            part = types.Part(function_call=call)
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def test_the_real_runner_finds_its_events_again(where):
    async def talk() -> None:
        agent = LlmAgent(name="calculator", model=Scripted(), tools=[add], output_key="answer")
        async with BranchlineSessionService(where) as service:
            runner = Runner(agent=agent, app_name="shop", session_service=service)
            await service.create_session(**S1)
            for question in ("2+3?", "again?"):
                message = types.Content(role="user", parts=[types.Part(text=question)])
                async for _event in runner.run_async(
                    user_id=ADA["user_id"], session_id="s1", new_message=message
                ):
                    pass
            before = await service.get_session(**S1)
        async with BranchlineSessionService(where) as service:
            after = await service.get_session(**S1)
            assert after.events == before.events
            assert len(after.events) == 8
            assert after.state["answer"] == "It is 5."

    asyncio.run(talk())

    with SessionLibrary(where) as library, library.get("adk", "shop", ADA["user_id"], "s1") as session:
        roles = [session.index.roles[session.index.position(key)] for key in session.path()]
        assert roles == ["user", "assistant", "toolResult", "assistant"] * 2


def test_state_has_three_scopes_and_what_is_temporary_is_not_kept(where):
    async def talk() -> None:
        async with BranchlineSessionService(where) as service:
            session = await service.create_session(
                **S1, state={"own": 1, "user:name": "Ada", "app:theme": "dark", "temp:x": 1}
            )
            assert session.state == {"own": 1, "user:name": "Ada", "app:theme": "dark"}
            await service.append_event(session, event("hi", own=2, user__name="Ada L.", temp__y=3))
            assert session.state["temp:y"] == 3
            other = await service.create_session(**ADA, session_id="s2")
            stranger = await service.create_session(app_name="shop", user_id="bob", session_id="s1")
            assert other.state == {"user:name": "Ada L.", "app:theme": "dark"}
            assert stranger.state == {"app:theme": "dark"}
            assert (await service.get_session(**S1)).state == {
                "own": 2,
                "user:name": "Ada L.",
                "app:theme": "dark",
            }
            assert await service.get_user_state(**ADA) == {"name": "Ada L."}
            assert await service.get_user_state(app_name="shop", user_id="nobody") == {}

    asyncio.run(talk())


def test_sessions_are_listed_limited_deleted_and_never_created_twice(where):
    async def talk() -> None:
        async with BranchlineSessionService(where) as service:
            session = await service.create_session(**S1)
            for number in range(5):
                await service.append_event(session, event(f"text {number}"))
            made = await service.create_session(**ADA)
            assert made.id
            with pytest.raises(AlreadyExistsError):
                await service.create_session(**S1)
            assert await service.get_session(**ADA, session_id="no") is None

            recent = await service.get_session(**S1, config=GetSessionConfig(num_recent_events=2))
            assert texts(recent) == ["text 3", "text 4"]
            none = await service.get_session(**S1, config=GetSessionConfig(num_recent_events=0))
            assert none.events == []
            late = GetSessionConfig(after_timestamp=session.events[3].timestamp)
            assert texts(await service.get_session(**S1, config=late)) == ["text 3", "text 4"]

            listed = (await service.list_sessions(**ADA)).sessions
            assert {one.id for one in listed} == {"s1", made.id}
            assert {one.id for one in (await service.list_sessions(app_name="shop")).sessions} == {
                "s1",
                made.id,
            }
            await service.delete_session(**S1)
            await service.delete_session(**S1)
            assert await service.get_session(**S1) is None
            with pytest.raises(SessionNotFoundError):
                await service.append_event(session, event("late"))

    asyncio.run(talk())


@pytest.mark.parametrize(
    ("policy", "seen"), [("append", ["a", "one", "two"]), ("branch", ["a", "two"]), ("raise", ["a", "one"])]
)
def test_a_session_object_that_is_behind_does_what_its_policy_says(where, policy, seen):
    async def talk() -> list[str]:
        async with (
            BranchlineSessionService(where, on_conflict=policy) as first,
            BranchlineSessionService(where, on_conflict=policy) as second,
        ):
            mine = await first.create_session(**S1)
            await first.append_event(mine, event("a"))
            theirs = await second.get_session(**S1)
            await first.append_event(mine, event("one"))
            if policy == "raise":
                with pytest.raises(ValueError, match="was changed in the store"):
                    await second.append_event(theirs, event("two"))
            else:
                await second.append_event(theirs, event("two"))
            return texts(await second.get_session(**S1))

    assert asyncio.run(talk()) == seen


def test_an_event_that_is_delivered_twice_is_stored_once(where):
    async def talk() -> None:
        async with BranchlineSessionService(where) as service:
            session = await service.create_session(**S1)
            one = event("once", n=1)
            await service.append_event(session, one)
            await service.append_event(session, one.model_copy(deep=True))
            partial = event("partial")
            partial.partial = True
            await service.append_event(session, partial)
            assert texts(await service.get_session(**S1)) == ["once"]
            assert texts(session) == ["once"]

    asyncio.run(talk())


def test_a_fork_has_the_events_and_the_state_of_its_point(where):
    async def talk() -> None:
        async with BranchlineSessionService(where) as service:
            session = await service.create_session(**S1, state={"n": 0})
            for number in (1, 2, 3):
                await service.append_event(session, event(f"text {number}", n=number))
            fork = await service.fork_session(**S1, at=session.events[1].id, new_session_id="s2")
            assert (texts(fork), fork.state) == (["text 1", "text 2"], {"n": 2})
            await service.append_event(fork, event("another way", n=9))
            assert (await service.get_session(**S1)).state == {"n": 3}
            assert (await service.get_session(**ADA, session_id="s2")).state == {"n": 9}

    asyncio.run(talk())


def test_the_guide_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "guides" / "adk.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```py\n(.*?)^```", page, re.MULTILINE | re.DOTALL)

    exec(compile(code, "adk.md", "exec"), {"__name__": "example"})

    assert capsys.readouterr().out.splitlines() == re.findall(r"print\(.*\)  # (.*)", code)
