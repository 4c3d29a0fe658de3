"""The LangGraph saver: the official test suite, real graphs, and the cost of each put."""

from __future__ import annotations

import asyncio
import operator
import os
import random
import string
import uuid
from pathlib import Path
from typing import Annotated, Any

import psycopg
import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from branchline import SessionLibrary
from branchline.errors import InvalidId, NotSupported, StoreClosed
from branchline.integrations.langgraph import BranchlineSaver
from stores.postgres_server import with_options

LETTERS = string.ascii_letters


@pytest.fixture
def where(tmp_path: Path) -> str:
    return str(tmp_path / "agents.db")


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def database(request, tmp_path: Path) -> str:
    if request.param == "SQLite":
        return str(tmp_path / "agents.db")
    return str(request.getfixturevalue("postgres_address"))


@pytest.fixture
def saver(where):
    made = BranchlineSaver(where)
    yield made
    made.close()


@pytest.fixture
def saver_anywhere(database):
    made = BranchlineSaver(database)
    made.setup()
    yield made
    made.close()


def long_text(number: int) -> str:
    return f"{number}: " + "".join(random.Random(number).choices(LETTERS, k=1500))


def thread(name: str = "t", **more: Any) -> Any:
    return {"configurable": {"thread_id": name, **more}}


def chat_graph(saver: BranchlineSaver) -> Any:
    def answer(state: MessagesState) -> Any:
        return {"messages": [AIMessage(long_text(len(state["messages"])))]}

    graph = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    return graph.compile(checkpointer=saver)


def said(app: Any, config: Any) -> list[str]:
    return [message.content for message in app.get_state(config).values["messages"]]


def test_the_official_suite_passes_in_full(database):
    @checkpointer_test(name="branchline")
    async def make():
        saver = BranchlineSaver(database)
        saver.setup()
        yield saver
        saver.close()

    report = asyncio.run(validate(make))

    counts = {name: (result.tests_passed, result.tests_failed) for name, result in report.results.items()}
    assert sum(passed for passed, _failed in counts.values()) == 81, counts
    assert not any(failed for _passed, failed in counts.values()), counts


