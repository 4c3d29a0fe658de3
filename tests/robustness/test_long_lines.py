"""Long lines and many blank ones: memory of one line and a little, time in proportion to the bytes."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from branchline import Session, SessionLibrary
from branchline.actions.check import check_file
from branchline.actions.inspect import report

HEADER = b'{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}\n'
ENTRY = b'{"type":"message","id":"%s","parentId":%s,"timestamp":"","message":{"role":"user","content":"%s"}}'
FIRST = ENTRY % (b"a", b"null", b"x") + b"\n"
SIZE = 120_000_000
LINES = {
    "NUL": lambda: bytes(SIZE) + b"\n",
    "NUL without an end": lambda: bytes(SIZE),
    "invalid UTF-8": lambda: b"\xff" * SIZE + b"\n",
    "a torn entry": lambda: (ENTRY % (b"b", b'"a"', b"x" * SIZE))[:-3],
    "a torn entry with an end": lambda: (ENTRY % (b"b", b'"a"', b"x" * SIZE))[:-3] + b"\n",
}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc")
@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("call", ["Session.open(path).context()", "check_file(path)", "repair(path)"])
def test_a_long_unreadable_line_costs_its_own_size_and_150_mb_at_most(name, call, tmp_path):
    file = tmp_path / "long.jsonl"
    file.write_bytes(HEADER + FIRST + LINES[name]())
    script = textwrap.dedent(
        f"""
        import sys
        from branchline import Session
        from branchline.actions.check import check_file
        from branchline.actions.repair import repair
        path = sys.argv[1]
        {call}
        status = dict(line.split(":", 1) for line in open("/proc/self/status"))
        print(int(status["VmHWM"].split()[0]) * 1024)
        """
    )

    done = subprocess.run(
        [sys.executable, "-c", script, str(file)], check=True, capture_output=True, timeout=120
    )

    assert int(done.stdout) < SIZE + 150_000_000


def test_a_long_line_is_one_entry_and_its_neighbours_are_untouched(tmp_path):
    file = tmp_path / "long.jsonl"
    long = ENTRY % (b"b", b'"a"', b"y" * 40_000_000)
    after = ENTRY % (b"c", b'"b"', b"z")
    file.write_bytes(HEADER + FIRST + long + b"\n" + after + b"\n")

    with Session.open(file) as session:
        assert session.index.keys == ["a", "b", "c"]
        assert session.raw("b") == long
        assert session.raw("c") == after
    assert check_file(file).status == "clean"


@pytest.mark.parametrize("blank", [b"\n", b" \r\n"], ids=repr)
def test_blank_lines_cost_next_to_nothing_and_are_counted(blank, tmp_path):
    file = tmp_path / "blank.jsonl"
    count = 2_000_000
    file.write_bytes(HEADER + blank * count + FIRST + blank * count + b"garbage\n" + blank * count)

    report = check_file(file)

    assert [(finding.kind, finding.line) for finding in report.findings] == [("unreadable", 2 * count + 3)]
    assert report.entries == 1


def test_encoding_and_repeated_keys_are_found_in_lines_longer_than_a_chunk(tmp_path):
    file = tmp_path / "long.jsonl"
    filler = "ä".encode() * 3_000_000
    bad = ENTRY % (b"b", b'"a"', filler + b"\xff")
    twice = (ENTRY % (b"c", b'"b"', filler))[:-1] + b',"x":1,"x":2}'
    file.write_bytes(HEADER + FIRST + bad + b"\n" + twice + b"\n")

    found = check_file(file).findings

    assert [(finding.kind, finding.line) for finding in found] == [("encoding", 3), ("duplicate-key", 4)]
    place = bad.index(b"\xff")
    assert f"byte {place} of" in found[0].message
    assert found[1].offset == Path(file).read_bytes().index(twice)


def test_only_a_line_that_cannot_be_decoded_is_a_placeholder_and_every_way_of_reading_counts_it(tmp_path):
    file = tmp_path / "two.jsonl"
    long = ENTRY % (b"b", b'"a"', b"y" * 20_000_000)
    torn = (ENTRY % (b"c", b'"b"', b"z" * 20_000_000))[:-3]
    file.write_bytes(HEADER + FIRST + long + b"\n" + torn + b"\n" + ENTRY % (b"d", b'"c"', b"w") + b"\n")

    with Session.open(file) as session:
        kinds = [type(entry).__name__ for entry in session.entries()]
        found = report(session)
        said = [len(message.message.content) for message in session.context().messages]
    (row,) = SessionLibrary(tmp_path).list(deep=True)
    checked = check_file(file)

    assert kinds == ["MessageEntry", "MessageEntry", "Damaged", "MessageEntry"]
    assert said == [1, 20_000_000, 1]
    assert found["entries"] == ["a", "b", "d"]
    assert len(found["findings"]) == row.findings == len(checked.findings) == 1
    assert (checked.entries, checked.status, row.messages) == (3, "damaged", 3)
