"""After a power cut, a SQLite file has every acknowledged change, and the last one fully or not at all."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from branchline.log import publish_file
from branchline.stores.sqlite import SqliteStore
from log.conftest import quick_path
from stores.sqlite_disk import Disk, Promise, Recording, Sync, recorded, states

__all__ = ["quick_path"]

Contents = dict[str, bytes]
HEAD = b'{"type":"session","version":3,"id":"one"}\n'


def line(number: int, size: int = 60) -> bytes:
    return b'{"number":%d,"text":"%s"}\n' % (number, b"x" * size)


def contents(store: SqliteStore) -> Contents:
    """All that a store holds: sessions, drafts, and what is in its trash."""
    keys = [found.key for found in [*store.scan().found, *store.drafts()]]
    found = {key: store.open(key).read(0, 1 << 20) for key in keys}
    return found | {f"trash {item.key}": b"%d" % item.size for item in store.trashed()}


class Changes:
    """Does things to a store, and keeps what it held after each of them."""

    def __init__(self, path: Path, recording: Recording) -> None:
        self._path, self._recording = path, recording
        self.history: list[Contents] = [{}]
        self.store = SqliteStore(path)
        recording.promise(0)

    def done(self) -> None:
        self.history.append(contents(self.store))
        self._recording.promise(len(self.history) - 1)

    def append(self, key: str, data: bytes, durability: str = "fsync") -> None:
        with self.store.open(key, durability=durability).exclusive() as writer:
            writer.append(data)
        self.done()

    def create(self, key: str, *, draft: bool = False) -> None:
        self.store.create(key, HEAD, draft=draft)
        self.done()

    def copy_log_early(self) -> None:
        """Let SQLite move its log into the database after every few pages, not after a thousand."""
        with self.store.reading("limit") as connection:
            connection.execute("PRAGMA wal_autocheckpoint = 8")

    def reopen(self) -> None:
        self.store.close()
        self.store = SqliteStore(self._path)
        self.copy_log_early()


def everything(changes: Changes) -> None:
    changes.create("one")
    changes.copy_log_early()
    for number in range(6):
        changes.append("one", line(number))
    changes.append("one", line(6, 9000) + line(7))
    changes.create("two", draft=True)
    changes.append("two", line(0))
    changes.store.publish("two")
    changes.done()
    changes.reopen()
    changes.append("two", line(1))
    token = changes.store.remove("one").token
    changes.done()
    changes.store.rename("two", "other")
    changes.done()
    changes.store.restore(token)
    changes.done()
    changes.append("one", line(8))


@pytest.fixture
def record(tmp_path, monkeypatch):
    def run(work):
        """What a work wrote, and what the store held after each of its steps."""
        with recorded() as recording:

            def publish(source, target):
                publish_file(source, target)
                recording.publish(source, target)

            monkeypatch.setattr("branchline.stores.sqlite.publish_file", publish)
            changes = Changes(tmp_path / "sessions.db", recording)
            work(changes)
            changes.store.close()
        return recording.events, changes.history

    return run


def after(disk: Disk, place: Path) -> Contents | None:
    """What a store finds when the power is back, which then works like any other; None if there is no file."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for path, data in disk.items():
        (place / os.path.basename(path)).write_bytes(data)
    path = place / "sessions.db"
    if not path.exists():
        return None
    store = SqliteStore(path)
    with store.reading("check") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    found = contents(store)
    for key in list(found)[:1]:
        if not key.startswith("trash"):
            with store.open(key, durability="os").exclusive() as writer:
                writer.append(b"{}\n")
            assert store.open(key).read(0, 1 << 20) == found[key] + b"{}\n"
    store.close()
    return found


def test_every_acknowledged_change_is_there_and_of_the_next_one_all_or_nothing(record, quick_path):
    events, history = record(everything)

    seen = 0
    for disk, promised in states(events):
        found = after(disk, quick_path / "disk")
        assert (found or {}) in history[promised : promised + 2], f"state {seen} after change {promised}"
        seen += 1

    assert seen > 1_000


def test_without_syncs_only_the_newest_changes_are_lost_and_never_a_part_of_one(record, quick_path):
    """``durability="os"``: what the kernel has may be lost, but what is left was there once."""

    def work(changes):
        changes.create("one")
        changes.copy_log_early()
        for number in range(12):
            changes.append("one", line(number), "os")

    events, history = record(work)

    lost = 0
    for disk, promised in states(events):
        found = after(disk, quick_path / "disk") or {}
        assert found in history[: promised + 2]
        lost += found not in history[promised:]
    assert lost


def test_a_sync_that_does_nothing_is_noticed(record, quick_path):
    """The model can tell: without its syncs SQLite loses what it has acknowledged."""
    events, history = record(lambda changes: (changes.create("one"), changes.append("one", line(1))))
    published = next(
        number for number, event in enumerate(events) if isinstance(event, Promise) and event.number
    )

    kept = [event for number, event in enumerate(events) if number < published or not isinstance(event, Sync)]

    assert any(
        after(disk, quick_path / "disk") not in history[promised : promised + 2]
        for disk, promised in states(kept)
        if promised == 2
    )
