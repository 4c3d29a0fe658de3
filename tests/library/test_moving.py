"""Titles, file names, the trash: nothing is overwritten and nothing is deleted."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from branchline import Session, SessionLibrary
from branchline.errors import SessionNotFound
from branchline.stores import MemoryStore
from library.kit import CWD, clock, fill, talk
from session.kit import assistant, user

# -- titles -------------------------------------------------------------------------------------------------------


def test_a_title_is_a_new_entry_and_changes_no_earlier_byte(place):
    library = fill(place, 1)
    row = library.list()[0]
    before = Path(row.path).read_bytes()

    library.set_title(row.id, " A\nbetter name ")

    assert Path(row.path).read_bytes().startswith(before)
    assert library.list(deep=True)[0].title == "A better name"
    library.set_title(row.key, "")
    assert library.list(deep=True)[0].title is None


def test_titling_what_is_not_there_says_so(place):
    with pytest.raises(SessionNotFound):
        fill(place, 1).set_title("absent", "title")


# -- file names -----------------------------------------------------------------------------------------------------


@pytest.mark.parity("IND-05")
def test_a_renamed_session_lies_at_the_new_path_and_still_opens(place):
    library = fill(place, 1)
    row = library.list()[0]

    path = library.rename(row.id, "plan")

    assert path == str(place / "plan.jsonl")
    assert [found.key for found in library.list()] == ["plan"]
    with library.open("plan") as session:
        session.append_message(user("more"))
    assert library.open(row.key) is None
    assert library.find(row.id).key == "plan"


@pytest.mark.parity("IND-05")
def test_a_missing_source_and_an_existing_target_are_refused(place):
    library = fill(place, 2)
    one, other = library.list()
    before = {path.name: path.read_bytes() for path in place.glob("*.jsonl")}

    with pytest.raises(ValueError, match="no session named 'absent'"):
        library.rename("absent", "new")
    with pytest.raises(ValueError, match="already"):
        library.rename(one.key, other.key)
    with pytest.raises(ValueError, match="already"):
        library.rename(one.key, one.key)

    assert {path.name: path.read_bytes() for path in place.glob("*.jsonl")} == before


@pytest.mark.parity("IND-05")
def test_a_session_is_renamed_while_someone_is_appending_to_it(place):
    library = fill(place, 1)
    session = Session.open(library.list()[0].path, durability="os", clock=clock(5))
    started, stop = threading.Event(), threading.Event()
    written = []

    def write():
        while not stop.is_set():
            written.append(session.append_message(user(f"line {len(written)}")))
            started.set()

    writer = threading.Thread(target=write)
    writer.start()
    started.wait(10)
    key = library.list()[0].key
    for number in range(20):
        library.rename(key, f"name-{number}")
        key = f"name-{number}"
    stop.set()
    writer.join()
    session.append_message(assistant("done"))
    session.close()

    with library.open(key) as again:
        assert set(written) <= set(again.index)
        assert again.findings == []
        assert again.path()[-1] == session.leaf


def test_a_draft_has_no_file_to_rename(place):
    with Session.create(CWD, directory=place, clock=clock()) as session:
        session.append_message(user("unanswered"))
    library = SessionLibrary(place)

    with pytest.raises(ValueError, match="no session"):
        library.rename(session.key, "new")

    assert [draft.key for draft in library.drafts()] == [session.key]


def test_where_there_are_no_files_the_new_key_is_returned():
    store = MemoryStore()
    session = talk(store)

    assert SessionLibrary(store).rename(session.id, "plan") == "plan"


# -- the trash --------------------------------------------------------------------------------------------------------


@pytest.mark.parity("IND-06")
def test_removing_says_whether_there_was_something_and_never_raises_for_nothing(place):
    library = fill(place, 1)
    row = library.list()[0]

    assert library.remove("absent") is False
    assert library.remove(row.id) is True
    assert library.remove(row.id) is False
    assert len(library.list()) == 0


@pytest.mark.parity("IND-06")
def test_the_last_removed_session_comes_back(place):
    library = fill(place, 3)
    before = {path.name: path.read_bytes() for path in place.glob("*.jsonl")}
    rows = list(library.list())
    for row in rows:
        library.remove(row.key)

    assert [item.key for item in library.trash()] == [row.key for row in reversed(rows)]
    assert [library.restore() for _ in rows] == [row.key for row in reversed(rows)]

    assert {path.name: path.read_bytes() for path in place.glob("*.jsonl")} == before
    with pytest.raises(SessionNotFound, match="is empty"):
        library.restore()


@pytest.mark.parity("IND-06")
@pytest.mark.parametrize("how", ["token", "key", "id"])
def test_a_session_in_the_trash_is_named_by_token_key_or_id(place, how):
    library = fill(place, 3)
    rows = list(library.list())
    for row in rows:
        library.remove(row.key)
    wanted = library.trash()[1]
    name = {"token": wanted.token, "key": wanted.key, "id": rows[1].id}[how]

    assert library.restore(name) == wanted.key

    assert [row.key for row in library.list()] == [wanted.key]


def test_what_is_not_in_the_trash_cannot_be_restored(place):
    library = fill(place, 1)

    with pytest.raises(SessionNotFound, match="no session named 'x' in the trash"):
        library.restore("x")


def test_restoring_onto_a_name_that_is_taken_again_is_refused_with_a_sentence(place):
    library = fill(place, 1)
    key = library.list()[0].key
    library.remove(key)
    (place / f"{key}.jsonl").write_bytes(b"somebody else's")

    with pytest.raises(FileExistsError, match=f"a session '{key}' already exists; rename or remove it first"):
        library.restore()

    assert (place / f"{key}.jsonl").read_bytes() == b"somebody else's"
    assert len(library.trash()) == 1


def test_a_draft_is_removed_and_comes_back_as_a_draft(place):
    with Session.create(CWD, directory=place, clock=clock()) as session:
        session.append_message(user("unanswered"))
    library = SessionLibrary(place)

    assert library.remove(session.id) is True
    assert library.drafts() == []
    assert library.restore() == session.key
    assert [draft.key for draft in library.drafts()] == [session.key]


def test_an_unreadable_file_can_be_removed_by_its_name(place):
    place.mkdir()
    (place / "x.jsonl").write_bytes(b"garbage")
    library = SessionLibrary(place)

    assert library.remove("x") is True
    library.restore()

    assert sorted(os.listdir(place)) == [".branchline", "x.jsonl"]
