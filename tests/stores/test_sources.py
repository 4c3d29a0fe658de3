"""Sessions in databases and documents: addressed by path, read-only, and nothing is written next to them."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time

import pytest

from branchline import Session, SessionLibrary
from branchline.actions.check import check_file
from branchline.entries import Header, MessageEntry, Text, UserMessage
from branchline.errors import (
    Ambiguous,
    BranchlineError,
    LogError,
    LogReplaced,
    NotASession,
    ReadOnly,
    SessionNotFound,
)
from branchline.formats import (
    DatabaseSessions,
    DocumentFiles,
    Format,
    FormatHome,
    FormatReader,
    FormatTraits,
    JsonlReader,
    SessionVersion,
)
from branchline.plugins import formats as plugin_formats
from branchline.stores import gone, open_log, snapshot_of, stored_at
from branchline.stores.foreign_database import is_database, read_database


class NotesReader(JsonlReader):
    format_name = "notes"

    def take(self, fields, line, offset):
        if "notes" in fields:
            self.reading.header = Header(id=fields["notes"], cwd="/home/dev")
            self.reading.read_only = "notes are only read"
        else:
            tree = self.reading.tree
            self.add_entry(str(len(tree)), tree.keys[-1] if len(tree) else None, line, offset, role="user")


class Notes(FormatReader):
    def sniff(self, head, path):
        return head.startswith(b'{"notes":')

    def log_reader(self, path=""):
        return NotesReader()

    def decode(self, line, index, position):
        text = json.loads(line)["text"]
        parent = index.tree.keys[position - 1] if position else None
        return MessageEntry(id=str(position), parent=parent, message=UserMessage(content=(Text(text=text),)))


class NotesDatabase(DatabaseSessions):
    def recognizes(self, tables):
        return {"talk", "note"} <= tables

    def sessions(self, query):
        for name, count, size in query(
            "SELECT talk, count(*), sum(length(text)) FROM note GROUP BY talk ORDER BY talk"
        ):
            yield SessionVersion(name.decode(), size, 1_700_000_000_000, (count, size))

    def lines(self, query, session_id):
        for number, (text,) in enumerate(
            query("SELECT text FROM note WHERE talk = ? ORDER BY rowid", session_id)
        ):
            if not number:
                yield json.dumps({"notes": session_id}).encode() + b"\n"
            yield json.dumps({"text": text.decode()}).encode() + b"\n"


class NotesDocuments(DocumentFiles):
    def recognizes(self, path):
        return path.endswith("/notes.json")

    def companions(self, path):
        return [os.path.join(os.path.dirname(path), "more.txt")]

    def lines(self, content, path, companion):
        yield b'{"notes":"document"}\n'
        for text in json.loads(content.read(0, content.size())):
            yield json.dumps({"text": text}).encode() + b"\n"
        folder = os.path.dirname(path)
        others = [f"{folder}/parts/1.txt", f"{folder}/parts/../../outside.txt", "/etc/hostname"]
        for name in [*self.companions(path), *others]:
            if (more := companion(name)) is not None:
                yield json.dumps({"text": more.decode()}).encode() + b"\n"


class NotesHome(FormatHome):
    def roots(self, environment, home):
        return [f"{home}/.notes"]


NOTES = Format(
    traits=FormatTraits(name="notes", file_patterns=("*.db", "notes.json")),
    reader=Notes(),
    home=NotesHome(),
    database=NotesDatabase(),
    documents=NotesDocuments(),
)


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    found = plugin_formats.InstalledFormats((NOTES,), ())
    for module in ("plugins.formats", "stores.sources", "places"):
        monkeypatch.setattr(f"branchline.{module}.installed_formats", lambda: found)


def database(path, *, wal=False):
    connection = sqlite3.connect(path, isolation_level=None)
    if wal:
        connection.execute("PRAGMA journal_mode = wal")
    connection.executescript("CREATE TABLE talk (id); CREATE TABLE note (talk, text)")
    for talk, text in (("one", "Hello"), ("two", "Other"), ("one", "Again")):
        connection.execute("INSERT INTO note VALUES (?, ?)", (talk, text))
    return connection


def state(directory):
    """Names, bytes and times of everything in a directory; only locks may change in the index of a WAL."""
    return {
        item.name: (b"" if item.name.endswith("-shm") else item.read_bytes(), item.stat().st_mtime_ns)
        for item in directory.iterdir()
    }


def texts(session):
    return [entry.message.content[0].text for entry in map(session.entry, session.path())]


@pytest.mark.parametrize("kind", ["rollback", "wal", "live wal", "wal without shm"])
def test_a_session_of_a_database_opens_by_its_address_and_nothing_is_written(tmp_path, kind):
    made = tmp_path / "made"
    made.mkdir()
    connection = database(made / "my notes#1.db", wal=kind != "rollback")
    if kind != "live wal":
        if kind == "wal without shm":
            shutil.copy(made / "my notes#1.db-wal", tmp_path / "wal")
        connection.close()
    if kind == "wal without shm":
        shutil.copy(tmp_path / "wal", made / "my notes#1.db-wal")
    path = made / "my notes#1.db"
    before, listed = state(made), sorted(os.listdir(made))

    with Session.open(f"{path}#one") as session:
        seen = (session.id, texts(session), session.file, session.read_only is not None)

    assert seen == ("one", ["Hello", "Again"], f"{path}#one", True)
    assert state(made) == before
    assert sorted(os.listdir(made)) == listed
    connection.close()


def test_a_database_is_listed_as_many_sessions_and_found_by_id(tmp_path):
    (tmp_path / ".notes").mkdir()
    database(tmp_path / ".notes" / "a.db").close()
    library = SessionLibrary.everywhere(home=tmp_path, environment={}, agents=["notes"])

    rows = library.list(deep=True)
    store = SessionLibrary(tmp_path / ".notes" / "a.db")

    assert sorted((row.id, row.first_prompt, row.agent, row.messages) for row in rows) == [
        ("one", "Hello", "notes", 2),
        ("two", "Other", "notes", 1),
    ]
    assert library.find("two").path == f"{tmp_path}/.notes/a.db#two"
    assert texts(store.open("two")) == ["Other"]
    assert {row.id for row in store.list()} == {"one", "two"}


def test_a_database_with_several_sessions_asks_which_one(tmp_path):
    connection = database(tmp_path / "a.db")

    with pytest.raises(Ambiguous, match=r"holds 2 sessions \(one, two\); name one of them: .*a.db#ID"):
        Session.open(tmp_path / "a.db")
    connection.execute("DELETE FROM note WHERE talk = 'one'")

    assert texts(Session.open(tmp_path / "a.db")) == ["Other"]


def test_a_write_during_a_read_is_noticed_although_the_lock_was_lost(tmp_path):
    """Closing a descriptor of a file gives up all locks of the process on it, also those of other threads."""
    path = tmp_path / "a.db"
    database(path).close()
    write = f"import sqlite3\nwith sqlite3.connect({str(path)!r}) as c: c.execute('DELETE FROM note')"
    found = []

    def read(query):
        found.append(len(list(query("SELECT text FROM note"))))
        if len(found) == 1:
            assert is_database(str(path))
            subprocess.run([sys.executable, "-c", write], check=True)
        return found[-1]

    assert read_database(str(path), read) == 0
    assert found == [3, 0]


def test_rows_that_are_added_are_read_and_changed_rows_are_reported(tmp_path):
    connection = database(tmp_path / "a.db", wal=True)
    session = Session.open(tmp_path / "a.db#one")
    connection.execute("INSERT INTO note VALUES ('one', 'Third')")

    new = session.refresh()
    connection.execute("UPDATE note SET text = 'Something else' WHERE text = 'Hello'")

    assert new == 1
    with pytest.raises(LogReplaced, match="changed while it was open"):
        session.refresh()
    assert texts(session) == ["Hello", "Again", "Third"]
    with pytest.raises(ReadOnly):
        open_log(f"{tmp_path}/a.db#one").exclusive()


def test_a_deleted_session_costs_itself_alone(tmp_path):
    connection = database(tmp_path / "a.db", wal=True)
    paths = [f"{tmp_path}/a.db#one", f"{tmp_path}/a.db#two", f"{tmp_path}/b.db#one"]

    connection.execute("DELETE FROM note WHERE talk = 'one'")

    assert gone(paths) == {paths[0], paths[2]}
    assert stored_at(paths[0]) is None
    with pytest.raises(SessionNotFound, match="no session named 'one' in"):
        Session.open(paths[0])
    assert texts(Session.open(paths[1])) == ["Other"]


@pytest.mark.parametrize(
    ("kind", "problem", "words"),
    [
        ("locked", LogError, "another program has locked the database; try again"),
        ("corrupt", NotASession, "the database is damaged"),
        ("corrupt schema", NotASession, "the database is damaged (its schema is not text)"),
        ("newer", NotASession, "no such column: text; the database is of another version"),
        ("newer SQLite", NotASession, "it has a newer SQLite file format"),
        ("empty", NotASession, "no tables; if it was copied, its -wal file may be missing"),
        ("other", NotASession, "is a database of no known agent"),
    ],
)
def test_a_database_that_cannot_be_read_is_a_sentence_and_a_marked_row(
    tmp_path, monkeypatch, kind, problem, words
):
    monkeypatch.setattr("branchline.stores.foreign_database._TIMEOUT_SECONDS", 0.01)
    (tmp_path / ".notes").mkdir()
    path = tmp_path / ".notes" / "a.db"
    connection = database(path, wal=kind == "empty")
    if kind == "locked":
        connection.execute("BEGIN EXCLUSIVE")
    elif kind == "corrupt":
        connection.close()
        data = path.read_bytes()
        path.write_bytes(data[:100] + b"\xff" * 3996 + data[4096:])
    elif kind == "corrupt schema":
        connection.close()
        path.write_bytes(path.read_bytes().replace(b"CREATE TABLE", b"CREATE \xa7ABLE"))
    elif kind == "newer SQLite":
        connection.close()
        data = path.read_bytes()
        path.write_bytes(data[:18] + b"\3\3" + data[20:])
    elif kind == "newer":
        connection.execute("ALTER TABLE note RENAME COLUMN text TO body")
    elif kind == "empty":
        shutil.copy(path, tmp_path / "copy")
        connection.close()
        shutil.copy(tmp_path / "copy", path)
    else:
        connection.execute("DROP TABLE talk")
    before = state(path.parent)

    with pytest.raises(problem, match=re.escape(words)):
        Session.open(f"{path}#one")
    rows = SessionLibrary.everywhere(home=tmp_path, environment={}, agents=["notes"]).list(deep=True)

    assert kind == "other" or [row.problem for row in rows] != [None]
    assert state(path.parent) == before
    connection.close()


def test_a_locked_database_is_waited_for_once(tmp_path, monkeypatch):
    """A list reads a database several times, and `show ID` looks for the session in all of them."""
    monkeypatch.setattr("branchline.stores.foreign_database._TIMEOUT_SECONDS", 0.5)
    path = tmp_path / "a.db"
    connection = database(path)
    connection.execute("BEGIN EXCLUSIVE")
    taken = []

    for _ in range(4):
        start = time.monotonic()
        with pytest.raises(LogError, match="another program has locked the database"):
            Session.open(f"{path}#one")
        taken.append(time.monotonic() - start)
    connection.execute("ROLLBACK")

    assert taken[0] >= 0.5 > sum(taken[1:])
    assert texts(Session.open(f"{path}#one")) == ["Hello", "Again"]


def crashed(path, *, wal):
    """Start to change a database in another process, and kill it in the middle of the transaction."""
    mode = "wal" if wal else "delete"
    code = f"""
