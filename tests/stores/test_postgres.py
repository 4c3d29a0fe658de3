"""Sessions in PostgreSQL, on a real server."""

from __future__ import annotations

import threading
import time
import uuid

import psycopg
import pytest

from branchline import (
    InvalidId,
    LockTimeout,
    LogError,
    LogGone,
    NotSaved,
    NotSupported,
    ReadOnly,
    Session,
    SessionLibrary,
    SessionMoved,
)
from branchline.session import NewEntry
from branchline.stores.conformance import DraftContract, LoadContract, LogContract, TrashContract
from branchline.stores.postgres import PostgresStore, status, upgrade
from branchline.stores.postgres.connections import Connections
from branchline.stores.postgres.server import parse_address
from stores.postgres_server import postgres_address, postgres_dsn, with_options

__all__ = ["postgres_address", "postgres_dsn"]


class _Stores:
    pooler = "session"

    @pytest.fixture(autouse=True)
    def _server(self, postgres_dsn):
        self.dsn = postgres_dsn
        self.stores = []
        yield
        for store in self.stores:
            store.close()

    def make_store(self, **options) -> PostgresStore:
        address = with_options(self.dsn, store=uuid.uuid4().hex, pooler=self.pooler)
        self.stores.append(PostgresStore(address, **options))
        return self.stores[-1]


class TestPostgresStore(_Stores, DraftContract, TrashContract, LoadContract):
    pass


class TestPostgresLog(_Stores, LogContract):
    def make_log(self, data: bytes, **options):
        store = self.make_store(**options)
        store.load("log", [data])
        return store.open("log")


class TestPooledTransactions(_Stores, DraftContract):
    """Nothing is kept in a connection: what a pooler gives to another client between two transactions."""

    pooler = "transaction"

    @pytest.fixture(autouse=True)
    def _discard(self, monkeypatch):
        put_back = Connections._put_back

        def discard(connections, connection):
            if not connection.closed and not connection.info.transaction_status:
                connection.execute("DISCARD ALL")
            put_back(connections, connection)

        monkeypatch.setattr(Connections, "_put_back", discard)


LINE = b'{"type":"session","version":3,"id":"one"}\n'


@pytest.fixture
def store(postgres_address):
    made = PostgresStore(postgres_address, lock_timeout=0.3)
    yield made
    made.close()


