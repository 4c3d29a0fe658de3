"""Sessions of the Claude Agent SDK: the contracts of its store, and what the stored log is for other interfaces.

The SDK carries Claude Code and is not a part of the locked environment. Its own suite runs where
BRANCHLINE_CLAUDE_SDK names the Python of an environment that has it.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import sysconfig
import time
import types
import uuid
from typing import Any

import pytest

from branchline import SessionLibrary
from branchline.errors import NotSupported
from branchline.integrations.claude_agent import BranchlineSessionStore
from branchline.session import Session
from branchline.stores import key_for
from support import ROOT

PROJECT = "-home-ada-shop"
MAIN: Any = {"project_key": PROJECT, "session_id": "0a1b2c3d-0000-4000-8000-000000000001"}
HELPER: Any = {**MAIN, "subpath": "subagents/agent-7"}


@pytest.fixture(params=["sessions", "app.db", "PostgreSQL"])
def where(request, tmp_path) -> str:
    if request.param == "PostgreSQL":
        return str(request.getfixturevalue("postgres_address"))
    return str(tmp_path / request.param)


def entry(number: int, kind: str = "user", parent: str | None = None, **more: Any) -> dict[str, Any]:
    content: Any = f"text {number}"
    message: dict[str, Any] = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {
            "content": [{"type": "text", "text": content}],
            "model": "claude-x",
            "id": f"m{number}",
            "type": "message",
        }
    return {
        "parentUuid": parent, "isSidechain": False, "type": kind, "message": message, "uuid": str(uuid.UUID(int=number)),
        "timestamp": f"2026-01-01T00:00:{number:02}.000Z", "cwd": "/home/ada/shop",
        "sessionId": MAIN["session_id"], "version": "2.1.0", **more,
    }  # fmt: skip


def talk(count: int) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    for number in range(1, count + 1):
        parent = entries[-1]["uuid"] if entries else None
        entries.append(entry(number, "user" if number % 2 else "assistant", parent))
    return entries


def test_entries_come_back_equal_and_in_order_and_each_once(where):
    entries = [
        *talk(4),
        {"type": "summary", "summary": "ü\u2028 no uuid", "n": 1.5, "deep": {"a": [None, True]}},
    ]

    async def use() -> None:
        async with BranchlineSessionStore(where) as store, BranchlineSessionStore(where) as other:
            assert await store.load(MAIN) is None
            await store.append(MAIN, [])
            assert await store.load(MAIN) is None
            await store.append(MAIN, entries[:2])
            await other.append(MAIN, entries[1:])
            await store.append(MAIN, entries[:4])
            await store.append(MAIN, [entries[4]])
            assert await store.load(MAIN) == [*entries, entries[4]]
            assert await other.load({**MAIN, "session_id": "other"}) is None

    asyncio.run(use())

    async def again() -> None:
        async with BranchlineSessionStore(where) as store:
            await store.append(MAIN, entries[:3])
            assert await store.load(MAIN) == [*entries, entries[4]]

    asyncio.run(again())


def test_transcripts_of_helpers_and_projects_are_kept_apart(where):
    async def use() -> None:
        async with BranchlineSessionStore(where) as store:
            await store.append(MAIN, talk(2))
            await store.append(HELPER, talk(1))
            await store.append({**MAIN, "project_key": "/" + "x" * 500}, talk(1))
            await store.append({**MAIN, "project_key": PROJECT + "-2"}, talk(1))

            (listed,) = await store.list_sessions(PROJECT)
            assert listed["session_id"] == MAIN["session_id"]
            assert abs(listed["mtime"] / 1000 - time.time()) < 60
            assert await store.list_subkeys(MAIN) == ["subagents/agent-7"]
            assert len(await store.list_sessions("/" + "x" * 500)) == 1
            assert await store.list_sessions("nobody") == []
            await store.delete(HELPER)
            assert await store.list_subkeys(MAIN) == []
            assert await store.load(MAIN) is not None
            await store.append(HELPER, talk(1))
            await store.delete(MAIN)
            assert await store.load(MAIN) is None
            assert await store.load(HELPER) is None
            assert len(await store.list_sessions(PROJECT + "-2")) == 1
            await store.delete(MAIN)
            await store.append(MAIN, talk(1))
            assert await store.load(MAIN) == talk(1)

    asyncio.run(use())


def test_the_stored_log_opens_as_a_session_of_claude_code(where):
    async def use() -> None:
        async with BranchlineSessionStore(where) as store:
            for one in talk(4):
                await store.append(MAIN, [one])

    asyncio.run(use())

    key = key_for("claude", PROJECT, MAIN["session_id"])
    with SessionLibrary(where) as library, Session.from_store(library.stores[0], key) as session:
        assert session.format == "claude-code"
        assert session.id == MAIN["session_id"]
        assert [session.index.roles[session.index.position(at)] for at in session.path()] == [
            "user",
            "assistant",
        ] * 2
        assert [row.cwd for row in library.list(deep=True)] == ["/home/ada/shop"]


def test_an_append_reads_only_what_others_appended(tmp_path):
    async def use() -> float:
        async with BranchlineSessionStore(tmp_path / "app.db") as store:
            await store.append(MAIN, [entry(number) for number in range(1, 10_001)])
            await store.append(MAIN, [entry(20_000)])
            before = time.process_time()
            for number in range(20):
                await store.append(MAIN, [entry(30_000 + number)])
            return (time.process_time() - before) / 20

    assert asyncio.run(use()) < 0.01  # 2 ms on a quiet machine; reading everything again takes 60


def test_summaries_are_folded_as_the_sdk_does_it(where, monkeypatch):
    sdk = types.ModuleType("claude_agent_sdk")

    def fold(before: Any, key: Any, entries: list[Any]) -> Any:
        count = 0 if before is None else before["data"]["count"]
        return {"session_id": key["session_id"], "mtime": 0, "data": {"count": count + len(entries)}}

    sdk.fold_session_summary = fold  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "claude_agent_sdk", sdk)

    async def use() -> None:
        async with BranchlineSessionStore(where) as store:
            for part in (talk(3)[:2], talk(3)[2:]):
                await store.append(MAIN, part)
                (summary,) = await store.list_session_summaries(PROJECT)
            await store.append(HELPER, talk(5))
            assert summary["data"] == {"count": 3}
            (again,) = await store.list_session_summaries(PROJECT)
            (listed,) = await store.list_sessions(PROJECT)
            assert again["data"] == {"count": 3}
            assert again["mtime"] >= listed["mtime"]

    asyncio.run(use())


def test_without_the_sdk_only_summaries_are_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "claude_agent_sdk", None)

    async def use() -> None:
        async with BranchlineSessionStore(tmp_path) as store:
            await store.append(MAIN, talk(1))
            with pytest.raises(NotSupported, match="claude-agent-sdk"):
                await store.list_session_summaries(PROJECT)

    asyncio.run(use())


def test_the_official_suite_passes_where_the_sdk_is_installed(tmp_path, postgres_address):
    python = os.environ.get("BRANCHLINE_CLAUDE_SDK")
    if not python:
        pytest.skip("BRANCHLINE_CLAUDE_SDK names no Python with claude-agent-sdk")
    code = """
import asyncio, sys, uuid
sys.path.append(sys.argv[3])  # the driver of PostgreSQL, if that Python has none
from claude_agent_sdk.testing import run_session_store_conformance
from branchline.integrations.claude_agent import BranchlineSessionStore
for where in (sys.argv[1] + "/{}", sys.argv[1] + "/{}.db", sys.argv[2] + "{}"):
    stores = []
    def make():
        stores.append(BranchlineSessionStore(where.format(uuid.uuid4().hex)))
        return stores[-1]
    async def run():
        await run_session_store_conformance(make)
        for store in stores:
            await store.close()
    asyncio.run(run())
print("passed")
"""

    done = subprocess.run(
        [python, "-c", code, str(tmp_path), postgres_address, sysconfig.get_path("purelib")],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.splitlines()[-1:] == ["passed"], done.stderr
