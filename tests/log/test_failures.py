"""Any system call may fail in any way: nothing is lost, partially written or blocked."""

import errno
import itertools
import os
from pathlib import Path

import pytest

from branchline.errors import NotSaved, ReadOnly
from branchline.log import SYSTEM, FileLog, System, publish_file, replace_file
from log.faults import ERRORS, KINDS, Faulty, Unsynced
from log.proofs import HEADER, lines_of, prove_failures, record


@pytest.mark.parametrize("durability", ["fsync", "os"])
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "lasting"])
def test_whichever_call_of_an_append_fails_nothing_is_lost_and_the_next_append_works(
    tmp_path, lasting, durability
):
    # A call that is interrupted for ever is no fault of a disk.
    kinds = [kind for kind in KINDS if not (lasting and kind.startswith(("EINTR", "interrupt")))]

    runs = prove_failures(tmp_path, Faulty, kinds=kinds, lasting=lasting, durability=durability)

    assert runs > 200


def strikes(kinds, run):
    """Call `run(system, kind, at)` for each kind and for N = 1, 2, 3 … until the fault strikes no more."""
    runs = 0
    for kind in kinds:
        for at in itertools.count(1):
            system = Faulty()
            system.strike(at, kind, lasting=False)
            run(system, kind, at)
            runs += 1
            if not system.struck:
                break
    return runs


def files_in(directory) -> list[str]:
    return [name for _, _, files in os.walk(directory) for name in files]


def test_whichever_call_of_a_creation_fails_nothing_remains_and_the_next_one_works(tmp_path):
    def run(system: Faulty, kind: str, at: int):
        path = tmp_path / f"{kind}-{at}" / "deep" / "s.jsonl"

        try:
            log = FileLog.create(path, HEADER, system=system)
        except (NotSaved, ReadOnly, KeyboardInterrupt):
            if kind == "interrupt after" and path.exists() and path.stat().st_size == 0:
                path.unlink()  # interrupted before we could know that the file is ours: empty, but there
            assert not path.exists(), f"{kind} at {at}"
            system.heal()
            log = FileLog.create(path, HEADER, system=system)
        system.heal()
        log.close()

        assert path.read_bytes() == HEADER

    assert strikes(KINDS, run) > 100


def test_a_creation_that_cannot_be_undone_says_so(tmp_path):
    system = Faulty()
    path = tmp_path / "s.jsonl"

    system.strike(5, "EIO", lasting=True)
    with pytest.raises(NotSaved, match=r"cannot create .*; an unfinished file may remain there"):
        FileLog.create(path, HEADER, system=system)


def test_whichever_call_of_a_replacement_fails_the_file_is_the_old_or_the_new_one(tmp_path):
    old, new = HEADER + record("old"), HEADER + record("old") + record("new")

    def run(system: Faulty, kind: str, at: int):
        path = tmp_path / f"{kind}-{at}" / "s.jsonl"
        path.parent.mkdir()
        path.write_bytes(old)

        try:
            replace_file(path, [HEADER, record("old"), record("new")], system=system)
        except (NotSaved, ReadOnly) as problem:
            said = str(problem)
            expected = new if "the new file is in place" in said else old
            assert path.read_bytes() == expected, f"{kind} at {at}: {said}"
        except KeyboardInterrupt:
            assert path.read_bytes() in (old, new)
        system.heal()
        left_over = [name for name in files_in(path.parent) if name.endswith(".tmp")]
        backup = replace_file(path, new, system=system)

        assert path.read_bytes() == new
        assert Path(backup).read_bytes() in (old, new)
        assert left_over == [] or kind.startswith("interrupt")

    assert strikes(KINDS, run) > 100


def test_whichever_call_of_publishing_fails_the_draft_is_whole_under_one_name_or_both(tmp_path):
    def run(system: Faulty, kind: str, at: int):
        source, target = tmp_path / f"{kind}-{at}" / "draft", tmp_path / f"{kind}-{at}" / "new" / "s.jsonl"
        source.parent.mkdir()
        source.write_bytes(HEADER)

        try:
            publish_file(source, target, system=system)
        except (NotSaved, ReadOnly, KeyboardInterrupt):
            assert all(path.read_bytes() == HEADER for path in (source, target) if path.exists())
            assert source.exists() or target.exists()
            system.heal()
            if source.exists():
                publish_file(source, target, system=system)

        assert target.read_bytes() == HEADER
        assert not source.exists()

    assert strikes(KINDS, run) > 50


