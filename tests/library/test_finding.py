"""Which session does a person mean, and what is it: find, latest, open, describe."""

from __future__ import annotations

import os
import shutil

import pytest

from branchline import Session, SessionLibrary
from branchline.errors import Ambiguous, InvalidId, NotASession, SessionNotFound
from branchline.stores import FilesStore, MemoryStore
from library.kit import CWD, Watched, age, clock, empty, fill, talk
from session.kit import assistant, user

NO_IDS = ["../x", "a/b", "..", ".", "", "/etc/passwd", "a\\b", ".hidden", "x\n", "a\0"]


# -- find ---------------------------------------------------------------------------------------------------------


@pytest.mark.parity("ZOT-05")
@pytest.mark.parametrize("how", ["key", "id", "prefix", "key prefix"])
def test_a_session_is_found_by_key_by_id_and_by_their_beginnings(place, how):
    library = fill(place, 3)
    wanted = library.list(deep=True)[1]
    text = {"key": wanted.key, "id": wanted.id, "prefix": wanted.id[:13], "key prefix": wanted.key[:10]}[how]

    found = library.find(text)

    assert (found.key, found.id, found.cwd, found.created) == (
        wanted.key,
        wanted.id,
        wanted.cwd,
        wanted.created,
    )


@pytest.mark.parity("ZOT-05")
def test_finding_by_id_reads_headers_only(place):
    for number in range(3):
        talk(place, number, "word " * 20_000).close()
    store = Watched(place)
    library = SessionLibrary(store)

    library.find(library.list()[2].id[:13])

    assert {(offset, size) for _, offset, size in store.reads} == {(0, 4096)}


def test_a_session_is_found_by_its_title_whatever_the_case(place):
    talk(place, 0, title="Straße nach Süden").close()
    talk(place, 1, title="another").close()

    assert SessionLibrary(place).find("STRASSE nach süden").title == "Straße nach Süden"


def test_a_file_whose_name_has_nothing_to_do_with_its_id_is_found_by_either(place):
    with talk(place) as session:
        shutil.move(session.file, place / "plan.jsonl")
    library = SessionLibrary(place)

    assert library.find("plan").id == session.id
    assert library.find(session.id).key == "plan"
    assert library.find(session.id[:9]).key == "plan"


def test_an_exact_name_wins_over_a_beginning(place):
    talk(place, 0, id="abc").close()
    talk(place, 1, id="abcd").close()

    assert SessionLibrary(place).find("abc").id == "abc"


def test_several_candidates_are_named_and_the_rest_counted(place):
    for number in range(7):
        talk(place, number, id=f"abc-{number}").close()

    with pytest.raises(Ambiguous) as problem:
        SessionLibrary(place).find("abc")

    message = str(problem.value)
    assert "'abc' matches 7 sessions" in message
    assert [f"abc-{number}" in message for number in range(7)] == [False, False, True, True, True, True, True]
    assert "and 2 more" in message


def test_of_sessions_with_one_id_the_file_that_is_named_after_it_is_meant(place):
    with talk(place, id="twin") as session:
        shutil.copy(session.file, place / "copy.jsonl")
    library = SessionLibrary(place)

    assert library.find("twin").key == session.key
    assert library.find("copy").id == "twin"
    assert library.path_of("twin") == session.file
    assert library.remove("twin") is True
    assert library.find("twin").key == "copy"


def test_sessions_with_one_id_are_told_apart_by_their_keys(place):
    with talk(place, id="twin") as session:
        shutil.move(session.file, place / "one.jsonl")
        shutil.copy(place / "one.jsonl", place / "other.jsonl")
    library = SessionLibrary(place)

    for verb in (library.find, library.open, library.remove):
        with pytest.raises(Ambiguous, match="one") as problem:
            verb("twin")
        assert "other" in str(problem.value)


def test_two_sessions_of_one_title_are_ambiguous(place):
    talk(place, 0, title="plan").close()
    talk(place, 1, title="Plan").close()

    with pytest.raises(Ambiguous, match=r"\(plan\)"):
        SessionLibrary(place).find("plan")


def test_nothing_found_says_where_it_looked(place):
    with pytest.raises(SessionNotFound, match=f"no session matches 'x' in {place}"):
        fill(place, 1).find("x")


@pytest.mark.parametrize("text", ["", "  "])
def test_an_empty_text_finds_nothing(place, text):
    with pytest.raises(ValueError, match="give its id"):
        fill(place, 1).find(text)


def test_only_sessions_of_the_asked_working_directory_are_found(place):
    with talk(place, 0, cwd="/elsewhere") as session:
        pass

    with pytest.raises(SessionNotFound):
        SessionLibrary(place, cwd=CWD).find(session.id)


# -- latest -------------------------------------------------------------------------------------------------------


@pytest.mark.parity("ZOT-07")
def test_the_latest_session_is_the_first_of_a_list_whatever_file_changed_last(place):
    library = fill(place, 3)
    age(library.list()[-1].path, 9)

    assert library.latest().key == library.list(deep=True)[0].key == library.list()[1].key


@pytest.mark.parity("ZOT-07")
def test_the_latest_session_of_a_working_directory_is_one_of_it(place):
    for number, cwd in enumerate([CWD, CWD, "/elsewhere"]):
        with talk(place, number, cwd=cwd) as session:
            age(session.file, number)

    latest = SessionLibrary(place, cwd=CWD).latest()

    assert (latest.cwd, latest.modified_ms) == (CWD, SessionLibrary(place).list()[1].modified_ms)


