"""One time for every list: when a session was last used, whatever became of its file."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import msgspec
import pytest

from branchline import Session, SessionLibrary, places
from branchline.catalog import Catalog
from branchline.clock import FixedClock, iso
from branchline.formats import PI
from branchline.library import row_reader
from branchline.stores import snapshot_of, stored_at
from branchline.stores.activity import last_use, recent_use
from library.kit import CWD, DAY, START, Watched, age, clock, fill, talk
from session.kit import assistant, user
from support import CORPUS

FAR = 4_000_000_000_000
"""A time in the year 2096."""
WRITTEN = {
    "branchline": ".jsonl",
    "pi": ".jsonl",
    "oh-my-pi": ".jsonl",
    "induscode": ".ndjson",
    "zot": ".jsonl",
    "piglet": ".jsonl",
    "claude-code": ".jsonl",
    "codex": ".jsonl",
    "qwen": ".jsonl",
    "copilot": ".jsonl",
}
"""Formats of lines that are written here, without Operator's, which is dated by its files."""


def keys(rows):
    return [row.key for row in rows]


def written(place: Path, key: str, *lines: dict[str, object]) -> Path:
    place.mkdir(exist_ok=True)
    path = place / f"{key}.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    return path


def header(ms: int | None) -> dict[str, object]:
    return {"type": "session", "version": 3, "id": "a", "cwd": CWD} | (
        {"timestamp": "soon" if ms is None else iso(ms)}
    )


def said(key: str, parent: str | None, ms: int | None, role: str = "user") -> dict[str, object]:
    line = {"type": "message", "id": key, "parentId": parent, "message": {"role": role, "content": "hello"}}
    return line if ms is None else {**line, "timestamp": iso(ms)}


# -- copies, backups and changes ----------------------------------------------------------------------------


def test_a_copied_directory_keeps_its_order(place, tmp_path):
    library = fill(place, 5)
    copied = tmp_path / "copied"
    for path in sorted(place.glob("*.jsonl"), reverse=True):  # the last copied is the oldest session
        copied.mkdir(exist_ok=True)
        shutil.copyfile(path, copied / path.name)
        os.utime(copied / path.name, ns=(time.time_ns(), time.time_ns()))

    there = SessionLibrary(copied)

    assert keys(there.list(deep=True)) == keys(library.list(deep=True))
    assert keys(there.list()) == keys(library.list())[::-1]
    assert [row.active_ms for row in there.list(deep=True)] == [
        row.active_ms for row in library.list(deep=True)
    ]
    assert there.latest().key == library.latest().key
    assert there.find("@last").key == library.list(deep=True)[0].key
    assert keys(item.row for item in there.forest(deep=True)) == keys(there.list(deep=True))


def test_a_restored_backup_with_times_from_long_ago_keeps_its_order(place):
    library = fill(place, 3)
    before = keys(library.list(deep=True))
    for number, path in enumerate(sorted(place.glob("*.jsonl"), reverse=True)):
        os.utime(path, (number, number))

    assert keys(library.list(deep=True)) == before
    assert library.latest().key == before[0]


def test_a_title_and_a_label_are_no_activity(place):
    library = fill(place, 3)
    with library.open(library.list()[-1]) as oldest:
        oldest.set_title("renamed today")
        oldest.append_label(oldest.leaf, "x")

    assert library.list()[0].key == oldest.key
    assert library.list(deep=True)[-1].title == "renamed today"
    assert library.latest().key == library.list(deep=True)[0].key != oldest.key


def test_a_message_moves_a_session_to_the_front(place):
    library = fill(place, 3)
    with library.open(library.list()[-1]) as oldest:
        oldest.append_messages([user("more"), assistant("of it")])

    assert library.latest().key == library.list(deep=True)[0].key == oldest.key


