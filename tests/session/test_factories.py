"""Creating and opening sessions: new, from a file, the newest of a directory, in memory, a fork of a file."""

import errno
import os

import pytest

from branchline import Session
from branchline.errors import CannotOpen, FileMissing, IsADirectory, NotASession
from branchline.log import System
from branchline.stores import FilesStore, MemoryStore
from session.kit import (
    CWD,
    assistant,
    bytes_of,
    clock,
    facts,
    new,
    path_of,
    require_same_after_reopening,
    said,
    talked,
    words,
)
from support import CORPUS


@pytest.fixture(autouse=True)
def own_home(place, monkeypatch):
    monkeypatch.setenv("BRANCHLINE_HOME", str(place / "home"))


@pytest.mark.parity("OPR-12")
def test_create_keeps_a_session_where_the_sessions_of_that_directory_lie(place):
    one = Session.create("/home/u/one")
    other = Session.create("/home/u/other")
    for session in (one, other):
        session.append_message(assistant("hello"))

    assert path_of(one).parent != path_of(other).parent
    assert path_of(one).is_relative_to(place / "home" / "sessions")
    assert (one.cwd, other.cwd) == ("/home/u/one", "/home/u/other")
    assert len({one.id, other.id}) == 2


def test_create_without_a_directory_takes_the_one_we_are_in(place, monkeypatch):
    (place / "here").mkdir(parents=True)
    monkeypatch.chdir(place / "here")

    assert Session.create().cwd == str(place / "here")


@pytest.mark.parity("OPR-12")
def test_open_reads_a_file_and_knows_where_it_lies(place, monkeypatch):
    session = talked(place, 2)
    monkeypatch.chdir(place)

    with Session.open(os.path.basename(session.file)) as again:
        assert facts(again) == facts(session)
        assert again.file == session.file
        assert again.key == session.key
        assert isinstance(again.store, FilesStore)
        assert again.cwd == CWD
    with Session.open(session.file, cwd="/home/u/moved") as moved:
        assert moved.cwd == "/home/u/moved"
        assert moved.header.cwd == CWD


def test_open_says_what_is_wrong_and_touches_nothing(place):
    place.mkdir()
    (place / "empty.jsonl").write_bytes(b"")
    (place / "text.jsonl").write_bytes(b"hello\nthere\n")
    (place / "old.jsonl").write_bytes(b'{"v":4,"kind":"header"}\n')
    before = {path: path.read_bytes() for path in place.iterdir()}

    with pytest.raises(FileMissing, match=r"cannot open .*none\.jsonl: no such file"):
        Session.open(place / "none.jsonl")
    for name in ("empty.jsonl", "text.jsonl", "old.jsonl"):
        with pytest.raises(NotASession, match=name):
            Session.open(place / name)
    with pytest.raises(IsADirectory, match="it is a directory"):
        Session.open(place)

    assert {path: path.read_bytes() for path in place.iterdir()} == before


def test_a_file_that_breaks_while_it_is_read_cannot_be_opened(place, monkeypatch):
    session = talked(place, 1)
    session.close()

    def broken(descriptor, size, offset):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(System, "pread", staticmethod(broken))

    for attempt in (
        lambda: Session.open(session.file),
        lambda: Session.from_store(FilesStore(place), session.key),
    ):
        with pytest.raises(CannotOpen, match=r"cannot open .*: input/output error \(EIO\)") as found:
            attempt()
        assert found.value.errno == errno.EIO


def test_a_session_without_entries_is_true():
    session = Session.in_memory()

    assert len(session) == 0
    assert session


@pytest.mark.parity("OPR-12")
def test_continue_recent_opens_the_newest_session_and_makes_one_where_there_is_none(place):
    fresh = Session.continue_recent(CWD, directory=place)
    assert len(fresh) == 0
    older = talked(place, 1, clock=clock(seed=10))
    newer = talked(place, 2, clock=clock(seed=20, start=1_810_000_000_000))
    os.utime(older.file, (1_000_000, 1_000_000))

    with Session.continue_recent(CWD, directory=place) as found:
        assert found.id == newer.id
    os.utime(older.file)
    os.utime(newer.file, (1_000_000, 1_000_000))
    with Session.continue_recent(CWD, directory=place) as found:
        assert found.id == older.id


