"""What `check` finds in a damaged database, what `repair` gives back, and whose write-ahead log is applied."""

from __future__ import annotations

import shutil
import sqlite3

import pytest

from branchline import BranchlineError, LogError, NotSupported, SessionLibrary
from branchline.actions.check import check_file, check_library
from branchline.actions.repair import repair, restore_lost
from branchline.stores import open_store
from branchline.stores.sqlite import SqliteStore

OF_ONE = "at >> 40 = (SELECT id FROM session WHERE key = 's0')"
DAMAGE = {
    "last row gone": f"DELETE FROM line WHERE at = (SELECT max(at) FROM line WHERE {OF_ONE})",
    "row in the middle gone": f"DELETE FROM line WHERE at = (SELECT at FROM line WHERE {OF_ONE} LIMIT 1 OFFSET 3)",
    "size too large": "UPDATE session SET size = size + 1000 WHERE key = 's0'",
    "size too small": "UPDATE session SET size = size - 300 WHERE key = 's0'",
    "size 0": "UPDATE session SET size = 0 WHERE key = 's0'",
    "torn without being it": "UPDATE session SET torn = 1 WHERE key = 's0'",
    "a bit flipped in a text": f"UPDATE line SET data = CAST(replace(CAST(data AS TEXT), 'text 3', 'tezt 3') AS BLOB) WHERE {OF_ONE}",
    "two lines exchanged": "UPDATE line SET data = (SELECT data FROM line AS o WHERE o.at = line.at + (SELECT length(data) FROM line AS p WHERE p.at = line.at)) WHERE at = (SELECT at FROM line LIMIT 1 OFFSET 4)",
}


@pytest.fixture
def path(tmp_path):
    """A database with three sessions, closed, without a -wal."""
    where = tmp_path / "x.db"
    with SessionLibrary(where) as library:
        for name in ("s0", "s1", "s2"):
            with library.get_or_create(name) as session:
                session.append_messages([f"text {number}" for number in range(8)])
    return where


def execute(path, *statements):
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def kinds(report):
    return {finding.kind for finding in report.findings}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_check_reads_the_rows_and_a_repair_takes_appends(path, what):
    assert {report.status for report in check_library(SessionLibrary(path))} == {"clean"}
    execute(path, DAMAGE[what])

    report = check_file(f"{path}#s0")
    (bad,) = [one for one in check_library(SessionLibrary(path)) if not one.is_sound]
    repaired = repair(f"{path}#s0")

    assert report.status == bad.status == "damaged"
    assert kinds(report) & {"rows", "changed"}
    assert repaired.output == f"{path}#s0.repaired"
    assert check_file(repaired.output).is_sound
    with SessionLibrary(path) as library, library.open("s0.repaired") as session:
        before = len(session.path())
        session.append_message("goes on")
        assert len(session.path()) == before + 1 >= 4


@pytest.mark.parametrize("what", ["last row gone", "size too large", "size too small", "size 0"])
def test_an_append_to_rows_that_do_not_fit_the_session_writes_nothing(path, what):
    execute(path, DAMAGE[what])
    before = rows(path)

    with SessionLibrary(path) as library, library.open("s0") as session, pytest.raises(BranchlineError):
        session.append_message("goes on")

    assert rows(path) == before


def rows(path):
    connection = sqlite3.connect(path)
    found = connection.execute("SELECT at, data FROM line").fetchall()
    found += connection.execute("SELECT id, size, torn FROM session").fetchall()
    connection.close()
    return found