def test_copies_of_one_session_are_in_the_order_of_their_keys(place):
    library = fill(place, 2)
    newest = Path(library.list()[0].path)
    shutil.copy(newest, place / "b.jsonl")
    shutil.copy(newest, place / "a.jsonl")

    found = keys(library.list(deep=True))

    assert found[:3] == sorted([newest.stem, "a", "b"])
    assert keys(library.list(deep=True, limit=2)) == found[:2]
    assert library.latest().key == found[0]


# -- sessions without times, and wrong clocks ---------------------------------------------------------------


def test_an_empty_session_has_the_time_in_its_header(place):
    path = written(place, "empty", header(START))
    written(place, "used", header(START), said("m", None, START + DAY))

    assert keys(SessionLibrary(place).list(deep=True)) == ["used", "empty"]
    assert [row.active_ms for row in SessionLibrary(place).list(deep=True)] == [START + DAY, START]
    assert path.stat().st_mtime * 1000 > START + DAY


def test_a_session_whose_lines_have_no_times_has_that_of_its_file(place):
    age(written(place, "undated", header(None), said("m", None, None)), 3)
    written(place, "dated", header(START), said("m", None, START + 2 * DAY))

    listing = SessionLibrary(place).list(deep=True)

    assert [(row.key, row.active_ms) for row in listing] == [
        ("undated", START + 3 * DAY),
        ("dated", START + 2 * DAY),
    ]
    assert SessionLibrary(place).latest().key == "undated"


@pytest.mark.parametrize(
    "lines",
    [
        [header(START), said("m", None, START), said("n", "m", FAR, "assistant")],
        [header(FAR), said("m", None, FAR)],
        [header(FAR)],
    ],
    ids=["one message", "all of it", "the header"],
)
def test_a_time_in_the_future_counts_as_that_of_the_file(place, lines):
    age(written(place, "future", *lines), 1)
    written(place, "today", header(START), said("m", None, START + 2 * DAY))
    library = SessionLibrary(place)

    assert keys(library.list(deep=True)) == ["today", "future"]
    assert library.list(deep=True)[1].active_ms == START + DAY
    assert library.latest().key == "today"


def test_a_file_from_the_future_is_no_newer_than_now(place):
    path = written(place, "future", header(FAR), said("m", None, FAR))
    os.utime(path, (FAR / 1000, FAR / 1000))
    begun = time.time() * 1000

    (row,) = SessionLibrary(place).list(deep=True)

    assert row.modified_ms == FAR
    assert begun - 5_000 <= row.active_ms <= time.time() * 1000
    assert SessionLibrary(place).latest().active_ms == row.active_ms


def test_a_time_of_tomorrow_does_not_wait_to_be_the_newest(place):
    """No message is written into a file after its last change."""
    path = written(place, "late", header(START), said("m", None, round(time.time() * 1000) + DAY))
    age(path, 0)

    assert SessionLibrary(place).list(deep=True)[0].active_ms == START


def test_operators_sessions_are_listed_by_the_times_of_their_files(place):
    for number in range(3):
        with talk(place, number, format="operator") as session:
            path = session.file
        age(path, 9 - number)
    library = SessionLibrary(place)

    listing = library.list(deep=True)

    assert [row.modified_ms for row in listing] == [START + days * DAY for days in (9, 8, 7)]
    assert [row.active_ms for row in listing] == [row.modified_ms for row in listing]
    assert keys(listing) == keys(library.list())
    assert library.latest().key == listing[0].key


# -- from the last lines ------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", WRITTEN)
def test_the_last_lines_of_a_long_session_tell_what_all_of_it_tells(place, program):
    words = [f"question {number} " + "word " * 100 for number in range(60)]
    with talk(place, 0, *words) as native:
        path = native.convert(program, output=place / f"converted{WRITTEN[program]}").files[0].path
    stored = stored_at(path)
    with snapshot_of(path) as read:
        transcript = row_reader.read_log(read, stored)
        reads: list[int] = []

        def watched(offset: int, size: int) -> bytes:
            reads.append(size)
            return read(offset, size)

        found = recent_use(watched, stored, transcript.format)

    assert stored.size > 50_000
    assert found == last_use(transcript, stored) > START
    assert sum(reads) < 30_000


