"""What every log promises, in a file or in memory."""

import threading
from contextlib import contextmanager

import pytest

from branchline.errors import LockTimeout
from branchline.log import FileLog, Log, MemoryLog


@pytest.fixture(params=["file", "memory"])
def new(request, tmp_path):
    """A function that makes a log with these bytes, in either kind."""
    logs = []

    def make(data: bytes, **options) -> Log:
        if request.param == "memory":
            log = MemoryLog(data, **options)
        else:
            path = tmp_path / f"{len(logs)}.jsonl"
            path.write_bytes(data)
            log = FileLog(path, durability="os", **options)
        logs.append(log)
        return log

    yield make
    for log in logs:
        log.close()


def whole(log: Log) -> bytes:
    return log.read(0, log.size())


def append(log: Log, data: bytes) -> int:
    with log.exclusive() as writer:
        return writer.append(data)


@contextmanager
def held(log: Log):
    """The log's lock, held by another thread."""
    taken, done = threading.Event(), threading.Event()

    def hold():
        with log.exclusive():
            taken.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait(10)
    try:
        yield
    finally:
        done.set()
        thread.join()


def test_an_append_returns_the_offset_where_its_data_begins(new):
    log = new(b'{"n":0}\n')

    offsets = [append(log, b'{"n":1}\n'), append(log, b'{"n":2}\n{"n":3}\n'), append(log, b'{"n":4}\n')]

    assert offsets == [8, 16, 32]
    assert whole(log) == b"".join(b'{"n":%d}\n' % n for n in range(5))


def test_an_empty_log_is_appended_to_at_its_beginning(new):
    log = new(b"")

    assert append(log, b"{}\n") == 0
    assert whole(log) == b"{}\n"


def test_a_writer_knows_the_end_before_and_after_each_of_its_appends(new):
    log = new(b"{}\n")

    with log.exclusive() as writer:
        before = writer.end
        writer.append(b"{}\n")
        between = writer.end
        writer.append(b"{}\n{}\n")
        after = writer.end

    assert (before, between, after) == (3, 6, 12)


@pytest.mark.parametrize("data", [b"", b"{}", b"{}\n{}", b"\n{}"])
def test_data_that_is_not_whole_lines_is_refused_and_nothing_is_written(new, data):
    log = new(b"{}\n")

    with log.exclusive() as writer, pytest.raises(ValueError, match="whole lines"):
        writer.append(data)

    assert whole(log) == b"{}\n"


def test_reading_gives_fewer_bytes_only_at_the_end_and_none_beyond(new):
    log = new(b"0123456789\n")

    assert log.read(2, 3) == b"234"
    assert log.read(8, 100) == b"89\n"
    assert log.read(11, 5) == b""
    assert log.read(1000, 5) == b""
    assert log.read(3, 0) == b""


@pytest.mark.parametrize(("offset", "size"), [(-1, 3), (0, -1)])
def test_reading_before_the_beginning_is_a_mistake_of_the_caller(new, offset, size):
    log = new(b"{}\n")

    with pytest.raises(ValueError):
        log.read(offset, size)


def test_a_complete_last_line_without_its_newline_is_kept_as_a_line(new):
    log = new(b'{"n":0}\n{"n":1}')

    with log.exclusive() as writer:
        offset = writer.append(b'{"n":2}\n')
        torn = writer.torn

    assert torn is None
    assert offset == 16
    assert whole(log) == b'{"n":0}\n{"n":1}\n{"n":2}\n'


def test_a_torn_last_line_is_closed_before_the_next_one_and_reported_once(new):
    log = new(b'{"n":0}\n{"n":1,"te')

    with log.exclusive() as writer:
        offset = writer.append(b'{"n":2}\n')
        torn = writer.torn
    with log.exclusive() as writer:
        writer.append(b'{"n":3}\n')
        again = writer.torn

    assert (torn.offset, torn.size) == (8, 10)
    assert again is None
    assert log.read(offset, 8) == b'{"n":2}\n'
    assert whole(log) == b'{"n":0}\n{"n":1,"te\n{"n":2}\n{"n":3}\n'


def test_taking_the_lock_without_appending_leaves_a_torn_tail_alone(new):
    log = new(b'{"n":0}\n{"n":1,"te')

    with log.exclusive() as writer:
        torn = writer.torn

    assert torn is None
    assert whole(log) == b'{"n":0}\n{"n":1,"te'


def test_the_caller_may_say_what_a_complete_line_is(new):
    log = new(b"a\nb.", is_complete=lambda tail: tail.endswith(b"."))

    with log.exclusive() as writer:
        writer.append(b"c.\n")
        torn = writer.torn

    assert torn is None
    assert whole(log) == b"a\nb.\nc.\n"


def test_a_writer_is_of_no_use_after_its_block(new):
    log = new(b"{}\n")
    with log.exclusive() as writer:
        pass

    with pytest.raises(RuntimeError, match="no longer holds the lock"):
        writer.append(b"{}\n")

    assert whole(log) == b"{}\n"


def test_the_lock_is_free_again_after_an_exception_in_the_block(new):
    log = new(b"{}\n", lock_timeout=0.0)

    with pytest.raises(KeyError), log.exclusive():
        raise KeyError

    assert append(log, b"{}\n") == 3


def test_a_thread_waits_for_the_lock_no_longer_than_its_limit(new):
    log = new(b"{}\n", lock_timeout=0.05)

    with held(log), pytest.raises(LockTimeout, match=r"another thread .*; tried for 0\.1 s"):
        append(log, b"{}\n")

    assert append(log, b"{}\n") == 3


def test_threads_that_share_a_log_take_turns(new):
    log = new(b"")
    overlaps = []

    def work(name: int):
        for n in range(50):
            with log.exclusive() as writer:
                end = writer.end
                if writer.append(b'{"thread":%d,"n":%d}\n' % (name, n)) != end:
                    overlaps.append((name, n))

    threads = [threading.Thread(target=work, args=(name,)) for name in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert overlaps == []
    assert sorted(whole(log).split(b"\n")[:-1]) == sorted(
        b'{"thread":%d,"n":%d}' % (name, n) for name in range(6) for n in range(50)
    )


def test_a_negative_time_limit_is_a_mistake_of_the_caller(new):
    with pytest.raises(ValueError, match="time limit"):
        new(b"", lock_timeout=-1.0)


def test_closing_twice_is_harmless(new):
    log = new(b"{}\n")

    log.close()
    log.close()
