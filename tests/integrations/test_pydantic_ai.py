"""The conversation store for pydantic-ai: every law of its in-memory store, in a persistent one."""

from __future__ import annotations

import asyncio
import tempfile
import time
import uuid
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    multiple,
    rule,
    run_state_machine_as_test,
)
from pydantic_ai import Agent, BinaryImage
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
    InMemoryConversationStore,
)
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.test import TestModel

from branchline import SessionLibrary
from branchline.errors import Closed
from branchline.integrations.pydantic_ai import BranchlineConversations
from branchline.stores import open_store
from stores.postgres_server import with_options


@pytest.fixture(params=["sessions", "app.db", "PostgreSQL"])
def where(request, tmp_path) -> str:
    if request.param == "PostgreSQL":
        return str(request.getfixturevalue("postgres_address"))
    return str(tmp_path / request.param)


def turn(text: str) -> list[Any]:
    return [ModelRequest(parts=[UserPromptPart(text)]), ModelResponse(parts=[TextPart(f"re: {text}")])]


def agent() -> Agent[None, str]:
    made = Agent(TestModel())

    @made.tool_plain
    def first(text: str) -> str:
        return f"first {text}"

    @made.tool_plain
    def second(number: int) -> int:
        return number

    return made


def test_a_run_with_tools_is_the_same_conversation_after_reopening(where):
    async def talk() -> None:
        async with BranchlineConversations(where) as store:
            assert await store.load("user:7/c1") is None
            result = await agent().run("hello", conversation=Conversation(conversation_id="user:7/c1"))
            entries = await store.save(result, scope="user-7")
            picture = BinaryImage(b"\x89PNG", media_type="image/png")
            result = await agent().run(["look", picture], conversation=result.conversation)
            await store.save(result)
            expected = result.conversation

        async with BranchlineConversations(where) as store:
            loaded = await store.load("user:7/c1")
            assert loaded is not None
            assert loaded.messages == expected.messages
            assert loaded.usage == expected.usage
            assert await store.read_entry(entries[1].id) == entries[1]
            again = await agent().run("more", conversation=loaded)
            await store.save(again)
            assert len(await store.load_entries("user:7/c1") or []) == len(again.all_messages())
            assert (await store.load("user:7/c1", limit=2)).messages == again.all_messages()[-2:]
            assert await store.load("user:7/c1", scope="somebody else") is None

    asyncio.run(talk())

    with SessionLibrary(where) as library, library.get("user:7/c1") as session:
        roles = [session.index.roles[session.index.position(key)] for key in session.path()][:5]
        assert roles == ["user", "assistant", "toolResult", "toolResult", "assistant"]


def test_two_writers_of_one_revision_conflict_and_nothing_is_left_behind(where):
    async def talk() -> None:
        async with BranchlineConversations(where) as one, BranchlineConversations(where) as two:
            await one.save(Conversation(conversation_id="c", messages=turn("a")))
            mine, theirs = await one.load("c"), await two.load("c")
            mine.messages += turn("mine")
            theirs.messages += turn("theirs")
            await one.save(mine)
            with pytest.raises(ConversationConflict):
                await two.save(theirs)
            with pytest.raises(ConversationConflict):
                await two.save(Conversation(conversation_id="c", messages=turn("new")))
            assert (await two.load("c")).messages == mine.messages

    asyncio.run(talk())

    with SessionLibrary(where) as library, library.get("c") as session:
        assert session.index.types.count("message") == 4


def test_a_head_that_nobody_has_is_a_conflict(where):
    async def talk() -> None:
        async with BranchlineConversations(where) as store:
            record = ConversationRecord(conversation_id="c", head_id="gone")
            with pytest.raises(ConversationConflict):
                await store.write_record(record, expected_revision=None)
            assert await store.load("c") is None
            with pytest.raises(LookupError):
                await store.read_entry("gone")

    asyncio.run(talk())