def test_a_long_thread_is_the_same_in_a_new_process_and_after_a_fork(saver_anywhere, database):
    saver = saver_anywhere
    app = chat_graph(saver)
    for number in range(8):
        app.invoke({"messages": [HumanMessage(long_text(number))]}, thread())
    before = said(app, thread())
    history = list(app.get_state_history(thread()))
    middle = history[len(history) // 2].config

    fork = app.invoke({"messages": [HumanMessage("another way")]}, middle)
    other = BranchlineSaver(database)
    again = chat_graph(other)
    again.invoke({"messages": [HumanMessage("after a restart")]}, thread())

    kept = [message.content for message in app.get_state(middle).values["messages"]]
    assert said(again, thread())[: len(kept)] == kept == before[: len(kept)]
    assert said(again, thread())[len(kept)] == "another way"
    assert said(again, thread())[-2] == "after a restart"
    assert said(again, history[0].config) == before
    assert len(fork["messages"]) == len(kept) + 2
    assert [state.values for state in app.get_state_history(thread())] == [
        state.values for state in again.get_state_history(thread())
    ]
    other.close()


def test_each_put_costs_what_is_new(saver, where):
    app = chat_graph(saver)
    for number in range(20):
        app.invoke({"messages": [HumanMessage(long_text(number))]}, thread())
    saver.close()

    text = 40 * 1500
    # A whole list in each checkpoint would be over 30 times the text.
    assert os.path.getsize(where) < 6 * text


def test_interrupts_resume_and_subgraphs_have_their_own_namespace(saver):
    class State(TypedDict):
        log: Annotated[list[str], operator.add]

    def ask(state: State) -> Any:
        return {"log": [interrupt("really?")]}

    inner = StateGraph(State)
    inner.add_node("ask", ask)
    inner.add_edge(START, "ask")
    outer = StateGraph(State)
    outer.add_node("inner", inner.compile(checkpointer=True))
    outer.add_edge(START, "inner")
    app = outer.compile(checkpointer=saver)

    paused = app.invoke({"log": [long_text(1) * 3]}, thread())
    done = app.invoke(Command(resume="yes"), thread())

    assert paused["__interrupt__"][0].value == "really?"
    assert done["log"][-1] == "yes"
    namespaces = {found.config["configurable"]["checkpoint_ns"] for found in saver.list(thread())}
    assert len(namespaces) == 2


def join(items: list[str], writes: list[list[str]]) -> list[str]:
    return [*items, *(item for write in writes for item in write)]


class DeltaState(TypedDict):
    items: Annotated[list[str], DeltaChannel(join, snapshot_frequency=7)]


def delta_graph(saver: BranchlineSaver) -> Any:
    graph = StateGraph(DeltaState)
    graph.add_node("echo", lambda _state: {"items": ["echo"]})
    graph.add_edge(START, "echo")
    return graph.compile(checkpointer=saver)


def test_pruning_keeps_what_delta_channels_are_rebuilt_from(saver_anywhere):
    saver = saver_anywhere
    app = delta_graph(saver)
    for number in range(12):
        app.invoke({"items": [f"item {number}"]}, thread())
    before = app.get_state(thread()).values
    checkpoints = len(list(saver.list(thread())))

    saver.prune(["t"])

    left = len(list(saver.list(thread())))
    assert app.get_state(thread()).values == before
    assert len(before["items"]) == 24
    assert 1 < left < checkpoints / 2


def test_a_pruned_or_copied_thread_goes_on_and_leaves_nothing_behind(saver_anywhere, database):
    saver = saver_anywhere
    app = chat_graph(saver)
    for number in range(6):
        app.invoke({"messages": [HumanMessage(long_text(number))]}, thread())
    before = said(app, thread())

    saver.copy_thread("t", "copy")
    other = BranchlineSaver(database)
    other.prune(["t"])
    app.invoke({"messages": [HumanMessage("after somebody else pruned")]}, thread())
    app.invoke({"messages": [HumanMessage("in the copy")]}, thread("copy"))

    assert said(app, thread())[:-2] == said(app, thread("copy"))[:-2] == before
    assert said(chat_graph(other), thread()) == said(app, thread())
    saver.delete_thread("t")
    saver.delete_thread("copy")
    count = "SELECT count(*) FROM {lg}%s WHERE space = ?"
    tables = ("checkpoint", "write", "segment", "value")
    assert [saver._rows.read(count.replace("%s", table), saver._rows.space) for table in tables] == [
        [(0,)]
    ] * 4
    other.close()


def test_deleting_runs_keeps_what_other_checkpoints_need(saver_anywhere):
    saver = saver_anywhere
    app = chat_graph(saver)
    for number in range(4):
        config = {**thread(), "metadata": {"run_id": f"run-{number}"}}
        app.invoke({"messages": [HumanMessage(long_text(number))]}, config)
    before = said(app, thread())

    saver.delete_for_runs(["run-0", "run-1"])

    assert said(app, thread()) == before
    assert {found.metadata["run_id"] for found in saver.list(thread())} == {"run-2", "run-3"}
    saver.delete_for_runs(["run-2", "run-3"])
    assert saver.get_tuple(thread()) is None


def test_large_values_that_do_not_change_are_stored_once(saver, where):
    class State(TypedDict):
        document: dict[str, str]
        step: int

    graph = StateGraph(State)
    graph.add_node("next", lambda state: {"step": state["step"] + 1})
    graph.add_edge(START, "next")
    app = graph.compile(checkpointer=saver)
    app.invoke({"document": {"text": long_text(1) * 100}, "step": 0}, thread())
    for _ in range(20):
        app.invoke({"step": 5}, thread())

    values = app.get_state(thread()).values
    saver.close()

    assert values == {"document": {"text": long_text(1) * 100}, "step": 6}
    assert os.path.getsize(where) < 1_500_000


def test_lists_of_anything_come_back_as_they_were(saver_anywhere):
    saver = saver_anywhere
    odd: list[Any] = [
        None,
        b"bytes" * 300,
        {"a": (1, 2)},
        {3, 4},
        "text" * 400,
        1.5,
        HumanMessage("hi", id="1"),
    ]
    even: list[Any] = [{"n": number, "text": long_text(number)} for number in range(300)]
    config: Any = thread(checkpoint_ns="")
    for number, items in enumerate(
        ([], even[:1], even[:20], even, even[:5], [*even[:5], "x"], odd, [*odd, 1])
    ):
        checkpoint: Any = {
            "v": 4, "id": f"1f0{number}", "ts": "", "channel_values": {"items": items, "n": number},
            "channel_versions": {"items": number}, "versions_seen": {}, "updated_channels": None,
        }  # fmt: skip
        config = saver.put(config, checkpoint, {"step": number}, {})

        expected = saver.serde.loads_typed(saver.serde.dumps_typed(items))
        assert saver.get_tuple(config).checkpoint["channel_values"]["items"] == expected

    listed = list(saver.list(thread(), filter={"step": 3}))
    assert [found.checkpoint["channel_values"]["n"] for found in listed] == [3]
    assert [found.config["configurable"]["checkpoint_id"] for found in saver.list(None, limit=2)] == [
        "1f07",
        "1f06",
    ]


def test_an_encrypted_saver_keeps_nothing_readable(where):
    class Reversing:
        def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
            return "reversed", plaintext[::-1]

        def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
            return ciphertext[::-1]

    saver = BranchlineSaver(where, serde=EncryptedSerializer(Reversing()))
    app = chat_graph(saver)
    for number in range(3):
        app.invoke({"messages": [HumanMessage(long_text(number))]}, thread())

    found = said(app, thread())
    saver.close()

    assert [text[:3] for text in found[::2]] == ["0: ", "1: ", "2: "]
    assert long_text(1).encode() not in Path(where).read_bytes()


def test_async_graphs_use_the_same_tables(saver):
    class State(TypedDict):
        messages: Annotated[list[AnyMessage], operator.add]

    async def answer(state: State) -> Any:
        return {"messages": [AIMessage(long_text(len(state["messages"])))]}

    graph = StateGraph(State)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    app = graph.compile(checkpointer=saver)

    async def talk() -> list[Any]:
        for number in range(5):
            await app.ainvoke({"messages": [HumanMessage(long_text(number))]}, thread())
        return [found async for found in saver.alist(thread(), limit=3)]

    found = asyncio.run(talk())

    assert len(found) == 3
    assert len(found[0].checkpoint["channel_values"]["messages"]) == 10
    assert found == list(saver.list(thread(), limit=3))


def test_sessions_and_checkpoints_share_a_file(saver, where):
    chat_graph(saver).invoke({"messages": [HumanMessage("hi")]}, thread())

    with SessionLibrary(where) as library, library.get_or_create("s") as session:
        session.append_message("hello")
        assert len(library.list()) == 1


def test_tenants_see_only_their_own_checkpoints(postgres_dsn):
    """A role without privileges: 0 rows of others, no insert for others, 0 rows without a tenant."""
    role = f"r{uuid.uuid4().hex[:12]}"
    first = BranchlineSaver(postgres_dsn)
    first.setup()
    first.close()
    with psycopg.connect(postgres_dsn, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {role} LOGIN")
        owner.execute(f"GRANT USAGE ON SCHEMA branchline TO {role}")
        owner.execute(f"GRANT SELECT ON branchline.migration TO {role}")
        tables = "branchline.lg_checkpoint, branchline.lg_write, branchline.lg_segment, branchline.lg_value"
        owner.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {tables} TO {role}")
    place = postgres_dsn.replace("postgres@", f"{role}@")
    store = uuid.uuid4().hex
    # The second name begins like the address of the first one's store.
    savers = {
        tenant: BranchlineSaver(with_options(place, tenant=tenant, store=store))
        for tenant in ("a", f"a/{store}")
    }

    for tenant, saver in savers.items():
        chat_graph(saver).invoke({"messages": [("user", f"I am {tenant}")]}, thread())

    for tenant, saver in savers.items():
        assert said(chat_graph(saver), thread())[0] == f"I am {tenant}"
        saver.setup()  # nothing to do, and no right to do it
        saver.close()
    with psycopg.connect(place, autocommit=True) as plain:
        count = "SELECT count(*) FROM branchline.lg_checkpoint WHERE space LIKE %s"
        assert plain.execute(count, (f"%{store}%",)).fetchone() == (0,)
        plain.execute("SELECT set_config('branchline.tenant', 'a', false)")
        spaces = "SELECT DISTINCT space FROM branchline.lg_checkpoint WHERE space LIKE %s"
        assert plain.execute(spaces, (f"%{store}%",)).fetchall() == [(f"a/{store}",)]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            plain.execute("INSERT INTO branchline.lg_value VALUES (%s, 't', 'h', 'k', '')", (f"b/{store}",))


def test_a_directory_is_no_database(tmp_path):
    with pytest.raises(NotSupported, match="need a database"):
        BranchlineSaver(tmp_path)


def test_versions_of_other_savers_are_continued(saver):
    assert saver.get_next_version(None, None) == 1
    assert saver.get_next_version(4, None) == 5
    assert (
        saver.get_next_version("00000000000000000000000000000007.0.123", None)
        > "00000000000000000000000000000007.9"
    )


def test_a_mirror_shows_a_thread_with_its_branches_as_a_session(database):
    saver = BranchlineSaver(database, mirror=True)
    saver.setup()
    app = chat_graph(saver)
    for text in ("first", "second"):
        app.invoke({"messages": [HumanMessage(text)]}, thread("user:1"))
    first = list(app.get_state_history(thread("user:1")))[3].config
    before = said(app, thread("user:1"))
    app.invoke({"messages": [HumanMessage("another way")]}, first)
    other = BranchlineSaver(database, mirror=True)
    chat_graph(other).invoke({"messages": [HumanMessage("after a restart")]}, thread("user:1"))
    expected = said(app, thread("user:1"))

    with SessionLibrary(database) as library, library.get("langgraph", "user:1") as session:
        shown = [message.message.content for message in session.context().messages]
        texts = [one if isinstance(one, str) else one[0].text for one in shown]
        assert texts == expected
        assert session.index.types.count("message") == len(expected) + len(before) - 2
        assert len(session.children(session.path()[1])) == 2

    saver.delete_thread("user:1")
    with SessionLibrary(database) as library:
        assert library.get("langgraph", "user:1") is None
    other.close()
    saver.close()


def test_a_mirror_that_fails_is_logged_and_the_run_goes_on(where, caplog, monkeypatch):
    saver = BranchlineSaver(where, mirror=True)

    def refuse(*_parts: str, **_options: Any) -> Any:
        raise OSError("disk full")

    monkeypatch.setattr(saver._mirror._library, "get_or_create", refuse)
    app = chat_graph(saver)
    app.invoke({"messages": [HumanMessage("hi")]}, thread())

    assert len(said(app, thread())) == 2
    assert "cannot mirror the LangGraph thread 't': disk full" in caplog.text
    saver.close()


def test_a_closed_saver_refuses_to_go_on(database):
    saver = BranchlineSaver(database)
    saver.setup()
    app = chat_graph(saver)
    app.invoke({"messages": [HumanMessage("hello")]}, thread())
    saver.close()
    saver.close()

    for use in (
        lambda: app.invoke({"messages": [HumanMessage("again")]}, thread()),
        lambda: app.get_state(thread()),
        lambda: list(saver.list(thread())),
        lambda: saver.delete_thread("t"),
    ):
        with pytest.raises(StoreClosed):
            use()


def test_options_after_a_file_are_refused(tmp_path):
    with pytest.raises(InvalidId, match="PostgreSQL"):
        BranchlineSaver(tmp_path / "agents.db?tenant=acme")

    assert list(tmp_path.iterdir()) == []