class Broken(System):
    """A system in which chosen calls fail while `error` is set; writes can stop half-way."""

    def __init__(self, *names: str):
        self.names = names
        self.error = 0

    def _check(self, name: str):
        if self.error and name in self.names:
            raise OSError(self.error, os.strerror(self.error))

    def write(self, descriptor, data):
        if self.error and "write" in self.names and len(data) > 10:
            return SYSTEM.write(descriptor, data[:10])
        self._check("write")
        return SYSTEM.write(descriptor, data)

    def fdatasync(self, descriptor):
        self._check("fdatasync")

    def fsync(self, descriptor):
        self._check("fsync")

    def ftruncate(self, descriptor, size):
        self._check("ftruncate")
        SYSTEM.ftruncate(descriptor, size)

    def open(self, path, flags, mode=0o777):
        if flags & os.O_APPEND:
            self._check("open")
        return SYSTEM.open(path, flags, mode)


@pytest.fixture
def session(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(HEADER)
    return path


def append(log: FileLog, data: bytes) -> int:
    with log.exclusive() as writer:
        return writer.append(data)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "disk full (ENOSPC)"),
        (errno.EDQUOT, "disk quota used up (EDQUOT)"),
        (errno.EIO, "input/output error (EIO)"),
        (errno.EFBIG, "file larger than allowed (EFBIG)"),
        (errno.ENODEV, "no such device (ENODEV)"),
    ],
)
def test_the_message_says_what_failed_and_that_nothing_was_saved(session, number, words):
    system = Broken("write")
    with FileLog(session, system=system) as log:
        system.error = number

        with pytest.raises(NotSaved) as caught:
            append(log, record("one"))

    assert (
        str(caught.value) == f"cannot append to {session}: {words}; nothing was saved, the file is unchanged"
    )
    assert caught.value.__cause__.errno == number
    assert session.read_bytes() == HEADER


def test_a_descriptor_on_which_a_sync_failed_is_closed_and_not_asked_again(session):
    calls = []

    class Failing(Unsynced):
        broken = False

        def fdatasync(self, descriptor):
            calls.append(("fdatasync", descriptor))
            if self.broken:
                self.broken = False
                raise OSError(errno.EIO, os.strerror(errno.EIO))

        def fsync(self, descriptor):
            calls.append(("fsync", descriptor))

        def close(self, descriptor):
            calls.append(("close", descriptor))
            SYSTEM.close(descriptor)

        def ftruncate(self, descriptor, size):
            calls.append(("ftruncate", descriptor))
            SYSTEM.ftruncate(descriptor, size)

    system = Failing()
    with FileLog(session, system=system) as log:
        append(log, record("one"))
        system.broken = True
        calls.clear()

        with pytest.raises(NotSaved, match="the file is unchanged"):
            append(log, record("two"))
        during = list(calls)
        append(log, record("two"))

    assert [name for name, _ in during] == ["fdatasync", "close", "ftruncate", "fsync"]
    assert during[0][1] == during[1][1]
    assert session.read_bytes() == HEADER + record("one") + record("two")


def test_a_record_that_could_not_be_taken_back_is_taken_back_before_the_next_append(session):
    system = Broken("fdatasync", "ftruncate")
    with FileLog(session, system=system) as log:
        system.error = errno.EIO
        with pytest.raises(NotSaved, match=r"removing the record failed too .* may or may not be there"):
            append(log, record("one"))
        there = session.read_bytes()
        with pytest.raises(NotSaved, match="could not be removed"):
            append(log, record("two"))
        system.error = 0

        with log.exclusive() as writer:
            end = writer.end
            writer.append(record("two"))

    assert there == HEADER + record("one")
    assert end == len(HEADER)
    assert session.read_bytes() == HEADER + record("two")


def test_half_a_record_that_could_not_be_taken_back_is_taken_back_before_the_next_append(session):
    system = Broken("write", "ftruncate")
    with FileLog(session, system=system) as log:
        system.error = errno.ENOSPC
        with pytest.raises(NotSaved, match="may or may not be there"):
            append(log, record("one"))
        there = session.read_bytes()
        system.error = 0

        append(log, record("one"))

    assert there.startswith(HEADER + record("one")[:10])
    assert session.read_bytes() == HEADER + record("one")