import os, sqlite3
connection = sqlite3.connect({str(path)!r}, isolation_level=None)
connection.execute("PRAGMA journal_mode = {mode}")
connection.execute("INSERT INTO note VALUES ('one', 'Third')" if {wal} else "PRAGMA cache_size = 1")
connection.execute("BEGIN IMMEDIATE")
connection.execute("UPDATE note SET text = 'Torn'")
connection.execute("CREATE TABLE large (value)")
for _ in range(300):
    connection.execute("INSERT INTO large VALUES (randomblob(3000))")
os._exit(9)
"""
    subprocess.run([sys.executable, "-c", code], check=False)


@pytest.mark.parametrize("wal", [False, True])
def test_a_database_whose_writer_crashed_is_read_as_sqlite_recovers_it(tmp_path, wal):
    """Once the journal was not copied: the half-written pages were read, or called damaged."""
    path = tmp_path / "a.db"
    database(path).close()
    crashed(path, wal=wal)
    before = state(tmp_path)

    with Session.open(f"{path}#one") as session:
        seen = texts(session)

    assert len(before) == (3 if wal else 2)
    assert seen == ["Hello", "Again", "Third"][: 3 if wal else 2]
    assert state(tmp_path) == before


@pytest.mark.parametrize("kind", ["only a header", "random bytes", "no page size"])
def test_a_wal_without_a_beginning_is_recovered_without_waiting(tmp_path, kind):
    """Once each read took ten seconds, in which SQLite waits for a writer that completes the beginning."""
    path, wal = tmp_path / "a.db", tmp_path / "a.db-wal"
    database(path).close()
    crashed(path, wal=True)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint")
    crashed(path, wal=True)
    data = wal.read_bytes()
    wal.write_bytes(
        {"only a header": data[:32], "random bytes": os.urandom(5000)}.get(
            kind, data[:10] + b"\0\0" + data[12:]
        )
    )
    before, start = state(tmp_path), time.monotonic()

    with Session.open(f"{path}#one") as session:
        seen = texts(session)

    assert time.monotonic() - start < 5
    assert seen == ["Hello", "Again", "Third"]
    assert state(tmp_path) == before


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_not_a_file_beside_a_database_is_refused_and_never_waited_for(tmp_path, ending, make):
    path = tmp_path / "a.db"
    database(path).close()
    make(f"{path}{ending}")

    with pytest.raises(NotASession, match=f"a.db{ending} is not a regular file"):
        Session.open(f"{path}#one")


def test_a_document_with_its_companions_is_one_session(tmp_path):
    (tmp_path / ".notes").mkdir()
    path = tmp_path / ".notes" / "notes.json"
    path.write_text('[\n"Hello",\n"Again"]')
    before = stored_at(str(path))
    (path.parent / "more.txt").write_text("More")
    library = SessionLibrary.everywhere(home=tmp_path, environment={}, agents=["notes"])

    (row,) = library.list(deep=True)
    with snapshot_of(str(path)) as read:
        head = read(0, 20)

    assert texts(library.open(row)) == ["Hello", "Again", "More"]
    assert head == b'{"notes":"document"}'
    assert (row.id, row.size) == ("document", path.stat().st_size + 4)
    assert stored_at(str(path)).stamp != before.stamp
    assert check_file(path).status == "clean"
    path.write_text('["Hal')
    with pytest.raises((BranchlineError, ValueError)):
        Session.open(path)


def test_a_document_reads_files_in_its_folder_and_none_outside(tmp_path):
    folder = tmp_path / "session"
    (folder / "parts").mkdir(parents=True)
    (folder / "notes.json").write_text('["first"]')
    (folder / "parts" / "1.txt").write_text("a part")
    (tmp_path / "outside.txt").write_text("not for this session")

    with Session.open(folder / "notes.json") as session:
        found = texts(session)

    assert found == ["first", "a part"]


@pytest.mark.parametrize(("limit", "found"), [(6, ["first", "a part"]), (5, ["first"])])
def test_a_companion_file_is_read_whole_or_not_if_it_is_above_the_limit(tmp_path, monkeypatch, limit, found):
    monkeypatch.setattr("branchline.stores.sources._LARGEST_COMPANION", limit)
    (tmp_path / "parts").mkdir()
    (tmp_path / "notes.json").write_text('["first"]')
    (tmp_path / "parts" / "1.txt").write_text("a part")

    with Session.open(tmp_path / "notes.json") as session:
        read = texts(session)

    assert read == found


def test_stamps_are_the_same_in_every_process(tmp_path):
    database(tmp_path / "a.db").close()

    program = (
        "import sys; sys.path[:0] = sys.argv[2:]; import test_sources as tests;"
        "from branchline.stores import DatabaseStore;"
        "print(DatabaseStore(sys.argv[1], tests.NOTES).scan().found[0].stamp)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "a.db"), os.path.dirname(__file__), *sys.path]
    said = {
        subprocess.run(command, env={"PYTHONHASHSEED": seed}, capture_output=True, check=True).stdout
        for seed in ("1", "2")
    }

    assert len(said) == 1