def kill_connections(store):
    """End the connections of a store, as a server that restarts does."""
    for connection in store.connections._idle:
        with psycopg.connect(store.server.dsn, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", (connection.info.backend_pid,))


def administrator(store):
    return psycopg.connect(store.server.dsn, autocommit=True)


def test_a_server_is_named_by_its_address_everywhere(postgres_address):
    with SessionLibrary(postgres_address) as library:
        with library.get_or_create("user:42") as session:
            session.append_message("hello")
            path = session.file
        assert path.endswith("#user%3a42")
        assert [row.key for row in library.list(deep=True)] == ["user%3a42"]
        assert library.describe("user%3a42").messages == 1

    with Session.open(path) as again:
        again.append_message("more")
        assert len(again.path()) == 2


@pytest.mark.parametrize(
    "address", ["postgresql:///work", "postgresql://", "postgresql:///work?host=/run/pg"]
)
def test_an_address_without_a_host_stays_as_it_is(address):
    server = parse_address(address)

    assert (server.dsn.replace("%2F", "/"), server.name) == (address, address)


def test_a_password_is_in_no_name():
    server = parse_address("postgresql://me:hush@db.example/work?sslmode=require&tenant=a&password=hush")

    assert "hush" not in server.name
    assert server.name == "postgresql://me@db.example/work?sslmode=require&tenant=a"
    assert server.dsn == "postgresql://me:hush@db.example/work?sslmode=require&password=hush"
    assert (server.tenant, server.store, server.pooler) == ("a", "main", False)
    with pytest.raises(ValueError, match="pooler"):
        parse_address("postgresql://db.example/work?pooler=yes")


def test_tables_are_created_on_request_only_and_once(postgres_dsn):
    name = f"t{uuid.uuid4().hex}"
    with psycopg.connect(postgres_dsn, autocommit=True) as other:
        other.execute(f"CREATE DATABASE {name}")
    address = postgres_dsn.replace("/postgres?", f"/{name}?")
    store = PostgresStore(address)

    with pytest.raises(NotSupported, match="store init"):
        store.scan()
    assert status(address).version == 0
    threads = [threading.Thread(target=upgrade, args=(address,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert status(address).is_current
    assert store.scan().found == []
    store.close()
    with psycopg.connect(address, autocommit=True) as other:
        assert other.execute("SELECT count(*) FROM branchline.migration").fetchone() == (1,)
        other.execute("INSERT INTO branchline.migration (version) VALUES (99)")
    with pytest.raises(NotSupported, match="version 99"):
        PostgresStore(address).scan()
    with pytest.raises(NotSupported, match="version 99"):
        upgrade(address)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("postgresql://postgres@/postgres?host=/nowhere/at/all", "no connection"),
        ("postgresql://127.0.0.1:1/db", "no connection"),
        ("postgresql://127.0.0.1:1/db?nonsense=1", "nonsense"),
    ],
)
def test_a_server_that_is_not_there_is_an_error_of_ours(address, message):
    with pytest.raises(LogError, match=message):
        PostgresStore(address).scan()


@pytest.mark.parametrize(
    "address",
    ["postgresql://me:hush@[bad/x", "postgresql://me:hush@h/x?pooler=yes", "postgres://h/x?follow=no"],
)
def test_a_malformed_address_is_an_error_of_ours_that_shows_no_password(address):
    with pytest.raises(InvalidId, match="malformed") as caught:
        PostgresStore(address)

    assert "hush" not in str(caught.value)


def test_an_append_goes_on_when_the_server_was_restarted_in_between(store):
    log = store.create("one", LINE)
    kill_connections(store)

    offset = log.try_append(len(LINE), b"{}\n")
    kill_connections(store)

    assert offset == len(LINE)
    assert log.read(0, 1000) == LINE + b"{}\n"


def test_an_append_whose_answer_was_lost_is_found_to_be_saved(store, monkeypatch):
    log = store.create("one", LINE)
    run = Connections._run
    lost = []

    def lose(connections, doing, statement, values, settings, **options):
        rows = run(connections, doing, statement, values, settings, **options)
        if "INSERT INTO branchline.line" in statement and not lost:
            lost.append(1)
            raise store.connections._problem(doing, psycopg.OperationalError("gone"), connect_closed(store))
        return rows

    monkeypatch.setattr(Connections, "_run", lose)

    assert log.try_append(len(LINE), b"{}\n") == len(LINE)

    assert lost
    assert log.read(0, 1000) == LINE + b"{}\n"


def connect_closed(store):
    connection = administrator(store)
    connection.close()
    return connection


def test_an_append_that_is_killed_under_the_lock_saves_nothing(store):
    log = store.create("one", LINE)

    def act():
        with log.exclusive() as writer:
            with administrator(store) as other:
                other.execute("SELECT pg_terminate_backend(%s)", (writer._connection.info.backend_pid,))
            writer.append(b"{}\n")

    with pytest.raises(NotSaved, match="lost"):
        act()

    assert log.read(0, 1000) == LINE
    with log.exclusive() as writer:
        writer.append(b"{}\n")
    assert log.size() == len(LINE) + 3


def test_a_statement_that_takes_too_long_saves_nothing(postgres_address):
    slow = with_options(postgres_address, options="-cstatement_timeout%3D200")
    store = PostgresStore(slow, lock_timeout=60)
    log = store.create("one", LINE)
    taken, done = threading.Event(), threading.Event()

    def hold():
        with log.exclusive():
            taken.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait(10)
    with pytest.raises(NotSaved, match="timeout"), log.exclusive():
        pass
    done.set()
    thread.join()

    assert log.try_append(len(LINE), b"{}\n") == len(LINE)
    store.close()


def test_a_log_that_was_deleted_is_not_written_to(store):
    log = store.create("one", LINE, draft=True)
    store.drop_draft("one")

    with pytest.raises(LogGone), log.exclusive():
        pass
    with pytest.raises(LogGone):
        log.size()


def test_what_may_only_be_read_is_read(postgres_address, store):
    Session.create("/p", store=store, key="one", persist="always").close()
    reader = PostgresStore(with_options(postgres_address, options="-cdefault_transaction_read_only%3Don"))

    with Session.from_store(reader, "one") as session:
        assert session.id == "one"
        with pytest.raises(ReadOnly, match="read-only"):
            session.append_message("hello")
    with pytest.raises(ReadOnly):
        reader.create("two", LINE)
    assert reader.in_use(["one"]) == set()
    reader.close()


def test_tenants_see_only_their_own_rows(postgres_dsn):
    role = f"r{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres_dsn, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {role} LOGIN")
        owner.execute(f"GRANT USAGE ON SCHEMA branchline TO {role}")
        owner.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA branchline TO {role}")
    place = postgres_dsn.replace("postgres@", f"{role}@")
    name, acme, globex = (uuid.uuid4().hex for _ in range(3))
    one = PostgresStore(with_options(place, tenant=acme, store=name))
    other = PostgresStore(with_options(place, tenant=globex, store=name))
    lines = LINE + b"{}\n" * 40

    one.load("talk", [lines])
    with Session.from_store(one, "talk") as session:
        session.append_message("ours")
        session.write(lambda _session: [NewEntry.message("still ours")])

    assert other.scan().found == []
    assert one.stat("talk").size > len(lines)
    other.create("talk", LINE).close()
    assert other.stat("talk").size == len(LINE)
    with psycopg.connect(place, autocommit=True) as plain:
        assert plain.execute("SELECT count(*) FROM branchline.line").fetchone() == (0,)
        plain.execute("SELECT set_config('branchline.tenant', %s, false)", (globex,))
        assert plain.execute("SELECT count(*) FROM branchline.line").fetchone() == (1,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            plain.execute("INSERT INTO branchline.line VALUES (%s, %s, 0, '')", (acme, str(uuid.uuid4())))
    one.close()
    other.close()


def test_words_are_found_and_the_index_catches_up(store):
    library = SessionLibrary(store)
    with library.get_or_create("a") as session:
        session.append_message("the linker cannot find libz")
        answer = session.append_message({"role": "assistant", "content": "install zlib\0 first"})
        session.set_title("Build trouble")

    (found,) = store.search("zlib")

    assert (found.key, found.entry, found.role) == ("a", answer, "assistant")
    assert {hit.key for hit in store.search('"cannot find" -zlib')} == {"a"}
    assert [hit.type for hit in store.search("trouble")] == ["session_info"]
    assert store.search("absent") == []
    with library.get("a") as session:
        session.append_message("and zlib again")
    assert len(store.search("zlib")) == 2
    assert store.update_index() == 0
    library.remove("a")
    assert store.search("zlib") == []


def test_a_long_session_is_opened_without_reading_its_lines(store, monkeypatch):
    with SessionLibrary(store).get_or_create("long") as session:
        keys = session.append_messages([f"{number} {'x' * 2000}" for number in range(1000)])
    Session.from_store(store, "long").close()
    sizes = []
    run = Connections.run

    def count(connections, doing, statement, values=(), **options):
        rows = run(connections, doing, statement, values, **options)
        sizes.append(sum(len(value) for row in rows for value in row if isinstance(value, bytes)))
        return rows

    monkeypatch.setattr(Connections, "run", count)

    with Session.from_store(store, "long") as session:
        assert session.path() == keys
        session.append_message("more")

    assert sum(sizes) < 200_000


def test_a_follower_hears_of_an_append_at_once(store):
    log = store.create("one", LINE)
    ends = log.follow(len(LINE), timeout=10)
    heard = []
    thread = threading.Thread(target=lambda: heard.append((next(ends), time.monotonic())))
    thread.start()
    with administrator(store) as other:
        while not other.execute(
            "SELECT followed FROM branchline.session WHERE id = %s", (log._number,)
        ).fetchone()[0]:
            time.sleep(0.01)

    appended = time.monotonic()
    log.try_append(len(LINE), b"{}\n")
    thread.join()

    ((end, moment),) = heard
    assert end == len(LINE) + 3
    assert moment - appended < 1.0  # the poll beneath takes two seconds
    ends.close()


def test_a_follower_that_cannot_listen_polls(postgres_address):
    store = PostgresStore(with_options(postgres_address, follow="poll"))
    log = store.create("one", LINE)
    ends = log.follow(len(LINE), timeout=5)

    log.try_append(len(LINE), b"{}\n")

    assert next(ends) == len(LINE) + 3
    ends.close()
    store.close()


def test_too_many_users_of_one_store_wait_and_are_told(store, monkeypatch):
    monkeypatch.setattr("branchline.stores.postgres.connections._CONNECT_SECONDS", 0)
    log = store.create("one", LINE)
    connections = store.connections
    connections._free = threading.BoundedSemaphore(1)

    with log.exclusive(), pytest.raises(LockTimeout, match="connections"):
        store.stat("one")


def texts(session):
    return [entry.message.content[0].text for entry in session.entries(session.path())]


def test_two_writers_that_try_without_the_lock_still_obey_the_policy(store):
    library = SessionLibrary(store)
    one = library.get_or_create("talk", on_conflict="append")
    other = library.get_or_create("talk", on_conflict="append")
    one.append_message("start")

    for number in range(10):
        one.append_message(f"one {number}")
        other.append_message(f"other {number}")
    one.refresh()

    assert len(texts(one)) == 21
    late = library.get("talk", on_conflict="raise")
    one.append_message("one more")
    size = store.stat("talk").size
    with pytest.raises(SessionMoved):
        late.append_message("late")
    assert store.stat("talk").size == size
    other.on_conflict = "branch"
    before = other.leaf
    kept = other.append_message("beside")
    assert other.index.parent(kept) == before


def test_a_condition_is_asked_again_when_another_writer_was_faster(store):
    library = SessionLibrary(store)
    one, other = (library.get_or_create("talk", on_conflict="append") for _ in range(2))
    seen = []

    def next_number(session):
        count = sum(kind == "custom" for kind in session.index.types)
        seen.append(count)
        return [NewEntry.custom("number", count + 1)]

    one.write(next_number)
    other.write(next_number)

    assert seen == [0, 0, 1]
    one.refresh()
    assert [entry.data for entry in one.entries() if entry.type == "custom"] == [1, 2]


def test_threads_that_share_one_session_lose_nothing(store):
    session = SessionLibrary(store).get_or_create("talk", on_conflict="append")
    threads = [
        threading.Thread(target=lambda name=name: [session.append_message(f"{name} {n}") for n in range(20)])
        for name in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(texts(session))) == len(session.path()) == 80
    with SessionLibrary(store).get("talk") as again:
        assert again.path() == session.path()
