"""Concurrent writers take turns, never overwrite each other, and learn who holds the lock."""

import os
import re
import signal
import socket
import time

import pytest

from branchline.errors import LockTimeout, NotSaved
from branchline.log import SYSTEM, FileLog, System, is_locked
from log.faults import Unsynced
from log.processes import child, records_in, run, run_together
from log.proofs import prove_exclusion, prove_foreign_writer

HEADER = b'{"name":"header","number":0}\n'


@pytest.fixture
def session(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(HEADER)
    return path


def append(log: FileLog, data: bytes = b"{}\n") -> int:
    with log.exclusive() as writer:
        return writer.append(data)


@pytest.mark.parametrize("count", [2, 4, 8])
@pytest.mark.parametrize("durability", ["fsync", "os"])
def test_processes_that_append_at_once_lose_nothing_and_never_overlap(session, count, durability):
    each = 400 // count

    said = run_together([["append", session, durability, f"p{n}", each] for n in range(count)])

    data = session.read_bytes()
    found, damaged = records_in(data)
    assert damaged == 0
    assert sorted(found) == sorted(
        [("header", 0), *((f"p{n}", m) for n in range(count) for m in range(each))]
    )
    acknowledged = [line.split() for lines in said for line in lines]
    assert len(acknowledged) == count * each
    for name, number, offset, end in acknowledged:
        assert offset == end, "somebody wrote while another held the lock"
        assert data[int(offset) :].startswith(
            b'{"name": "%s", "number": %s,' % (name.encode(), number.encode())
        )


def test_a_program_that_does_not_lock_loses_nothing_to_those_that_do(session):
    commands = [["append", session, "os", f"p{n}", 150] for n in range(2)]
    foreign = [["foreign", session, f"f{n}", 150] for n in range(2)]

    said = run_together(commands + foreign)

    data = session.read_bytes()
    found, damaged = records_in(data)
    names = ("p0", "p1", "f0", "f1")
    assert damaged == 0
    assert sorted(found) == sorted([("header", 0), *((name, n) for name in names for n in range(150))])
    for name, number, offset, _ in (line.split() for line in said[0] + said[1]):
        assert data[int(offset) :].startswith(
            b'{"name": "%s", "number": %s,' % (name.encode(), number.encode())
        )


def test_two_logs_on_one_file_in_one_process_exclude_each_other(tmp_path):
    prove_exclusion(tmp_path, Unsynced())


def test_lines_that_arrive_without_a_lock_and_our_own_do_not_touch(tmp_path):
    prove_foreign_writer(tmp_path, Unsynced())


def test_who_waits_too_long_is_told_who_holds_the_lock_and_since_when(session):
    with child("hold", session) as holder, FileLog(session, lock_timeout=0.2) as log:
        holder.stdout.readline()
        started = time.monotonic()

        with pytest.raises(LockTimeout) as caught:
            append(log)
        waited = time.monotonic() - started

    assert re.fullmatch(
        rf"cannot append to {session}: the lock is held by pid {holder.pid} \(children\.py\) "
        rf"on host {re.escape(socket.gethostname())} since \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d UTC; tried for 0\.2 s",
        str(caught.value),
    )
    assert 0.2 <= waited < 2
    assert session.read_bytes() == HEADER


def test_the_lock_of_a_killed_process_is_free_at_once(session):
    with child("hold", session) as holder:
        holder.stdout.readline()
        holder.kill()
        holder.wait()

        with FileLog(session, lock_timeout=0) as log:
            assert append(log) == len(HEADER)


def test_a_waiting_writer_goes_on_when_the_lock_becomes_free(session):
    with child("hold", session) as holder, FileLog(session, lock_timeout=30) as log:
        holder.stdout.readline()
        os.kill(holder.pid, signal.SIGSTOP)  # it does not matter what the holder does with its time
        slept = []

        class Impatient(System):
            def sleep(self, seconds):
                slept.append(seconds)
                if len(slept) == 9:
                    holder.kill()
                    holder.wait()
                SYSTEM.sleep(seconds)

        log._lock._system = Impatient()

        assert append(log) == len(HEADER)

    assert slept[:7] == [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.05]
    assert max(slept) == 0.05


def test_a_forked_child_neither_uses_nor_releases_the_lock_of_its_parent(session):
    said = run("fork", session)

    assert said == ["refused", "LockTimeout", "LockTimeout", "child saved", "parent saved"]
    found, damaged = records_in(session.read_bytes())
    assert [name for name, _ in found] == ["header", "attempt", "attempt"]
    assert damaged == 0


def test_a_forked_child_does_not_keep_the_lock_of_a_parent_that_died(session):
    with child("orphan", session) as parent:
        survivor = int(parent.stdout.readline().split()[1])
        parent.wait()
        try:
            with FileLog(session, lock_timeout=0) as log:
                assert append(log) == len(HEADER)
        finally:
            os.kill(survivor, signal.SIGKILL)


def test_whether_somebody_holds_the_lock_can_be_asked_without_making_anything(session):
    identity = (session.stat().st_dev, session.stat().st_ino)

    never = is_locked(str(session), identity)
    untouched = os.listdir(session.parent)
    with FileLog(session) as log:
        with log.exclusive():
            during = is_locked(str(session), identity)
        after = is_locked(str(session), identity)

    assert (never, during, after) == (False, True, False)
    assert untouched == ["s.jsonl"]


def test_a_lock_file_that_somebody_deleted_is_made_anew(session):
    with FileLog(session) as log, FileLog(session, lock_timeout=0) as other:
        append(log)
        [lock] = (session.parent / ".branchline" / "locks").iterdir()
        lock.unlink()

        with log.exclusive(), pytest.raises(LockTimeout):
            append(other)

        assert lock.exists()


def test_the_lock_file_names_its_last_holder_and_stays_when_the_log_is_closed(session):
    with FileLog(session) as log:
        append(log)
    [lock] = (session.parent / ".branchline" / "locks").iterdir()
    inode = lock.stat().st_ino

    with FileLog(session) as log:
        append(log)

    assert lock.stat().st_ino == inode
    assert lock.name == f"{session.stat().st_dev}-{session.stat().st_ino}.lock"
    assert b'"pid":%d,' % os.getpid() in lock.read_bytes()
    assert len(lock.read_bytes()) == 256


@pytest.mark.parametrize(
    "words", [b"", b"nonsense", b"[]", b'{"pid":1,"host":"h","program":"p","since":1e300}']
)
def test_a_holder_without_a_readable_name_is_reported_as_such(session, words):
    class Unnamed(System):
        def pwrite(self, descriptor, data, offset):
            os.ftruncate(descriptor, 0)
            return SYSTEM.pwrite(descriptor, words, offset)

    with (
        FileLog(session, system=Unnamed()) as log,
        FileLog(session, lock_timeout=0) as other,
        log.exclusive(),
        pytest.raises(LockTimeout, match="an unknown program"),
    ):
        append(other)


def test_a_long_name_in_another_script_still_fits(session, monkeypatch):
    monkeypatch.setattr("sys.argv", ["/somewhere/" + "ж" * 100])

    with (
        FileLog(session) as log,
        FileLog(session, lock_timeout=0) as other,
        log.exclusive(),
        pytest.raises(LockTimeout, match=rf"pid {os.getpid()} \(жжж"),
    ):
        append(other)


def test_a_file_system_without_locks_is_reported(session):
    class Lockless(System):
        def flock(self, descriptor, operation):
            raise OSError(95, os.strerror(95))

    with FileLog(session, system=Lockless()) as log, pytest.raises(NotSaved, match="not supported"):
        append(log)
