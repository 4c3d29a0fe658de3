"""Several processes on one store: no acknowledged append is lost, and no lock outlives its holder."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from branchline import SessionLibrary
from branchline.stores import close_store, open_store
from stores.postgres_server import postgres_address, postgres_dsn

__all__ = ["postgres_address", "postgres_dsn"]
SCRIPT = str(Path(__file__).with_name("children.py"))


@pytest.fixture(params=["sqlite", "postgres"])
def address(request, tmp_path):
    if request.param == "postgres":
        return request.getfixturevalue("postgres_address")
    return f"{tmp_path}/sessions.db"


def start(*arguments):
    command = [sys.executable, SCRIPT, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def together(*commands):
    """What children say that begin at the same moment and come to their end."""
    children = [start(*command) for command in commands]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    said = [child.communicate(timeout=300)[0].splitlines() for child in children]
    assert [child.returncode for child in children] == [0] * len(children)
    return said


def texts(library, key):
    with library.get(key) as session:
        return [entry.message.content[0].text for entry in session.entries(session.path())]


def test_four_processes_append_to_one_session_and_every_line_is_there_in_order(address):
    said = together(*(("append", address, "talk", name, 100) for name in "abcd"))

    with SessionLibrary(address) as library, library.get("talk") as session:
        assert sorted(session.path()) == sorted(entry for one in said for entry in one)
        found = texts(library, "talk")
        assert session.findings == []
    for name in "abcd":
        assert [text for text in found if text.startswith(name)] == [f"{name} {n}" for n in range(100)]


@pytest.mark.parametrize("kind", ["files", "sqlite", "postgres"])
def test_of_two_creators_of_one_key_one_creates_and_the_other_opens(kind, tmp_path, request):
    address = f"{tmp_path}/sessions.db" if kind == "sqlite" else f"{tmp_path}/sessions"
    if kind == "postgres":
        address = request.getfixturevalue("postgres_address")

    said = together(*(("create", address, "user:42", name) for name in "ab"))

    ids, entries = zip(*(line.split() for one in said for line in one), strict=True)
    with SessionLibrary(address) as library:
        assert set(ids) == {"user%3a42"}
        assert sorted(texts(library, "user:42")) == ["a", "b"]
        assert len(library.list()) == 1
        assert len(set(entries)) == 2


def test_the_lock_of_a_killed_process_is_free_at_once(address):
    store = open_store(address)
    log = store.create("one", b"{}\n")
    child = start("hold", address, "one")
    assert child.stdout.readline() == "ready\n"
    assert store.in_use(["one"]) == {"one"}

    child.kill()
    killed = time.monotonic()
    with log.exclusive() as writer:
        writer.append(b"{}\n")
    waited = time.monotonic() - killed

    assert waited < 1.0
    assert log.read(0, 100) == b"{}\n{}\n"
    child.communicate()
    log.close()
    close_store(store)


def kill_while_appending(address, seconds):
    """The entries that a child acknowledged before it was killed."""
    child = start("append", address, "talk", "x", 0)
    assert child.stdout.readline() == "ready\n"
    child.stdin.write("go\n")
    child.stdin.flush()
    time.sleep(seconds)
    child.kill()
    return child.communicate()[0].split("\n")[:-1]


def require_all(address, saved, kills):
    """Everything acknowledged is there, and of each process at most one entry more."""
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
    said = together(*(("append", address, "talk", name, 300) for name in "abcdefgh"))

    with SessionLibrary(address) as library, library.get("talk") as session:
        assert sorted(session.path()) == sorted(entry for one in said for entry in one)
