"""Every command on every store: one text names a directory, a database file or a server."""

from __future__ import annotations

import json
import shlex
import uuid

import psycopg
import pytest

from branchline import SessionLibrary
from stores.postgres_server import postgres_address, postgres_dsn

__all__ = ["postgres_address", "postgres_dsn"]


@pytest.fixture(params=["sqlite", "postgres"])
def store(request, tmp_path):
    if request.param == "postgres":
        return request.getfixturevalue("postgres_address")
    return str(tmp_path / "sessions.db")


def test_a_session_in_a_database_is_read_written_and_exported_like_a_file(run, store, tmp_path):
    run("new", "--id", "one", "--title", "Talk", "--store", store)
    run("append", "one", "a zebra crosses", "--store", store)
    run("append", "one", "--role", "assistant", "does it", "--store", store)

    assert "Talk" in run("ls", "--store", store).stdout
    assert "zebra" in run("show", "one", "--store", store).stdout
    assert "zebra" in run("tree", "one", "--store", store).stdout
    assert "1 of 1 hits" in run("search", "zebra", "--store", store).stderr
    assert "2 messages in 1 session" in run("stats", "--store", store).stdout
    assert "Talk" in run("inspect", "one", "--store", store).stdout
    assert "none damaged" in run("check", "--store", store).stderr
    run("branch", "one", "~1", "--store", store)
    run("fork", "one", "--store", store)
    assert "└" in run("forest", "--store", store).stdout
    out, zot = tmp_path / "o.jsonl", tmp_path / "z.jsonl"
    run("export", "one", "--store", store, "--no-redact", "-o", out)
    run("convert", "one", "--to", "zot", "--store", store, "-o", zot)
    assert b"zebra" in out.read_bytes()
    assert b"zebra" in zot.read_bytes()


def test_one_session_of_a_store_is_checked_and_all_of_them_indexed(run, store):
    for name in ("talk", "other"):
        run("new", "--id", name, "--store", store)
        run("append", name, "hello", "--store", store)

    checked = run("check", "talk", "--store", store)
    indexed = json.loads(run("index", "--store", store, "--json").stdout)

    assert "talk: fine" in checked.stdout
    assert "other" not in checked.stdout
    assert (indexed["indexed"], indexed["waiting"]) == (2, 0)
    assert "--status" in run("index", "--rebuild", "--store", store, code=2).stderr


def test_a_session_can_be_removed_restored_and_imported(run, store, tmp_path):
    run("new", "--id", "one", "--store", store)
    run("append", "one", "hello", "--store", store)
    out = tmp_path / "one.jsonl"
    run("export", "one", "--store", store, "-o", out)

    undo = shlex.split(run("rm", "one", "--store", store).stdout.split("undo: branchline ")[1])
    assert "one" not in run("ls", "--store", store).stdout
    run(*undo)
    assert "one" in run("ls", "--store", store).stdout
    path = run("import", out, "--store", store).stdout.split(": ")[1].strip()

    assert "hello" in run("show", path).stdout


def test_tables_are_created_by_a_command_and_status_says_what_is_there(run, postgres_dsn, tmp_path):
    run("store", "init", postgres_dsn)
    run("store", "upgrade", postgres_dsn)

    assert "up to date" in run("store", "status", postgres_dsn).stdout
    found = json.loads(run("store", "status", postgres_dsn, "--json").stdout)
    assert found["ready"] is True
    assert found["kind"] == "PostgresStore"
    run("new", "--id", "one", "--store", tmp_path / "s.db")
    assert "1 session" in run("store", "status", tmp_path / "s.db").stdout
    role = f"r{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres_dsn, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {role}")
        owner.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA branchline TO {role}")
        assert f"warning: {role} has rights that reach beyond" in run("store", "status", postgres_dsn).stderr
        owner.execute(f"REVOKE ALL ON ALL TABLES IN SCHEMA branchline FROM {role}")
    assert "no preparation" in run("store", "init", tmp_path / "s.db", code=1).stderr


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("postgresql://postgres@/postgres?host=/nowhere", "no connection"),
        ("nothing.db", "no such directory or database"),
    ],
)
def test_a_store_that_is_not_there_is_one_sentence(run, where, words):
    assert words in run("ls", "--store", where, code=1).stderr


