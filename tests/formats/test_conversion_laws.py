"""Laws of conversion, over sessions with entries of every kind and values of every sort."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from branchline.conversion import convert
from branchline.conversion.verify import missing_fields
from branchline.entries import AssistantMessage, Entry, MessageEntry, ToolCall, ToolResult
from branchline.formats import OPENCODE, PI
from branchline.stores.protocol import SizedContent
from formats.conversion_kit import APPENDABLE, EXPECTED, HEADER, TARGETS, read, rich_sessions, said, written

FOREIGN = [name for name in TARGETS if name != "pi"]
few = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("name", FOREIGN)
@few
@given(data=rich_sessions())
def test_every_entry_is_carried_approximated_or_lost_and_the_new_file_is_healthy(name, data):
    source, target = read(data, PI), TARGETS[name]

    made = convert(source, target, HEADER)

    assert sum(made.fidelity.counted().values()) == made.fidelity.entries == len(source.tree)
    assert {finding.kind for finding in written(made.data, target).findings} <= EXPECTED


@pytest.mark.parametrize("name", FOREIGN)
@few
@given(data=rich_sessions(), pick=st.integers(0, 99))
def test_a_path_accounts_for_all_that_is_on_it(name, data, pick):
    source, target = read(data, PI), TARGETS[name]
    leaf = source.tree.nearest_conversation_entry(pick % len(source.tree))

    made = convert(source, target, HEADER, leaf=leaf)

    assert (
        sum(made.fidelity.counted().values())
        == made.fidelity.entries
        >= len(source.tree.path_positions(leaf))
    )
    assert {finding.kind for finding in written(made.data, target).findings} <= EXPECTED


@pytest.mark.parametrize("name", [name for name in FOREIGN if name in APPENDABLE])
@few
@given(data=rich_sessions())
def test_a_foreign_session_comes_back_from_the_native_format_byte_for_byte(name, data):
    target = TARGETS[name]
    original = convert(read(data, PI), target, HEADER).data
    source = written(original, target)

    native = convert(source, PI, HEADER).data
    back = convert(read(native, PI), target, HEADER, exact=True)

    assert back.data == original


@pytest.mark.parametrize("name", FOREIGN)
@few
@given(data=rich_sessions(most=8), other=st.sampled_from(FOREIGN))
def test_from_each_format_into_each_other_one(name, data, other):
    source = written(convert(read(data, PI), TARGETS[name], HEADER).data, TARGETS[name])

    made = convert(source, TARGETS[other], HEADER)

    assert sum(made.fidelity.counted().values()) == made.fidelity.entries == len(source.tree)
    assert {finding.kind for finding in written(made.data, TARGETS[other]).findings} <= EXPECTED


@pytest.mark.parametrize("name", FOREIGN)
def test_a_compaction_that_keeps_nothing_to_say_is_converted_too(name):
    """Its only kept message is of the system, which some programs do not store."""
    time = "2026-01-01T00:00:00.000Z"
    rows = [
        {"type": "session", "version": 3, "id": "rich", "timestamp": time, "cwd": "/home/u"},
        {
            "type": "message",
            "id": "a",
            "parentId": None,
            "timestamp": time,
            "message": {"role": "user", "content": ""},
        },
        {
            "type": "compaction",
            "id": "b",
            "parentId": "a",
            "timestamp": time,
            "summary": "",
            "firstKeptEntryId": "a",
            "retainedTail": [{"role": "system", "content": ""}],
        },
    ]
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)

    made = convert(read(data, PI), TARGETS[name], HEADER)

    assert sum(made.fidelity.counted().values()) == made.fidelity.entries == 2


@pytest.mark.parametrize("name", FOREIGN)
def test_what_a_conversion_adds_has_another_id_than_what_an_earlier_one_added(name):
    time = "2026-01-01T00:00:00.000Z"
    link = {"timestamp": time, "parentId": "a"}
    rows = [
        {"type": "session", "version": 3, "id": "rich", "timestamp": time, "cwd": "/home/u"},
        {
            **link,
            "type": "message",
            "id": "a",
            "parentId": None,
            "message": {"role": "user", "content": "one"},
        },
        {**link, "type": "message", "id": "b", "message": {"role": "user", "content": "two"}},
        {**link, "type": "leaf", "id": "c", "targetId": "a"},
    ]
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    first = written(convert(read(data, PI), TARGETS[name], HEADER).data, TARGETS[name])

    for other in FOREIGN:
        again = convert(first, TARGETS[other], HEADER)

        assert "duplicate-id" not in {found.kind for found in written(again.data, TARGETS[other]).findings}


@few
@given(data=rich_sessions())
def test_a_document_for_opencode_holds_every_field_that_the_report_does_not_name(data):
    """The report is made of lines, which become a document at the end: nothing may be lost on the way."""
    source, imports, documents = read(data, PI), OPENCODE.imports, OPENCODE.documents
    assert imports is not None
    assert documents is not None

    made = convert(source, OPENCODE.for_import(), HEADER)
    document = imports.document(made.data)

    content = SizedContent(lambda offset, size: document[offset : offset + size], len(document))
    lines = read(made.data, OPENCODE)
    back = read(b"".join(documents.lines(content, "a.json", lambda _: None)), OPENCODE)
    assert sum(made.fidelity.counted().values()) == made.fidelity.entries == len(source.tree)
    assert back.reading.findings == []
    assert said(back) == said(lines)
    wanted, found = _by_call(lines), _by_call(back)
    assert len(wanted) == len(found)
    for name, entry in wanted.items():
        assert missing_fields(entry, found[name]) == ()


def _by_call(session) -> dict[tuple[str, int], Entry]:
    """The conversation by place; results, which may be in another order, by the number of their call."""
    calls: dict[str, int] = {}
    found: dict[tuple[str, int], Entry] = {}
    made = others = 0
    for position, kind in enumerate(session.tree.types):
        if kind in ("session_info", "leaf"):
            continue
        entry = session.entry(position)
        message = entry.message if isinstance(entry, MessageEntry) else None
        if isinstance(message, ToolResult):
            found["result", calls[message.tool_call_id]] = entry
            continue
        found["other", others] = entry
        others += 1
        if isinstance(message, AssistantMessage):
            for block in message.content:
                if isinstance(block, ToolCall):
                    calls[block.id] = made
                    made += 1
    return found


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("value", ["1e400", "-1e400", "NaN", "1" + "0" * 400])
def test_a_time_that_is_no_moment_stops_no_conversion(name, value):
    data = (
        b'{"type":"session","version":3,"id":"rich","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/home/u"}\n'
        b'{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z",'
        b'"message":{"role":"user","content":"hello","timestamp":' + value.encode() + b"}}\n"
    )

    made = convert(read(data, PI), TARGETS[name], HEADER)

    assert b"hello" in made.data
    assert sum(made.fidelity.counted().values()) == 1
