"""The catalog can be lost, damaged or refused at any moment, and no answer depends on it."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import branchline.catalog.catalog
import branchline.catalog.database as database
from branchline import SessionLibrary
from branchline.catalog import Catalog, CatalogUnavailable
from library.kit import fill, talk

RACE_NS = branchline.catalog.record._RACE_NS
"""How long a file must not have changed when it is read, before the other tests set it to nothing."""


def rows(library: SessionLibrary) -> list[object]:
    return list(library.list(deep=True))


def known(library: SessionLibrary) -> int:
    with Catalog.open(create=False) as catalog:
        return catalog.count()


def test_a_list_remembers_what_it_read_for_its_owner_alone(tmp_path: Path, cache: Path) -> None:
    library = fill(tmp_path / "sessions", 3)

    rows(library)

    assert known(library) == 3
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in cache.iterdir()} == {0o600}
    assert (cache / "CACHEDIR.TAG").read_bytes().startswith(b"Signature: 8a477f597d28d172789f06886806bc55")


def test_a_catalog_that_others_could_read_is_made_private_again(tmp_path: Path, cache: Path) -> None:
    library = fill(tmp_path / "sessions", 1)
    rows(library)
    (file,) = cache.glob("*.db")
    file.chmod(0o644)
    cache.chmod(0o755)

    rows(library)

    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_second_list_reads_no_session_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = fill(tmp_path / "sessions", 5)
    before = rows(library)
    reads: list[str] = []
    monkeypatch.setattr(library._scanner, "deep_row", lambda file, see=None: reads.append(file.key))

    after = rows(library)

    assert after == before
    assert reads == []


@pytest.mark.parametrize("change", ["append", "edit", "edit-keeping-mtime", "replace", "truncate", "touch"])
def test_whatever_happens_to_a_file_its_row_is_the_one_that_a_fresh_look_gives(
    tmp_path: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = fill(tmp_path / "sessions", 3)
    rows(library)
    path = sorted((tmp_path / "sessions").glob("*.jsonl"))[1]
    status, data = path.stat(), path.read_bytes()
    match change:
        case "append":
            with library.open(path.stem) as session:  # type: ignore[union-attr]
                session.append_message({"role": "user", "content": "more"})
        case "edit" | "edit-keeping-mtime":
            path.write_bytes(data.replace(b"question", b"QUESTION"))
        case "replace":
            other = tmp_path / "other"
            other.write_bytes(data.replace(b"question", b"QUESTION"))
            other.replace(path)
        case "truncate":
            path.write_bytes(data[: data.rstrip(b"\n").rindex(b"\n") + 1])
        case _:
            os.utime(path, (1, 1))
    if change == "edit-keeping-mtime":
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    after = rows(library)

    monkeypatch.setenv("BRANCHLINE_INDEX", "off")
    assert after == rows(library)


def test_a_file_that_was_changed_when_it_was_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(branchline.catalog.record, "_RACE_NS", RACE_NS)
    library = fill(tmp_path / "sessions", 1)
    rows(library)
    reads: list[str] = []
    inner = library._scanner.deep_row
    monkeypatch.setattr(
        library._scanner, "deep_row", lambda file, see=None: (reads.append(file.key), inner(file, see))[1]
    )

    rows(library)

    assert len(reads) == 1


@pytest.mark.parametrize("damage", ["deleted", "garbage", "empty", "foreign", "cut", "flipped"])
def test_a_damaged_catalog_is_made_again_and_costs_no_answer(
    tmp_path: Path, cache: Path, damage: str
) -> None:
    library = fill(tmp_path / "sessions", 20)
    before = rows(library)
    library.update_index()
    (file,) = cache.glob("*.db")
    data = file.read_bytes()
    match damage:
        case "deleted":
            file.unlink()
        case "garbage":
            file.write_bytes(b"not a database at all" * 1000)
        case "empty":
            file.write_bytes(b"")
        case "foreign":
            file.unlink()
            with sqlite3.connect(file) as other:
                other.execute("CREATE TABLE file (id)")
                other.execute(f"PRAGMA user_version = {database.SCHEMA_VERSION}")
            other.close()
        case "cut":
            file.write_bytes(data[: len(data) // 2])
        case _:
            file.write_bytes(data[:4096] + bytes(255 - byte for byte in data[4096:]))

    again = [rows(library), [hit.entry for hit in library.search("role:user question")]]

    assert again[0] == before
    assert len(again[1]) == 20
    rows(library)
    assert len(library.search("role:user question")) == 20
    assert not library.search("role:user question").notes


def test_where_the_cache_cannot_be_written_every_file_is_read_and_that_is_said(
    tmp_path: Path, cache: Path
) -> None:
    library = fill(tmp_path / "sessions", 3)
    cache.parent.mkdir(parents=True, exist_ok=True)
    cache.write_bytes(b"a file, and no directory")

    found = library.search("role:user question")

    assert len(rows(library)) == 3
    assert len(found) == 3
    assert "the index cannot be used" in found.notes[0]


def test_without_fts5_every_file_is_read_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_TEXT", database._TEXT.replace("fts5", "fts0"))
    library = fill(tmp_path / "sessions", 3)

    found = library.search("role:user question")

    assert len(rows(library)) == 3
    assert len(found) == 3
    assert "fts0" in found.notes[0]


def test_on_a_network_file_system_there_is_no_catalog(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    monkeypatch.setattr(database, "filesystem_warning", lambda path: f"{path} lies on NFS: beware")
    library = fill(tmp_path / "sessions", 3)

    found = library.search("role:user question")

    assert len(found) == 3
    assert "NFS" in found.notes[0]
    assert not list(cache.parent.glob("cache/*.db"))


def test_a_full_disk_costs_no_answer(tmp_path: Path) -> None:
    """A limit on the size of files stands for a disk on which nothing more fits."""
    library = fill(tmp_path / "sessions", 30)
    code = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "from branchline import SessionLibrary\n"
        "library = SessionLibrary(sys.argv[1])\n"
        "print(len(library.list(deep=True)), len(library.search('role:user question', limit=50)))\n"
    )

    done = subprocess.run(
        [sys.executable, "-B", "-c", code, library.name],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.stdout.split() == ["30", "30"], done.stderr


def test_turned_off_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    monkeypatch.setenv("BRANCHLINE_INDEX", "no")
    library = fill(tmp_path / "sessions", 2)

    found = library.search("role:user question")

    assert len(found) == 2
    assert not cache.exists()


def test_excluded_files_are_found_and_never_indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRANCHLINE_INDEX_EXCLUDE", "*/secret/*")
    library = fill(tmp_path / "secret", 2)

    found = library.search("role:user question")
    rows(library)

    assert len(found) == 2
    assert known(library) == 0


def test_a_catalog_of_another_person_or_a_link_is_refused(tmp_path: Path, cache: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    cache.parent.mkdir(parents=True, exist_ok=True)
    cache.symlink_to(elsewhere)

    with pytest.raises(CatalogUnavailable, match="is a link"):
        Catalog.open()

    assert not list(elsewhere.iterdir())


def test_a_moved_file_keeps_its_documents(tmp_path: Path) -> None:
    library = fill(tmp_path / "sessions", 2)
    library.update_index()
    with Catalog.open() as catalog:
        before = catalog.status()
    path = min((tmp_path / "sessions").glob("*.jsonl"))
    path.rename(path.with_name("moved.jsonl"))

    library.update_index()

    with Catalog.open() as catalog:
        after = catalog.status()
    assert (after.files, after.documents, after.dead) == (before.files, before.documents, 0)


def test_a_list_that_goes_on_after_the_catalog_was_made_again_shows_no_row_of_another_file(
    tmp_path: Path, cache: Path
) -> None:
    library = fill(tmp_path / "sessions", 4)
    before = rows(library)
    listing = library.iter_rows(deep=True)
    files = sorted((tmp_path / "sessions").glob("*.jsonl"))
    moved = [path.rename(path.with_suffix(".away")) for path in files[1:]]
    Catalog.delete()
    rows(library)
    for path in moved:
        path.rename(path.with_suffix(".jsonl"))

    after = list(listing.finish())

    assert after == before


def test_a_removed_file_leaves_the_index(tmp_path: Path) -> None:
    library = fill(tmp_path / "sessions", 2)
    library.update_index()
    min((tmp_path / "sessions").glob("*.jsonl")).unlink()

    library.update_index()

    with Catalog.open() as catalog:
        assert catalog.count() == 1
    assert len(library.search("role:user question")) == 1


def test_a_copy_counts_once_and_goes_on_counting_when_its_original_is_gone(tmp_path: Path) -> None:
    with talk(tmp_path / "sessions", 0, "one", "two") as session, session.fork() as fork:
        assert fork.file is not None
        original = session.file
    library = SessionLibrary(tmp_path / "sessions")
    library.update_index()
    count = "SELECT count(*), total(counted) FROM doc WHERE type = 'message'"
    with Catalog.open() as catalog:
        both = catalog.connection.execute(count).fetchone()
    assert original is not None
    os.unlink(original)

    library.update_index()

    with Catalog.open() as catalog:
        one = catalog.connection.execute(count).fetchone()
    assert both == (8, 4)
    assert one == (4, 4)


def test_deleting_the_catalog_deletes_those_of_earlier_releases(tmp_path: Path, cache: Path) -> None:
    library = fill(tmp_path / "sessions", 1)
    library.update_index()
    (cache / "catalog-9.db").write_bytes(b"the words of my sessions")
    (cache / "catalog-9.db-wal").write_bytes(b"")

    Catalog.delete()

    assert not list(cache.glob("catalog-*"))
