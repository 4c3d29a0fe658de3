"""A seal stays valid when a log grows; any other change is detected and located."""

import hashlib
import json
import os
import stat
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchline.errors import LockTimeout, LogError, LogShrank, NotSaved, ReadOnly
from branchline.log import FileLog, MemoryLog
from branchline.log.seals import Seal, compare, make_seal, read_seal, seal_log, seal_path, session_name
from log.crash import Promise, Recorder, states
from log.faults import KINDS, Faulty, Unsynced
from log.proofs import HEADER, record

NOW = "2026-01-05T09:00:00.000Z"
LINES = HEADER + b"".join(record(f"line {number}", 90) for number in range(100))


@pytest.fixture
def session(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(LINES)
    return path


def seal(path, system=None, **options) -> Seal:
    system = Unsynced() if system is None else system
    with FileLog(path, system=system, lock_timeout=0.05) as log:
        return seal_log(log, session="one", sealed_at=NOW, system=system, **options)


def reading(data: bytes):
    return lambda offset, size: data[offset : offset + size]


def sealed(data: bytes, **options) -> Seal:
    log = MemoryLog(data)
    return make_seal(log, session="one", size=len(data), sealed_at=NOW, **options)


def line_at(data: bytes, offset: int) -> int:
    """The number of the line that begins here; AssertionError when none does."""
    assert offset == 0 or data[offset - 1 : offset] == b"\n"
    return data.count(b"\n", 0, offset) + 1


# -- laws -------------------------------------------------------------------------------------------------

WORDS = st.lists(st.binary(max_size=700).map(lambda data: data.replace(b"\n", b"") + b"\n"), min_size=1)


@given(WORDS, st.binary(max_size=50))
def test_whatever_is_appended_a_seal_stays_true(lines, more):
    data = b"".join(lines)

    difference = compare(reading(data + more), sealed(data))

    assert difference is None


@given(WORDS, st.data(), st.integers(1, 255))
def test_any_byte_that_changes_is_noticed_and_its_place_named(lines, draw, mask):
    data = b"".join(lines)
    place = draw.draw(st.integers(0, len(data) - 1))
    changed = data[:place] + bytes([data[place] ^ mask]) + data[place + 1 :]

    difference = compare(reading(changed + b"more\n"), sealed(data))

    assert difference is not None
    assert difference.offset <= place < difference.offset + difference.size
    assert difference.line == line_at(changed, difference.offset)
    assert (difference.blocks, difference.missing) == (1, 0)


@given(WORDS, st.data())
def test_a_log_that_became_shorter_is_noticed_at_the_first_line_that_is_cut_or_missing(lines, draw):
    data = b"".join(lines)
    cut = data[: draw.draw(st.integers(0, len(data) - 1))]

    difference = compare(reading(cut), sealed(data))

    assert difference is not None
    assert difference.missing == len(data) - len(cut)
    assert difference.offset == cut.rfind(b"\n") + 1
    assert difference.line == line_at(data, difference.offset)
    assert difference.blocks == 0


@given(WORDS)
def test_blocks_are_whole_lines_that_follow_each_other_and_the_first_is_one_line(lines):
    data = b"".join(lines)

    made = sealed(data)

    pieces, offset = [], 0
    for block in made.blocks:
        pieces.append(data[offset : offset + block.size])
        offset += block.size
    assert b"".join(pieces) == data
    assert pieces[0] == lines[0]
    assert all(piece.endswith(b"\n") for piece in pieces)
    assert [hashlib.sha256(piece).hexdigest() for piece in pieces] == [block.sha256 for block in made.blocks]
    assert made.sha256 == hashlib.sha256(data).hexdigest()


def test_a_long_log_has_no_more_blocks_than_a_seal_has_room_for():
    data = b"".join(b"%d\n" % number for number in range(1_000_000))

    made = sealed(data)

    assert 1_000 < len(made.blocks) < 2_100
    assert compare(reading(data), made) is None


def test_places_that_changed_are_counted_and_the_first_is_told():
    data = bytearray(LINES)
    data[5_000] ^= 1
    data[8_000] ^= 1

    difference = compare(reading(bytes(data[:-100])), sealed(LINES))

    assert difference.offset <= 5_000 < difference.offset + difference.size
    assert (difference.blocks, difference.missing, difference.same_log) == (2, 100, True)


def test_another_log_has_nothing_in_common_with_the_seal():
    other = LINES.replace(b"line", b"word").replace(b"header", b"HEADER")

    assert not compare(reading(other), sealed(LINES)).same_log
    assert compare(reading(LINES.replace(b"header", b"HEADER")), sealed(LINES)).same_log
    assert not compare(reading(LINES.replace(b"line", b"word")), sealed(LINES)).same_log, (
        "one line is too little"
    )


def test_bytes_before_the_start_may_change_only_where_the_program_did_it():
    data = b"slot\n" + LINES

    made = sealed(data, start=5)

    assert compare(reading(b"SLOT\n" + LINES), made, prefix_replaced=True) is None
    assert compare(reading(b"slot\n" + LINES), made) is None
    changed = compare(reading(b"SLOT\n" + LINES), made)
    assert (changed.line, changed.offset, changed.size, changed.same_log) == (1, 0, 5, True)
    difference = compare(reading(b"slot\n" + LINES.replace(b"header", b"HEADER")), made)
    assert (difference.line, difference.offset) == (2, 5)


# -- files ------------------------------------------------------------------------------------------------


def test_a_seal_lies_beside_the_log_private_and_alone(session, tmp_path):
    old_umask = os.umask(0)
    try:
        made = seal(session)
    finally:
        os.umask(old_umask)

    place = tmp_path / ".branchline" / "seals" / "s.jsonl.json"
    assert seal_path(session) == str(place)
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
    assert os.listdir(place.parent) == [place.name]
    assert session.read_bytes() == LINES
    fields = json.loads(place.read_bytes())
    assert (fields["session"], fields["size"], fields["sealed_at"]) == ("one", len(LINES), NOW)
    assert fields["sha256"] == hashlib.sha256(LINES).hexdigest()
    assert read_seal(session).blocks == made.blocks


def test_a_log_without_a_seal_has_none(session, tmp_path):
    assert read_seal(session) is None
    (tmp_path / ".branchline").write_bytes(b"no directory")
    assert read_seal(session) is None


def test_a_log_that_is_reached_by_a_link_has_the_same_seal(session, tmp_path):
    link = tmp_path / "elsewhere" / "link.jsonl"
    link.parent.mkdir()
    link.symlink_to(session)

    seal(link)

    assert read_seal(session) == read_seal(link)
    assert os.listdir(link.parent) == ["link.jsonl"]


@pytest.mark.parametrize("name", ["x" * 249, "ü" * 124])
def test_very_long_names_have_seals_of_their_own(tmp_path, name):
    one, other = tmp_path / f"{name}.jsonl"[:255], tmp_path / f"{name}.jsonk"[:255]

    for path in (one, other):
        path.write_bytes(HEADER)
        seal(path)

    assert seal_path(one) != seal_path(other)
    assert read_seal(one) is not None


def test_only_whole_lines_are_sealed(session):
    with session.open("ab") as file:
        file.write(b'{"id":"torn')

    assert seal(session).size == len(LINES)


@pytest.mark.parametrize("content", [b"", b'{"id":"header"}'])
def test_what_has_no_whole_line_is_not_sealed(session, content):
    session.write_bytes(content)

    with pytest.raises(NotSaved, match="no complete line"):
        seal(session)

    assert read_seal(session) is None


def test_a_longer_log_gets_a_longer_seal_and_one_that_has_not_grown_keeps_its_own(session):
    made = seal(session)
    inode = os.stat(seal_path(session)).st_ino

    seal(session, matching=made)
    assert os.stat(seal_path(session)).st_ino == inode

    with FileLog(session) as log, log.exclusive() as writer:
        writer.append(record("new"))
    seal(session, matching=made)
    assert read_seal(session).size == len(LINES) + len(record("new"))


def test_lines_that_a_writer_may_still_take_back_are_not_sealed(session):
    with FileLog(session) as log, log.exclusive() as writer:
        writer.append(record("not yet"))
        with pytest.raises(LockTimeout, match=r"cannot seal .*the lock is held by"):
            seal(session)

    assert read_seal(session) is None


def test_a_log_that_shrinks_while_it_is_sealed_is_told():
    with pytest.raises(LogShrank, match="cannot seal"):
        make_seal(MemoryLog(b"one\n"), session="one", size=100, sealed_at=NOW)


def test_the_id_of_a_session_may_be_anything(session):
    name = "\ud800" + "x" * 10_000
    with FileLog(session, system=Unsynced()) as log:
        seal_log(log, session=name, sealed_at=NOW, system=Unsynced())

    assert read_seal(session).session == session_name(name)


# -- seals that cannot be used ----------------------------------------------------------------------------


def test_a_seal_that_has_changed_itself_is_not_believed(session):
    session.write_bytes(LINES[:150].rpartition(b"\n")[0] + b"\n")
    made = seal(session)
    place = Path(seal_path(session))
    data = place.read_bytes()

    for offset in range(len(data)):
        place.write_bytes(data[:offset] + bytes([data[offset] ^ 1]) + data[offset + 1 :])
        with pytest.raises(LogError, match="cannot use the seal"):
            read_seal(session)
    for cut in range(len(data) - 2):
        place.write_bytes(data[:cut])
        with pytest.raises(LogError, match="seal is damaged"):
            read_seal(session)
    place.write_bytes(data)
    assert read_seal(session).blocks == made.blocks


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"seal": 2}, "version 2"),
        ({"start": 5}, "seal is damaged"),
        ({"start": 1 << 40}, "seal is damaged"),
        ({"size": -1}, "seal is damaged"),
        ({"blocks": [[-4, "00"]]}, "seal is damaged"),
        ({"blocks": None}, "seal is damaged"),
    ],
)
def test_a_seal_that_says_what_cannot_be_is_not_believed(session, fields, words):
    seal(session)
    place = Path(seal_path(session))
    made = json.loads(place.read_bytes()) | fields | {"checksum": ""}
    checksum = hashlib.sha256(json.dumps(made, separators=(",", ":")).encode()).hexdigest()
    place.write_text(json.dumps(made | {"checksum": checksum}))

    with pytest.raises(LogError, match=words):
        read_seal(session)


