"""One scope per working directory, and all of them together."""

from __future__ import annotations

import pytest

from branchline import Session, SessionLibrary, places
from branchline.errors import LogError
from branchline.stores import MemoryStore
from library.kit import clock
from session.kit import assistant, user


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def talk_in(cwd, number):
    with Session.create(cwd, clock=clock(number)) as session:
        session.append_message(user("hello"))
        session.append_message(assistant("hi"))
    return session


@pytest.mark.parity("IND-12")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/a/b", "/a-b"),
        ("/a/b", "/a/B"),
        ("/home/u/proj", "/srv/home/u/proj"),
        ("/a b", "/a_b"),
        ("/ä", "/ö"),
        ("/", "/root"),
        ("/x" * 100, "/x" * 101),
    ],
)
def test_two_working_directories_never_share_a_scope(home, one, other):
    talk_in(one, 1)
    talk_in(other, 2)

    assert [row.cwd for row in SessionLibrary.for_cwd(one).list(deep=True)] == [one]
    assert [row.cwd for row in SessionLibrary.for_cwd(other).list(deep=True)] == [other]


@pytest.mark.parity("IND-12")
def test_library_and_session_share_one_scoping_function(home):
    session = talk_in("/home/u/proj", 1)

    library = SessionLibrary.for_cwd("/home/u/../u/proj/")

    assert library.name == places.session_directory("/home/u/proj")
    assert library.path_of(session.id) == session.file


def test_without_an_argument_the_scope_is_the_current_directory(home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert SessionLibrary.for_cwd().name == places.session_directory(tmp_path)


def test_everywhere_has_one_store_for_each_of_our_directories(home):
    talk_in("/b", 1)
    talk_in("/a", 2)
    (home / "sessions" / "a file").write_bytes(b"")
    (home / "sessions" / ".hidden").mkdir()

    library = SessionLibrary.everywhere(agents=["branchline"])

    assert [store.name for store in library.stores] == sorted(
        [places.session_directory("/a"), places.session_directory("/b")]
    )
    assert sorted(row.cwd for row in library.list(deep=True)) == ["/a", "/b"]


def test_where_nothing_was_ever_kept_there_is_no_store(home):
    assert SessionLibrary.everywhere().stores == []
    assert not home.exists()


def test_a_place_that_cannot_be_read_is_an_error_that_says_so(home):
    home.mkdir()
    (home / "sessions").write_bytes(b"")

    with pytest.raises(LogError, match=r"cannot list the session directories in .*: not a directory"):
        SessionLibrary.everywhere().trash()


def test_a_library_says_what_it_is(tmp_path):
    assert repr(SessionLibrary(MemoryStore("m"))) == "SessionLibrary('m')"
    assert repr(SessionLibrary(MemoryStore("m"), cwd="/a/../b")) == "SessionLibrary('m', cwd='/b')"
    assert repr(SessionLibrary.everywhere()) == "SessionLibrary.everywhere()"
    assert repr(SessionLibrary.everywhere("/a/../b")) == "SessionLibrary.everywhere('/b')"
    assert SessionLibrary(str(tmp_path)).name == SessionLibrary(tmp_path).name == str(tmp_path)


def test_everywhere_opens_renames_removes_and_restores_by_id(home):
    session = talk_in("/a", 1)
    library = SessionLibrary.everywhere(clock=clock(9))

    library.set_title(session.id, "A title")
    renamed = library.find("a title")
    with library.open(session.id) as opened:
        title = opened.title
    removed = library.remove(session.id)
    gone = library.open(session.id)
    trashed = [item.key for item in library.trash()]
    key = library.restore()

    assert (renamed.id, title) == (session.id, "A title")
    assert (removed, gone, trashed) == (True, None, [key])
    assert library.path_of(session.id) == session.file


def test_everywhere_prunes_only_what_is_ours_and_empty(home):
    kept = talk_in("/a", 1)
    with Session.create("/b", persist="always", clock=clock(2)) as empty:
        pass
    library = SessionLibrary.everywhere()

    pruned = library.prune(dry_run=False)

    assert [result.row.id for result in pruned] == [empty.id]
    assert [row.id for row in library.list()] == [kept.id]


def test_everywhere_a_draft_opens_and_goes_to_the_trash(home):
    with Session.create("/a", clock=clock(1)) as draft:
        draft.append_message(user("nobody answers"))
    library = SessionLibrary.everywhere()

    with library.open(draft.id) as opened:
        count = len(opened)
    removed = library.remove(draft.id)

    assert (count, removed, library.drafts()) == (1, True, [])


def test_the_last_session_is_found_by_its_nickname(home):
    talk_in("/a", 1)
    last = talk_in("/b", 2)
    library = SessionLibrary.everywhere(agents=["branchline"])

    assert library.find("@last").id == library.latest().id == last.id
