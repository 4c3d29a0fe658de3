"""Sessions of induscode are read as it writes them, and the place is found where its own reader loses it."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from branchline import Session, places
from branchline.context import build_context, totals, usage_rows
from branchline.entries import (
    AssistantMessage,
    BashExecution,
    BranchSummary,
    CompactionSummaryMessage,
    CustomMessage,
    Damaged,
    Header,
    MessageEntry,
    Text,
    ToolResult,
    UnknownMessage,
    UserMessage,
)
from branchline.formats import PI, detect
from branchline.formats.induscode import INDUSCODE
from branchline.formats.integrity import check_log
from branchline.tree import severity
from formats.induscode_kit import (
    EXPECTED,
    SAMPLES,
    as_induscode,
    context_letters,
    head,
    line,
    node,
    read,
    sample,
)


def names(record):
    return record["file"].split("/")[-1]


def kinds(found):
    return [(finding.kind, finding.line) for finding in found.findings]


def leaf(found):
    return None if found.reading.leaf < 0 else found.tree.keys[found.reading.leaf]


# -- samples ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("record", EXPECTED, ids=names)
def test_a_sample_is_known_by_its_first_bytes(record):
    path = SAMPLES / record["file"]

    assert detect(path.read_bytes()[: 1 << 16], str(path)) is INDUSCODE


@pytest.mark.parity("IND-11")
@pytest.mark.parametrize("record", EXPECTED, ids=names)
def test_a_sample_has_the_entries_leaf_and_path_that_its_manifest_says(record):
    path = SAMPLES / record["file"]
    found = read(path, str(path))
    tree = found.tree
    whole = [position for position in range(len(tree)) if position not in tree.placeholders]

    assert len(whole) == record["entries"]
    assert (
        Counter(json.loads(found.raw(p).decode("utf-8", "replace"))["role"] for p in whole)
        == record["node_roles"]
    )
    assert leaf(found) == record["leaf"]
    assert tree.path(leaf(found)) == record["active_path"]
    assert [tree.keys[position] for position in tree.placeholders] == record["placeholders"]


@pytest.mark.parametrize("record", EXPECTED, ids=names)
def test_a_sample_has_the_shape_that_its_manifest_says(record):
    tree = read(SAMPLES / record["file"]).tree
    several = [position for position in range(len(tree)) if len(tree.child_positions(position)) > 1]

    assert tree.roots() == record["roots"]
    assert [tree.keys[position] for position in several] == record["branch_points"]
    assert [tree.keys[position] for position in tree.tip_positions()] == record["leaves"]


@pytest.mark.parametrize("record", EXPECTED, ids=names)
def test_a_sample_has_the_context_model_and_cost_that_its_manifest_says(record):
    found = read(SAMPLES / record["file"])
    context = build_context(found, found.reading.leaf)
    on_path = sum(row.usage.cost for row in usage_rows(found, found.tree.path_positions(found.reading.leaf)))

    assert context_letters(found) == record["context"]
    assert (f"{context.model.provider}/{context.model.id}" if context.model else "") == record["model"]
    assert totals(found).all.total.cost == pytest.approx(record["cost_total"])
    assert on_path == pytest.approx(record["cost_active"])


@pytest.mark.parity("IND-11")
@pytest.mark.parametrize("record", EXPECTED, ids=names)
def test_what_is_odd_about_a_sample_is_reported_with_its_line(record):
    found = read(SAMPLES / record["file"])
    seen = [(finding.kind, finding.line) for finding in check_log(found)]
    tree = found.tree

    assert (
        sorted({line for kind, line in seen if kind in ("unreadable", "glued")}) == record["unreadable_lines"]
    )
    assert {line for kind, line in seen if kind in ("guessed-link", "orphan")} == {
        found.reading.line_of(tree.positions[key]) for key in record["guessed_links"]
    }
    assert [tree.keys[p] for p in range(len(tree)) if "#" in tree.keys[p]] == record["duplicates"]
    assert [line for kind, line in seen if kind == "not-an-entry"] == record["foreign_lines"]
    assert [line for kind, line in seen if kind == "encoding"] == record["invalid_utf8_lines"]
    assert len([kind for kind, _ in seen if kind in ("bad-value", "leaf-target")]) == len(record["problems"])
    assert ("stale-head" in dict(seen)) == record["head_stale"]
    assert ("below-head" in dict(seen)) == (record["entries_below_head"] > 0 and not record["head_stale"])
    assert ("bom" in dict(seen)) == record["bom"]
    if record["lines"]:
        assert ("no-final-newline" in dict(seen)) is not record["ends_with_newline"]


@pytest.mark.parametrize(
    "record", [record for record in EXPECTED if "nodes" in record["induscode"]], ids=names
)
def test_the_rules_of_induscode_in_these_tests_are_those_that_were_seen(record):
    data = (SAMPLES / record["file"]).read_bytes()
    if record["bom"] or record["foreign_lines"]:
        pytest.skip("the short rules know neither byte order marks nor other schemas")

    ruled = as_induscode(data)

    assert (ruled["leaf"], ruled["path"]) == (record["induscode"]["leaf"], record["induscode"]["path"])


# -- records ----------------------------------------------------------------------------------------------


def test_every_shape_of_message_becomes_a_record():
    found = read(sample("s_mwhiju74"))
    records = found.entries(range(10))

    assert [type(record).__name__ for record in records] == ["MessageEntry"] * 4 + [
        "CustomMessage",
        "MessageEntry",
        "CustomMessage",
        "BranchSummary",
        "MessageEntry",
        "MessageEntry",
    ]
    messages = [record.message for record in records if isinstance(record, MessageEntry)]
    assert [type(message) for message in messages] == [
        UserMessage,
        AssistantMessage,
        ToolResult,
        UserMessage,
        BashExecution,
        CompactionSummaryMessage,
        UnknownMessage,
    ]
    assert (messages[2].tool_name, messages[2].details) == ("bash", {"exit": 0})
    assert messages[5].tokens_before == 1234
    shell, note = records[4], records[6]
    assert isinstance(shell, CustomMessage)
    assert (shell.custom_type, shell.role, found.tree.roles[4]) == ("shell-note", "user", None)
    assert isinstance(note, CustomMessage)
    assert (note.custom_type, note.content, note.display) == ("ext", "hi", True)
    assert isinstance(records[7], BranchSummary)
    assert records[7].from_id == records[2].id
    assert records[0].timestamp == "2026-11-15T07:28:48.544Z"


def test_a_compaction_summary_cuts_nothing_off():
    found = read(sample("s_mwhiju74"))

    context = build_context(found, found.reading.leaf)

    assert found.tree.roles[-1] == "weird"  # which induscode does not send
    assert [item.entry for item in context.messages] == found.tree.keys[:-1]


def test_the_name_of_the_file_is_the_id_and_tells_the_time():
    renamed = read(sample("my favourite session"), "/x/my favourite session.ndjson")

    assert read(b"", "/x/s_mwhiju6j_fy49o976.ndjson").reading.header == Header(
        id="s_mwhiju6j_fy49o976", version=1, timestamp="2026-11-15T07:28:48.523Z"
    )
    assert renamed.reading.header == Header(
        id="my favourite session", version=1, timestamp="2026-11-15T07:28:48.723Z"
    )


# -- where it stands --------------------------------------------------------------------------------------


@pytest.mark.parity("IND-11")
def test_without_a_head_the_deepest_entry_counts_and_of_equals_the_greatest_id():
    lines = [node("a", None), node("c", "a"), node("d", "c"), node("b", "a"), node("e", "b")]

    assert leaf(read(b"".join(lines))) == "e"
    assert leaf(read(b"".join([*lines, node("f", "a")]))) == "e"
    assert leaf(read(b"".join([*lines, node("D", "c")]))) == "e"


def test_the_last_head_counts_wherever_it_stands():
    lines = [head("a"), node("a", None), node("b", "a"), node("c", "b"), head("c"), head("b")]

    assert leaf(read(b"".join(lines))) == "b"
    assert leaf(read(b"".join([lines[5], *lines[:5]]))) == "c"


def test_a_head_that_names_nothing_counts_as_none():
    lines = [node("a", None), node("b", "a"), head("a"), line(kind="head", sessionId="s")]

    assert leaf(read(b"".join(lines))) == "b"
    assert kinds(read(b"".join(lines))) == []


def test_a_head_whose_leaf_is_no_text_is_reported_and_ignored():
    found = read(b"".join([node("a", None), node("b", "a"), head("a"), head(5)]))

    assert leaf(found) == "a"
    assert ("bad-value", 4) in kinds(found)


@pytest.mark.parity("IND-11")
def test_a_head_is_stale_when_the_newest_entry_is_below_it_on_a_later_branch():
    lines = [head("a"), node("a", None), node("b", "a"), node("c", "a"), node("d", "c")]

    found = read(b"".join(lines))

    assert leaf(found) == "d"
    (finding,) = found.findings
    assert (finding.kind, finding.line, severity(finding.kind)) == ("stale-head", 1, "warning")
    assert finding.message == "the head names a, but the session continued below it, to d"


@pytest.mark.parity("IND-11")
def test_entries_below_a_head_that_may_be_fresh_are_offered():
    found = read(b"".join([head("a"), node("a", None), node("b", "a"), node("c", "b")]))

    assert leaf(found) == "a"
    (finding,) = found.findings
    assert (finding.kind, severity(finding.kind)) == ("below-head", "note")
    assert finding.message == "2 entries are below the head (a); the newest is c"


@pytest.mark.parity("IND-11")
def test_what_follows_an_appended_head_is_newer_than_it():
    """«An appended head line … becomes stale as soon as induscode itself appends.»"""
    written = [node("a", None), node("b", "a"), head("b")]

    found = read(b"".join([*written, node("c", "b")]))

    assert leaf(found) == "c"
    assert [finding.kind for finding in found.findings] == ["stale-head"]


def test_a_head_of_the_beginning_is_stale_when_another_root_was_begun():
    fresh = [head(None), node("a", None), node("b", "a")]

    assert leaf(read(b"".join(fresh))) is None
    assert leaf(read(b"".join([*fresh, node("c", None)]))) == "c"
    assert leaf(read(b"".join([*fresh[1:], head(None), node("c", None)]))) == "c"


def test_a_damaged_entry_is_never_the_leaf():
    torn = node("b", "a")[:90] + b"\n"
    lines = [node("a", None), torn]

    assert leaf(read(b"".join([head("b"), *lines]))) == "a"
    assert leaf(read(b"".join([head("b"), *lines, node("c", "b")]))) == "c"
    assert isinstance(read(b"".join(lines)).entry(1), Damaged)


def test_the_remark_about_a_head_goes_when_it_is_no_longer_true():
    data = b"".join([head("a"), node("a", None), node("b", "a"), node("c", "a")])
    found = read(data)
    assert kinds(found) == [("stale-head", 1)]

    found.take(head("c"))

    assert kinds(found) == []
    assert leaf(found) == "c"


# -- damage -----------------------------------------------------------------------------------------------


def test_an_empty_file_is_a_session_that_has_not_begun(tmp_path):
    path = tmp_path / "s_x_y.ndjson"
    path.write_bytes(b"")

    with Session.open(path) as session:
        assert [finding.kind for finding in session.findings] == ["empty"]
        key = session.append_message("first")

    assert json.loads(path.read_bytes())["id"] == key


def test_lines_of_others_are_left_alone_and_a_file_of_them_is_not_written():
    other = b'{"schema":"indus/transcript@draft","kind":"entry","id":"x"}\n'

    assert read(other).reading.read_only == "it is of another schema (indus/transcript@draft)"
    assert read(other + node("a", None)).reading.read_only is None
    assert INDUSCODE.reader.sniff(other, "x.ndjson")


@pytest.mark.parametrize("missing", ["id", "role"])
def test_an_entry_needs_id_and_role(missing):
    fields = json.loads(node("b", "a"))
    del fields[missing]

    found = read(node("a", None) + json.dumps(fields).encode() + b"\n" + node("c", "a"))

    assert found.tree.keys == ["a", "c"]
    assert kinds(found) == [("not-an-entry", 2)]


@pytest.mark.parametrize("time", [12, None, True, [1], {"a": 1}])
def test_an_entry_whose_time_is_no_text_keeps_its_words(time):
    fields = json.loads(node("b", "a")) | {"at": time}

    found = read(node("a", None) + json.dumps(fields).encode() + b"\n" + node("c", "b"))

    assert found.tree.keys == ["a", "b", "c"]
    assert found.tree.times[1] == ""
    assert found.entry(1).message == read(node("b", None)).entry(0).message
    assert kinds(found) == [("bad-value", 2)]


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        (b'"input":1', b'"input":"abc"', "usage"),
        (b'"usage":{', b'"usage":{"cost":{"total":"x"},', "usage"),
        (b'"usage":{', b'"usage":{"output":NaN,', "usage"),
        (b'"timestamp":1794700000000', b'"timestamp":1e999', "timestamp"),
        (b'"timestamp":1794700000000', b'"timestamp":1' + b"0" * 400, "timestamp"),
        (b'"timestamp":1794700000000', b'"timestamp":"x"', "timestamp"),
        (
            b'{"type":"text"',
            b'{"type":"toolCall","id":"c","name":"n","arguments":[1]},{"type":"text"',
            "arguments",
        ),
    ],
)
def test_a_value_of_the_wrong_kind_is_reported_and_costs_only_itself(old, new, name):
    found = read(node("a", None) + node("b", "a", "assistant").replace(old, new))

    assert kinds(found) == [("bad-value", 2)]
    assert found.findings[0].message == f"b: bad {name} value"
    message = found.entry(1).message
    assert isinstance(message, AssistantMessage)
    assert Text(text="x") in message.content


def test_a_compaction_summary_with_a_bad_count_is_still_one():
    data = line(
        kind="entry",
        id="a",
        prev=None,
        role="condense",
        message={"role": "compactionSummary", "summary": "s", "tokensBefore": "many", "timestamp": 1},
        at="2026-11-15T07:28:48.544Z",
    )

    found = read(data)

    assert kinds(found) == [("bad-value", 1)]
    assert found.entry(0).message == CompactionSummaryMessage(summary="s", timestamp=1)


def test_a_parent_that_is_no_text_counts_as_none():
    found = read(node("a", None) + node("b", None).replace(b'"prev":null', b'"prev":7'))

    assert found.tree.roots() == ["a", "b"]
    assert kinds(found) == [("bad-value", 2)]


def test_a_schema_inside_a_torn_line_is_not_taken_for_an_entry():
    torn = node("b", "a")[:-40] + b'","x":{"schema":"http://json-schema.org"}'
    found = read(node("a", None) + torn + b"\n" + node("c", "b"))

    assert found.tree.path("c") == ["a", "b", "c"]
    assert kinds(found) == [("unreadable", 2)]


def test_a_value_that_is_nested_too_deeply_costs_only_itself():
    deep = node("b", "a").replace(b'"text":"x"', b'"text":' + b"[" * 100_000 + b"]" * 100_000)
    found = read(node("a", None) + deep + node("c", "b"))

    assert found.tree.path("c") == ["a", "b", "c"]
    assert not found.tree.placeholders
    assert kinds(found) == []


def test_files_of_others_are_not_taken():
    header = b'{"type":"session","version":3,"id":"s","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p"}\n'
    quoting = header.replace(b'"/p"', b'"{\\"schema\\":\\"indus/transcript@1\\"}"')

    assert detect(quoting, "x.jsonl") is PI
    assert not INDUSCODE.reader.sniff(b"hello\n", "x.ndjson")
    assert not INDUSCODE.reader.sniff(b"", "x.jsonl")


# -- places -----------------------------------------------------------------------------------------------


@pytest.mark.parity("IND-12")
@pytest.mark.parametrize(
    ("cwd", "folder"),
    [
        ("/home/me/proj", "--home-me-proj--"),
        ("/home/me/proj/", "--home-me-proj--"),
        ("/home/me/my-proj", "--home-me-my-proj--"),
        ("/home/me/my_proj", "--home-me-my-proj--"),
        ("/home/me/my proj", "--home-me-my-proj--"),
        ("/home/me-my/proj", "--home-me-my-proj--"),
        ("/", "----"),
        (".", "----"),
        ("", "----"),
        ("/日本", "----"),
        ("C:\\Users\\me\\proj", "--C-Users-me-proj--"),
    ],
)
def test_a_working_directory_has_the_folder_that_induscode_gives_it(cwd, folder):
    assert INDUSCODE.home.directory(cwd, {}, "/home/me") == f"/home/me/.pindusagi/sessions/{folder}"


@pytest.mark.parity("IND-12")
def test_directories_that_share_a_folder_of_induscode_have_their_own_in_our_layout():
    shared = ["/home/me/my-proj", "/home/me/my_proj", "/home/me/my proj", "/home/me-my/proj"]

    assert len({INDUSCODE.home.directory(cwd, {}, "/h") for cwd in shared}) == 1
    assert len({places.directory_name(cwd) for cwd in shared}) == 4


@pytest.mark.parametrize(
    ("environment", "root"),
    [
        ({}, "/home/me/.pindusagi/sessions"),
        ({"INDUSAGI_HOME": "/data"}, "/data/sessions"),
        ({"INDUSAGI_HOME": "/data", "INDUSAGI_CODING_AGENT_DIR": " /agent "}, "/agent/sessions"),
        ({"INDUSAGI_CODING_AGENT_DIR": "  ", "INDUSAGI_HOME": "~/x"}, "/home/me/x/sessions"),
    ],
)
def test_the_environment_moves_the_sessions(environment, root):
    assert INDUSCODE.home.roots(environment, "/home/me") == [root]


def test_a_new_file_is_named_as_induscode_names_them():
    key = INDUSCODE.writer.session_id("019eb0d0-4e6b-7ad7-ab51-8362b10cdb6d", "2026-11-15T07:28:48.523Z")

    assert key.startswith("s_mwhiju6j_")
    assert len(key) == len("s_mwhiju6j_fy49o976")
    assert INDUSCODE.home.file_key(Header(id=key)) == key
    assert INDUSCODE.home.file_key(Header(id="s_mwhiju6j_fy49o976")) == "s_mwhiju6j_fy49o976"


def test_a_file_of_a_newer_version_is_read_as_far_as_it_is_known_and_not_written():
    data = sample("s_mwhiju6j").read_bytes()

    found = read(data.replace(b"transcript@1", b"transcript@2"), "/x/s_mwhiju6j_fy49o976.ndjson")

    assert found.tree.keys == read(data).tree.keys
    assert found.reading.read_only == "it is of indus/transcript@2, newer than indus/transcript@1"
    assert ("newer-version", 1) in [(finding.kind, finding.line) for finding in found.findings]


def test_a_line_of_a_newer_version_in_a_file_of_this_one_is_left_as_it_is():
    data = sample("s_mwhiju6j").read_bytes()
    last = data.splitlines()[-1].replace(b"transcript@1", b"transcript@2")

    found = read(data + last + b"\n")

    assert found.tree.keys == read(data).tree.keys
    assert found.reading.read_only is None