def test_continue_recent_opens_the_session_that_was_used_last_whatever_file_changed_last(place):
    then = 1_767_225_600_000
    used = talked(place, 2, clock=clock(seed=20, start=then + 86_400_000))
    copied = talked(place, 1, clock=clock(seed=10, start=then))
    os.utime(used.file, (1_000_000, 1_000_000))

    with Session.continue_recent(CWD, directory=place) as found:
        assert found.id == used.id
    with Session.continue_recent(CWD, directory=place, by="file") as found:
        assert found.id == copied.id
    with pytest.raises(ValueError, match='by is "activity" or "file"'):
        Session.continue_recent(CWD, directory=place, by="size")


def test_continue_recent_passes_over_other_projects_drafts_and_what_is_no_session(place):
    mine = talked(place, 1)
    other = Session.create("/home/u/other", directory=place, clock=clock(seed=10))
    other.append_message(assistant("not yours"))
    draft = new(place, clock=clock(seed=20))
    draft.append_message("not answered")
    (place / "junk.jsonl").write_bytes(b"junk\n")
    (place / "empty.jsonl").write_bytes(b"")
    (place / ".hidden.jsonl").write_bytes(
        b'{"type":"session","version":3,"id":"x","cwd":"%s"}\n' % CWD.encode()
    )
    (place / "dangling.jsonl").symlink_to(place / "nowhere")
    os.utime(mine.file, (1_000_000, 1_000_000))

    with Session.continue_recent(CWD, directory=place) as found:
        assert found.id == mine.id


def test_continue_recent_in_the_directory_of_a_project_goes_on_with_it(place):
    session = Session.create(CWD)
    session.append_message(assistant("hello"))

    with Session.continue_recent(CWD) as found:
        assert found.id == session.id


@pytest.mark.parity("OPR-12")
def test_in_memory_has_no_file_and_all_the_verbs(place):
    session = Session.in_memory(CWD, id="abc", clock=clock())

    first = session.append_message("hello")
    session.append_message(assistant("hi"))
    session.append_label(first, "start")
    session.branch(first)
    session.append_message(assistant("hi again"))

    assert session.file is None
    assert session.id == "abc"
    assert isinstance(session.store, MemoryStore)
    assert not place.exists()
    require_same_after_reopening(session)
    again = Session.from_store(session.store, session.key)
    assert facts(again) == facts(session)


@pytest.mark.parametrize("name", ["v1.jsonl", "v2.jsonl", "labels.jsonl", "torn-tail.jsonl"])
def test_in_memory_may_begin_with_the_content_of_a_file(name):
    data = (CORPUS / "pi" / "edge" / name).read_bytes()

    session = Session.in_memory(data=data, clock=clock())
    before = said(session)
    session.append_message("more")

    assert said(session)[:-1] == before
    assert words(session)[-1] == "more"
    assert facts(Session.in_memory(data=bytes_of(session))) == facts(session)


@pytest.mark.parity("OPR-12")
def test_fork_from_gives_another_directory_its_own_copy(place):
    session = talked(place, 2)

    made = Session.fork_from(session.file, "/home/u/other", clock=clock(start=1_810_000_000_000))

    assert made.cwd == "/home/u/other"
    assert path_of(made).is_relative_to(place / "home" / "sessions")
    assert made.parent_session == session.file
    assert made.path() == session.path()
    assert made.inherited_entries == 4


def test_fork_from_a_file_that_holds_no_session_is_an_error(place):
    place.mkdir()
    (place / "empty.jsonl").write_bytes(b"")

    with pytest.raises(NotASession):
        Session.fork_from(place / "empty.jsonl", CWD, directory=place)
    with pytest.raises(FileNotFoundError):
        Session.fork_from(place / "none.jsonl", CWD, directory=place)
    assert [path.name for path in place.iterdir()] == ["empty.jsonl"]


@pytest.mark.parity("IND-10")
def test_a_new_session_beside_this_one_is_empty_and_not_linked(place):
    session = talked(place, 1)

    fresh = session.new_session()
    fresh.append_message(assistant("hello"))

    assert fresh.id != session.id
    assert fresh.cwd == session.cwd
    assert path_of(fresh).parent == path_of(session).parent
    assert fresh.parent_session is None
    assert words(fresh) == ["hello"]


def test_a_session_in_memory_from_bytes_takes_a_directory_and_refuses_an_id_and_a_format():
    with Session.in_memory("/home/me/shop", id="mine") as made:
        made.append_message("hello")
        data = made.transcript.bytes_between(0, None)

    with Session.in_memory("/other", data=data) as session:
        assert (session.id, session.cwd, len(session)) == ("mine", "/other", 1)
    for given in ({"id": "another"}, {"format": "oh-my-pi"}):
        with pytest.raises(TypeError, match="either data or id and format"):
            Session.in_memory(data=data, **given)