def test_the_last_message_is_found_above_long_output_of_tools(place):
    result = {"role": "toolResult", "toolCallId": "c", "toolName": "bash", "content": "x" * 50_000}
    lines = [said(str(number), None, START + number) for number in range(1, 200)]
    outputs = [{**said(f"r{number}", None, START + DAY), "message": result} for number in range(4)]
    path = written(place, "long", header(START), *lines, *outputs)
    stored = stored_at(str(path))

    with snapshot_of(str(path)) as read:
        assert recent_use(read, stored, PI) == START + 199


def test_every_sample_says_the_same_in_its_last_lines():
    compared = 0
    for path in sorted(map(str, CORPUS.rglob("*.*"))):
        stored = stored_at(path)
        try:
            with snapshot_of(path) as read:
                transcript = row_reader.read_log(read, stored)
                recent = recent_use(read, stored, transcript.format)
        except Exception:  # damaged samples, and files that are no sessions
            continue
        if recent is not None:
            assert recent == last_use(transcript, stored), path
            compared += 1
    assert compared > 100


def test_the_newest_of_many_is_found_without_reading_them_all(place):
    fill(place, 12)
    now = round(time.time() * 1000)
    with Session.create(CWD, directory=place, clock=FixedClock(now - 1000, seed=9)) as session:
        session.append_messages([user("just now"), assistant("yes")])
    for path in place.glob("*.jsonl"):
        if path.stem != session.key:
            os.utime(path, (1, 1))
    store = Watched(place)

    assert SessionLibrary(store).latest().key == session.key


# -- all agents, with and without an index ------------------------------------------------------------------


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    place = Path(places.session_directory(CWD))
    for number in range(6):
        with talk(place, number, title=f"talk {number}") as session:
            path = session.file
        os.utime(path, (2e9 - number, 2e9 - number))  # the newest session was copied first
    return tmp_path


def test_every_list_has_one_order_with_and_without_an_index(home):
    library = SessionLibrary.everywhere()
    titles = [f"talk {number}" for number in (5, 4, 3, 2, 1, 0)]
    few = [row.title for row in library.list(deep=True, limit=2)]
    latest = library.latest()

    assert [row.title for row in library.list(deep=True)] == titles
    assert few == titles[:2]
    time.sleep(2.1)  # the index believes no file that has just changed
    for _again in range(2):
        assert [row.title for row in library.list(deep=True)] == titles
    library.update_index()
    assert [row.title for row in library.known_rows(3)] == titles[:3]
    assert [row.title for row in library.list(deep=True, limit=4)] == titles[:4]
    assert library.latest().path == latest.path
    with Catalog.open() as catalog:
        assert sorted(catalog.activity().values()) == [
            row.active_ms for row in reversed(library.list(deep=True))
        ]


@pytest.mark.parametrize("known", [False, True])
def test_a_database_of_ours_is_listed_by_last_messages_too(tmp_path, known):
    with SessionLibrary(tmp_path / "app.db") as library:
        for number in (3, 5, 1):  # the order in which they come into the database
            talk(library.stores[0], number, title=f"talk {number}").close()
        if known:
            library.list(deep=True)

        assert [row.title for row in library.list(deep=True, limit=2)] == ["talk 5", "talk 3"]
        assert [row.title for row in library.list(deep=True)] == ["talk 5", "talk 3", "talk 1"]
        assert library.latest().key == library.list(deep=True)[0].key
        assert library.list(deep=True)[0].active_ms < START + 6 * DAY


def test_a_fork_of_an_old_session_was_used_when_it_was_made(place):
    library = fill(place, 3)
    with library.open(library.list()[-1]) as oldest:
        oldest._clock = clock(30)
        fork = oldest.fork()
        fork.close()

    assert library.list(deep=True)[0].key == library.latest().key == fork.key
    assert library.list(deep=True)[-1].key == oldest.key
    assert library.list(deep=True)[0].active_ms >= START + 30 * DAY
