"""Whatever is in a transcript of Claude Code opens, in any pieces, and nothing raises."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from branchline.formats.claude_code import CLAUDE_CODE
from branchline.formats.claude_code.lineage import lineage
from branchline.formats.claude_code.reader import ClaudeCodeReader
from formats.claude_code_kit import EXPECTED, NAME, SAMPLES, call, read, record, result
from formats.line_laws import (
    CORRUPTIONS,
    alike_in_lists,
    alike_in_pieces,
    alike_when_grown,
    alike_with_care,
    open_all,
)
from strategies import texts

MANY = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SMALL = (
    record("u1", None, content="é <b>")
    + record("a1", "u1", "assistant", [call("c")])
    + result("r1", "a1", "c", "d")
    + record("cb", None, "system", subtype="compact_boundary", logicalParentUuid="r1")
    + record("cs", "cb", content="so far", isCompactSummary=True)
    + b'{"type":"custom-title","customTitle":"t","sessionId":"s"}\n'
    + record("u2", "cs")
)


def look_at(data, name=NAME):
    found = open_all(CLAUDE_CODE, data, name)
    reading = found.reading
    assert reading.active_line == [] or reading.leaf in found.tree.path_positions(reading.active_line[-1])
    lineage([reading, reading])
    return found


def test_every_beginning_of_a_file_opens():
    for size in range(len(SMALL)):
        look_at(SMALL[:size])


def test_a_wrong_byte_anywhere_costs_no_more_than_its_line():
    whole = set(read(SMALL).tree.keys)
    for place in range(len(SMALL)):
        for byte in CORRUPTIONS[place % 3 :: 3]:
            found = look_at(SMALL[:place] + bytes([byte]) + SMALL[place + 1 :])
            lost = {
                key for key in whole - set(found.tree.keys) if "." not in key and not key.startswith("line-")
            }
            assert len(lost) <= 2, (place, byte)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_sample_is_read_alike_fast_or_with_care_in_any_pieces_and_while_it_grows(name):
    data = (SAMPLES / name).read_bytes()

    alike_with_care(CLAUDE_CODE, ClaudeCodeReader, data, NAME)
    alike_in_lists(CLAUDE_CODE, data, NAME)
    alike_in_pieces(CLAUDE_CODE, data, NAME, (1, 7, 100, 1000))
    alike_when_grown(CLAUDE_CODE, data, NAME, range(0, len(data), max(1, len(data) // 9)))


values = st.sampled_from([None, True, 7, 1e400, "", "u1", "x", [], {}, [{"type": "text"}], {"type": []}])
uuids = st.sampled_from(["a", "b", "c", "d", "e", "f", None, 7, ""])
contents = st.one_of(
    texts,
    st.sampled_from(["<command-name>/x</command-name>", "[Request interrupted by user]", "<bash-input>"]),
    st.lists(
        st.one_of(
            st.builds(lambda text: {"type": "text", "text": text}, texts),
            st.builds(
                lambda name: {"type": "tool_use", "id": name, "name": "Task", "input": {"prompt": "p"}}, uuids
            ),
            st.builds(lambda name: {"type": "tool_result", "tool_use_id": name, "content": "r"}, uuids),
            values,
        ),
        max_size=3,
    ),
)


@st.composite
def records(draw):
    fields = {
        "type": draw(st.sampled_from(["user", "assistant", "system", "attachment", "progress", "summary", "last-prompt", "new", 5])),
        "uuid": draw(uuids),
        "parentUuid": draw(uuids),
        "timestamp": draw(st.sampled_from(["2026-09-01T10:00:00.000Z", "2026-09-01T10:00:01.000Z", "soon", 5])),
        "sessionId": draw(st.sampled_from(["s", "t", None])),
        "cwd": "/p",
        "message": draw(st.builds(lambda content, name: {"content": content, "id": name, "usage": {"output_tokens": 3}}, contents, uuids) | values),
    }  # fmt: skip
    for name in ("isSidechain", "isMeta", "isCompactSummary", "isApiErrorMessage"):
        if draw(st.integers(0, 5)) == 0:
            fields[name] = draw(st.sampled_from([True, False, None, "yes"]))
    extras = {
        "logicalParentUuid": uuids,
        "leafUuid": uuids,
        "subtype": st.sampled_from(["compact_boundary", "microcompact_boundary", "turn_duration"]),
        "microcompactMetadata": st.builds(lambda ids: {"compactedToolIds": ids}, st.lists(uuids, max_size=3) | values),
        "compactMetadata": st.builds(lambda head: {"preservedSegment": {"headUuid": head}, "preTokens": 5}, uuids | values) | values,
        "attachment": st.builds(lambda prompt: {"type": "queued_command", "prompt": prompt}, contents),
        "forkedFrom": st.sampled_from([{"sessionId": "q"}, {}, 5]),
        "customTitle": values,
        "summary": values,
    }  # fmt: skip
    for name, strategy in extras.items():
        if draw(st.integers(0, 4)) == 0:
            fields[name] = draw(strategy)
    return json.dumps(fields).encode() + b"\n"


@MANY
@given(st.lists(records(), max_size=12).map(b"".join), st.integers(0, 4000))
def test_records_of_any_shape_open_and_are_read_alike_in_every_way(data, split):
    look_at(data)
    alike_with_care(CLAUDE_CODE, ClaudeCodeReader, data, NAME)
    alike_in_lists(CLAUDE_CODE, data, NAME)
    alike_in_pieces(CLAUDE_CODE, data, NAME, (50, 700))
    alike_when_grown(CLAUDE_CODE, data, NAME, [split])


@MANY
@given(st.lists(records(), max_size=6).map(b"".join), st.binary(max_size=40), st.integers(0, 3000))
def test_bytes_thrown_into_a_file_never_make_it_raise(data, noise, place):
    look_at(data[:place] + noise + data[place:])


def test_a_block_of_nul_bytes_and_two_records_in_one_line_cost_nothing_else():
    data = record("u1", None) + b"\0" * 500 + record("a1", "u1", "assistant")[:-1] + record("u2", "a1")

    found = look_at(data)

    assert [found.tree.keys[place] for place in found.tree.path_positions(found.reading.leaf)] == [
        "u1",
        "a1",
        "u2",
    ]
    assert "glued" in [finding.kind for finding in found.findings]


def test_a_torn_record_that_tells_uuid_and_parent_keeps_its_place():
    torn = record("a1", "u1", "assistant")[:-30]
    assert b'"uuid"' in torn

    found = look_at(record("u1", None) + torn + b"\n" + record("u2", "a1"))

    assert found.tree.path("u2") == ["u1", "a1", "u2"]
    assert found.leaf == "u2"


# -- files as Claude Code writes them ---------------------------------------------------------------------

words = st.sampled_from(
    ["hi", "", " ", "<command-name>/x</command-name>", "[Request interrupted by user]", "<bash-input>ls"]
)
answers = st.builds(
    lambda content, model, name: {
        "role": "assistant",
        "id": name,
        "model": model,
        "content": content,
        "usage": {"output_tokens": 3, "input_tokens": 2},
    },
    st.lists(
        st.sampled_from(
            [
                {"type": "text", "text": "ok"},
                {"type": "thinking", "thinking": "hm"},
                {"type": "tool_use", "id": "t1", "name": "Read", "input": {}},
            ]
        ),
        max_size=3,
    ),
    st.sampled_from(["claude-a", "claude-b", "<synthetic>"]),
    st.sampled_from(["m1", "m2", None]),
)
prompts = st.builds(
    lambda content: {"role": "user", "content": content},
    words
    | st.lists(words.map(lambda text: {"type": "text", "text": text}), max_size=2)
    | st.lists(st.just({"type": "tool_result", "tool_use_id": "t1", "content": "r"}), min_size=1, max_size=3)
    | st.just([{"type": "tool_result", "tool_use_id": "t1"}, {"type": "text", "text": "beside"}]),
)
orderly_records = st.one_of(
    st.builds(lambda message: {"type": "assistant", "message": message}, answers),
    st.builds(lambda message: {"type": "user", "message": message}, prompts),
    st.builds(lambda message: {"type": "user", "message": message, "isMeta": True}, prompts),
    st.builds(lambda message: {"type": "assistant", "message": message, "isApiErrorMessage": True}, answers),
    st.builds(lambda message: {"type": "user", "message": message, "forkedFrom": {"sessionId": "q"}}, prompts),
    st.sampled_from(
        [
            {"type": "system", "subtype": "turn_duration"},
            {"type": "attachment", "attachment": {"type": "queued_command", "prompt": "more"}},
            {"type": "summary", "summary": "a title", "leafUuid": "00000001"},
            {"type": "file-history-snapshot", "snapshot": {}},
            {"type": "ai-title", "aiTitle": "named"},
        ]
    ),
)  # fmt: skip


PROMPT = {"type": "user", "message": {"role": "user", "content": "go on"}}


@st.composite
def orderly(draw: st.DrawFn) -> bytes:
    """Records that each name the one before them, and those beside the tree."""
    before, data = None, b""
    beginning = draw(st.sampled_from([[], [PROMPT], [PROMPT], [PROMPT]]))
    for number, own in enumerate(beginning + draw(st.lists(orderly_records, max_size=8))):
        fields = {"cwd": "/p", "sessionId": "s", "timestamp": f"2026-09-01T10:00:{number:02}.000Z", **own}
        if own["type"] in ("user", "assistant", "system", "attachment"):
            fields |= {"parentUuid": before, "uuid": f"{number:08}"}
            before = fields["uuid"]
        data += json.dumps(fields).encode() + b"\n"
    return data


@MANY
@given(orderly())
def test_a_file_in_good_order_is_read_alike_with_care_and_in_lists(data):
    alike_with_care(CLAUDE_CODE, ClaudeCodeReader, data, NAME)
    alike_in_lists(CLAUDE_CODE, data, NAME)
