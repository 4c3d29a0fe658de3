"""A tail without a newline: a complete line is kept, a torn one is closed and copied."""

import random

import pytest

from branchline.log import FileLog
from branchline.log.tail import is_complete_json, read_tail
from log.faults import Unsynced
from log.proofs import HEADER, prove_tail, record


def test_a_file_cut_at_any_byte_of_its_last_record_takes_two_more_records_as_lines_of_their_own(tmp_path):
    assert prove_tail(tmp_path, Unsynced()) == 81


@pytest.mark.parametrize(
    "line",
    [
        b"{}",
        b'{"a":1}',
        b' {"a":[1,2,{"b":null}]} \r',
        b'{"lone":"\\ud800"}',
        b'{"number":NaN,"other":-Infinity}',
        b'{"large":' + b"9" * 5000 + b"}",
        '{"text":"\u2028\x85 ü"}'.encode(),
    ],
)
def test_a_whole_object_is_a_complete_line_even_in_the_json_of_javascript(line):
    assert is_complete_json(line)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"   ",
        b"{",
        b'{"a":1',
        b'{"a":"}',
        b'{"a":1}}',
        b'{"a":1}{"b":2}',
        b"12",
        b"null",
        b'"text"',
        b"[1]",
        b"\0\0\0\0",
        b'{"a":"\xff\xfe',
        b'{"a":' * 100_000 + b"}" * 100_000,
    ],
)
def test_anything_else_is_torn(line):
    assert not is_complete_json(line)


def test_the_tail_is_found_whatever_its_length(tmp_path):
    chance = random.Random(1)
    for size in [0, 1, 65_535, 65_536, 65_537, 200_000, 1_000_000]:
        tail = bytes(chance.choices(b"abc", k=1000)) * (size // 1000) + b"x" * (size % 1000)
        for head in (b"", b"\n", b"line\n", b"line\n" * 50_000):
            data = head + tail

            assert read_tail(lambda start, count, data=data: data[start : start + count], len(data)) == tail


def test_a_torn_tail_of_a_hundred_megabytes_is_kept_and_closed(quick_path):
    path = quick_path / "s.jsonl"
    size = 100_000_000
    with open(path, "wb") as file:
        file.write(HEADER + b'{"id":"')
        file.truncate(size)

    with FileLog(path, system=Unsynced()) as log:
        with log.exclusive() as writer:
            offset = writer.append(record("one"))
            torn = writer.torn

        assert (torn.offset, torn.size) == (len(HEADER), size - len(HEADER))
        assert offset == size + 1
        assert log.read(size, 61) == b"\n" + record("one")
    with open(torn.kept_at, "rb") as copy:
        assert copy.read(7) == b'{"id":"'
        assert copy.seek(0, 2) == torn.size


def test_the_end_is_looked_at_again_only_when_somebody_else_has_written(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(HEADER)
    reads = []

    class Watching(Unsynced):
        def pread(self, descriptor, size, offset):
            reads.append((size, offset))
            return b"\n"

    with FileLog(path, system=Watching()) as log:
        for name in ("one", "two"):
            with log.exclusive() as writer:
                writer.append(record(name))
        with open(path, "ab") as foreign:
            foreign.write(record("foreign"))
        for name in ("three", "four"):
            with log.exclusive() as writer:
                writer.append(record(name))

    assert reads == [(1, len(HEADER) - 1), (1, len(HEADER) + 179)]
