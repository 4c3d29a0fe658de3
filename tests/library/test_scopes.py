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


def test_everything_is_one_library_for_each_directory(home):
    talk_in("/b", 1)
    talk_in("/a", 2)
    (home / "sessions" / "a file").write_bytes(b"")
    (home / "sessions" / ".hidden").mkdir()

    libraries = SessionLibrary.everything()

    assert [library.name for library in libraries] == sorted(
        [places.session_directory("/a"), places.session_directory("/b")]
    )
    assert sorted(row.cwd for library in libraries for row in library.list(deep=True)) == ["/a", "/b"]


def test_where_nothing_was_ever_kept_there_is_no_library(home):
    assert SessionLibrary.everything() == []
    assert not home.exists()


def test_a_place_that_cannot_be_read_is_an_error_that_says_so(home):
    home.mkdir()
    (home / "sessions").write_bytes(b"")

    with pytest.raises(LogError, match=r"cannot list the session directories in .*: not a directory"):
        SessionLibrary.everything()


def test_a_library_says_what_it_is(tmp_path):
    assert repr(SessionLibrary(MemoryStore("m"))) == "SessionLibrary('m')"
    assert repr(SessionLibrary(MemoryStore("m"), cwd="/a/../b")) == "SessionLibrary('m', cwd='/b')"
    assert SessionLibrary(str(tmp_path)).name == SessionLibrary(tmp_path).name == str(tmp_path)