@pytest.mark.parametrize("broken", [("fdatasync", "open"), ("write", "open")])
def test_a_second_append_in_the_same_block_works_after_a_failed_one(session, broken):
    system = Broken(*broken)
    with FileLog(session, system=system) as log:
        append(log, record("one"))

        with log.exclusive() as writer:
            system.error = errno.EIO
            with pytest.raises(NotSaved, match="may or may not be there"):
                writer.append(record("two"))
            system.error = 0
            offset = writer.append(record("two"))

        assert offset == len(HEADER) + 60
    assert session.read_bytes() == HEADER + record("one") + record("two")


def test_a_record_in_doubt_stays_when_somebody_has_written_after_it_and_is_seen_by_the_next_writer(session):
    system = Broken("fdatasync", "ftruncate")
    with FileLog(session, system=system) as log:
        system.error = errno.EIO
        with pytest.raises(NotSaved, match="may or may not be there"):
            append(log, record("one"))
        system.error = 0
        with FileLog(session) as other:
            append(other, record("child of one"))

        with log.exclusive() as writer:
            end = writer.end
            writer.append(record("two"))

    assert end == len(HEADER) + 120
    assert lines_of(session.read_bytes()) == [HEADER, record("one"), record("child of one"), record("two")]


def test_bytes_that_another_program_wrote_in_the_moment_of_failure_are_never_cut_off(session):
    class Intruded(Broken):
        def write(self, descriptor, data):
            if not self.error:
                return SYSTEM.write(descriptor, data)
            SYSTEM.write(descriptor, data[:10])
            SYSTEM.write(descriptor, b"\n" + record("foreign"))
            raise OSError(self.error, os.strerror(self.error))

    system = Intruded()
    with FileLog(session, system=system) as log:
        system.error = errno.EIO
        with pytest.raises(NotSaved, match="another program wrote at the same time"):
            append(log, record("one"))
        system.error = 0

        append(log, record("two"))

    assert lines_of(session.read_bytes()) == [
        HEADER,
        record("one")[:10] + b"\n",
        record("foreign"),
        record("two"),
    ]


def test_a_torn_tail_that_is_met_twice_is_kept_once_and_reported_by_the_append_that_closed_it(session):
    session.write_bytes(HEADER + b'{"id":"to')
    system = Broken("fdatasync")
    with FileLog(session, system=system) as log:
        system.error = errno.ENOSPC
        with pytest.raises(NotSaved), log.exclusive() as writer:
            writer.append(record("one"))
        system.error = 0

        with log.exclusive() as writer:
            writer.append(record("one"))
            torn = writer.torn

    assert (torn.offset, torn.size) == (len(HEADER), 9)
    assert os.listdir(session.parent / ".branchline" / "torn") == [os.path.basename(torn.kept_at)]
    assert lines_of(session.read_bytes()) == [HEADER, b'{"id":"to\n', record("one")]


def test_a_fragment_that_cannot_be_kept_is_not_closed_either(session):
    before = HEADER + b'{"id":"to'
    session.write_bytes(before)
    system = Broken("fsync")
    system.error = errno.ENOSPC
    (session.parent / ".branchline").mkdir()
    (session.parent / ".branchline" / "locks").mkdir()
    (session.parent / ".branchline" / "torn").mkdir()

    with FileLog(session, system=system) as log, pytest.raises(NotSaved, match="disk full"):
        append(log, record("one"))

    assert session.read_bytes() == before
    assert os.listdir(session.parent / ".branchline" / "torn") == []


def test_an_append_is_one_write_and_one_sync_and_then_it_is_acknowledged(session):
    calls = []

    class Watching(Faulty):
        def _real(self, name, *arguments):
            calls.append(name)
            return super()._real(name, *arguments)

    for durability, syncs in (("fsync", ["fdatasync"]), ("os", [])):
        with FileLog(session, system=Watching(), durability=durability) as log:
            append(log, record("one"))
            calls.clear()

            append(log, record("two") + record("three"))

            assert calls == ["flock", "fstat", "stat", "write", *syncs, "lseek", "flock"]


def test_every_kind_of_error_is_tried():
    assert set(ERRORS) >= {"EIO", "ENOSPC", "EDQUOT", "EINTR"}
