"""Sessions of zot as they are read: every sample, and the rules that the samples do not show."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from branchline import Session, SessionLibrary
from branchline.context import build_context, close_tool_calls, totals, usage_rows
from branchline.entries import (
    AssistantMessage,
    CompactionSummaryMessage,
    Custom,
    Image,
    MessageEntry,
    ModelChange,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownMessage,
    UsageEntry,
    UserMessage,
    message_text,
)
from branchline.formats import detect
from branchline.formats.integrity import check_log
from branchline.formats.zot import ZOT
from branchline.library.row_reader import first_prompt_line, one_line
from formats.zot_kit import (
    EXPECTED,
    LETTERS,
    META,
    SAMPLES,
    context_letters,
    message,
    read,
    rows,
    sample,
    usage,
)

KINDS = {
    Text: "text",
    Image: "image",
    Thinking: "reasoning",
    ToolCall: "tool_call",
    ToolResult: "tool_result",
}
each_sample = pytest.mark.parametrize("expected", EXPECTED, ids=lambda expected: Path(expected["file"]).stem)


def messages_of(path: Path) -> list:
    found = read(path)
    entries = found.entries(range(len(found.tree)))
    return [entry.message for entry in entries if isinstance(entry, MessageEntry)]


# -- samples ----------------------------------------------------------------------------------------------


@each_sample
def test_a_sample_is_recognized_by_its_rows(expected):
    path = SAMPLES / expected["file"]

    assert ZOT.reader.sniff(path.read_bytes()[:65536], str(path)) == bool(expected["lines"])
    assert not expected["lines"] or detect(path.read_bytes()[:65536], str(path)) is ZOT


@each_sample
def test_a_sample_gives_every_row_and_stands_on_its_last_one(expected):
    found = read(SAMPLES / expected["file"])

    found_rows = rows(found)

    assert Counter(kind for _, kind in found_rows) == expected["rows"]
    roles = [LETTERS[found.tree.roles[position] or ""] for position, kind in found_rows if kind == "message"]
    assert "".join(roles) == expected["roles"]
    assert found.tree.parents == list(range(-1, len(found.tree) - 1))
    assert found.reading.leaf == len(found.tree) - 1


@each_sample
def test_a_sample_tells_who_it_is_and_where_it_comes_from(expected):
    reading = read(SAMPLES / expected["file"]).reading

    header = reading.header
    metadata = (header.metadata if header else None) or {}

    assert (header.id if header else None) == expected["id"]
    assert (header.cwd if header else None) == expected["cwd"]
    assert (header.parent_session if header else None) == expected["parent"]
    assert metadata.get("fork_point") == expected["fork_point"]
    assert (metadata.get("provider"), metadata.get("model")) == (expected["provider"], expected["model"])
    assert (reading.title or "") == expected["title"]


@each_sample
def test_a_sample_holds_the_blocks_that_its_rows_hold(expected):
    found = read(SAMPLES / expected["file"])

    blocks: list[list] = []
    for position in range(len(found.tree)):
        entry = found.entry(position)
        if not isinstance(entry, MessageEntry):
            continue
        said = entry.message
        if isinstance(said, ToolResult):
            kinds, role = ["tool_result"], "tool"
        elif isinstance(said, CompactionSummaryMessage):
            kinds, role = ["text"], "user"
        else:
            kinds, role = [KINDS[type(block)] for block in said.content], found.tree.roles[position]
        if position in found.reading.numbers:
            blocks[-1][1] += kinds
        else:
            blocks.append([role, kinds])

    assert blocks == expected["blocks"]


@each_sample
def test_a_sample_counts_its_cost_once_and_tells_what_it_inherited(expected):
    found = read(SAMPLES / expected["file"])

    spent = totals(found, inherited_entries=found.reading.inherited_entries)

    assert spent.all.total.cost == pytest.approx(expected["cost_total"])
    assert spent.inherited.total.cost == pytest.approx(expected["cost_inherited"])


@each_sample
def test_the_context_of_a_sample_is_every_message_in_order(expected):
    found = read(SAMPLES / expected["file"])

    assert context_letters(found) == expected["roles"]
    context = build_context(found, found.reading.leaf)
    if expected["model"]:
        assert context.model is not None
        assert (context.model.provider, context.model.id) == (expected["provider"], expected["model"])


@each_sample
def test_the_damage_of_a_sample_is_found_on_its_lines(expected):
    found = read(SAMPLES / expected["file"])

    findings = check_log(found)
    lines = {
        kind: {one.line for one in findings if one.kind == kind} for kind in {one.kind for one in findings}
    }

    unreadable = lines.pop("unreadable", set()) | lines.pop("glued", set())
    assert sorted(unreadable) == expected["unreadable_lines"]
    assert sorted(lines.pop("encoding", set())) == expected["invalid_utf8_lines"]
    assert bool(lines.pop("bom", set())) == expected["bom"]
    assert bool(lines.pop("no-final-newline", set())) != expected["ends_with_newline"]
    assert lines.keys() <= {"no-header", "empty"}


@each_sample
def test_the_first_prompt_of_a_sample_is_found(expected):
    found = read(SAMPLES / expected["file"])

    words = next((message_text(said, "") for said in messages_of(SAMPLES / expected["file"])
                  if isinstance(said, UserMessage | CompactionSummaryMessage)), "")  # fmt: skip

    assert words == expected["first_prompt"]
    if expected["parent"] is None:
        assert (first_prompt_line(found) or "") == one_line(expected["first_prompt"])


def test_every_sample_file_is_named_in_the_list():
    listed = {expected["file"] for expected in EXPECTED}

    there = {
        str(path.relative_to(SAMPLES))
        for path in SAMPLES.rglob("*")
        if path.suffix in (".jsonl", ".zotsession")
    }

    assert there == listed


# -- rows -------------------------------------------------------------------------------------------------


@pytest.mark.parity("ZOT-12")
def test_blocks_of_every_kind_are_read_by_the_keys_that_they_have():
    _, answer, first, second, pictured, _ = messages_of(sample("468d3552"))

    thoughts, words, call, other = answer.content
    assert thoughts.thinking == "I should read the file first."
    assert '"id":"rs_0a1b2c"' in thoughts.thinking_signature
    assert '"encrypted_content":"b3BhcXVlLXJlYXNvbmluZw=="' in thoughts.thinking_signature
    assert words.text == "Let me look."
    assert (call.id, call.name, call.arguments) == ("call_1", "read", {"path": "main.go"})
    assert other.arguments["timeout"] == 12345678901234567890
    assert (first.tool_call_id, first.tool_name, first.is_error) == ("call_1", "read", False)
    assert [type(block) for block in first.content] == [Text, Image]
    assert (second.tool_call_id, second.tool_name, second.is_error) == ("call_2", "bash", True)
    assert isinstance(pictured.content[2], Image)


def test_blocks_that_zot_itself_loses_are_kept():
    _, answer, result, silent, *_ = messages_of(sample("e4abb16d"))

    assert [type(block) for block in answer.content] == [Thinking, ToolCall, Text]
    assert result.content == (Text(text="result without call id"),)
    assert silent.content == ()


def test_the_results_in_one_row_are_entries_with_the_same_line():
    found = read(sample("468d3552"))
    results = [place for place, role in enumerate(found.tree.roles) if role == "toolResult"]

    first, second = results

    assert found.raw(first) == found.raw(second)
    assert found.reading.line_of(first) == found.reading.line_of(second) == 4
    assert found.tree.keys[second] == found.tree.keys[first] + ".2"
    assert [entry.message.tool_call_id for entry in found.entries(results)] == ["call_1", "call_2"]


def test_who_answered_is_told_by_the_meta_row_before():
    found = read(sample("468d3552"))

    answers = [m for m in messages_of(sample("468d3552")) if isinstance(m, AssistantMessage)]

    assert [answer.model for answer in answers] == ["gpt-5-codex", "claude-opus-4-1"]
    changes = [e for e in found.entries(range(len(found.tree))) if isinstance(e, ModelChange)]
    assert [change.model_id for change in changes] == ["gpt-5-codex", "claude-opus-4-1"]


def test_a_summary_row_is_a_summary_that_cuts_nothing():
    said, _ = messages_of(sample("95879511"))

    assert isinstance(said, CompactionSummaryMessage)
    assert said.summary.startswith("## Context Summary (compacted)\n\n## Goal")
    assert said.tokens_before == 84211


def test_a_row_of_unknown_type_is_kept_and_says_nothing():
    found = read(sample("unknown-row-type"))

    (kept,) = [e for e in found.entries(range(len(found.tree))) if isinstance(e, Custom)]

    assert kept.custom_type == "bookmark"
    assert found.reading.line_of(found.tree.positions[kept.id]) == 4


def test_a_message_of_another_role_or_shape_is_kept():
    data = (
        META
        + message("oracle", {"text": "soon"})
        + message("user")
        + b'{"type":"message","message":{"role":"user","content":"plain","time":"soon"}}\n'
    )

    *_, oracle, empty, plain = read(data).entries(range(4))

    assert isinstance(oracle.message, UnknownMessage)
    assert empty.message.content == ()
    assert plain.message.content == (Text(text="plain"),)
    assert plain.timestamp == ""


@pytest.mark.parametrize(
    ("zone", "instant"),
    [
        ("2026-11-15T02:28:27.749376745-05:00", "2026-11-15T07:28:27.749376745Z"),
        ("2026-11-15T00:58:27.5+05:30", "2026-11-14T19:28:27.500Z"),
        ("2026-11-15T00:58:27Z", "2026-11-15T00:58:27.000Z"),
        ("0001-01-01T00:00:00Z", ""),
        ("yesterday 2026-11-15T00:58:27.060660242Z", ""),
    ],
)
def test_times_of_any_zone_become_times_that_can_be_compared(zone, instant):
    found = read(META + message("user", {"text": "x"}, time=zone))

    assert found.tree.times[-1] == instant


def test_answers_without_words_are_quiet():
    call = {"id": "c", "name": "read", "arguments": {}}
    data = (
        META
        + message("assistant", call)
        + message("assistant", call, {"text": "look"})
        + message("assistant", {"text": " "})
    )

    assert read(data).tree.textless == {1, 3}


# -- ids --------------------------------------------------------------------------------------------------


def test_an_id_is_made_from_its_row_and_the_same_on_every_load():
    path = sample("43d9df14")

    assert read(path).tree.keys == read(path).tree.keys
    assert len(set(read(path).tree.keys)) == len(read(path).tree)


@pytest.mark.parity("ZOT-01")
def test_what_a_fork_took_from_its_parent_has_the_same_ids_there():
    parent, fork = read(sample("43d9df14")), read(sample("7d292eb4"))

    assert fork.tree.keys[1:] == parent.tree.keys[1 : len(fork.tree)]


def test_a_row_that_occurs_again_has_an_id_of_its_own():
    row = message("user", {"text": "again"})
    found = read(META + row * 3 + usage(tokens=10, cost=0.1) * 2)

    keys = found.tree.keys

    assert keys[2:4] == [f"{keys[1]}-2", f"{keys[1]}-3"]
    assert keys[4:] == [f"{keys[3]}u1", f"{keys[3]}u2"]


# -- usage ------------------------------------------------------------------------------------------------


@pytest.mark.parity("ZOT-11")
def test_usage_rows_tell_what_each_turn_added_and_the_total_so_far():
    found = read(sample("43d9df14"))

    turns = list(usage_rows(found))

    assert [row.usage.cost for row in turns] == [0.01, 0.01, 0.01]
    assert [row.cumulative.cost for row in turns] == pytest.approx([0.01, 0.02, 0.03])
    assert [row.usage.total_tokens for row in turns] == [1100, 1100, 1100]
    assert {row.model for row in turns} == {"anthropic/claude-sonnet-4-5"}


def test_a_total_that_is_repeated_adds_nothing():
    found = read(META + usage(tokens=10, cost=0.1) + usage(tokens=10, cost=0.1) + usage(tokens=30, cost=0.25))

    added = [e.usage.cost.total for e in found.entries(range(1, 4)) if isinstance(e, UsageEntry)]

    assert added == [0.1, 0, 0.15]


@pytest.mark.parity("ZOT-02")
def test_the_cost_of_a_fork_is_inherited_up_to_its_first_message_of_its_own():
    found = read(sample("8812b373"))

    spent = totals(found, inherited_entries=found.reading.inherited_entries)

    assert spent.inherited.total.cost == pytest.approx(0.01)
    assert spent.own.total.cost == pytest.approx(0.009)


def test_a_fork_that_asked_for_more_than_there_was_owns_what_is_younger_than_itself():
    fork = META.replace(b'"version":"0.1.62"', b'"version":"0.1.62","parent":"p","fork_point":99')
    old = message("user", {"text": "old"}, time="2026-11-15T06:00:00.000000001Z")
    new = message("user", {"text": "new"}, time="2026-11-15T08:00:00.000000001+01:00")
    found = read(fork + old + usage(tokens=10, cost=0.1) + new + usage(tokens=20, cost=0.3))

    spent = totals(found, inherited_entries=found.reading.inherited_entries)

    assert spent.inherited.total.cost == pytest.approx(0.1)
    assert spent.own.total.cost == pytest.approx(0.2)


@pytest.mark.parity("ZOT-02")
def test_over_all_sessions_of_a_directory_everything_counts_once():
    paths = [sample(name) for name in ("43d9df14", "7d292eb4", "8812b373", "412e9ea9")]

    own = [
        totals(found, inherited_entries=found.reading.inherited_entries).own.total.cost
        for found in map(read, paths)
    ]

    assert sum(own) == pytest.approx(0.03 + 0.009)


# -- contexts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["9a90cf58", "1c7b7819"])
def test_every_call_is_answered_before_a_model_sees_it(name):
    found = read(sample(name))

    closed = close_tool_calls(item.message for item in build_context(found, found.reading.leaf).messages)

    asked = [
        block.id
        for m in closed
        if isinstance(m, AssistantMessage)
        for block in m.content
        if isinstance(block, ToolCall)
    ]
    assert [m.tool_call_id for m in closed if isinstance(m, ToolResult)] == asked


# -- files and places -------------------------------------------------------------------------------------


def test_a_file_without_a_readable_meta_row_is_known_by_its_name_and_only_read():
    data = sample("bad-first-meta").read_bytes()

    reading = read(data, "/x/sessions/decceffad0360217/20261115-072812-f27a4840.jsonl").reading

    assert reading.header is not None
    assert (reading.header.id, reading.header.timestamp) == ("f27a4840", "2026-11-15T07:28:12.000Z")
    assert reading.read_only
    assert read(data, "anything.jsonl").reading.header is None


@pytest.mark.parity("ZOT-13")
def test_the_folder_of_a_working_directory_is_zots():
    home = "/home/dev"

    assert ZOT.home.directory("/home/dev/acme", {"ZOT_HOME": "/z"}, home) == "/z/sessions/decceffad0360217"
    assert ZOT.home.directory("/home/dev/acme/", {"ZOT_HOME": "/z"}, home) == "/z/sessions/2031976951db625b"
    assert (
        ZOT.home.directory("/home/dev/acme", {"XDG_STATE_HOME": "/s"}, home)
        == "/s/zot/sessions/decceffad0360217"
    )
    assert ZOT.home.roots({}, home) == ["/home/dev/.local/state/zot/sessions"]
    assert ZOT.home.roots({}, "") == [".zot/sessions"]


def test_other_systems_have_other_roots(monkeypatch):
    monkeypatch.setattr("sys.platform", "darwin")
    assert ZOT.home.roots({}, "/Users/dev") == ["/Users/dev/Library/Application Support/zot/sessions"]
    monkeypatch.setattr("sys.platform", "win32")
    assert ZOT.home.roots({"LOCALAPPDATA": "/local"}, "/Users/dev") == ["/local/zot/sessions"]


@pytest.mark.parity("ZOT-13")
def test_the_sessions_of_zots_folder_are_listed():
    library = SessionLibrary(SAMPLES / "sessions" / "decceffad0360217")

    rows_ = library.list(deep=True)

    assert len(rows_.readable) == 14
    assert {row.format for row in rows_} == {"zot"}
    assert {row.cwd for row in rows_} == {"/home/dev/acme"}


@pytest.mark.parity("ZOT-03")
def test_the_forest_hangs_forks_below_their_parents():
    forest = SessionLibrary(SAMPLES / "sessions" / "decceffad0360217").forest()

    below = {row.row.id[:8]: row.parent and row.parent[-8:] for row in forest}

    assert len(forest) == 14
    assert {name: parent for name, parent in below.items() if parent} == {
        "7d292eb4": "43d9df14",
        "8812b373": "43d9df14",
        "412e9ea9": "8812b373",
    }
    (orphan,) = [row for row in forest if row.row.id.startswith("1214c85f")]
    assert orphan.depth == 0
    assert "4b1a655f" in (orphan.note or "")


@pytest.mark.parity("ZOT-03")
def test_sessions_that_name_each_other_as_parents_are_all_shown():
    forest = SessionLibrary(SAMPLES / "damaged/parent-cycle/sessions/decceffad0360217").forest()

    assert sorted(row.row.id[:8] for row in forest) == ["1a80f41b", "4d5802a1", "78ed06cd"]
    assert [row.row.id[:8] for row in forest if row.note] == ["4d5802a1"]


@pytest.mark.parity("ZOT-06")
def test_a_session_is_described_at_a_glance():
    library = SessionLibrary(SAMPLES / "sessions" / "decceffad0360217")

    found = library.describe("20261115-072813-468d3552")

    assert found.started == "2026-11-15T07:28:13.5683535Z"
    assert (found.provider, found.model) == ("anthropic", "claude-opus-4-1")
    assert found.first_prompt == "what is in this picture, and fix the build"
    assert found.title == "fix the build"
    assert found.messages == 6  # the row with two results counts for two
    assert found.cost == pytest.approx(0.01925)


@pytest.mark.parity("ZOT-10")
def test_the_model_of_the_last_switch_is_in_force_after_opening():
    with Session.open(sample("5b9d6080")) as session:
        model = session.context().model

    assert model is not None
    assert (model.provider, model.id) == ("openai", "gpt-5.1")


@pytest.mark.parity("ZOT-16")
def test_a_line_of_100_megabytes_opens():
    text = "x" * 100_000_000
    found = read(META + message("user", {"text": text}) + message("assistant", {"text": "long"}))

    entry = found.entry(1)

    assert isinstance(entry, MessageEntry)
    assert len(message_text(entry.message)) == len(text)
    assert not found.findings


def test_what_is_not_zots_is_not_taken_for_it():
    pi = b'{"type":"session","version":3,"id":"x","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}\n'

    assert not ZOT.reader.sniff(pi + message("user", {"text": "x"}), "x.jsonl")
    assert not ZOT.reader.sniff(
        b'{"type":"message","id":"a","parentId":null,"message":{"role":"user"}}\n', "x.jsonl"
    )
    assert not ZOT.reader.sniff(
        b'{"type":"message","timestamp":"t","message":{"role":"user","content":[]}}\n', "x.jsonl"
    )
    assert not ZOT.reader.sniff(b'{"type":[],"message":{}}\n', "x.jsonl")
    assert not ZOT.reader.sniff(b"hello\n", "x.jsonl")
    assert ZOT.reader.sniff(b'{"meta":{"id":"x"},"type":"meta"}\n', "x.jsonl")
    assert ZOT.reader.sniff(b"\0\0\0\n" + message("user", {"text": "x"}), "x.jsonl")
    assert ZOT.reader.sniff(b"", "sessions/0011223344556677/20261115-072812-f27a4840.jsonl")


def test_what_an_answer_cost_is_told_in_any_order_of_asking():
    rows = [META, *(usage(tokens=total, cost=0) for total in (3, 10, 24, 25))]
    found = read(b"".join(rows))
    places = [place for place, kind in enumerate(found.tree.types) if kind == "usage"]

    forward = [found.entry(place).usage.input for place in places]
    backward = [found.entry(place).usage.input for place in reversed(places)]

    assert forward == [3, 7, 14, 1]
    assert backward == forward[::-1]
    assert found.reading.totals.input_tokens == 25
