"""The header of a log is found without reading the log."""

from __future__ import annotations

import json

import pytest

from branchline import formats
from branchline.errors import NotASession
from branchline.formats import EntryLog
from branchline.formats import peek as peek_format
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

    try:
        header = formats.peek(read).header
    except NotASession:
        header = None
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


# -- other programs ---------------------------------------------------------------------------------------


def samples():
    for program in ("claude-code", "codex", "induscode", "oh-my-pi", "operator", "piglet", "zot"):
        for path in sorted((CORPUS / program).rglob("*.*")):
            if path.name.endswith((".jsonl", ".ndjson")) and path.name != "session_index.jsonl":
                yield path


@pytest.mark.parametrize("path", list(samples()), ids=lambda path: f"{path.parts[-3]}-{path.stem[-16:]}")
def test_what_the_beginning_of_any_file_tells_is_what_reading_all_of_it_tells(path):
    data = path.read_bytes()

    def read(offset, size):
        return data[offset : offset + size]

    try:
        found = peek_format(read, str(path))
    except NotASession:
        return
    whole = EntryLog(found.format, read, str(path)).reading.header

    fields = ("id", "cwd", "parent_session")
    assert [getattr(found.header, field, None) for field in fields] == [
        getattr(whole, field, None) for field in fields
    ]


def test_a_first_record_of_many_megabytes_still_tells_its_directory():
    """Claude Code writes the working directory before the words; a pasted image can follow."""
    record = {"parentUuid": None, "cwd": "/home/u/demo", "sessionId": "s", "type": "user", "uuid": "u"}
    data = (
        json.dumps(record)[:-1].encode()
        + b',"message":{"role":"user","content":"'
        + b"x" * (3 << 20)
        + b'"}}\n'
    )
    asked = []

    def read(offset, size):
        asked.append(size)
        return data[offset : offset + size]

    found = peek_format(read, "/x/projects/y/5a000000-0000-4000-8000-000000000001.jsonl")

    assert (found.format.name, found.header.cwd) == ("claude-code", "/home/u/demo")
    assert max(asked) <= 1 << 20