def test_a_fork_outlives_the_conversation_it_came_from(where):
    async def talk() -> None:
        async with BranchlineConversations(where) as store:
            messages = [message for number in range(3) for message in turn(str(number))]
            entries = await store.save(Conversation(conversation_id="c", messages=messages))
            await store.fork("c", at=4, new_conversation_id="f")
            await store.delete("c")
            assert await store.load("c") is None
            fork = await store.load("f")
            assert fork.messages == messages[:4]
            assert [entry.id for entry in await store.load_entries("f")] == [
                entry.id for entry in entries[:4]
            ]
            assert (await store.read_entry(entries[0].id)).message == messages[0]

    asyncio.run(talk())

    with SessionLibrary(where) as library:
        assert library.get("f").parent_session == "c"
        assert len(library.trash()) == 1


def test_conversations_are_listed_by_scope_without_opening_them_again(tmp_path):
    async def talk() -> float:
        async with BranchlineConversations(tmp_path / "app.db") as store:
            for number in range(100):
                entry = ConversationEntry(parent_id=None, message=turn("hi")[0])
                record = ConversationRecord(
                    conversation_id=f"c{number}", head_id=entry.id, scope=f"user-{number % 3}"
                )
                await store.write_record(record, new_entries=[entry], expected_revision=None)
            first = await store.list_conversations(scope="user-1", limit=20)
            assert [record.conversation_id for record in first[:2]] == ["c97", "c94"]
            before = time.process_time()
            await store.list_conversations(scope="user-1", limit=20)
            return time.process_time() - before

    assert asyncio.run(talk()) < 0.02


