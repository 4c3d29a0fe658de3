"""Another program's lock is held around appends, waited for with a timeout, and left unchanged."""

import fcntl
import os
import re
import stat
import subprocess
import sys
from contextlib import contextmanager

import pytest

from branchline.errors import LockTimeout, LogError
from branchline.log import FileLog
from branchline.log.lock_holder import holder_of

LINE = b'{"a":1}\n'
HOLD = """
import fcntl, os, sys
lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(lock, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held(path):
    """Another process that holds this lock until the end of the block."""
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.stdin.close()


@pytest.fixture
def path(tmp_path):
    made = tmp_path / "s.jsonl"
    made.write_bytes(LINE)
    return made


def opened(path, timeout=5.0):
    log = FileLog(path, lock_timeout=timeout)
    log.add_lock(f"{path}.lock")
    return log


def append(log):
    with log.exclusive() as writer:
        writer.append(LINE)


def free(path):
    """Whether nobody holds the lock now."""
    lock = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True


def test_the_lock_file_is_made_held_while_we_write_and_left_empty(path):
    log, lock = opened(path), path.with_name("s.jsonl.lock")
    assert not lock.exists()

    with log.exclusive() as writer:
        assert not free(lock)
        writer.append(LINE)

    assert free(lock)
    assert (lock.read_bytes(), stat.S_IMODE(lock.stat().st_mode)) == (b"", 0o600)
    log.close()
    assert lock.exists()


def test_who_holds_it_is_waited_for_no_longer_than_the_limit_and_named(path):
    lock = path.with_name("s.jsonl.lock")
    log = opened(path, timeout=0.2)

    with held(lock) as process, pytest.raises(LockTimeout) as caught:
        append(log)

    who = rf"pid {process.pid} \(.*\)|an unknown program, see {re.escape(str(lock))}"
    assert re.search(
        rf"cannot append to .*s\.jsonl: the lock is held by ({who}); tried for 0\.2 s", str(caught.value)
    )
    assert path.read_bytes() == LINE
    append(log)
    assert path.read_bytes() == LINE * 2


def test_after_a_refusal_our_own_lock_is_free_again(path):
    log, other = opened(path, timeout=0.1), FileLog(path, lock_timeout=0.1)

    with held(path.with_name("s.jsonl.lock")), pytest.raises(LockTimeout):
        append(log)

    append(other)


def test_a_lock_that_cannot_be_made_saves_nothing(path):
    log = FileLog(path)
    log.add_lock(str(path.parent / "missing" / "lock"))

    with pytest.raises(LogError, match="cannot append"):
        append(log)

    assert path.read_bytes() == LINE


def test_the_system_tells_who_holds_a_lock(tmp_path):
    lock = tmp_path / "lock"
    lock.touch()
    inode = lock.stat().st_ino
    (tmp_path / "locks").write_text(
        f"1: POSIX  ADVISORY  WRITE 11 08:01:{inode} 0 EOF\n"
        f"2: -> FLOCK  ADVISORY  WRITE 12 08:01:{inode} 0 EOF\n"
        f"3: FLOCK  ADVISORY  WRITE 13 08:01:{inode} 0 EOF\n"
    )
    (tmp_path / "13").mkdir()
    (tmp_path / "13" / "comm").write_text("piglet\n")

    assert holder_of(str(lock), str(tmp_path)) == "pid 13 (piglet)"
    (tmp_path / "13" / "comm").unlink()
    assert holder_of(str(lock), str(tmp_path)) == "pid 13"
    assert holder_of(str(tmp_path), str(tmp_path)) is None
    assert holder_of(str(lock), str(tmp_path / "nowhere")) is None