def test_a_file_without_a_header_is_never_the_latest_session(place):
    library = fill(place, 1)
    (place / "newer.jsonl").write_bytes(b"garbage")

    assert library.latest().key != "newer"


# -- open ---------------------------------------------------------------------------------------------------------


@pytest.mark.parity("IND-04")
def test_a_session_opens_by_key_and_by_id_and_goes_on(place):
    library = fill(place, 2)
    row = library.list()[0]

    for name in (row.key, row.id):
        with library.open(name) as session:
            session.append_message(user("more"))

    assert library.list(deep=True)[0].messages == 4


@pytest.mark.parity("IND-04")
def test_there_is_no_session_where_there_is_none(place):
    library = fill(place, 1)

    assert library.open("absent") is None
    assert library.open(library.list()[0].id[:8]) is None
    assert library.path_of("absent") is None


@pytest.mark.parity("IND-04")
@pytest.mark.parametrize("name", NO_IDS)
def test_an_id_is_never_a_path(place, name):
    library = fill(place, 1)
    key = library.list()[0].key
    (place.parent / "x.jsonl").write_bytes(b'{"type":"session","version":3,"id":"x"}\n')

    for verb in (library.open, library.path_of, library.describe, library.remove):
        with pytest.raises(InvalidId):
            verb(name)
    with pytest.raises(InvalidId):
        library.set_title(name, "title")
    with pytest.raises(InvalidId):
        library.rename(name, "new")
    with pytest.raises(InvalidId):
        library.rename(key, name)
    assert sorted(os.listdir(place.parent)) == ["sessions", "x.jsonl"]


def test_a_draft_opens_and_goes_on(place):
    with Session.create(CWD, directory=place, clock=clock()) as session:
        session.append_message(user("unanswered"))
    library = SessionLibrary(place, clock=clock(1))
    (draft,) = library.drafts()

    assert draft.draft
    assert draft.first_prompt == "unanswered"
    assert len(library.list()) == 0
    with library.open(draft.id) as again:
        again.append_message(assistant("at last"))

    assert library.drafts() == []
    assert [row.messages for row in library.list(deep=True)] == [2]


def test_a_file_that_is_no_session_is_refused_with_the_reason(place):
    place.mkdir()
    (place / "x.jsonl").write_bytes(b"garbage")

    with pytest.raises(NotASession):
        SessionLibrary(place).open("x")


def test_the_path_of_a_session_is_where_its_file_lies(place):
    with talk(place) as session:
        pass
    library = SessionLibrary(place)

    assert library.path_of(session.id) == library.path_of(session.key) == session.file


def test_what_a_library_opens_is_as_durable_as_the_library(place):
    fill(place, 1)
    asked = []

    class Noting(FilesStore):
        def open(self, key, *, durability="fsync"):
            asked.append(durability)
            return super().open(key, durability=durability)

    library = SessionLibrary(Noting(place), durability="os", clock=clock(1))
    library.open(library.list()[0].id).close()
    library.set_title(library.list()[0].id, "title")

    assert asked == ["os", "os"]


# -- describe -----------------------------------------------------------------------------------------------------


@pytest.mark.parity("ZOT-06")
def test_a_session_at_a_glance(place):
    with talk(place, 0, "first", "second", title="Plan") as session:
        session.branch(session.path()[1])
        session.append_message(user("other"))
        session.append_message(assistant("way"))

    found = SessionLibrary(place).describe(session.id)

    assert found.started == session.header.timestamp
    assert (found.provider, found.model) == ("anthropic", "claude-sonnet-4-5")
    assert found.messages == 4
    assert found.first_prompt == "first"
    assert found.cost == pytest.approx(0.03)
    assert found.own_cost == found.cost
    assert found.tokens == 360
    assert found.title == "Plan"
    assert found.branches == 2
    assert found.entries == len(session)
    assert found.row.key == session.key


@pytest.mark.parity("ZOT-06")
def test_what_a_fork_brought_along_is_told_apart_from_what_it_spent(place):
    with talk(place, 0, "first", "second") as parent:
        fork = parent.fork()
    fork._clock = clock(1)
    fork.append_message(user("third"))
    fork.append_message(assistant("yes"))
    fork.close()

    found = SessionLibrary(place).describe(fork.id)

    assert (found.cost, found.own_cost) == (pytest.approx(0.03), pytest.approx(0.01))


def test_a_session_without_messages_is_described_too():
    store = MemoryStore()
    session = empty(store)

    found = SessionLibrary(store).describe(session.id)

    assert (found.messages, found.entries, found.branches, found.cost) == (0, 0, 0, 0)
    assert (found.model, found.first_prompt) == (None, None)


def test_side_records_are_no_branches(place):
    with talk(place, 0, "first", "second") as session:
        for entry in session.path():
            session.append_label(entry, "mark")
            session.append_custom("data")

    assert SessionLibrary(place).describe(session.id).branches == 1


def test_describing_what_is_not_there_says_so(place):
    with pytest.raises(SessionNotFound, match="no session named 'x'"):
        fill(place, 1).describe("x")


def test_a_beginning_shared_with_a_file_of_another_name_is_ambiguous(place):
    library = fill(place, 2)
    first, second = (row.id for row in library.list(deep=True))
    library.rename(second, "renamed")
    assert first[:4] == second[:4]

    with pytest.raises(Ambiguous):
        library.find(first[:4])
