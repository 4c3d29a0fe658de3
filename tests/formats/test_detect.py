"""Which files are sessions of pi, told from their first bytes."""

from __future__ import annotations

import json
import random
from importlib import import_module

import pytest

from branchline.errors import NotASession
from branchline.formats import PI, EntryLog, detect
from branchline.formats.detect import BUILTIN_FORMATS
from branchline.plugins.formats import detect_in
from robustness.field_trials import SAMPLES
from support import CORPUS, SHARED

HEADER = b'{"type":"session","version":3,"id":"s","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p"}\n'
ENTRY = b'{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-05T09:00:01.000Z","message":{"role":"user","content":"x"}}\n'
OLD = b'{"type":"message","timestamp":"2025-11-20T09:00:01.000Z","message":{"role":"user","content":"x"}}\n'


@pytest.mark.parametrize(
    "path",
    [path for path in sorted((CORPUS / "pi").rglob("*.jsonl")) if path.stem not in ("empty", "garbage")],
    ids=lambda path: path.stem,
)
def test_every_sample_is_known_as_a_session_of_pi(path):
    for size in (1 << 16, 4096, 700):
        assert PI.reader.sniff(path.read_bytes()[:size], str(path))


@pytest.mark.parametrize(
    "head",
    [
        HEADER,
        HEADER[:-1],
        b"\n\n  \r\n" + HEADER,
        b"\xef\xbb\xbf" + HEADER,
        HEADER.replace(b"\n", b"\r\n") + ENTRY,
        b"\0" * 100 + b"\n" + ENTRY,
        b"{torn\n" + ENTRY,
        HEADER[:40] + b"\n" + ENTRY,
        b"null\n5\n{}\n" + ENTRY,
        ENTRY,
        b"{damaged\n" + ENTRY[:90],
        b'{"type":"session","id":"s"}\n',
        b'{"type":"session","id":"s","version":99}\n',
        b'{"type":"custom","customType":"x","data":{' + b'"a":"' + b"x" * 70000,
        HEADER[:-2] + b',"metadata":"' + b"x" * 70000,
    ],
    ids=lambda head: repr(head[:30]),
)
def test_a_header_or_an_entry_makes_a_session_whatever_stands_before_it(head):
    assert detect(head, "x.jsonl") is PI


@pytest.mark.parametrize("before", [b"", b"{damaged header\n", b"\n"], ids=repr)
def test_entries_of_version_1_are_known_without_their_header(before):
    assert PI.reader.sniff(before + OLD, "x.jsonl")


@pytest.mark.parametrize(
    "head",
    [
        b"hello\nworld\n",
        b"# Notes\n\n- one\n- two\n",
        b'{"name":"package","version":"1.0.0"}\n',
        b'[{"type":"message","id":"a","parentId":null,"timestamp":"x"}]',
        b'{"type":"FeatureCollection","features":[]}',
        b'{"a":1}\n{"a":2}\n',
        b"null\n",
        b"5",
        b"\x7fELF\x02\x01\x01\0" + b"\0" * 500,
        b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
        b"PK\x03\x04" + bytes(range(256)),
        b"SQLite format 3\0" + b"\0" * 100,
        b'{"type":"session"}\n',
        b"\xef\xbb\xbf",
        b"\n\n\n",
        b"\0" * 4096,
        bytes(random.Random(1).randbytes(4096)),
        b"type,id,parentId,timestamp\nmessage,a,,2026\n",
        b'{"type":"message","role":"user","content":[]}\n',
    ],
    ids=lambda head: repr(head[:30]),
)  # fmt: skip
def test_text_other_json_and_binaries_are_no_sessions(head):
    assert not PI.reader.sniff(head, "x.jsonl")
    with pytest.raises(NotASession, match=r"x\.jsonl"):
        detect(head, "x.jsonl")


@pytest.mark.parametrize(
    "head",
    [
        b'{"parentUuid":null,"type":"user","message":{"role":"user","content":"x"},"uuid":"u","timestamp":"t"}\n',
        b'{"timestamp":"t","type":"session_meta","payload":{"id":"x"}}\n',
    ],
    ids=["claude-code", "codex"],
)
def test_lines_of_other_programs_are_not_those_of_pi(head):
    assert not PI.reader.sniff(head, "x.jsonl")


