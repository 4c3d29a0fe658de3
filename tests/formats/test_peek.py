"""The header of a log is found without reading the log."""

from __future__ import annotations

import pytest

from branchline.formats import Transcript, peek_header
from branchline.formats import peek as peek_log
from support import CORPUS, load

HEADER = b'{"type":"session","version":3,"id":"s","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p"}'
ENTRY = b'{"type":"message","id":"a","parentId":null,"timestamp":""}'


def peek(data: bytes) -> tuple[str | None, int]:
    """The id that is found, and how many bytes were asked for at most."""
    asked = 0

    def read(offset: int, size: int) -> bytes:
        nonlocal asked
        asked = max(asked, offset + size)
        return data[offset : offset + size]

    header = peek_header(read)
    return (None if header is None else header.id), asked


@pytest.mark.parametrize(
    "before",
    [
        b"",
        b"\n\n",
        b"\xef\xbb\xbf",
        b"garbage\n",
        b"{garbage}\n",
        b"\0" * 600 + b"\n",
        b"null\n",
        b"x" * 300_000 + b"\n",
    ],
    ids=lambda before: repr(before[:12]),
)
def test_blank_and_unreadable_lines_before_a_header_are_passed_over(before):
    assert peek(before + HEADER + b"\n" + ENTRY)[0] == "s"


@pytest.mark.parametrize("data", [b"", ENTRY + b"\n" + HEADER, b"{}\n" + HEADER, b"text", HEADER[:30]])
def test_a_file_whose_first_object_is_no_header_has_none(data):
    assert peek(data)[0] is None


def test_only_the_beginning_of_a_long_file_is_read():
    assert peek(HEADER + b"\n" + b"x" * 50_000_000)[1] <= 4096
    assert peek(b"x" * 50_000_000)[1] <= 1 << 20


def test_the_header_that_is_peeked_is_the_header_that_is_read():
    expected = load(CORPUS / "pi" / "edge" / "expected.json")
    for path in sorted((CORPUS / "pi" / "edge").glob("*.jsonl")):
        header = expected[path.stem]["reader"]["header"]

        assert peek(path.read_bytes())[0] == (None if header is None else header["id"]), path.stem


# -- every format ----------------------------------------------------------------------------------------


def looked_at(path):
    """What the beginning of a file tells, and what all of it tells."""
    data = path.read_bytes()

    def read(offset: int, size: int) -> bytes:
        return data[offset : offset + size]

    found = peek_log(read, str(path))
    assert found is not None
    return found, Transcript(found.format, read, str(path)).reading.header


@pytest.mark.parametrize(
    "program", ["oh-my-pi", "operator", "induscode", "zot", "piglet", "claude-code", "codex"]
)
def test_the_beginning_of_a_file_tells_whose_it_is_and_which_session(program):
    files = [path for path in sorted((CORPUS / program).rglob("*")) if path.suffix in (".jsonl", ".ndjson")]
    seen = 0
    for path in files:
        if "damaged" in path.parts or "corrupt" in path.parts or path.name == "session_index.jsonl":
            continue

        found, header = looked_at(path)

        assert found.format.name == program, path
        assert found.header is not None, path
        assert (found.header.id, found.header.cwd) == (header.id, header.cwd), path
        seen += 1
    assert seen


def test_what_is_no_session_tells_nothing():
    assert peek_log(lambda offset, size: b"hello\n"[offset : offset + size], "x.jsonl") is None
