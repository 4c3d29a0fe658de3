"""Lines that were made to hurt: a reader needs neither much time nor much memory, and loses nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from branchline.entries import Damaged, MessageEntry, encode_entry, json_codec, message_text
from branchline.formats import EntryLog
from branchline.formats.integrity import check_log
from support import transcript

HEADER = b'{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}'
FIRST = b'{"type":"message","id":"first","parentId":null,"timestamp":"","message":{"role":"user","content":"x","timestamp":1}}'
AFTER = b'{"type":"message","id":"after","parentId":"odd","timestamp":"","message":{"role":"user","content":"y","timestamp":2}}'


def around(line: bytes) -> EntryLog:
    """A session with this line between two entries in good order, the second hanging from ``odd``."""
    return transcript(b"\n".join([HEADER, FIRST, line, AFTER, b""]))


def odd(rest: bytes, kind: bytes = b"message") -> bytes:
    return b'{"type":"%s","id":"odd","parentId":"first",%s}' % (kind, rest)


def said(content: bytes) -> bytes:
    return odd(b'"message":{"role":"user","content":%s,"timestamp":3}' % content)


def kinds(found: EntryLog) -> list[str]:
    return [finding.kind for finding in check_log(found)]


# -- JSON that some parser cannot read --------------------------------------------------------------------

READABLE = {
    "NaN": said(b"NaN"),
    "infinity": said(b"[Infinity,-Infinity]"),
    "a number beyond all floats": said(b"[1e400,-1e400]"),
    "a number that is nearly nothing": said(b"1e-400"),
    "a lone high surrogate": said(b'"\\ud800"'),
    "a lone low surrogate": said(b'"x\\udc00y"'),
    "surrogates the wrong way round": said(b'"\\udc00\\ud800"'),
    "NaN and a surrogate in blocks": said(b'[{"type":"text","text":"\\ud800","n":NaN}]'),
    "an integer of 5000 digits": said(b"9" * 5000),
    "a negative integer of 5000 digits": said(b"-" + b"9" * 5000),
    "a float of 5000 digits": said(b"0." + b"9" * 5000),
    "nesting of 1,000": said(b"[" * 1_000 + b"]" * 1_000),
    "nesting of 10,000": said(b"[" * 10_000 + b"]" * 10_000),
    "nesting of 10,000 objects": said(b'{"a":' * 10_000 + b"1" + b"}" * 10_000),
    "escaped line breaks": said(b'"a\\nb\\r\\u2028\\u0085"'),
    "raw U+2028, U+2029 and U+0085": said('"a\u2028b\u2029c\u0085d"'.encode()),
    "an escaped NUL": said(b'"\\u0000"'),
    "invalid UTF-8 in a text": said(b'"\xff\xfe\xc0\x80"'),
    "half of a character": said(b'"\xe2\x82"'),
    "a surrogate as UTF-8": said(b'"\xed\xa0\x80"'),
    "blanks everywhere": b' \t{ "type" : "message" , "id" : "odd" , "parentId" : "first" , "message" : null } \r',
    "a carriage return": said(b'"x"') + b"\r",
    "keys in another order": b'{"message":{"content":"x","role":"user"},"parentId":"first","id":"odd","type":"message"}',
    "escaped keys": b'{"\\u0074ype":"message","\\u0069d":"odd","parent\\u0049d":"first"}',
    "an empty key": odd(b'"":{"":""}'),
    "ten thousand keys": odd(b",".join(b'"k%d":%d' % (number, number) for number in range(10_000))),
    "a message that is null": odd(b'"message":null'),
    "a message that is a list": odd(b'"message":[]'),
    "a message that is a text": odd(b'"message":"hello"'),
    "a message that is a number": odd(b'"message":5'),
    "a message without a role": odd(b'"message":{}'),
    "a role that is a number": odd(b'"message":{"role":5,"content":[]}'),
    "a time that is a number": odd(b'"timestamp":5,"message":{"role":"user","content":"","timestamp":"soon"}'),
    "a time that is null": odd(b'"timestamp":null'),
    "a time that is a list": odd(b'"timestamp":[1]'),
    "times beyond all dates": odd(b'"timestamp":"99999-99-99","message":{"role":"user","content":"","timestamp":1e300}'),
    "a type with odd letters": odd(b'"x":1', kind="тип\u2028".encode()),
    "an empty type": odd(b'"x":1', kind=b""),
    "a label that is no text": odd(b'"targetId":"first","label":5', kind=b"label"),
    "a label for nobody": odd(b'"targetId":[]', kind=b"label"),
    "a title that is no text": odd(b'"name":{}', kind=b"session_info"),
    "a compaction of nothing": odd(b'"summary":null,"firstKeptEntryId":7,"tokensBefore":"many"', kind=b"compaction"),
    "a deep label": odd(b'"targetId":"first","label":"l","x":' + b"[" * 5000 + b"]" * 5000, kind=b"label"),
    "a deep leaf": odd(b'"targetId":"first","x":' + b"[" * 5000 + b"]" * 5000, kind=b"leaf"),
}  # fmt: skip


@pytest.mark.parametrize("name", READABLE)
def test_a_strange_line_is_an_entry_and_its_neighbours_are_untouched(name):
    line = READABLE[name]

    found = around(line)

    assert found.tree.keys == ["first", "odd", "after"]
    assert found.tree.path("after") == ["first", "odd", "after"]
    assert found.raw(1) == line
    entry = found.entry(1)
    assert (entry.id, entry.parent) == ("odd", "first")
    assert not isinstance(entry, Damaged)
    assert not {"unreadable", "glued", "not-an-entry"} & set(kinds(found))
    if found.tree.types[1] != "leaf":
        assert found.leaf == "after"


@pytest.mark.parametrize("name", READABLE)
def test_a_strange_line_is_read_alike_in_files_of_older_versions(name):
    line = READABLE[name]

    found = transcript(b"\n".join([HEADER.replace(b'"version":3', b'"version":2'), FIRST, line, AFTER, b""]))

    assert found.tree.keys == ["first", "odd", "after"]
    assert [entry.id for entry in found.entries([0, 1, 2])] == ["first", "odd", "after"]


@pytest.mark.parametrize("name", ["NaN", "infinity", "a lone high surrogate", "invalid UTF-8 in a text"])
def test_a_strange_message_can_be_written_again(name):
    entry = around(READABLE[name]).entry(1)

    assert isinstance(entry, MessageEntry)
    assert json.loads(encode_entry(entry))["id"] == "odd"


def test_what_is_nested_too_deeply_is_read_as_null_and_the_rest_of_its_line_is_kept():
    content = b'[{"type":"text","text":"said","more":%s}]' % (b"[" * 10_000 + b"]" * 10_000)

    found = around(said(content))
    entry = found.entry(1)

    assert isinstance(entry, MessageEntry)
    assert message_text(entry.message) == "said"
    assert found.tree.roles[1] == "user"
    assert found.raw(1) == said(content)


def message(role: str, **fields: Any) -> bytes:
    stored = {"role": role, "content": [{"type": "text", "text": "x"}], "timestamp": 3, **fields}
    return odd(b'"timestamp":"","message":%s' % json.dumps(stored).encode())


def call(arguments: Any) -> list[dict[str, Any]]:
    return [{"type": "toolCall", "id": "c", "name": "read", "arguments": arguments}]


DEEP_FIELDS = {
    "arguments of a call": lambda deep: message("assistant", content=call({"a": deep})),
    "diagnostics of an answer": lambda deep: message("assistant", diagnostics=deep),
    "a deferred answer": lambda deep: message("assistant", deferred={"a": deep}),
    "a call in a prompt": lambda deep: message("user", content=call({"a": deep})),
    "details of a result": lambda deep: message("toolResult", toolCallId="c", toolName="read", details=deep),
    "calls inside a result": lambda deep: message("toolResult", toolCallId="c", toolName="read", nestedCalls={"a": deep}),
    "tools that a system message adds": lambda deep: message("system", toolsAdded=[{"a": deep}]),
    "details of an extension's message": lambda deep: message("custom", customType="x", details=deep),
    "data of an extension": lambda deep: odd(b'"customType":"x","data":%s' % json.dumps(deep).encode(), kind=b"custom"),
    "details of a compaction": lambda deep: odd(b'"summary":"s","details":%s' % json.dumps(deep).encode(), kind=b"compaction"),
    "the tail of a compaction": lambda deep: odd(
        b'"summary":"s","retainedTail":[{"role":"toolResult","toolCallId":"c","toolName":"r","content":[],"details":%s}]'
        % json.dumps(deep).encode(), kind=b"compaction"),
    "an edit": lambda deep: odd(
        b'"targetId":"first","replacement":{"content":%s}' % json.dumps(call({"a": deep})).encode(), kind=b"context_edit"),
}  # fmt: skip


@pytest.mark.parametrize("name", DEEP_FIELDS)
@pytest.mark.parametrize("levels", [90, 96, 101, 300])
def test_entries_that_are_decoded_together_are_bounded_as_single_ones_are(name, levels):
    deep: Any = "inside"
    for _ in range(levels):
        deep = [deep]

    found = around(DEEP_FIELDS[name](deep))
    together = found.entries([0, 1, 2])

    assert together == [found.entry(position) for position in range(3)]
    if levels != 96:  # here it depends on how deep the field itself lies
        assert ("inside" in repr(together[1])) is (levels < 96)


@pytest.mark.parametrize("depth", [99, 100, 101, 150, 5_000])
@pytest.mark.parametrize("blank", ["", " "])
def test_json_is_bounded_at_one_depth(depth, blank):
    text = ("[" + blank) * depth + "1" + (blank + "]") * depth + blank
    inside: Any = 1 if depth <= json_codec.DEEPEST else None
    for _ in range(min(depth, json_codec.DEEPEST)):
        inside = [inside]

    assert json_codec.loads(text.encode()) == inside
    assert json_codec.loads(b'["\\"[",%s,{"a":[2]}]' % text.encode())[2] == {"a": [2]}


def test_a_role_deep_inside_other_data_is_not_taken_for_that_of_the_message():
    deep = b"[" * 5000 + b"]" * 5000

    found = around(odd(b'"data":{"role":"assistant"},"x":' + deep, kind=b"custom"))

    assert found.tree.roles[1] is None


@pytest.mark.parametrize(
    "line",
    [
        said(b"[" * 5000 + b"]" * 4999),
        said(b"[" * 5000 + b"]" * 4999 + b"}"),
        said(b"[" * 5000 + b"]" * 5001),
        said(b'[["' + b"[" * 5000),
        b"[" * 5000 + b"]" * 5000 + b"x",
    ],
    ids=lambda line: repr(line[:20] + line[-20:]),
)
def test_what_is_nested_too_deeply_and_does_not_close_is_unreadable(line):
    found = around(line)

    assert "odd" not in [key for key in found.tree if found.tree.position(key) not in found.tree.placeholders]
    assert kinds(found)[0] == "unreadable"
    assert found.leaf == "after"


# -- ids --------------------------------------------------------------------------------------------------

IDS: dict[str, Any] = {
    "empty": "",
    "a blank": " ",
    "very long": "x" * 1_000_000,
    "with newlines": "a\nb\r\n",
    "like a repeated one": "first#2",
    "like a path": "../../x",
    "like an absolute path": "/etc/passwd",
    "a NUL": "a\0b",
    "a lone surrogate": "\ud800",
    "an escape sequence": "\x1b[31mred\x1b[0m",
    "right to left": "\u202eabc",
    "emoji": "🌳",
    "a number as text": "5",
    "a word of Python": "None",
    "quotes": "\"'\\",
}


@pytest.mark.parametrize("name", IDS)
def test_any_text_is_an_id(name):
    wanted = IDS[name]
    lines = [
        HEADER,
        FIRST,
        json.dumps({"type": "message", "id": wanted, "parentId": "first"}).encode(),
        json.dumps({"type": "message", "id": "after", "parentId": wanted}).encode(),
        json.dumps(
            {"type": "label", "id": "l", "parentId": "after", "targetId": wanted, "label": "x"}
        ).encode(),
        json.dumps({"type": "leaf", "id": "m", "parentId": None, "targetId": wanted}).encode(),
    ]

    found = transcript(b"\n".join([*lines, b""]))

    assert found.tree.keys == ["first", wanted, "after", "l", "m"]
    assert found.tree.path("after") == ["first", wanted, "after"]
    assert found.reading.labels[wanted].text == "x"
    assert found.leaf == wanted
    assert found.entry(1).id == wanted
    assert found.findings == []


def test_invalid_utf_8_in_ids_is_shown_as_replacement_characters_and_still_links():
    lines = [
        HEADER,
        b'{"type":"message","id":"a\xff","parentId":null}',
        b'{"type":"message","id":"b","parentId":"a\xff"}',
    ]

    found = transcript(b"\n".join([*lines, b""]))

    assert found.tree.keys == ["a\ufffd", "b"]
    assert found.tree.parent("b") == "a\ufffd"
    assert [(finding.kind, finding.line) for finding in check_log(found)] == [
        ("encoding", 2),
        ("encoding", 3),
    ]


@pytest.mark.parametrize("wrong", [b"5", b"[]", b"{}", b"true", b"1.5"])
def test_an_id_that_is_no_text_is_reported_and_left_out(wrong):
    found = around(b'{"type":"message","id":%s,"parentId":"first"}' % wrong)

    assert found.tree.keys == ["first", "after"]
    assert kinds(found) == ["no-id", "orphan"]


@pytest.mark.parametrize("wrong", [b"5", b"[]", b"{}", b"true", b"1.5"])
def test_a_parent_that_is_no_text_is_reported_and_makes_a_root(wrong):
    found = around(b'{"type":"message","id":"odd","parentId":%s}' % wrong)

    assert found.tree.roots() == ["first", "odd"]
    assert kinds(found) == ["no-parent-key"]


@pytest.mark.parametrize("wrong", [b"5", b"null", b"[]", b"{}", b"true"])
def test_a_type_that_is_no_text_makes_no_entry(wrong):
    found = around(b'{"type":%s,"id":"odd","parentId":"first"}' % wrong)

    assert found.tree.keys == ["first", "after"]
    assert kinds(found) == ["not-an-entry", "orphan"]


# -- keys that stand twice --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        odd(b'"x":1,"x":2'),
        odd(b'"a":{"b":1,"b":2}'),
        odd(b'"a":[[{"k":1,"j":2,"\\u006b":3}]]'),
        b'{"type":"label","id":"other","id":"odd","type":"message","parentId":null,"parentId":"first"}',
    ],
    ids=repr,
)
def test_the_last_of_repeated_keys_counts_and_the_full_check_reports_it(line):
    found = around(line)

    assert found.tree.keys == ["first", "odd", "after"]
    assert found.tree.types == ["message"] * 3
    assert found.entry(1).id == "odd"
    assert found.findings == []
    assert [(finding.kind, finding.line) for finding in check_log(found)] == [("duplicate-key", 3)]


def test_the_full_check_is_sorted_by_line_and_names_the_offset():
    lines = [
        HEADER,
        b'{"type":"message","id":"a","parentId":"lost","x":1,"x":1}',
        b'{"type":"message","id":"b","parentId":"a","t":"\xff"}',
        b"garbage",
    ]
    data = b"\n".join([*lines, b""])

    found = check_log(transcript(data))

    assert [(finding.kind, finding.line) for finding in found] == [
        ("orphan", 2),
        ("duplicate-key", 2),
        ("encoding", 3),
        ("unreadable", 4),
    ]
    for finding in found:
        assert data[finding.offset : finding.offset + finding.size] == lines[finding.line - 1]


def test_two_writers_are_noted_where_branches_grow_by_turns():
    def lines(*links: tuple[str, str | None]) -> EntryLog:
        return transcript(
            b"\n".join(
                [
                    HEADER,
                    *[
                        json.dumps({"type": "message", "id": name, "parentId": parent}).encode()
                        for name, parent in links
                    ],
                    b"",
                ]
            )
        )

    by_turns = lines(("a", None), ("b", "a"), ("c", "a"), ("d", "b"), ("e", "c"), ("f", "d"))
    one_after_the_other = lines(("a", None), ("b", "a"), ("c", "b"), ("d", "a"), ("e", "d"), ("f", "e"))
    back_once = lines(("a", None), ("b", "a"), ("c", "a"), ("d", "b"), ("e", "d"))

    assert [(finding.kind, finding.line) for finding in check_log(by_turns)] == [("two-writers", 6)]
    assert check_log(one_after_the_other) == []
    assert check_log(back_once) == []


def test_somebody_who_says_where_he_moves_is_one_writer():
    lines = [
        HEADER,
        *[
            json.dumps(
                {
                    "type": kind,
                    "id": name,
                    "parentId": parent,
                    **({"targetId": parent} if kind == "leaf" else {}),
                }
            ).encode()
            for kind, name, parent in [
                ("message", "a", None),
                ("message", "b", "a"),
                ("message", "c", "a"),
                ("leaf", "m1", "b"),
                ("message", "d", "b"),
                ("leaf", "m2", "c"),
                ("message", "e", "c"),
                ("leaf", "m3", "d"),
                ("label", "l", "d"),
                ("message", "f", "d"),
            ]
        ],
    ]

    assert "two-writers" not in kinds(transcript(b"\n".join([*lines, b""])))


# -- time -------------------------------------------------------------------------------------------------

SLOW_LINES = {
    "beginnings of records": lambda size: b'{"type":"' * (size // 9),
    "whole objects and garbage": lambda size: b'{"type":"x"}' * (size // 12) + b"x",
    "a fragment and whole objects and garbage": lambda size: b'{"type":"x' + b'{"type":"x","timestamp":1}' * (size // 26) + b"x",
    "objects that never close": lambda size: b'{"type":"a","b":[' * (size // 17) + b"}",
    "escaped quotes that never end": lambda size: b'{"a":' + b"[" * 2000 + b'"' + b'\\"' * (size // 2),
    "quotes": lambda size: b'"' * size,
    "open brackets": lambda size: b"[" * size,
    "closed brackets": lambda size: b"]" * size,
    "nested and closed": lambda size: said(b"[" * (size // 2) + b"]" * (size // 2)),
    "nested objects": lambda size: said(b'{"a":' * (size // 6) + b"1" + b"}" * (size // 6)),
    "digits": lambda size: said(b"1" * size),
    "an unending text": lambda size: b'{"type":"message","id":"' + b"x" * size,
    "backslashes": lambda size: b'{"type":"message","id":"' + b"\\" * size,
    "NUL": lambda size: b"\0" * size,
    "blanks": lambda size: b" " * size,
    "ids": lambda size: b'"id":"x",' * (size // 9),
}  # fmt: skip


@pytest.mark.parametrize("name", SLOW_LINES)
def test_a_hostile_line_costs_time_in_proportion_to_its_length(name):
    def cost(size: int) -> float:
        data = b"\n".join([HEADER, FIRST, SLOW_LINES[name](size), AFTER, b""])
        best = 1e9
        for _ in range(2):
            start = time.process_time()
            found = transcript(data)
            found.entries(range(len(found.tree)))
            check_log(found)
            best = min(best, time.process_time() - start)
        assert found.tree.keys[0] == "first"
        assert "after" in found.tree
        return best

    assert cost(800_000) < 10 * cost(200_000) + 0.2


# -- memory -----------------------------------------------------------------------------------------------

CHILD = """
    import json, os, resource, sys

    from branchline.formats import PI, EntryLog
    from branchline.formats.integrity import check_log

    path, limit = sys.argv[1], int(sys.argv[2])
    start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + limit, used + limit))
    descriptor = os.open(path, os.O_RDONLY)
    found = EntryLog(PI, lambda offset, size: os.pread(descriptor, size, offset))
    kinds = [finding.kind for finding in found.findings]
    if "decode" in sys.argv:
        for position in range(len(found.tree)):
            found.entry(position)
    if "check" in sys.argv:
        kinds = [finding.kind for finding in check_log(found)]
    print(json.dumps({
        "keys": [key[:100] for key in found.tree.keys],
        "placeholders": len(found.tree.placeholders),
        "leaf": found.leaf,
        "findings": kinds,
        "memory": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start) * 1024,
    }))