def test_what_is_no_file_of_ours_in_the_place_of_a_seal_is_neither_read_nor_written(session, tmp_path):
    mine = tmp_path / "mine.txt"
    mine.write_bytes(b"mine")
    place = Path(seal_path(session))
    place.parent.mkdir(parents=True)

    place.symlink_to(mine)
    with pytest.raises(LogError, match="cannot use the seal"):
        read_seal(session)
    with pytest.raises(NotSaved, match="is a link"):
        seal(session)
    place.unlink()
    os.mkfifo(place)
    with pytest.raises(LogError, match="not written by branchline"):
        read_seal(session)
    place.unlink()
    place.mkdir()
    with pytest.raises(LogError, match="not written by branchline"):
        read_seal(session)
    with pytest.raises(NotSaved, match="cannot seal"):
        seal(session)

    assert mine.read_bytes() == b"mine"
    assert os.listdir(place.parent) == [place.name]


# -- failures and crashes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_whichever_call_fails_there_is_the_old_seal_or_the_new_one_and_the_log_is_as_it_was(session, kind):
    grown = LINES + record("new")
    at = 0
    struck = True
    while struck:
        at += 1
        session.write_bytes(LINES)
        old = seal(session)
        session.write_bytes(grown)
        system = Faulty()
        system.strike(at, kind)
        done = False
        try:
            seal(session, system)
            done = True
        except (NotSaved, ReadOnly, OSError, KeyboardInterrupt):
            pass
        struck = system.struck
        system.heal()
        found = read_seal(session)
        assert found.size == len(grown) if done else found.size in (old.size, len(grown))
        assert session.read_bytes() == grown
        if kind != "interrupt after":  # the name of the temporary file may then be all that is left of it
            assert os.listdir(os.path.dirname(seal_path(session))) == ["s.jsonl.json"]
        os.unlink(seal_path(session))
        for rest in os.listdir(os.path.dirname(seal_path(session))):
            os.unlink(os.path.join(os.path.dirname(seal_path(session)), rest))

    assert at > 5


