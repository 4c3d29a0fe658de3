"""However the bytes arrive, and whichever way they are read, the reading is the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from branchline.formats import PI, EntryLog, Format
from branchline.formats.common.native_reader import NativeReader
from formats.conversion_kit import read, samples
from readings import facts, in_chunks_of, one_line_at_a_time
from strategies import session_files
from support import CORPUS, transcript

PROGRAMS = ("claude-code", "codex", "gemini", "kimi", "operator", "piglet", "zot")  # not one entry a line
SAMPLES = sorted((CORPUS / "pi").rglob("*.jsonl"))
MANY = settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def grown(data: bytes, splits: list[int], format_: Format = PI, name: str = "") -> EntryLog:
    """A transcript that saw the file grow to each of these sizes, and then to its end."""
    visible = 0

    def read(offset: int, size: int) -> bytes:
        return data[offset : min(offset + size, visible)]

    found = EntryLog(format_, read, name)
    for split in [*splits, len(data)]:
        visible = split
        found.catch_up()
    return found


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_the_fast_way_and_the_careful_way_read_a_sample_alike(path, monkeypatch):
    fast = facts(transcript(path))

    one_line_at_a_time(monkeypatch)

    assert facts(transcript(path)) == fast


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_entry_is_in_the_same_line_whether_lines_are_taken_together_or_one_by_one(program, monkeypatch):
    def places(path: Path) -> list[tuple[tuple[int, int], int]]:
        reading = read(path.read_bytes(), name=str(path)).reading
        return [(reading.span(one), reading.line_of(one)) for one in range(len(reading.tree))]

    together = {path: places(path) for path in samples(program)}

    one_line_at_a_time(monkeypatch)

    assert together
    for path, found in together.items():
        assert places(path) == found, path


@pytest.mark.parametrize("program", ["gemini", "kimi"])
def test_a_session_that_grows_line_by_line_is_read_like_one_that_was_there_at_once(program):
    for path in samples(program):
        data = path.read_bytes()
        fresh = read(data, name=str(path))
        ends = [at + 1 for at, byte in enumerate(data) if byte == ord("\n")]
        seen = ends[:: max(1, len(ends) // 50)]

        assert facts(grown(data, seen, fresh.format, str(path))) == facts(fresh), path


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_a_sample_is_read_alike_in_pieces_of_any_size(path, monkeypatch):
    whole = facts(transcript(path))

    for size in (1, 2, 7, 64, 255, 1000, 4096):
        in_chunks_of(monkeypatch, size)
        assert facts(transcript(path)) == whole, size


@MANY
@given(session_files())
def test_the_fast_way_and_the_careful_way_read_any_file_alike(data):
    fast = facts(transcript(data))

    with pytest.MonkeyPatch.context() as patch:
        one_line_at_a_time(patch)
        careful = facts(transcript(data))

    assert careful == fast


@MANY
@given(session_files(), st.integers(1, 300))
def test_any_file_is_read_alike_in_pieces_of_any_size(data, size):
    whole = facts(transcript(data))

    with pytest.MonkeyPatch.context() as patch:
        in_chunks_of(patch, size)
        pieces = facts(transcript(data))

    assert pieces == whole


@MANY
@given(session_files(), st.lists(st.integers(0, 2000), max_size=4))
def test_a_file_that_grows_is_read_like_one_that_was_there_at_once(data, splits):
    fresh = facts(transcript(data))

    found = grown(data, sorted(min(split, len(data)) for split in splits))

    assert facts(found) == fresh


@pytest.mark.parametrize(
    "name",
    ["cycle", "duplicate-id", "duplicate-id-cycle", "torn-tail", "torn-glued", "corrupt-middle", "leaf-missing-target",
     "v1", "v2", "no-header", "bom", "crlf", "blank-first-line", "not-objects", "orphan", "leaf-ours-continued",
     "second-header", "self-parent", "nul-block", "labels", "version-99", "garbage", "empty"],
)  # fmt: skip
def test_catching_up_at_every_byte_of_a_sample_gives_the_fresh_reading(name):
    data = (CORPUS / "pi" / "edge" / f"{name}.jsonl").read_bytes()
    fresh = facts(transcript(data))

    for split in range(len(data) + 1):
        assert facts(grown(data, [split])) == fresh, split


def test_a_session_that_pi_wrote_again_is_read_again_while_it_grows():
    header = b'{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}\n'
    entry = b'{"type":"message","id":"a","parentId":null,"timestamp":"","message":{"role":"user","content":"x"}}\n'
    data = header + entry + header + entry + entry.replace(b'"a"', b'"b"')

    found = grown(data, [1])

    assert found.tree.keys == ["a", "b"]
    assert facts(found) == facts(transcript(data))


def test_catching_up_line_by_line_gives_the_fresh_reading():
    for path in (CORPUS / "pi" / "golden").glob("*.jsonl"):
        data = path.read_bytes()
        ends = [number + 1 for number, byte in enumerate(data) if byte == 10]

        found = grown(data, ends)

        assert facts(found) == facts(transcript(data)), path.name


def test_catching_up_costs_as_much_as_what_was_appended():
    data = (CORPUS / "pi" / "golden" / "g006.jsonl").read_bytes()
    asked: list[tuple[int, int]] = []
    visible = data.index(b"\n", len(data) // 2) + 1

    def read(offset: int, size: int) -> bytes:
        asked.append((offset, size))
        return data[offset : min(offset + size, visible)]

    found = EntryLog(PI, read)
    asked.clear()

    end = visible
    visible = len(data)
    found.catch_up()

    assert min(offset for offset, _ in asked) == end


@pytest.mark.parametrize("size", [64, 300, 1 << 20])
def test_an_id_that_comes_back_in_a_plain_chain_gets_a_key_of_its_own(size, monkeypatch):
    """Keys of plain chains wait until they are asked for; what was used before is noticed all the same."""
    names = ["a", "b", "c", "a", "d", "b", "a", "e"]
    parents = ["null", *(f'"{name}"' for name in names)]
    lines = [b'{"type":"session","version":3,"id":"s"}'] + [
        f'{{"type":"custom","id":"{name}","parentId":{parent},"timestamp":""}}'.encode()
        for name, parent in zip(names, parents, strict=False)
    ]
    data = b"\n".join([*lines, b""])
    in_chunks_of(monkeypatch, size)

    fast = transcript(data)

    assert fast.tree.keys == ["a", "b", "c", "a#2", "d", "b#2", "a#3", "e"]
    assert fast.tree.parents == list(range(-1, 7))
    assert [finding.kind for finding in fast.findings] == ["duplicate-id"] * 3
    one_line_at_a_time(monkeypatch)
    assert facts(transcript(data)) == facts(fast)


def test_an_odd_line_is_the_only_one_that_is_read_alone(monkeypatch):
    lines = [b'{"type":"session","version":3,"id":"s"}']
    for number in range(60):
        parent = f'"e{number - 1}"' if number else "null"
        lines.append(f'{{"type":"custom","id":"e{number}","parentId":{parent},"timestamp":""}}'.encode())
    lines.insert(30, b'{"type":"custom","id":"torn","parentId":"e28","timest')
    data = b"\n".join([*lines, b""])
    careful = []
    feed_line = NativeReader._feed_line
    monkeypatch.setattr(NativeReader, "_feed_line", lambda *given: [careful.append(given), feed_line(*given)])

    found = facts(transcript(data))

    assert [line for _, line, _ in careful] == [lines[0], lines[30], lines[31]]  # what follows a gap, too
    one_line_at_a_time(monkeypatch)
    assert facts(transcript(data)) == found


# -- every way to ask for records -------------------------------------------------------------------------


def every_way(data: bytes) -> None:
    """Records are the same one by one, in any order and together, read together or line by line."""
    plain = transcript(data)
    records = [plain.entry(position) for position in range(len(plain.tree))]

    with pytest.MonkeyPatch.context() as patch:
        one_line_at_a_time(patch)
        careful = transcript(data)

    assert facts(careful) == facts(plain)
    for found in (plain, careful):
        everything = list(range(len(records)))
        assert found.entries(everything) == records
        assert found.entries(everything[::-1]) == records[::-1]
        assert found.entries(everything[::3]) == records[::3]
        assert [found.entry(position) for position in everything] == records


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_every_reader_finds_the_same_in_a_sample_and_hands_out_the_same_records(path):
    every_way(path.read_bytes())


@MANY
@given(session_files())
def test_every_reader_finds_the_same_in_any_file_and_hands_out_the_same_records(data):
    every_way(data)


def test_a_root_that_does_not_say_so_is_reported_by_every_reader():
    every_way(
        b'{"type":"session","version":3,"id":"s"}\n'
        b'{"type":"custom","customType":"x","data":{"parentId":null},"id":"a"}\n'
        b'{"type":"custom","customType":"x","data":{"parentId":"a"},"id":"b"}\n'
    )


def test_only_a_message_entry_has_a_role():
    lines = [
        b'{"type":"session","version":3,"id":"s"}',
        b'{"type":"message","id":"a","parentId":null,"message":null}',
        b'{"type":"compaction","id":"b","parentId":"a","summary":"","message":{"role":"user","timestamp":50}}',
        b'{"type":"message","id":"c","parentId":"b","message":{"role":"user","content":"","timestamp":5}}',
    ]

    found = transcript(b"\n".join([*lines, b""]))

    assert found.tree.roles == [None, None, "user"]
    assert found.reading.last_message_time == 5


@pytest.mark.parametrize("time", [b"5", b"null", b"{}", b'"yesterday"', b'"\xff"', b'"\\ud800"'])
def test_times_that_were_put_off_are_those_that_the_lines_say(time):
    every_way(
        b'{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}\n'
        b'{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z",'
        b'"message":{"role":"user","content":"one"}}\n'
        b'{"type":"message","id":"b","parentId":"a","timestamp":' + time + b","
        b'"message":{"role":"user","content":"two"}}\n'
        b'{"type":"message","id":"c","parentId":"b","timestamp":"2026-01-01T00:00:03.000Z",'
        b'"message":{"role":"user","content":"three"}}\n'
    )


def test_what_was_put_off_is_found_beside_lines_that_only_the_context_could_read_together():
    every_way(
        b'{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}\n'
        b'{"type":"compaction","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":5,'
        b'"summary":"","firstKeptEntryId":"a","tokensBefore":1}\n'
        b'{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-01T00:00:02.000Z",'
        b'"message":{"role":"assistant","content":[{"type":"image","data":"","mimeType":"image/png"}]}}\n'
    )


def test_iterating_over_entries_reads_one_chunk_of_lines_at_a_time():
    line = b'{"type":"message","id":"%06d","parentId":null,"timestamp":"","message":{"role":"user","content":"%s"}}'
    header = b'{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}'
    data = b"\n".join([header, *(line % (number, b"x" * 1000) for number in range(4000)), b""])
    asked: list[int] = []

    def read(offset: int, size: int) -> bytes:
        asked.append(size)
        return data[offset : offset + size]

    found = EntryLog(PI, read)
    asked.clear()
    entries = found.iter_entries(range(4000))
    first = next(entries)
    at_once = sum(asked)

    assert first.id == "000000"
    assert at_once < len(data) / 3
    assert [first, *entries] == found.entries(range(4000))
