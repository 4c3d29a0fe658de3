"""Pruning: asked for, shown first, never a damaged or a live session, and always undone."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from branchline import Session, SessionLibrary
from branchline.stores import MemoryStore
from library.kit import CWD, clock, empty, fill, state, talk
from session.kit import user


def keys(pruned):
    return sorted(item.row.key for item in pruned)


@pytest.mark.parity("ZOT-08")
def test_sessions_without_messages_are_shown_first_and_then_moved_to_the_trash(place):
    fill(place, 2)
    bare = empty(place, 5)
    settings = empty(place, 6)
    settings.append_model_change("anthropic", "opus")
    settings.set_title("never begun")
    bare.close()
    settings.close()
    library = SessionLibrary(place)
    before = state(place)

    shown = library.prune()

    assert keys(shown) == sorted([bare.key, settings.key])
    assert not any(item.removed for item in shown)
    assert state(place) == before

    done = library.prune(dry_run=False)

    assert keys(done) == keys(shown)
    assert all(item.removed for item in done)
    assert len(library.list()) == 2
    assert sorted(item.key for item in library.trash()) == keys(shown)
    for item in done:
        library.restore(item.token)
    assert len(library.list()) == 4
    assert keys(library.prune()) == keys(shown)


@pytest.mark.parity("ZOT-08")
def test_a_session_in_which_anybody_said_anything_is_kept(place):
    def say(number, act):
        session = empty(place, number)
        act(session)
        session.close()

    say(1, lambda session: session.append_message(user("hi")))
    say(2, lambda session: session.append_message({"role": "system", "content": "be brief"}))
    say(3, lambda session: session.append_custom_message("note", "a word"))
    say(4, lambda session: session.append_compaction("a summary"))
    say(5, lambda session: session.branch_with_summary(None, "a summary"))

    assert SessionLibrary(place).prune(dry_run=False) == []
    assert len(SessionLibrary(place).list()) == 5


@pytest.mark.parity("ZOT-08")
@pytest.mark.parametrize(
    "damage",
    [
        b'{"type":"message","id":"torn","par',
        b"\x00\x00\x00\n",
        b'{"type":"label","id":"a","parentId":"gone","targetId":"gone","label":"x"}\n',
        b"null\n",
        b'{"type":"from the future","id":"f","parentId":null}\n',
    ],
)
def test_a_damaged_session_is_never_pruned(place, damage):
    session = empty(place)
    session.close()
    with open(session.file, "ab") as file:
        file.write(damage)

    assert SessionLibrary(place).prune(dry_run=False) == []


@pytest.mark.parity("ZOT-08")
@pytest.mark.parametrize("content", [b"", b"garbage", b'{"type":"label","id":"a","parentId":null}\n'])
def test_what_is_no_session_is_never_pruned(place, content):
    place.mkdir()
    (place / "x.jsonl").write_bytes(content)

    assert SessionLibrary(place).prune(dry_run=False) == []
    assert os.listdir(place) == ["x.jsonl"]


@pytest.mark.parity("ZOT-08")
def test_a_session_that_is_being_written_is_never_pruned(place):
    session = empty(place)
    library = SessionLibrary(place)

    with session._writer.log.exclusive():
        assert library.prune(dry_run=False) == []
    session.close()

    assert len(library.prune(dry_run=False)) == 1


@pytest.mark.parity("ZOT-08")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which files are open")
def test_a_session_that_another_process_has_open_is_never_pruned(place):
    empty(place).close()
    library = SessionLibrary(place)
    script = (
        "import sys\n"
        "from branchline import Session\n"
        "session = Session.open(sys.argv[1])\n"
        "print('ready', flush=True)\n"
        "sys.stdin.read()\n"
    )
    path = library.list()[0].path
    child = subprocess.Popen(
        [sys.executable, "-c", script, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "ready\n"

    pruned = library.prune(dry_run=False)
    child.communicate()

    assert pruned == []
    assert len(library.prune(dry_run=False)) == 1


def test_drafts_without_messages_are_pruned_too_and_those_with_a_prompt_are_kept(place):
    asked = Session.create(CWD, directory=place, clock=clock(1))
    asked.append_message(user("unanswered"))
    asked.close()
    bare = Session.create(CWD, directory=place, clock=clock(2))
    bare.append_model_change("anthropic", "opus")
    bare._writer.log.close()  # as a crash leaves it: closing would forget such a draft
    library = SessionLibrary(place)

    (pruned,) = library.prune(dry_run=False)

    assert pruned.row.draft
    assert pruned.row.key == bare.key
    assert [draft.key for draft in library.drafts()] == [asked.key]
    library.restore(pruned.token)
    assert len(library.drafts()) == 2


def test_sessions_of_other_working_directories_are_not_pruned(place):
    empty(place).close()

    assert SessionLibrary(place, cwd="/elsewhere").prune(dry_run=False) == []
    assert len(SessionLibrary(place, cwd=CWD).prune(dry_run=False)) == 1


def test_a_memory_store_is_pruned_the_same_way():
    store = MemoryStore()
    empty(store, 1)
    talk(store, 2)

    assert len(SessionLibrary(store).prune(dry_run=False)) == 1
    assert len(SessionLibrary(store).list()) == 1
