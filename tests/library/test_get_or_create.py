"""Sessions by foreign ids: found by one look, and created once however many ask."""

from __future__ import annotations

import threading

import pytest

from branchline import InvalidId, NotSupported, Session, SessionLibrary
from branchline.stores import FilesStore, MemoryStore


@pytest.fixture(params=["files", "memory"])
def store(request, tmp_path):
    return FilesStore(tmp_path) if request.param == "files" else MemoryStore()


def test_a_foreign_id_names_one_session(store):
    library = SessionLibrary(store)
    assert library.get("user:42") is None

    with library.get_or_create("user:42", title="Talk") as made:
        made.append_message("hello")
    with library.get_or_create("user:42") as found, library.get("user:42") as same:
        assert found.id == same.id == made.id == found.key == "user%3a42"
        assert found.title == "Talk"
        assert found.header.metadata == {"name": ["user:42"]}
        assert len(found.path()) == 1

    assert [row.key for row in library.list()] == ["user%3a42"]
    assert library.open("user%3a42") is not None


def test_parts_are_not_confused_with_one_text(store):
    library = SessionLibrary(store)

    keys = {library.get_or_create(*parts).key for parts in (("a", "b"), ("a~b",), ("a", "b", ""))}

    assert keys == {"a~b", "a%7eb", "a~b~%"}
    assert [found.key for found in store.scan(prefix="a~").found] != []


def test_a_session_without_entries_is_there_and_stays(store):
    library = SessionLibrary(store)

    library.get_or_create("plain").close()

    with library.get("plain") as session:
        assert session.header.metadata is None
        assert len(session) == 0
        assert session


def test_of_many_callers_one_creates_and_the_others_open(store):
    barrier = threading.Barrier(8)
    problems, ids = [], []

    def ask(number):
        barrier.wait()
        try:
            with SessionLibrary(store).get_or_create("shared", on_conflict="append") as session:
                ids.append(session.id)
                session.append_message(f"from {number}")
        except Exception as problem:
            problems.append(problem)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert problems == []
    assert ids == ["shared"] * 8
    with SessionLibrary(store).get("shared") as session:
        assert len(session.path()) == 8


def test_an_unknown_id_reads_no_other_session(store):
    library = SessionLibrary(store)
    for number in range(5):
        Session.create("/p", store=store, id=f"s{number}", persist="always").close()

    def refuse(*_arguments):
        raise AssertionError("another session was looked at")

    store.snapshot = refuse
    store.scan = refuse

    library.get_or_create("new").close()
    assert library.get("other") is None


def test_ids_that_a_file_system_confuses_do_not_share_a_conversation(tmp_path):
    library = SessionLibrary(tmp_path)
    library.get_or_create("Anna").close()
    (tmp_path / "Anna.jsonl").rename(tmp_path / "anna.jsonl")

    with pytest.raises(InvalidId, match="case"):
        library.get_or_create("anna")


def test_sessions_of_every_program_have_no_one_store():
    with pytest.raises(NotSupported, match="one store"):
        SessionLibrary.everywhere().get_or_create("x")


def test_a_fork_can_have_a_key_of_its_own(store):
    with SessionLibrary(store).get_or_create("one") as session:
        session.append_message("hello")

        with session.fork(store=store, key="two") as fork:
            assert (fork.key, fork.id, fork.parent_session) == ("two", "two", session.file or "one")

    with SessionLibrary(store).get("two") as again:
        assert len(again.path()) == 1