def test_whenever_the_power_fails_a_seal_is_there_whole_or_not_at_all(quick_path):
    recorder = Recorder(quick_path)
    path = quick_path / "s.jsonl"
    first, more = HEADER + record("one"), record("two")
    place = ".branchline/seals/s.jsonl.json"
    with FileLog.create(path, first, durability="os", system=recorder) as log:
        seal_log(log, session="one", sealed_at=NOW, system=recorder)
        old = Path(seal_path(path)).read_bytes()
        recorder.promise(Promise(paths=(place,), lines=(first,)))
        with log.exclusive() as writer:
            writer.append(more)
        seal_log(log, session="one", sealed_at=NOW, system=recorder)
        new = Path(seal_path(path)).read_bytes()
        recorder.promise(Promise(paths=(place,), lines=(first, more)))

    count = 0
    for tree, promise in states(recorder.events):
        count += 1
        found = dict(tree)
        assert found.get(place) in ((None, old, new) if not promise.lines else (old, new))
        if found.get(place) == new:
            assert found["s.jsonl"].startswith(first + more), "sealed before it was on the disk"
        if len(promise.lines) == 2:
            assert found[place] == new
    assert count > 100


# -- size -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "size",
    [1 << 26, pytest.param(1 << 30, marks=pytest.mark.slow)],
    ids=["64 MB", "1 GB"],
)
def test_what_is_held_in_memory_does_not_grow_with_the_log(tmp_path, size):
    path = tmp_path / "s.jsonl"
    path.write_bytes(LINES)
    os.truncate(path, size)  # one line that is nearly all of the file
    with path.open("ab") as file:
        file.write(b"\n" + LINES)

    tracemalloc.start()
    try:
        made = seal(path)
        with FileLog(path) as log:
            assert compare(log.read, made) is None
        with path.open("r+b") as file:
            file.seek(size // 2)
            file.write(b"x")
        with FileLog(path) as log:
            difference = compare(log.read, made)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert made.size == size + 1 + len(LINES)
    assert difference.line == 2  # the long line lies in one block with the short ones before it
    assert difference.offset <= size // 2 < difference.offset + difference.size
    assert peak < 1 << 23