def test_what_was_tried_is_said_in_one_sentence():
    with pytest.raises(NotASession) as caught:
        detect(b"hello\n", "notes.txt")

    assert "notes.txt" in str(caught.value)
    assert "pi" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("before", [b"", b"\n", b"\xef\xbb\xbf"], ids=repr)
def test_the_withdrawn_library_store_is_refused_by_name(before):
    head = before + b'{"v":4,"kind":"header","id":"x","createdAt":"2026-01-01T00:00:00.000Z"}\n' + ENTRY

    with pytest.raises(NotASession, match="withdrawn"):
        detect(head, "x.jsonl")


def test_an_empty_file_is_said_to_be_empty():
    with pytest.raises(NotASession, match="is empty"):
        detect(b"", "x.jsonl")


@pytest.mark.parametrize("program", [one for one in BUILTIN_FORMATS if one.begins], ids=lambda one: one.name)
def test_how_most_files_of_a_program_begin_no_file_of_another_does(program):
    files = [path for path in CORPUS.rglob("*") if path.suffix in (".jsonl", ".ndjson")]
    programs = {path.relative_to(CORPUS).parts[0] for path in files}

    begun = {
        path.relative_to(CORPUS).parts[0] for path in files if path.read_bytes().startswith(program.begins)
    }

    # Lines that are derived from a database or from documents are in no file.
    assert begun - {"bad"} == {program.name} & programs


def test_a_file_that_begins_as_one_program_writes_is_asked_of_that_program_first(monkeypatch):
    detecting = import_module("branchline.formats.detect")
    loaded = []
    monkeypatch.setattr(detecting, "_loaded", lambda one: (loaded.append(one.name), one.load())[1])
    path = next((CORPUS / "zot" / "sessions").rglob("*.jsonl"))

    found = detect(path.read_bytes(), str(path))

    assert (found.name, set(loaded)) == ("zot", {"zot"})


@pytest.mark.parametrize("program", ["claude-code", "codex", "operator", "induscode", "piglet", "zot"])
def test_sessions_of_other_programs_are_not_taken_for_those_of_pi(program):
    directory = SHARED / program
    files = [path for path in directory.rglob("*.jsonl") if path.stat().st_size] if directory.exists() else []
    if not files:
        pytest.skip(f"no samples of {program} on this machine")

    for path in files:
        head = path.read_bytes()[: 1 << 16]
        first = next((line for line in head.split(b"\n") if line.strip()), b"")
        try:
            fields = json.loads(first)
        except ValueError:
            continue  # a damaged beginning may be anything
        if isinstance(fields, dict):
            assert not PI.reader.sniff(head, str(path)), path.name


@pytest.mark.parametrize("cut", range(12))
def test_a_type_cut_off_where_looking_ends_does_not_make_a_native_file_doubtful(cut, monkeypatch):
    detecting = import_module("branchline.formats.detect")
    looked_at = detecting._HEAD_BYTES
    blanks = looked_at - cut - len(b'{"type":"') - len(HEADER) - len(ENTRY)
    long = ENTRY.replace(b'"x"', b'"x%s"' % (b" " * blanks))
    monkeypatch.setattr(detecting, "_loaded", lambda *_: pytest.fail("another format was loaded"))

    assert (HEADER + long + ENTRY)[: looked_at - cut].endswith(b'\n{"type":"')
    assert detect(HEADER + long + ENTRY, "/p/s.jsonl") is PI


@pytest.mark.parametrize("before", [b"", b"\n", b"\xef\xbb\xbf\n"], ids=repr)
def test_a_chat_history_of_aider_is_refused_by_name(before):
    history = (
        before + b"# aider chat started at 2026-01-05 09:00:00\n\n> Aider v0.86.2\n\n#### hello\n\nHi.\n"
    )

    with pytest.raises(NotASession, match=r"x\.md is a chat history of aider \(.*does not read"):
        detect(history, "x.md")


