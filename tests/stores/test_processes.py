"""Several processes on one store: no acknowledged append is lost, and no lock outlives its holder."""

from __future__ import annotations

import random
import subprocess
import time

import pytest

from branchline import SessionLibrary
from branchline.stores import close_store, open_store
from session.processes import acknowledged, child, command, ready, run_together
from stores.postgres_server import postgres_address, postgres_dsn

__all__ = ["postgres_address", "postgres_dsn"]


@pytest.fixture(params=["sqlite", "postgres"])
def address(request, tmp_path):
    if request.param == "postgres":
        return request.getfixturevalue("postgres_address")
    return f"{tmp_path}/sessions.db"


def texts(library, key):
    with library.get(key) as session:
        return [entry.message.content[0].text for entry in session.entries(session.path())]


def test_four_processes_append_to_one_session_and_every_line_is_there_in_order(address):
    lines = run_together([["append_to_store", address, "talk", name, 100] for name in "abcd"])

    with SessionLibrary(address) as library, library.get("talk") as session:
        assert sorted(session.path()) == sorted(entry for one in lines for (entry,) in one)
        found = texts(library, "talk")
        assert session.findings == []
    for name in "abcd":
        assert [text for text in found if text.startswith(name)] == [f"{name} {n}" for n in range(100)]


@pytest.mark.parametrize("kind", ["files", "sqlite", "postgres"])
def test_of_two_creators_of_one_key_one_creates_and_the_other_opens(kind, tmp_path, request):
    address = f"{tmp_path}/sessions.db" if kind == "sqlite" else f"{tmp_path}/sessions"
    if kind == "postgres":
        address = request.getfixturevalue("postgres_address")

    lines = run_together([["create_in_store", address, "user:42", name] for name in "ab"])

    ids, entries = zip(*(line for one in lines for line in one), strict=True)
    with SessionLibrary(address) as library:
        assert set(ids) == {"user%3a42"}
        assert sorted(texts(library, "user:42")) == ["a", "b"]
        assert len(library.list()) == 1
        assert len(set(entries)) == 2


def test_the_lock_of_a_killed_process_is_free_at_once(address):
    store = open_store(address)
    log = store.create("one", b"{}\n")
    with child("hold_in_store", address, "one") as (process, _):
        assert store.in_use(["one"]) == {"one"}

        process.kill()
        killed = time.monotonic()
        with log.exclusive() as writer:
            writer.append(b"{}\n")
        waited = time.monotonic() - killed

    assert waited < 1.0
    assert log.read(0, 100) == b"{}\n{}\n"
    log.close()
    close_store(store)


def kill_while_appending(address, seconds):
    """Return the entries that a child acknowledged before it was killed."""
    arguments = command("append_to_store", address, "talk", "x", 0)
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        ready(process)
        process.stdin.write("go\n")
        process.stdin.flush()
        time.sleep(seconds)
        process.kill()
        return [entry for (entry,) in acknowledged(process)]


def require_all(address, saved, kills):
    """Check that all acknowledged entries are there, and at most one more per process."""
    with SessionLibrary(address) as library, library.get("talk") as session:
        path = session.path()
        assert set(saved) <= set(path)
        assert session.findings == []
        assert len(path) - len(saved) <= kills
        session.append_message("after")


def test_what_a_killed_process_has_acknowledged_is_there(address):
    saved = []
    for _ in range(2):
        saved += kill_while_appending(address, 0.15)

    assert saved
    require_all(address, saved, kills=2)


@pytest.mark.slow
def test_two_hundred_kills_lose_nothing(address):
    chance = random.Random(7)
    saved = []
    for _ in range(200):
        saved += kill_while_appending(address, chance.uniform(0.0, 0.1))

    require_all(address, saved, kills=200)


@pytest.mark.slow
def test_eight_processes_append_three_hundred_each(address):
    lines = run_together([["append_to_store", address, "talk", name, 300] for name in "abcdefgh"])

    with SessionLibrary(address) as library, library.get("talk") as session:
        assert sorted(session.path()) == sorted(entry for one in lines for (entry,) in one)
