"""Sessions in PostgreSQL, on a real server."""

from __future__ import annotations

import json
import random
import re
import threading
import time
import uuid

import psycopg
import pytest

from branchline import (
    BranchlineError,
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
from branchline.integrations.langgraph import BranchlineSaver
from branchline.session import NewEntry
from branchline.stores.conformance import DraftContract, LoadContract, LogContract, TrashContract
from branchline.stores.postgres import PostgresStore, status, upgrade
from branchline.stores.postgres.connections import VERSION, Connections
from branchline.stores.postgres.schema import _migration
from branchline.stores.postgres.server import parse_address
from stores.postgres_server import postgres_address, postgres_dsn, with_options
from support import ROOT

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


@pytest.mark.parametrize(
    "query", ["tenant=", "tenant=a&tenant=b", "store=a&tenant=x&store=a", "tenant=a&tenant="]
)
def test_an_address_says_once_whose_sessions_it_means(query):
    with pytest.raises(InvalidId, match="malformed"):
        parse_address(f"postgresql://db.example/work?{query}")


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
        assert other.execute("SELECT count(*) FROM branchline.migration").fetchone() == (VERSION,)
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


def make_role(owner) -> str:
    """A role with the rights that the guide says, taken from its text."""
    guide = (ROOT / "docs/guides/stores.md").read_text(encoding="utf-8")
    statements = next(
        block for block in re.findall(r"```sql\n(.*?)```", guide, re.DOTALL) if "CREATE ROLE app" in block
    )
    role = f"r{uuid.uuid4().hex[:12]}"
    for statement in re.sub(r"\bapp\b", role, statements).split(";")[:-1]:
        owner.execute(statement)
    return role


@pytest.fixture
def tenants(postgres_dsn):
    """Two stores of two tenants, each with a session, through one role; the owner; the role's connection."""
    with psycopg.connect(postgres_dsn, autocommit=True) as owner:
        role = make_role(owner)
        place = postgres_dsn.replace("postgres@", f"{role}@")
        name, acme, globex = (uuid.uuid4().hex for _ in range(3))
        stores = [PostgresStore(with_options(place, tenant=tenant, store=name)) for tenant in (acme, globex)]
        for store in stores:
            store.load("talk", [LINE + b"{}\n" * 40])
            with Session.from_store(store, "talk") as session:
                session.append_message("words of one tenant")
                session.write(lambda _session: [NewEntry.message("more words")])
            store.open("talk").save_index(len(LINE), b"words of one tenant")
            store.update_index()
        with psycopg.connect(place, autocommit=True) as plain:
            yield stores, owner, plain
        for store in stores:
            store.close()


def test_tenants_see_only_their_own_rows(tenants):
    (one, other), _owner, plain = tenants
    acme, globex = one.server.tenant, other.server.tenant

    other.create("second", LINE).close()

    assert [found.key for found in one.scan().found] == ["talk"]
    assert len(one.search("words")) == 2
    assert one.remove("talk") is not None
    assert other.stat("talk") is not None
    other.create("drop", LINE, draft=True)
    assert other.drop_draft("drop")
    assert plain.execute("SELECT count(*) FROM branchline.line").fetchone() == (0,)
    plain.execute("SELECT set_config('branchline.tenant', %s, false)", (globex,))
    assert plain.execute("SELECT DISTINCT tenant FROM branchline.line").fetchall() == [(globex,)]
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        plain.execute("INSERT INTO branchline.line VALUES (%s, %s, 0, '')", (acme, str(uuid.uuid4())))


def relations(owner) -> list[tuple[str, str, list[str]]]:
    """Name, kind and columns of everything in the schema but indexes."""
    return owner.execute(
        "SELECT c.relname::text, c.relkind::text, array_remove(array_agg(a.attname::text), NULL) "
        "FROM pg_class AS c LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 "
        "WHERE c.relnamespace = 'branchline'::regnamespace AND c.relkind NOT IN ('i', 'I') "
        "GROUP BY c.oid, c.relname, c.relkind ORDER BY c.relname"
    ).fetchall()


@pytest.mark.parametrize("wide", [False, True], ids=["as documented", "and on all tables"])
def test_no_relation_of_the_schema_gives_a_role_the_rows_of_another_tenant(postgres_dsn, tenants, wide):
    """Every relation is tried with every statement; a new kind of relation, or a function, fails here."""
    (one, other), owner, plain = tenants
    mine, theirs = one.server.tenant, other.server.tenant
    saver = BranchlineSaver(postgres_dsn)
    saver.setup()
    saver.close()
    for tenant in (mine, theirs):
        values = (f"{tenant}/main", *"thread")
        owner.execute(
            "INSERT INTO branchline.lg_checkpoint VALUES (%s, %s, %s, %s, %s, %s, %s, '', '', '')", values
        )
        owner.execute("INSERT INTO branchline.lg_value VALUES (%s, 't', 'h', 'k', 'data')", values[:1])
        owner.execute(
            "INSERT INTO branchline.lg_segment VALUES (%s, 't', 1, NULL, 0, '', 'data')", values[:1]
        )
        owner.execute(
            "INSERT INTO branchline.lg_write VALUES (%s, 't', '', 'c', 't', 0, '', '', '', '')", values[:1]
        )
    if wide:
        rights = "SELECT, INSERT, UPDATE, DELETE"
        owner.execute(f"GRANT {rights} ON ALL TABLES IN SCHEMA branchline TO {plain.info.user}")
        owner.execute(f"GRANT ALL ON ALL SEQUENCES IN SCHEMA branchline TO {plain.info.user}")
    plain.execute("SELECT set_config('branchline.tenant', %s, false)", (mine,))
    found = relations(owner)
    functions = "SELECT proname FROM pg_proc WHERE pronamespace = 'branchline'::regnamespace"

    assert owner.execute(functions).fetchall() == []
    assert {kind for _name, kind, _columns in found} == {"r", "p"}
    assert {"session", "line", "line_00", "line_15", "tree", "entry", "migration", "lg_value"} <= {
        name for name, _kind, _columns in found
    }
    for name, _kind, columns in found:
        table = f"branchline.{name}"
        key = next((column for column in ("tenant", "space") if column in columns), None)
        is_theirs = "true" if key is None else f"{key} LIKE '{theirs}%%'"
        rows = f"SELECT * FROM {table} WHERE {is_theirs} ORDER BY 1, 2"
        before = owner.execute(rows, ()).fetchall()
        assert before or name.startswith("line_"), f"{name}: give it a row of each tenant"

        seen = attempt(plain, rows)
        attempt(plain, f"UPDATE {table} SET {columns[0]} = {columns[0]} WHERE {is_theirs}")
        attempt(plain, f"DELETE FROM {table} WHERE {is_theirs}")
        if key is None:
            attempt(plain, f"UPDATE {table} SET version = 9999")
            attempt(plain, f"INSERT INTO {table} VALUES (9999)")
        else:
            assert not seen, name
            attempt(plain, f"UPDATE {table} SET {key} = '{theirs}/main'")
            copy = f"jsonb_populate_record(t, jsonb_build_object('{key}', '{theirs}/main'))"
            attempt(plain, f"INSERT INTO {table} SELECT ({copy}).* FROM {table} AS t")
            is_made = f"SELECT count(*) FROM {table} WHERE {key} = '{theirs}/main'"
            made = 1 if name.startswith("lg_") else 0
            assert owner.execute(is_made).fetchone() == (made,), name
        assert attempt(plain, f"TRUNCATE {table}") is None, name
        assert attempt(plain, f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY") is None, name

        assert owner.execute(rows, ()).fetchall() == before, name
        protection = "SELECT relrowsecurity FROM pg_class WHERE oid = %s::regclass"
        assert owner.execute(protection, (table,)).fetchone() == (True,), name
    assert other.open("talk").size() > len(LINE)


def attempt(connection, statement) -> list | None:
    """The rows of a statement, and None where it is refused."""
    try:
        cursor = connection.execute(statement, ())
    except psycopg.errors.InsufficientPrivilege:
        return None
    return cursor.fetchall() if cursor.description is not None else []


def test_an_upgrade_takes_back_what_was_granted_on_all_tables(postgres_dsn):
    name, role = f"t{uuid.uuid4().hex}", f"r{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres_dsn, autocommit=True) as other:
        other.execute(f"CREATE DATABASE {name}")
    address = postgres_dsn.replace("/postgres?", f"/{name}?")
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute("CREATE SCHEMA branchline")
        owner.execute(
            "CREATE TABLE branchline.migration (version integer PRIMARY KEY, applied timestamptz DEFAULT now())"
        )
        owner.execute(_migration(1))
        owner.execute("INSERT INTO branchline.migration (version) VALUES (1)")
        owner.execute(f"CREATE ROLE {role} LOGIN")
        owner.execute(f"GRANT USAGE ON SCHEMA branchline TO {role}")
        owner.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA branchline TO {role}")
        owner.execute("GRANT UPDATE (data) ON branchline.line_03 TO PUBLIC")
    place = address.replace("postgres@", f"{role}@")

    before = status(address)
    with pytest.raises(NotSupported, match="store upgrade"):
        PostgresStore(with_options(place, tenant="red")).scan()
    after = upgrade(address)

    assert [warning.split()[0] for warning in before.warnings[:2]] == ["PUBLIC", role]
    assert "line_00" in before.warnings[1]
    assert "migration" in before.warnings[1]
    assert "no row-level security on line_00" in before.warnings[2]
    assert after.is_current
    assert after.warnings == []
    store = PostgresStore(with_options(place, tenant="red"))
    with SessionLibrary(store).get_or_create("talk") as session:
        session.append_message("hello")
    assert status(with_options(place, tenant="red")).sessions == 1
    assert status(with_options(place, tenant="blue")).sessions == 0
    store.close()
    with psycopg.connect(place, autocommit=True) as plain:
        for table in ("line_00", "line_15"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                plain.execute(f"SELECT * FROM branchline.{table}")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            plain.execute("UPDATE branchline.migration SET version = 9999")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            "GRANT SELECT ON branchline.line_07 TO {role}",
            "{role} has rights that reach beyond one tenant, on line_07",
        ),
        ("GRANT TRUNCATE ON branchline.tree TO {role}", "on tree"),
        ("GRANT UPDATE (version) ON branchline.migration TO {role}", "on migration"),
        ("ALTER ROLE {role} BYPASSRLS", "does not hold for {role}"),
        ("GRANT postgres TO {role}", "does not hold for {role}"),
    ],
)
def test_status_warns_of_a_role_that_reaches_other_tenants(tenants, change, words):
    (one, _other), owner, plain = tenants
    role = plain.info.user
    assert not [warning for warning in status(one.address).warnings if role in warning]

    owner.execute(change.format(role=role))
    try:
        warnings = [warning for warning in status(one.address).warnings if role in warning]
    finally:
        owner.execute(f"REVOKE ALL ON ALL TABLES IN SCHEMA branchline FROM {role}")
        owner.execute(f"ALTER ROLE {role} NOBYPASSRLS")
        owner.execute(f"REVOKE postgres FROM {role}")

    assert len(warnings) == 1
    assert words.format(role=role) in warnings[0]


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