"""


@pytest.fixture
def large(tmp_path: Path) -> Iterator[Path]:
    """A path for a large file, which does not outlive its test."""
    path = tmp_path / "large.jsonl"
    yield path
    path.unlink(missing_ok=True)


def read_with_limit(path: Path, limit: int, *what: str) -> dict[str, Any]:
    """What a process that may use this much more memory finds in a file."""
    child = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CHILD), str(path), str(limit), *what],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert child.returncode == 0, child.stderr[-2000:]
    result: dict[str, Any] = json.loads(child.stdout)
    return result


def long_file(
    path: Path, line: tuple[bytes, bytes, int, bytes], *, end: bytes = b"\n" + AFTER + b"\n"
) -> int:
    """Write a session whose third line is ``prefix + unit * count + suffix``; returns how long that line is."""
    prefix, unit, count, suffix = line
    with path.open("wb") as file:
        file.write(HEADER + b"\n" + FIRST + b"\n" + prefix)
        piece = unit * max(1, (1 << 20) // len(unit))
        whole, rest = divmod(count, len(piece) // len(unit))
        for _ in range(whole):
            file.write(piece)
        file.write(unit * rest + suffix + end)
    return len(prefix) + len(unit) * count + len(suffix)


MEGABYTE = 1 << 20
LONG = {
    "a long text": (odd(b'"message":{"role":"user","content":"')[:-1], b"words ", b'"}}'),
    "a long text of an answer": (odd(b'"message":{"role":"assistant","timestamp":4,"content":[{"type":"text","text":"')[:-1], b"words ", b'"}]}}'),
    "a long text with a lone surrogate": (odd(b'"message":{"role":"user","content":"\\ud800')[:-1], b"words ", b'"}}'),
    "a long text with escapes": (odd(b'"message":{"role":"user","content":"')[:-1], b"a\\n\\u00e9b", b'"}}'),
    "a long list": (odd(b'"message":{"role":"user","content":[1')[:-1], b",1", b"]}}"),
}  # fmt: skip


@pytest.mark.parity("ZOT-16")
@pytest.mark.parametrize("name", LONG)
def test_a_line_of_100_megabytes_opens_in_a_few_times_its_size(name, large):
    prefix, unit, suffix = LONG[name]
    size = long_file(large, (prefix, unit, 100 * MEGABYTE // len(unit), suffix))

    # The standard library needs four bytes for each character and objects for each number.
    limit = 16 if name in ("a long list", "a long text with a lone surrogate") else 5
    found = read_with_limit(large, limit * size)

    assert found["keys"] == ["first", "odd", "after"]
    assert found["leaf"] == "after"
    assert found["findings"] == []


@pytest.mark.parity("ZOT-16")
def test_a_line_of_100_megabytes_is_decoded_and_checked_in_a_few_times_its_size(large):
    prefix, unit, suffix = LONG["a long text"]
    size = long_file(large, (prefix, unit, 100 * MEGABYTE // len(unit), suffix))

    found = read_with_limit(large, 6 * size, "decode", "check")

    assert found["keys"] == ["first", "odd", "after"]
    assert found["findings"] == []


def test_a_torn_line_of_100_megabytes_is_damage_and_nothing_else(large):
    prefix, unit, _ = LONG["a long text"]
    size = long_file(large, (prefix, unit, 100 * MEGABYTE // len(unit), b""))

    found = read_with_limit(large, 8 * size)

    assert found["keys"] == ["first", "odd", "after"]
    assert found["placeholders"] == 1
    assert found["findings"] == ["unreadable"]


def test_a_last_line_of_100_megabytes_without_a_newline_is_read(large):
    prefix, unit, suffix = LONG["a long text"]
    line = (prefix, unit, 100 * MEGABYTE // len(unit), suffix)
    size = long_file(large, line, end=b"")

    found = read_with_limit(large, 5 * size)

    assert found["keys"] == ["first", "odd"]
    assert found["leaf"] == "odd"
    assert found["findings"] == ["no-final-newline"]


@pytest.mark.parametrize("count", [10_000, 10_000_000])
@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_nesting_of_any_depth_costs_a_few_times_its_bytes(count, opening, large):
    if opening != "[":
        count //= 10
    closing = "]" if opening == "[" else "}"
    deep = opening * count + "1" + closing * count
    large.write_bytes(b"\n".join([HEADER, FIRST, said(deep.encode()), AFTER, b""]))

    found = read_with_limit(large, 300 * MEGABYTE, "decode", "check")

    assert found["keys"] == ["first", "odd", "after"]
    assert found["leaf"] == "after"
    assert found["findings"] == []


@pytest.mark.parametrize("digits", [1_000_000, 20_000_000])
def test_an_integer_of_a_million_digits_costs_a_few_times_its_bytes(digits, large):
    large.write_bytes(b"\n".join([HEADER, FIRST, said(b"9" * digits), AFTER, b""]))

    found = read_with_limit(large, 300 * MEGABYTE, "decode", "check")

    assert found["keys"] == ["first", "odd", "after"]
    assert found["findings"] == []


def test_a_file_of_many_megabytes_is_read_in_little_memory(large):
    with large.open("wb") as file:
        file.write(HEADER + b"\n")
        for number in range(3_000):
            parent = b'"%d"' % (number - 1) if number else b"null"
            file.write(
                b'{"type":"message","id":"%d","parentId":%s,"message":{"role":"user","content":"'
                % (number, parent)
            )
            file.write(b"x" * 20_000 + b'","timestamp":1}}\n')

    found = read_with_limit(large, 100 * MEGABYTE, "check")

    assert len(found["keys"]) == 3_000
    assert found["memory"] < 20 * MEGABYTE
