"""The contract of logs, whether their bytes are in a file, in memory or in a database."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

from branchline.errors import LockTimeout
from branchline.log import CompareAndAppendLog, FollowableLog, LinesLog, Log, follow

__all__ = ["LogContract"]


class LogContract:
    """The contract of :class:`branchline.log.Log`."""

    def make_log(self, data: bytes, **options: Any) -> Log:
        """Create a log with these bytes, which need not end in a newline.

        ``options`` may have ``lock_timeout``, in seconds, and ``is_complete``, a function that returns
        whether a last line without a newline is complete rather than torn.
        """
        raise NotImplementedError("override this in a subclass to create a log with these bytes")

    @contextlib.contextmanager
    def new(self, data: bytes, **options: Any) -> Iterator[Log]:
        """Create a log and close it at the end of the ``with`` block."""
        log = self.make_log(data, **options)
        try:
            yield log
        finally:
            log.close()

    # -- appending and reading ------------------------------------------------------------------------

    def test_an_append_returns_the_offset_where_its_data_begins(self) -> None:
        with self.new(b'{"n":0}\n') as log:
            offsets = [
                _append(log, b'{"n":1}\n'),
                _append(log, b'{"n":2}\n{"n":3}\n'),
                _append(log, b'{"n":4}\n'),
            ]

            assert offsets == [8, 16, 32]
            assert _whole(log) == b"".join(b'{"n":%d}\n' % n for n in range(5))

    def test_an_empty_log_is_appended_to_at_its_beginning(self) -> None:
        with self.new(b"") as log:
            assert _append(log, b"{}\n") == 0
            assert _whole(log) == b"{}\n"

    def test_a_writer_knows_the_end_before_and_after_each_of_its_appends(self) -> None:
        with self.new(b"{}\n") as log:
            with log.exclusive() as writer:
                before = writer.end
                writer.append(b"{}\n")
                between = writer.end
                writer.append(b"{}\n{}\n")
                after = writer.end

            assert (before, between, after) == (3, 6, 12)
            assert _whole(log) == b"{}\n" * 4

    def test_data_that_is_not_whole_lines_is_refused_and_nothing_is_written(self) -> None:
        with self.new(b"{}\n") as log:
            for data in (b"", b"{}", b"{}\n{}", b"\n{}"):
                with log.exclusive() as writer:
                    assert "whole lines" in _raises(ValueError, lambda: writer.append(data))  # noqa: B023

            assert _whole(log) == b"{}\n"

    def test_a_read_is_short_only_at_the_end_and_empty_beyond_it(self) -> None:
        with self.new(b"0123456789\n") as log:
            assert log.read(2, 3) == b"234"
            assert log.read(8, 100) == b"89\n"
            assert log.read(11, 5) == b""
            assert log.read(1000, 5) == b""
            assert log.read(3, 0) == b""

    def test_any_part_can_be_read_whatever_lines_it_cuts(self) -> None:
        content = b'{"n":0}\n\n{"text":"x\xc3\xa9"}\r\n{"n":2}\n'
        with self.new(content) as log:
            for start in range(len(content) + 1):
                for end in range(start, len(content) + 1):
                    assert log.read(start, end - start) == content[start:end]

    def test_negative_offsets_and_sizes_are_refused(self) -> None:
        with self.new(b"{}\n") as log:
            for offset, size in ((-1, 3), (0, -1)):
                _raises(ValueError, lambda: log.read(offset, size))  # noqa: B023

    def test_a_reader_sees_what_was_appended_through_another_handle(self) -> None:
        with self.new(b"{}\n") as log:
            before = log.size()

            _append(log, b'{"n":1}\n')

            assert (before, log.size()) == (3, 11)
            assert log.read(before, 100) == b'{"n":1}\n'

    # -- torn tails -----------------------------------------------------------------------------------

    def test_a_complete_last_line_without_its_newline_is_kept_as_a_line(self) -> None:
        with self.new(b'{"n":0}\n{"n":1}') as log:
            with log.exclusive() as writer:
                offset = writer.append(b'{"n":2}\n')
                torn = writer.torn

            assert torn is None
            assert offset == 16
            assert _whole(log) == b'{"n":0}\n{"n":1}\n{"n":2}\n'

    def test_a_torn_last_line_is_closed_before_the_next_one_and_reported_once(self) -> None:
        with self.new(b'{"n":0}\n{"n":1,"te') as log:
            with log.exclusive() as writer:
                offset = writer.append(b'{"n":2}\n')
                torn = writer.torn
            with log.exclusive() as writer:
                writer.append(b'{"n":3}\n')
                again = writer.torn

            assert torn is not None
            assert (torn.offset, torn.size) == (8, 10)
            assert again is None
            assert log.read(offset, 8) == b'{"n":2}\n'
            assert _whole(log) == b'{"n":0}\n{"n":1,"te\n{"n":2}\n{"n":3}\n'

    def test_taking_the_lock_without_appending_leaves_a_torn_tail_alone(self) -> None:
        with self.new(b'{"n":0}\n{"n":1,"te') as log:
            with log.exclusive() as writer:
                torn = writer.torn

            assert torn is None
            assert _whole(log) == b'{"n":0}\n{"n":1,"te'

    def test_the_caller_may_define_what_a_complete_line_is(self) -> None:
        with self.new(b"a\nb.", is_complete=lambda tail: tail.endswith(b".")) as log:
            with log.exclusive() as writer:
                writer.append(b"c.\n")
                torn = writer.torn

            assert torn is None
            assert _whole(log) == b"a\nb.\nc.\n"

    # -- the lock -------------------------------------------------------------------------------------

    def test_a_writer_cannot_append_after_its_block(self) -> None:
        with self.new(b"{}\n") as log:
            with log.exclusive() as writer:
                pass

            message = _raises(RuntimeError, lambda: writer.append(b"{}\n"))

            assert "no longer holds the lock" in message
            assert _whole(log) == b"{}\n"

    def test_the_lock_is_free_again_after_an_exception_in_the_block(self) -> None:
        with self.new(b"{}\n", lock_timeout=0.0) as log:
            with contextlib.suppress(KeyError), log.exclusive():
                raise KeyError

            assert _append(log, b"{}\n") == 3

    def test_what_was_appended_stays_after_an_exception_in_the_block(self) -> None:
        with self.new(b"{}\n") as log:
            with contextlib.suppress(KeyError), log.exclusive() as writer:
                writer.append(b'{"n":1}\n')
                raise KeyError

            assert _whole(log) == b'{}\n{"n":1}\n'

    def test_a_thread_waits_for_the_lock_no_longer_than_its_limit(self) -> None:
        with self.new(b"{}\n", lock_timeout=0.05) as log:
            with _held(log):
                message = _raises(LockTimeout, lambda: _append(log, b"{}\n"))

            assert "tried for 0.1 s" in message
            assert _append(log, b"{}\n") == 3

    def test_threads_that_share_a_log_take_turns(self) -> None:
        with self.new(b"") as log:
            overlaps = []

            def work(name: int) -> None:
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
            assert sorted(_whole(log).split(b"\n")[:-1]) == sorted(
                b'{"thread":%d,"n":%d}' % (name, n) for name in range(6) for n in range(50)
            )

    def test_a_negative_timeout_is_refused(self) -> None:
        assert "time limit" in _raises(ValueError, lambda: self.make_log(b"", lock_timeout=-1.0))

    def test_closing_twice_is_harmless(self) -> None:
        log = self.make_log(b"{}\n")

        log.close()
        log.close()

    # -- optional protocols ---------------------------------------------------------------------------

    def test_compare_and_append_writes_only_at_the_end_that_was_expected(self) -> None:
        with self.new(b"{}\n") as log:
            if not isinstance(log, CompareAndAppendLog):
                return

            first = log.try_append(3, b'{"n":1}\n')
            stale = log.try_append(3, b'{"n":2}\n')
            ahead = log.try_append(12, b'{"n":3}\n')

            assert (first, stale, ahead) == (3, None, None)
            assert "whole lines" in _raises(ValueError, lambda: log.try_append(11, b"{}"))
            assert _whole(log) == b'{}\n{"n":1}\n'

    def test_compare_and_append_leaves_an_unfinished_line_to_the_lock(self) -> None:
        for tail in (b'{"n":1,"te', b'{"n":1}'):
            with self.new(b"{}\n" + tail) as log:
                if not isinstance(log, CompareAndAppendLog):
                    return

                appended = log.try_append(3 + len(tail), b'{"n":2}\n')

                assert appended is None
                assert _whole(log) == b"{}\n" + tail

    def test_compare_and_append_respects_the_lock(self) -> None:
        with self.new(b"{}\n", lock_timeout=0.05) as log:
            if not isinstance(log, CompareAndAppendLog):
                return
            appended = []

            def act() -> None:
                with contextlib.suppress(LockTimeout):
                    appended.append(log.try_append(3, b'{"n":1}\n'))

            with log.exclusive() as writer:
                thread = threading.Thread(target=act)
                thread.start()
                thread.join()
                writer.append(b'{"n":2}\n')

            assert appended in ([], [None])
            assert _whole(log) == b'{}\n{"n":2}\n'

    def test_many_lines_are_read_at_once_as_one_by_one(self) -> None:
        lines = [b'{"n":%d}' % number for number in range(100)] + [b"\r", b"", b"{}\r", b'{"torn']
        data = b"\n".join(lines)
        ends = itertools.accumulate(len(line) + 1 for line in lines)
        ranges = [(end - len(line) - 1, end - 1) for line, end in zip(lines, ends, strict=True)]
        with self.new(data) as log:
            if not isinstance(log, LinesLog):
                return

            assert log.read_lines(ranges[::-1]) == lines[::-1]
            assert log.read_lines([(0, 20), (3, 8), ranges[7], ranges[7]]) == [
                data[:20],
                data[3:8],
                lines[7],
                lines[7],
            ]
            assert log.read_lines([]) == []

    def test_a_follower_learns_each_new_end_once(self) -> None:
        with self.new(b"{}\n") as log:
            ends = follow(log, 3, timeout=5.0, interval=0.005)

            _append(log, b'{"n":1}\n')
            first = next(ends)
            _append(log, b'{"n":2}\n{"n":3}\n')
            second = next(ends)

            assert (first, second) == (11, 27)
            ends.close()  # type: ignore[attr-defined]

    def test_following_ends_when_nothing_comes(self) -> None:
        with self.new(b"{}\n") as log:
            assert list(follow(log, 3, timeout=0.02, interval=0.005)) == []
            assert next(follow(log, 0, timeout=0.02, interval=0.005)) == 3
            if isinstance(log, FollowableLog):
                assert list(log.follow(3, timeout=0.02)) == []


@contextlib.contextmanager
def _held(log: Log) -> Iterator[None]:
    """Hold the log's lock in another thread."""
    taken, done = threading.Event(), threading.Event()

    def hold() -> None:
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


def _whole(log: Log) -> bytes:
    return log.read(0, log.size())


def _append(log: Log, data: bytes) -> int:
    with log.exclusive() as writer:
        return writer.append(data)


def _raises(kind: type[Exception], action: Callable[[], Any]) -> str:
    """Return the message of the exception that the action must raise."""
    try:
        action()
    except kind as problem:
        return str(problem)
    raise AssertionError(f"expected {kind}, but nothing was raised")