@pytest.mark.parametrize("name", ["ls", "check", "stats", "search x"])
def test_a_file_that_is_no_database_is_refused_and_unchanged(run, tmp_path, name):
    file = tmp_path / "notes.db"
    file.write_bytes(b"not a database")

    assert "is not a store" in run(*name.split(), "--store", file, code=1).stderr
    assert file.read_bytes() == b"not a database"


def test_resume_finds_a_session_in_a_store(run, tmp_path):
    store = tmp_path / "s.db"
    run("new", "--id", "one", "--store", store, "--cwd", tmp_path)
    run("append", "one", "hello", "--store", store)

    shown = run("resume", "one", "--store", store, "--show").stdout
    assert "branchline chat --resume" in shown
    assert f"{store}#" in shown


def test_the_address_of_another_server_is_refused_and_no_directory_made_of_it(run, tmp_path, monkeypatch):
    place = tmp_path / "empty"
    place.mkdir()
    monkeypatch.chdir(place)

    for name in ("new", "ls", "index"):
        said = run(name, "--store", "mysql://me:hush@db/work", code=1).stderr
        assert "mysql://… is not a store" in said
        assert "hush" not in said
    assert "is not a store" in run("sync", place, "sqlite:///a.db", "--yes", code=1).stderr

    assert list(place.iterdir()) == []


def test_two_stores_are_synced_after_a_look_at_what_would_be_done(run, store, tmp_path):
    run("new", "--id", "one", "--store", tmp_path / "files")
    run("append", "one", "hello", "--store", tmp_path / "files")

    planned = run("sync", tmp_path / "files", store)
    assert "copied" in planned.stdout
    assert "--yes" in planned.stderr
    assert "one" not in run("ls", "--store", store, code=0 if "postgresql" in store else 1).stdout
    run("sync", tmp_path / "files", store, "--yes")
    run("append", "one", "there", "--store", store)
    run("append", "one", "here", "--store", tmp_path / "files")
    done = json.loads(run("sync", tmp_path / "files", store, "--yes", "--json").stdout)

    assert [one["action"] for one in done["sessions"]] == ["joined"]
    for place in (tmp_path / "files", store):
        assert {"there", "here"} <= set(run("tree", "one", "--store", place).stdout.split())


def test_a_sync_into_a_new_file_backs_up_a_database_that_is_written_to(run, tmp_path):
    with SessionLibrary(tmp_path / "app.db") as library, library.get_or_create("talk") as session:
        session.append_message("only in the -wal")
        run("sync", tmp_path / "app.db", tmp_path / "backup.db", "--yes")
        session.append_message("later")
        run("sync", tmp_path / "app.db", tmp_path / "backup.db", "--yes")

    assert "later" in run("show", "talk", "--store", tmp_path / "backup.db").stdout
    assert "none damaged" in run("check", "--store", tmp_path / "backup.db").stderr


@pytest.mark.parametrize(
    "words", [["nowhere", "here"], ["here", "nowhere"], ["here", "no/store.db"], ["no.db", "here"]]
)
def test_a_sync_with_a_path_that_does_not_exist_is_a_usage_error(words, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    run("new", "--id", "one", "--store", tmp_path / "here")
    before = sorted(tmp_path.rglob("*"))

    said = run("sync", *words, "--yes", code=2).stderr

    assert "no such store: no" in said
    assert sorted(tmp_path.rglob("*")) == before


def test_the_own_library_is_synced_with_its_folders(run, talk, tmp_path):
    (tmp_path / "stick").mkdir()
    own = tmp_path / "home" / "sessions"

    planned = run("sync", own, tmp_path / "stick")
    run("sync", own, tmp_path / "stick", "--yes")

    assert "1 session, 0 the same; --yes writes" in planned.stderr
    (copied,) = (tmp_path / "stick").rglob("*_talk.jsonl")
    assert copied.read_bytes() == (own / copied.relative_to(tmp_path / "stick")).read_bytes()
    assert "1 session, 1 the same" in run("sync", own, tmp_path / "stick", "--yes").stderr