class Laws(RuleBasedStateMachine):
    """Whatever is done to both stores, they answer alike."""

    names = Bundle("names")
    copies = Bundle("copies")
    address = ""

    def __init__(self) -> None:
        super().__init__()
        self.place = tempfile.TemporaryDirectory()
        self.model = InMemoryConversationStore()
        self.store = BranchlineConversations(self.address or f"{self.place.name}/laws.db")
        self.loop = asyncio.new_event_loop()
        self.count = 0

    def teardown(self) -> None:
        self.loop.run_until_complete(self.store.close())
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()
        self.place.cleanup()

    def both(self, one: Coroutine[Any, Any, Any], two: Coroutine[Any, Any, Any]) -> tuple[Any, Any]:
        results = []
        for work in (one, two):
            try:
                results.append(self.loop.run_until_complete(work))
            except UserError as problem:
                results.append(type(problem))
        expected, found = results
        if isinstance(expected, type) or isinstance(found, type):
            assert expected == found
        return expected, found

    def fresh(self) -> str:
        self.count += 1
        return f"text {self.count}"

    def same(self, name: str) -> tuple[Any, Any]:
        one, two = self.both(self.model.load(name), self.store.load(name))
        assert (one is None) == (two is None)
        if one is not None:
            assert one.messages == two.messages
            records = self.both(self.model.read_record(name), self.store.read_record(name))
            assert len(records[0].branches) == len(records[1].branches)
            assert (records[0].scope, records[0].forked_from) == (records[1].scope, records[1].forked_from)
        return one, two

    @rule(target=names, number=st.integers(0, 2), scope=st.sampled_from([None, "a", "b"]))
    def begin(self, number: int, scope: str | None) -> str:
        name, messages = f"c{number}", turn(self.fresh())
        self.both(
            self.model.save(Conversation(conversation_id=name, messages=messages), scope=scope),
            self.store.save(Conversation(conversation_id=name, messages=messages), scope=scope),
        )
        self.same(name)
        return name

    @rule(target=copies, name=names)
    def load(self, name: str) -> Any:
        one, two = self.same(name)
        return multiple() if one is None else (name, one, two)

    @rule(target=copies, copy=consumes(copies))
    def extend(self, copy: Any) -> Any:
        name, one, two = copy
        messages = turn(self.fresh())
        one.messages += messages
        two.messages += messages
        saved = self.both(self.model.save(one), self.store.save(two))
        self.same(name)
        return multiple() if isinstance(saved[0], type) else copy

    @rule(copy=copies, at=st.integers(0, 5))
    def rewrite(self, copy: Any, at: int) -> None:
        name, one, two = copy
        messages = [*one.messages[:at], *turn(self.fresh())]
        pair = [
            Conversation(conversation_id=name, messages=list(messages), revision=each.revision)
            for each in (one, two)
        ]
        self.both(self.model.save(pair[0]), self.store.save(pair[1]))
        self.same(name)

    @rule(copy=copies, at=st.integers(0, 5))
    def branch(self, copy: Any, at: int) -> None:
        name, one, two = copy
        branched = self.both(
            self.model.branch(name, at=at, expected_revision=one.revision),
            self.store.branch(name, at=at, expected_revision=two.revision),
        )
        if not isinstance(branched[0], type):
            assert branched[0].messages == branched[1].messages
        self.same(name)

    @rule(copy=copies)
    def branch_back(self, copy: Any) -> None:
        name, one, two = copy
        records = self.both(self.model.read_record(name), self.store.read_record(name))
        if records[0] is None or not records[0].branches:
            return
        self.both(
            self.model.branch(name, from_entry=records[0].branches[0], expected_revision=one.revision),
            self.store.branch(name, from_entry=records[1].branches[0], expected_revision=two.revision),
        )
        self.same(name)

    @rule(target=names, name=names, at=st.integers(0, 5), new=st.sampled_from(["f0", "f1"]))
    def fork(self, name: str, at: int, new: str) -> str:
        self.both(
            self.model.fork(name, at=at, new_conversation_id=new),
            self.store.fork(name, at=at, new_conversation_id=new),
        )
        self.same(new)
        return new

    @rule(name=names)
    def delete(self, name: str) -> None:
        self.both(self.model.delete(name), self.store.delete(name))
        self.same(name)

    @rule(scope=st.sampled_from([None, "a"]))
    def listing(self, scope: str | None) -> None:
        one, two = self.both(
            self.model.list_conversations(scope=scope), self.store.list_conversations(scope=scope)
        )
        assert [record.conversation_id for record in one] == [record.conversation_id for record in two]


Laws.TestCase.settings = settings(max_examples=6, stateful_step_count=20, deadline=None)
TestLaws = Laws.TestCase


@pytest.mark.slow
def test_the_laws_hold_in_postgresql(postgres_dsn):
    def machine() -> Laws:
        return type("LawsThere", (Laws,), {"address": with_options(postgres_dsn, store=uuid.uuid4().hex)})()

    run_state_machine_as_test(
        machine, settings=settings(max_examples=50, stateful_step_count=30, deadline=None)
    )


@pytest.mark.parametrize("given", ["address", "store", "library"])
def test_a_closed_store_refuses_to_go_on_and_leaves_open_what_it_was_given(tmp_path, given):
    where = tmp_path / "app.db"
    place = {"address": str, "store": open_store, "library": SessionLibrary}[given](where)

    async def check() -> None:
        store = BranchlineConversations(place)
        await store.save(Conversation(conversation_id="c", messages=turn("hello")))
        await store.close()
        await store.close()
        uses: list[Callable[[], Coroutine[Any, Any, Any]]] = [
            lambda: store.load("c"),
            lambda: store.save(Conversation(conversation_id="c", messages=turn("again"))),
            lambda: store.delete("c"),
        ]
        for use in uses:
            with pytest.raises(Closed, match="closed"):
                await use()

    asyncio.run(check())

    if given == "store":
        assert place.stat("c") is not None
    if given == "library":
        assert len(place.list().readable) == 1
    with SessionLibrary(where) as library:
        assert len(library.get("c").context().messages) == 2
