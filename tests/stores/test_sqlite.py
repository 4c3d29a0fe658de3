"""Sessions in one SQLite file."""

from __future__ import annotations

import os
import sqlite3
import stat

import pytest

from branchline import (
    LockTimeout,
    LogGone,
    NotASession,
    NotSaved,
    NotSupported,
    ReadOnly,
    Session,
    SessionLibrary,
)
from branchline.stores import open_store
from branchline.stores.conformance import DraftContract, LoadContract, LogContract, TrashContract
from branchline.stores.sqlite import SqliteStore

LINE = b'{"type":"session","version":3,"id":"one"}\n'


class _Stores:
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path):
        self.path = tmp_path / "not made yet" / "sessions.db"
        self.stores = []
        yield
        for store in self.stores:
            store.close()

    def make_store(self, **options) -> SqliteStore:
        self.stores.append(SqliteStore(self.path, **options))
        return self.stores[-1]


class TestSqliteStore(_Stores, DraftContract, TrashContract, LoadContract):
    pass


class TestSqliteLog(_Stores, LogContract):
    def make_log(self, data: bytes, **options):
        self.path = self.path.with_name(f"{len(self.stores)}.db")
        store = self.make_store(**options)
        store.load("log", [data])
        return store.open("log", durability="os")


@pytest.fixture
def store(tmp_path):
    made = SqliteStore(tmp_path / "sessions.db", lock_timeout=0.2)
    yield made
    made.close()


def test_a_text_that_ends_like_a_database_names_one(tmp_path):
    where = f"{tmp_path}/sessions.db"

    with SessionLibrary(where) as library, library.get_or_create("user:42") as session:
        session.append_message("hello")

    with SessionLibrary(where) as library:
        assert isinstance(open_store(where), SqliteStore)
        assert [row.key for row in library.list()] == ["user%3a42"]
        with library.get("user:42") as again:
            assert len(again.path()) == 1


def test_nothing_is_made_by_looking(store, tmp_path):
    assert store.scan().found == []
    assert store.stat("x") is None
    assert store.trashed() == store.drafts() == []
    assert store.drop_draft("x") is False
    assert store.remove("x") is None

    assert list(tmp_path.iterdir()) == []


def test_all_of_its_files_are_private(store, tmp_path):
    os.umask(0o000)
    try:
        with store.create("one", LINE).exclusive() as writer:
            writer.append(b"{}\n")
    finally:
        os.umask(0o022)

    names = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert set(names) >= {"sessions.db", "sessions.db-wal", "sessions.db-locks"}
    assert set(names.values()) == {0o600}


def test_a_database_of_another_program_is_left_alone(tmp_path):
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (x)")
    connection.close()
    before = path.read_bytes()

    with pytest.raises(NotASession, match="another program"):
        SqliteStore(path).scan()
    with pytest.raises(NotASession, match="another program"):
        SqliteStore(path).create("one", LINE)
    (tmp_path / "text.db").write_text("not a database, but long enough to be looked at " * 20)
    with pytest.raises(NotASession, match="not a SQLite database"):
        SqliteStore(tmp_path / "text.db").scan()

    assert path.read_bytes() == before


def test_a_newer_schema_is_refused(store):
    store.create("one", LINE)
    store.close()
    connection = sqlite3.connect(store.name)
    connection.execute("PRAGMA user_version = 99")
    connection.close()

    with pytest.raises(NotSupported, match="version 99"):
        SqliteStore(store.name).stat("one")


def test_a_network_file_system_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("branchline.stores.sqlite.filesystem_warning", lambda _path: "it is on NFS")

    with pytest.raises(NotSupported, match="NFS"):
        SqliteStore(tmp_path / "sessions.db").create("one", LINE)

    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_saves_nothing_and_the_next_append_works(store):
    log = store.create("one", LINE)
    with store.reading("limit") as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")

    with pytest.raises(NotSaved, match="full"), log.exclusive() as writer:
        writer.append(b'"' + b"x" * 100_000 + b'"\n')
    with log.exclusive() as writer:
        writer.append(b"{}\n")

    assert log.read(0, 1000) == LINE + b"{}\n"


def test_another_program_that_holds_the_database_is_waited_for_and_named(store):
    log = store.create("one", LINE)
    other = sqlite3.connect(store.name, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(LockTimeout, match="another program"), log.exclusive() as writer:
        writer.append(b"{}\n")
    other.execute("ROLLBACK")
    other.close()

    with log.exclusive() as writer:
        writer.append(b"{}\n")
    assert log.size() == len(LINE) + 3


def test_a_log_that_was_deleted_is_not_written_to_nor_is_its_successor(store):
    log = store.create("one", LINE, draft=True)
    store.drop_draft("one")
    store.create("two", LINE)

    with pytest.raises(LogGone), log.exclusive():
        pass
    with pytest.raises(LogGone):
        log.size()

    assert store.stat("two").size == len(LINE)


def test_two_sessions_are_locked_apart_and_by_two_stores_of_one_file(store):
    other = SqliteStore(store.name, lock_timeout=0.05)
    one, two = store.create("one", LINE), store.create("two", LINE)

    with one.exclusive(), two.exclusive(), pytest.raises(LockTimeout, match="another program"):
        other.open("one").exclusive().__enter__()
    with one.exclusive():
        assert other.in_use(["one", "two", "absent"]) == store.in_use(["one", "two"]) == {"one"}

    assert other.in_use(["one"]) == set()
    other.close()


def test_a_database_that_may_only_be_read_can_be_read(store, common_place):
    path = common_place / "sessions.db"
    writer = SqliteStore(path)
    Session.create("/p", store=writer, key="one", persist="always").close()
    writer.close()
    os.chmod(path, 0o400)
    os.chmod(common_place, 0o500)
    reader = SqliteStore(path)

    assert [found.key for found in reader.scan().found] == ["one"]
    with pytest.raises(ReadOnly):
        reader.create("two", LINE)

    reader.close()
    os.chmod(common_place, 0o700)


def test_a_session_of_which_nothing_was_said_leaves_nothing(store):
    Session.create("/p", store=store, key="one", persist="at_once").close()

    assert store.scan().found == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_may_begin_with_an_append(store):
    log = store.create("talk", LINE)

    child = os.fork()
    if not child:
        code = 1
        try:
            code = 0 if log.try_append(len(LINE), b"{}\n") == len(LINE) else 2
        finally:
            os._exit(code)
    _pid, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0
    assert log.read(0, 100) == LINE + b"{}\n"
    assert log.try_append(len(LINE) + 3, b"{}\n") is not None
