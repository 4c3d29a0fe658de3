"""Sessions of Operator are read as its own rules say, and better where those lose something."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from branchline import Session, SessionLibrary
from branchline.context import build_context, close_tool_calls, selected_entries, to_model, totals
from branchline.entries import (
    AssistantMessage,
    Compaction,
    CustomMessage,
    Damaged,
    Image,
    Label,
    Leaf,
    MessageEntry,
    ModelChange,
    SessionInfo,
    Text,
    Thinking,
    ThinkingLevelChange,
    ToolCall,
    ToolResult,
    Unknown,
    UnknownBlock,
)
from branchline.errors import ReadOnly
from branchline.formats import PI, detect
from branchline.formats.integrity import check_log
from branchline.formats.operator import OPERATOR
from formats.operator_kit import (
    EXPECTED,
    HEADER,
    HEALTHY,
    SAMPLES,
    as_operator,
    context_letters,
    line_ids,
    read,
    sample,
)


def names(record):
    return record["file"].split("/")[-1]


def kinds(found):
    return [(finding.kind, finding.line) for finding in found.findings]


# -- samples ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("record", EXPECTED, ids=names)
def test_a_sample_is_known_by_its_first_bytes(record):
    path = SAMPLES / record["file"]

    assert detect(path.read_bytes()[: 1 << 16], str(path)) is OPERATOR


@pytest.mark.parity("OPR-01")
@pytest.mark.parametrize("record", EXPECTED, ids=names)
def test_a_sample_has_the_entries_leaf_and_path_that_its_manifest_says(record):
    found = read(SAMPLES / record["file"], record["file"])
    reading, tree = found.reading, found.tree

    everything = [position for position in range(len(tree)) if position not in tree.placeholders]
    counted = line_ids(found, everything)

    assert len(counted) == record["entries"]
    assert Counter(tree.types[tree.positions[key]] for key in counted) == record["types"]
    assert (None if reading.leaf < 0 else tree.keys[reading.leaf]) == record["leaf"]
    assert line_ids(found, tree.path_positions(reading.leaf)) == record["active_path"]
    assert [tree.keys[position] for position in tree.placeholders] == record["placeholders"]


@pytest.mark.parametrize("record", EXPECTED, ids=names)
def test_a_sample_has_the_header_that_its_manifest_says(record):
    reading = read(SAMPLES / record["file"], record["file"]).reading

    assert bool(reading.header_line) == record["has_header"]
    if reading.header is not None:
        assert reading.header.id == record["id"]
        assert reading.header.cwd == record["cwd"]
        assert reading.header.parent_session == record["parent_session"]
    assert (reading.read_only is None) == record["has_header"]


@pytest.mark.parametrize("record", EXPECTED, ids=names)
def test_a_sample_has_the_shape_that_its_manifest_says(record):
    tree = read(SAMPLES / record["file"]).tree
    several = [position for position in range(len(tree)) if len(tree.child_positions(position)) > 1]

    assert [tree.keys[position] for position in tree.tip_positions()] == record["leaves"]
    assert [tree.keys[position] for position in several] == record["branch_points"]
    assert tree.roots() == record["roots"]


@pytest.mark.parametrize("record", EXPECTED, ids=names)
def test_a_sample_has_the_labels_title_model_and_level_that_its_manifest_says(record):
    found = read(SAMPLES / record["file"])
    context = build_context(found, found.reading.leaf)

    assert {key: label.text for key, label in found.reading.labels.items()} == record["labels"]
    assert (found.reading.title or "") == record["title"]
    assert (f"{context.model.provider}/{context.model.id}" if context.model else "") == record["model"]
    assert context.thinking_level == record["thinking_level"]


@pytest.mark.parametrize("record", EXPECTED, ids=names)
def test_a_sample_has_the_context_and_usage_that_its_manifest_says(record):
    found = read(SAMPLES / record["file"])
    spent = totals(found).all.total

    assert context_letters(found) == record["context"]
    assert (spent.input, spent.output, spent.cost) == (
        record["input_tokens"],
        record["output_tokens"],
        record["cost_total"],
    )


@pytest.mark.parametrize("record", EXPECTED, ids=names)
def test_what_is_wrong_with_a_sample_is_reported_with_its_line(record):
    found = read(SAMPLES / record["file"])
    seen = [(finding.kind, finding.line) for finding in check_log(found)]
    tree = found.tree

    unreadable = sorted({line for kind, line in seen if kind in ("unreadable", "glued")})
    guessed = {line for kind, line in seen if kind in ("guessed-link", "orphan")}

    assert unreadable == record["unreadable_lines"]
    assert {found.reading.line_of(tree.positions[key]) for key in record["guessed_links"]} == guessed
    assert [line for kind, line in seen if kind == "encoding"] == record["invalid_utf8_lines"]
    problems = [line for kind, line in seen if kind in ("unknown", "bad-value", "leaf-target")]
    assert problems == [int(problem.split()[1].rstrip(":")) for problem in record["problems"]]
    assert ("no-final-newline" in dict(seen)) is not record["ends_with_newline"]


@pytest.mark.parametrize("record", HEALTHY, ids=names)
def test_a_healthy_sample_is_read_without_a_remark(record):
    assert check_log(read(SAMPLES / record["file"])) == []


@pytest.mark.parametrize("record", HEALTHY, ids=names)
def test_the_rules_of_operator_in_these_tests_are_those_of_the_manifest(record):
    ruled = as_operator((SAMPLES / record["file"]).read_bytes())

    assert (ruled["leaf"], ruled["path"]) == (record["operator"]["leaf"], record["operator"]["path"])


# -- records ----------------------------------------------------------------------------------------------


@pytest.mark.parity("OPR-04")
def test_every_kind_of_entry_becomes_a_record():
    path = sample("019eb0d0-6ff0")
    found = read(path)
    records = found.entries(range(len(found.tree)))

    assert {type(record).__name__ for record in records} == {
        "MessageEntry",
        "ModelChange",
        "ThinkingLevelChange",
        "SessionInfo",
        "Label",
    }
    model = next(record for record in records if isinstance(record, ModelChange))
    assert (model.provider, model.model_id, model.id) == ("anthropic", "claude-opus-4-7", "a855564a")
    assert next(r for r in records if isinstance(r, ThinkingLevelChange)).thinking_level == "high"
    assert next(r for r in records if isinstance(r, SessionInfo)).name == "Reading a.py"
    label = next(r for r in records if isinstance(r, Label))
    assert (label.target, label.label) == ("133bf9c7", "checkpoint")
    assert records[0].timestamp == "2026-06-10T09:15:14.414Z"


def test_an_answer_keeps_thoughts_calls_and_usage():
    found = read(sample("019eb0d0-6ff0"))

    message = found.entry(found.tree.positions["c217e45f"]).message

    assert isinstance(message, AssistantMessage)
    assert message.content == (
        Thinking(thinking="need the file", thinking_signature="c2ln"),
        ToolCall(id="c1", name="read", arguments={"path": "a.py", "limit": None}),
        ToolCall(id="c2", name="terminal", arguments={"command": "ls"}),
    )
    assert message.stop_reason == "toolUse"
    assert (message.usage.input, message.usage.output, message.usage.context_tokens) == (300, 40, 340)
    assert message.timestamp == 1781082918664


def test_the_results_of_one_message_are_entries_of_their_own_that_share_its_line():
    found = read(sample("019eb0d0-6ff0"))
    tree = found.tree

    first, last = (found.entry(tree.positions[key]) for key in ("09710175.1", "09710175"))

    assert first.message == ToolResult(
        tool_call_id="c1",
        tool_name="read",
        content=(Text(text="x=1"),),
        is_error=False,
        timestamp=1781082919284,
    )
    assert (last.message.tool_call_id, last.message.tool_name, last.message.is_error) == (
        "c2",
        "terminal",
        True,
    )
    assert (first.parent, last.parent) == ("c217e45f", "09710175.1")
    assert tree.parent("89ad070e") == "09710175"
    assert found.raw(tree.positions["09710175.1"]) == found.raw(tree.positions["09710175"])
    assert found.entries([2, 3]) == [first, last]


def test_every_tool_call_of_a_turn_is_answered_in_the_context():
    found = read(sample("019eb0d0-6ff0"))

    messages = to_model(build_context(found, found.reading.leaf))

    assert close_tool_calls(messages) == messages


def test_an_error_turn_is_left_out_of_what_is_sent():
    found = read(sample("019eb0d3-4c09"))
    messages = to_model(build_context(found, found.reading.leaf))

    assert [type(message).__name__ for message in close_tool_calls(messages)] == ["UserMessage"]
    assert messages[1].error_message


def test_a_compaction_whose_first_kept_entry_is_a_shared_line_keeps_all_of_it():
    lines = sample("019eb0d0-6ff0").read_bytes().splitlines(keepends=True)
    compaction = (
        b'{"id":"c0ffee00","timestamp":1781082935.0,"parent_id":"89ad070e","type":"compaction","summary":"s",'
        b'"first_kept_entry_id":"09710175","tokens_before":9,"from_hook":false}\n'
    )
    found = read(b"".join([*lines[:5], compaction]))

    record = found.entry(found.reading.leaf)
    context = build_context(found, found.reading.leaf)

    assert isinstance(record, Compaction)
    assert [item.entry for item in context.messages] == ["c0ffee00", "09710175.1", "09710175", "89ad070e"]


def test_pictures_are_told_by_their_first_bytes_and_addresses_stay_addresses():
    line = (
        b'{"id":"a","timestamp":1.0,"type":"message","message":{"contents":[{"type":"image","images":'
        b'["iVBORw0KGgoAAA","/9j/AAA","data:image/gif;base64,R0lG","https://x.example/a.png"]},'
        b'{"type":"audio","audio":["file:/a.wav"]}],"id":"m","timestamp":1.0,"role":"user"}}\n'
    )
    found = read(HEADER + line)

    assert found.entry(0).message.content == (
        Image(data="iVBORw0KGgoAAA", mime_type="image/png"),
        Image(data="/9j/AAA", mime_type="image/jpeg"),
        Image(data="R0lG", mime_type="image/gif"),
        UnknownBlock(type="image", fields={"type": "image", "images": ["https://x.example/a.png"]}),
        UnknownBlock(type="audio", fields={"type": "audio", "audio": ["file:/a.wav"]}),
    )


def test_what_has_no_counterpart_is_kept_with_all_its_fields():
    found = read(sample("019eb0d2-669c"))

    record = found.entry(0)

    assert isinstance(record, Unknown)
    assert (record.type, record.fields["chat_id"]) == ("channel", "42")


def test_explicit_nulls_mean_the_same_as_missing_keys():
    forked, plain = read(sample("019eb0d3-65b3")), read(sample("019eb0d1-9d8d"))

    assert b'"parent_id":null' in forked.raw(0)
    assert forked.tree.keys == plain.tree.keys
    assert forked.entries(range(13)) == plain.entries(range(13))
    assert forked.reading.inherited_entries == 13


# -- where it stands --------------------------------------------------------------------------------------


def entry(key, parent=None, kind="custom", time=1.0, **own):
    fields = {"id": key, "timestamp": time}
    if parent is not None:
        fields["parent_id"] = parent
    if kind == "message":
        own = {
            "message": {
                "contents": [{"type": "text", "content": own.get("text", "x")}],
                "id": "m",
                "timestamp": time,
                "role": own.get("role", "user"),
            }
        }
    elif kind == "custom":
        own = {"custom_type": "t"}
    return (
        json.dumps({**fields, "type": kind, **own}, separators=(",", ":"), ensure_ascii=False).encode()
        + b"\n"
    )


@pytest.mark.parity("OPR-05")
def test_a_move_decides_where_the_session_stands_until_the_next_entry():
    lines = [entry("a", kind="message"), entry("b", "a", "message"), entry("l", "b", "leaf", target_id="a")]

    moved = read(HEADER + b"".join(lines))
    gone_on = read(HEADER + b"".join([*lines, entry("c", "a", "message")]))

    assert (moved.leaf, gone_on.leaf) == ("a", "c")
    assert gone_on.tree.path("c") == ["a", "c"]


def test_a_move_to_nowhere_stands_before_the_first_entry():
    lines = [entry("a", kind="message"), entry("l", "a", "leaf")]

    assert read(HEADER + b"".join(lines)).leaf is None
    assert read(HEADER + b"".join([*lines, entry("b", kind="message")])).leaf == "b"


def test_a_move_may_point_at_a_move_which_then_is_the_tip():
    lines = [
        entry("a", kind="message"),
        entry("b", "a", "message"),
        entry("l", "b", "leaf", target_id="a"),
        entry("k", "a", "leaf", target_id="l"),
    ]

    found = read(HEADER + b"".join(lines))

    assert found.tree.keys[found.reading.leaf] == "l"
    assert found.leaf == "b"


def test_ids_and_targets_mean_the_nearest_entry_above():
    lines = [
        entry("a", kind="message", text="one"),
        entry("b", "a", "message"),
        entry("a", "b", "message", text="two"),
        entry("l", "a", "label", label="second", target_id="a"),
        entry("c", "a", "message"),
        entry("early", "c", "label", label="x", target_id="late"),
        entry("late", "c", "message"),
    ]

    found = read(HEADER + b"".join(lines))

    assert found.tree.parent("c") == "a#2"
    assert {key: label.text for key, label in found.reading.labels.items()} == {"a#2": "second"}
    assert kinds(found) == [("duplicate-id", 4), ("label-target", 7)]


def test_a_target_is_above_its_pointer_also_where_a_later_entry_has_the_same_id():
    lines = [
        entry("a", kind="message", text="one"),
        entry("b", "a", "message"),
        entry("l", "b", "label", label="first", target_id="a"),
        entry("a", "b", "message", text="two"),
        entry("m", "a", "leaf", target_id="b"),
        entry("b", "a", "message"),
    ]

    found = read(HEADER + b"".join(lines))

    assert {key: label.text for key, label in found.reading.labels.items()} == {"a": "first"}
    assert kinds(found) == [("duplicate-id", 5), ("duplicate-id", 7)]


def test_a_target_that_is_no_text_may_be_an_id_written_as_a_number():
    lines = [entry("7", kind="message"), entry("b", "7", "message"), entry("l", "b", "leaf", target_id=7)]

    found = read(HEADER + b"".join(lines))

    assert found.leaf == "7"
    assert found.entry(2).target == "7"


def test_a_compaction_keeps_the_whole_line_of_results_that_shares_its_id_with_an_earlier_entry():
    answer = {"contents": [{"type": "tool_result", "id": key, "content": "r"} for key in ("c1", "c2")]}
    answer |= {"id": "m", "timestamp": 3.0, "role": "tool"}
    shared = {"id": "a", "timestamp": 3.0, "parent_id": "b", "type": "message", "message": answer}
    compaction = entry("c", "a", "compaction", summary="s", first_kept_entry_id="a", tokens_before=1)
    lines = [entry("a", kind="message"), entry("b", "a", "message"), json.dumps(shared).encode() + b"\n"]

    fast = read(HEADER + b"".join([*lines, compaction]))
    careful = read(HEADER + b"".join([*lines, b"\n", compaction]))

    assert fast.entry(4).first_kept == careful.entry(4).first_kept == "a.1"


def test_the_title_is_that_of_the_branch():
    lines = [
        entry("a", kind="message"),
        entry("t", "a", "session_info", name="  first  "),
        entry("b", "t", "message"),
        entry("u", "b", "session_info", name="   "),
        entry("c", "u", "message"),
    ]

    assert read(HEADER + b"".join(lines)).reading.title == "first"
    lines.append(entry("l", "c", "leaf", target_id="a"))
    assert read(HEADER + b"".join(lines)).reading.title is None
    lines += [entry("v", "a", "session_info", name="other"), entry("d", "v", "message")]
    assert read(HEADER + b"".join(lines)).reading.title == "other"
    lines.append(entry("m", "d", "leaf", target_id="b"))
    assert read(HEADER + b"".join(lines)).reading.title == "first"


def test_the_last_message_is_the_newest_that_was_spoken():
    lines = [
        entry("a", kind="message", time=50.0),
        entry("b", "a", "message", time=20.0, role="assistant"),
        entry("c", "b", "message", time=90.0, role="system"),
    ]

    assert read(HEADER + b"".join(lines)).reading.last_message_time == 50_000


# -- damage -----------------------------------------------------------------------------------------------


def test_a_file_without_a_header_is_known_by_its_name_and_never_written(tmp_path):
    lines = sample("019eb0d0-4e6b").read_bytes().splitlines(keepends=True)
    path = tmp_path / sample("019eb0d0-4e6b").name
    path.write_bytes(b'{"type":"sess\n' + b"".join(lines[1:]))

    with Session.open(path) as session:
        assert (session.id, session.header.timestamp) == (
            "019eb0d0-4e6b-7ad7-ab51-8362b10cdb6d",
            "2026-06-10T09:15:02.123Z",
        )
        with pytest.raises(ReadOnly, match="no header"):
            session.append_message("hello")
        assert len(session.path()) == 4


def test_a_file_of_a_newer_version_is_read_and_not_written():
    found = read(HEADER.replace(b'"version":3', b'"version":4') + entry("a", kind="message"))

    assert found.leaf == "a"
    assert found.reading.read_only == "it is of version 4, newer than 3"
    assert kinds(found) == [("newer-version", 1)]


def test_a_second_header_is_no_entry():
    found = read(HEADER + entry("a", kind="message") + HEADER)

    assert kinds(found) == [("extra-header", 3)]
    assert found.leaf == "a"


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (entry("b", "a", "poll"), "unknown"),
        (entry("b", "a", "message", role="oracle"), "unknown"),
        (entry("b", "a", "message").replace(b'"text"', b'"video"'), "unknown"),
        (entry("b", "a", "message").replace(b'"role"', b'"stop_reason":"tired","role"'), "unknown"),
        (entry("b", "a", "message").replace(b'"contents":[', b'"contents":{"x":[').replace(b"],", b"]},"), "bad-value"),
        (b'{"id":"b","timestamp":2.0,"parent_id":"a","type":"message"}\n', "bad-value"),
        (b'{"id":"b","timestamp":"2026","parent_id":"a","type":"custom","custom_type":"t"}\n', "bad-value"),
    ],
    ids=["type", "role", "part", "stop reason", "contents", "no message", "time"],
)  # fmt: skip
def test_an_entry_that_operator_would_skip_still_links(line, kind):
    found = read(HEADER + entry("a", kind="message") + line + entry("c", "b", "message"))

    assert found.tree.path("c") == ["a", "b", "c"]
    assert kinds(found) == [(kind, 3)]
    assert found.entry(1).id == "b"


def test_a_torn_entry_keeps_its_place_and_is_never_the_leaf():
    torn = entry("b", "a", "message")[:60]
    found = read(HEADER + entry("a", kind="message") + torn + b"\n" + entry("c", "b", "message") + torn)

    assert isinstance(found.entry(1), Damaged)
    assert found.tree.path("c") == ["a", "b", "c"]
    assert found.leaf == "c"


def test_an_object_inside_a_torn_entry_is_not_taken_for_an_entry():
    call = b'{"id":"b","timestamp":2.0,"parent_id":"a","type":"custom","custom_type":"t","data":{"id":"x"}'
    found = read(HEADER + entry("a", kind="message") + call + b"\n")

    assert kinds(found) == [("unreadable", 3)]
    assert found.tree.keys == ["a", "b"]


@pytest.mark.parametrize(
    "head", [b"", b"{}\n", b'{"type":"poll"}\n', b"hello\n", b'{"type":"session","id":"x"}\n']
)
def test_files_of_others_are_not_taken(head):
    assert not OPERATOR.reader.sniff(head, "x.jsonl")


def test_a_session_of_pi_is_not_taken():
    header = b'{"type":"session","version":3,"id":"s","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p"}\n'

    assert detect(header, "x.jsonl") is PI


def test_the_older_flat_store_of_operator_is_recognized_by_its_first_line():
    assert (
        detect(b'{"type": "metadata", "id": "x", "created_at": 1.0, "metadata": {}}\n', "x.jsonl") is OPERATOR
    )
    assert not OPERATOR.reader.sniff(b'{"type": "metadata", "id": "x"}\n', "x.jsonl")


def test_custom_messages_are_in_the_context_and_custom_data_is_not():
    found = read(sample("019eb0d2-b783"))
    records = found.entries(range(len(found.tree)))

    note = next(record for record in records if isinstance(record, CustomMessage))

    assert (note.custom_type, note.content, note.display) == (
        "ext.note",
        (Text(text="remember the freeze"),),
        True,
    )
    assert "b96fd531" not in selected_entries(found, found.reading.leaf)


def test_leaf_records_name_their_target():
    found = read(sample("019eb0d1-1a38"))

    records = [record for record in found.entries(range(len(found.tree))) if isinstance(record, Leaf)]

    assert [record.target for record in records] == ["adfebdd1"]
    assert isinstance(found.entry(0), MessageEntry)


# -- a folder of them -------------------------------------------------------------------------------------


@pytest.mark.parity("OPR-13")
def test_a_folder_of_all_projects_is_listed_by_the_last_change():
    rows = SessionLibrary(SAMPLES / "profiles" / "default" / "sessions").list(deep=True)

    changed = [row.modified_ms for row in rows]
    assert changed == sorted(changed, reverse=True)
    assert len(rows) == 11
    assert {row.format for row in rows} == {"operator"}


@pytest.mark.parity("OPR-13")
def test_a_folder_of_all_projects_is_filtered_by_the_working_directory_in_the_header():
    rows = SessionLibrary(SAMPLES / "profiles" / "default" / "sessions", cwd="/home/dev/other").list(
        deep=True
    )

    assert [row.id for row in rows] == ["019eb0d3-65b3-70bf-bacf-b8592e53c68b"]