@pytest.mark.parametrize("indent", [0, 1, 2, "\t"], ids=repr)
@pytest.mark.parametrize("listed", [True, False])
def test_a_part_of_a_document_on_many_lines_is_not_taken_for_its_first_line(listed, indent):
    block = '{"type": "grounding", "sources": []}'
    document = json.loads((CORPUS / "foreign" / "grounding.json").read_text())
    document["messages"][1]["content"] = ["BLOCK"]
    text = json.dumps([document] if listed else document, indent=indent).replace('"BLOCK"', block)

    with pytest.raises(NotASession, match="is not a session of any known agent") as caught:
        detect(text.encode(), "chat.json")

    assert "first line" not in str(caught.value)


def test_the_type_of_a_first_line_is_still_named():
    with pytest.raises(NotASession, match="its first line is of type 'grounding'"):
        detect(b'\n{"type":"grounding","at":["x"]}\n{"type":"other"}\n', "x.jsonl")


def test_the_sample_with_grounding_is_refused_like_other_unknown_documents():
    path = CORPUS / "foreign" / "grounding.json"

    with pytest.raises(NotASession, match="is not a session of any known agent"):
        detect(path.read_bytes(), str(path))


# -- white space between tokens, and long first lines -----------------------------------------------------

SEPARATORS = [(", ", ": "), (",", ": "), (" ,\t", "\t:  ")]


LINE_FILES = [(name, path) for name, files in SAMPLES.items() for path in files[:3] if path.suffix != ".json"]


def reading_of(data: bytes, name: str) -> tuple[str, list[str], str | None, str | None]:
    def read(offset: int, size: int) -> bytes:
        return data[offset : offset + size]

    log = EntryLog(detect_in(read, name), read, name)
    reading = log.reading
    return log.format.name, list(log.tree.keys), log.title, reading.header and reading.header.id


@pytest.mark.parametrize("separators", SEPARATORS, ids=repr)
@pytest.mark.parametrize(("name", "path"), LINE_FILES, ids=lambda value: getattr(value, "stem", value))
def test_white_space_between_the_tokens_of_lines_means_nothing(name, path, separators):
    lines = [json.loads(line) for line in path.read_bytes().split(b"\n") if line.strip()]
    compact, spaced = (
        b"".join(json.dumps(line, separators=each).encode() + b"\n" for line in lines)
        for each in ((",", ":"), separators)
    )

    one, other = reading_of(spaced, path.name), reading_of(compact, path.name)

    assert detect(spaced, "x.jsonl").name == detect(compact, "x.jsonl").name == name
    assert (len(one[1]), *one[2:]) == (len(other[1]), *other[2:])


@pytest.mark.parametrize("size", [66_000, 1_500_000])
@pytest.mark.parametrize(("name", "path"), LINE_FILES, ids=lambda value: getattr(value, "stem", value))
def test_a_damaged_first_line_of_any_length_hides_no_session(name, path, size):
    data = path.read_bytes()

    found = reading_of(b"x" * size + b"\n" + data, path.name)

    assert found[0] == name
    assert len(found[1]) == len(reading_of(data, path.name)[1])


@pytest.mark.parametrize("first", [True, False], ids=["before the others", "after the others"])
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")], ids=repr)
@pytest.mark.parametrize(("name", "path"), LINE_FILES, ids=lambda value: getattr(value, "stem", value))
def test_a_first_line_with_a_very_long_field_hides_no_session(name, path, separators, first):
    line, _, rest = path.read_bytes().partition(b"\n")
    fields = json.loads(line)
    fields = {"note": "y" * 100_000, **fields} if first else {**fields, "note": "y" * 100_000}
    data = json.dumps(fields, separators=separators).encode() + b"\n" + rest

    found = reading_of(data, path.name)

    assert found[0] == name
    assert found[3] == reading_of(path.read_bytes(), path.name)[3]


def test_a_line_above_the_header_that_is_no_entry_leaves_the_session_its_header():
    data = b'{"type":"title","title":"T"}\n' + HEADER + ENTRY

    log = EntryLog(PI, lambda offset, size: data[offset : offset + size])

    assert (log.reading.header.id, log.reading.read_only) == ("s", None)
    assert [finding.kind for finding in log.findings] == ["not-an-entry"]