def test_every_bit_of_a_stored_line_counts(path):
    store = open_store(str(path))
    with store.snapshot("s1") as read:
        start = read(0, 10_000).index(b"text 5")
    store.close()
    row = f"at = (SELECT max(at) FROM line WHERE at <= (SELECT id FROM session WHERE key = 's1') << 40 | {start})"
    connection = sqlite3.connect(path, isolation_level=None)
    (line,) = connection.execute(f"SELECT CAST(data AS BLOB) FROM line WHERE {row}").fetchone()
    for bit in range(0, 8 * len(line), 7):
        wrong = bytearray(line)
        wrong[bit // 8] ^= 1 << bit % 8
        connection.execute(f"UPDATE line SET data = ? WHERE {row}", (bytes(wrong),))
        report = check_file(f"{path}#s1")
        assert "changed" in kinds(report), bit
        assert [one.line for one in report.findings if one.kind == "changed"] == [7]
    connection.close()


def test_lines_without_a_session_and_broken_pages_are_reported(path):
    execute(path, "DELETE FROM session WHERE key = 's1'")

    (bad,) = [one for one in check_library(SessionLibrary(path)) if not one.is_sound]

    assert bad.path == str(path)
    assert "9 lines belong to session number 2, which does not exist" in bad.problem
    assert restore_lost(path) == (f"{path}#lost-2",)
    assert {report.status for report in check_library(SessionLibrary(path))} == {"clean"}
    with SessionLibrary(path) as library, library.open("lost-2") as session:
        session.append_message("goes on")
        assert len(session.path()) == 9
    assert restore_lost(path) == ()
    assert restore_lost(path.with_name("absent.db")) is None
    execute(path, "PRAGMA writable_schema = 1", "UPDATE sqlite_master SET rootpage = 2 WHERE name = 'tree'")
    assert len([one for one in check_library(SessionLibrary(path)) if not one.is_sound]) > 1


def test_a_saved_tree_that_differs_from_the_lines_is_reported(path):
    store = SqliteStore(path)
    log = store.open("s0")
    log.save_index(log.size() + 500, b"")
    store.close()

    assert any("saved tree" in one.message for one in check_file(f"{path}#s0").findings)


def test_a_database_of_the_first_version_goes_on_without_checksums(path):
    execute(
        path,
        "CREATE TABLE old (at INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT",
        "INSERT INTO old SELECT at, data FROM line",
        "DROP TABLE line",
        "ALTER TABLE old RENAME TO line",
        "PRAGMA user_version = 1",
    )

    with SessionLibrary(path) as library, library.open("s0") as session:
        session.append_message("more")
    report = check_file(f"{path}#s0")

    assert (report.status, kinds(report)) == ("notes", {"no-checksum"})
    assert "10 lines have no checksum" in report.findings[0].message
    with SessionLibrary(path) as library:
        library.get_or_create("new").append_messages(["one", "two"])


@pytest.mark.parametrize("version", [0, 3, 99, -1])
def test_only_known_versions_are_opened(path, version):
    execute(path, f"PRAGMA user_version = {version}")
    before = path.read_bytes()

    for act in (lambda store: store.scan(), lambda store: store.create("new", b"{}\n")):
        with pytest.raises(NotSupported, match=f"version {version}"):
            act(SqliteStore(path))

    assert path.read_bytes() == before


def leave_wal(path, key, count=20):
    """Write to a database and leave its -wal as a killed program does; return its bytes."""
    store = SqliteStore(path)
    with SessionLibrary(store).get_or_create(key) as session:
        for number in range(count):
            session.append_message(f"acked {number}")
    data = path.with_name(f"{path.name}-wal").read_bytes()
    store.close()
    return data


def test_the_log_of_another_database_is_not_applied(path, tmp_path):
    foreign = leave_wal(tmp_path / "w.db", "talk")
    wal = tmp_path / "x.db-wal"
    wal.write_bytes(foreign)
    before = path.read_bytes()

    for act in (lambda store: store.scan(), lambda store: store.create("new", b"{}\n")):
        with pytest.raises(LogError, match="belongs to another database"):
            act(SqliteStore(path))

    assert path.read_bytes() == before
    assert wal.read_bytes() == foreign
    wal.unlink()
    assert len(SqliteStore(path).scan().found) == 3


def test_a_backup_restored_beside_the_log_of_the_newer_database_is_refused(path, tmp_path):
    backup = tmp_path / "backup.db"
    shutil.copy(path, backup)
    for number in range(3):
        leave_wal(path, f"later {number}")
    newest = leave_wal(path, "newest")
    shutil.copy(backup, path)
    (tmp_path / "x.db-wal").write_bytes(newest)

    with pytest.raises(LogError, match="restored backup"):
        SqliteStore(path).scan()


def test_the_log_that_a_killed_program_left_is_applied(path, tmp_path):
    copy = tmp_path / "copy.db"
    shutil.copy(path, copy)
    (tmp_path / "copy.db-wal").write_bytes(leave_wal(path, "talk"))

    with SessionLibrary(copy) as library, library.open("talk") as session:
        assert len(session.path()) == 20


def test_several_writers_and_readers_never_take_their_own_log_for_another(path):
    stores = [SqliteStore(path) for _ in range(6)]
    for round_ in range(10):
        for number, store in enumerate(stores):
            SessionLibrary(store).get_or_create(f"w{number}", on_conflict="append").append_message("x")
        late = SqliteStore(path)
        assert len(late.scan().found) == 9
        late.close()
        execute(path, f"PRAGMA wal_checkpoint({'PASSIVE' if round_ % 2 else 'TRUNCATE'})")
    for store in stores:
        store.close()