def lines_of(key: str, *messages: dict) -> bytes:
    rows = [
        {"type": "session", "version": 3, "id": key, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/x"}
    ]
    for number, message in enumerate(messages):
        row = {
            "type": "message",
            "id": f"e{number}",
            "parentId": None,
            "timestamp": "2026-01-01T00:00:01.000Z",
        }
        content = {"role": message.get("role", "user"), "content": message["content"], "timestamp": 1}
        rows.append({**row, "id": message.get("id", row["id"]), "message": content})
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


ODD = ["a\0b", "a\ud800b", "\udc80", "\ud83d", "\0", "\ufffd", "\ud83d\ude00"]


@pytest.mark.parametrize("odd", ODD, ids=ascii)
@pytest.mark.parametrize("place", ["id", "role", "content"])
def test_a_character_that_the_database_cannot_hold_stops_no_index(store, place, odd):
    store.create(
        "odd", lines_of("odd", {"content": "needle", place: f"needle {odd}" if place == "content" else odd})
    )
    store.create("good", lines_of("good", {"content": "findme needle"}))

    update = store.update_index()
    found = {hit.key: hit for hit in store.search("needle")}

    assert (update, update.skipped) == (2, {})
    assert set(found) == {"odd", "good"}
    if place == "id":
        with Session.from_store(store, "odd") as session:
            assert found["odd"].entry in session.path()
    if place == "role":
        assert found["odd"].role == json.loads(json.dumps(odd))


@pytest.mark.parametrize("text", ["\0", "need\ud800le", "\ud83d", "a:*&b|!", "'", ""])
def test_any_text_can_be_searched_for(store, text):
    assert store.search(text) == []


def test_a_session_that_cannot_be_indexed_is_named_and_the_others_are_searched(store):
    letters = random.Random(1).choices("".join(map(chr, range(0x4E00, 0x9FFF))), k=50_000)
    store.create("bad", lines_of("bad", {"content": "needle", "id": "".join(letters)}))
    store.create("good", lines_of("good", {"content": "needle"}))

    update = store.update_index()
    found = store.search("needle")
    store.create("later", lines_of("later", {"content": "needle"}))
    again = store.search("needle")

    assert update == 1
    assert list(update.skipped) == list(found.skipped) == list(again.skipped) == ["bad"]
    assert "index" in update.skipped["bad"]
    assert [hit.key for hit in found] == ["good"]
    assert {hit.key for hit in again} == {"good", "later"}


def test_a_long_text_of_wide_letters_is_indexed(store):
    letters = random.Random(1)
    words = (
        chr(letters.randrange(0x20000, 0x2A000)) + chr(letters.randrange(0x20000, 0x2A000))
        for _ in range(90_000)
    )
    store.create("wide", lines_of("wide", {"content": f"needle {' '.join(words)}"}))

    assert [hit.key for hit in store.search("needle")] == ["wide"]


def test_a_search_without_an_update_says_so_or_fails(postgres_address, store):
    store.create("one", lines_of("one", {"content": "needle"}))
    reader = PostgresStore(with_options(postgres_address, options="-cdefault_transaction_read_only%3Don"))

    assert "read-only" in reader.search("needle").outdated
    assert store.search("needle").outdated is None
    assert len(reader.search("needle")) == 1
    reader.close()
    store.create("two", lines_of("two", {"content": "needle"}))
    with administrator(store) as other:
        other.execute("ALTER TABLE branchline.entry RENAME TO gone")
        try:
            with pytest.raises(BranchlineError):
                store.search("needle")
        finally:
            other.execute("ALTER TABLE branchline.gone RENAME TO entry")


def test_a_name_with_half_a_character_is_refused_in_a_sentence(store):
    with pytest.raises(LogError, match="half a character"):
        store.stat("a\udc80b")


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
