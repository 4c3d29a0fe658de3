"""Sessions of piglet as they are read: every sample, and the rules that the samples do not show."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from branchline import SessionLibrary
from branchline.context import close_tool_calls, totals
from branchline.entries import (
    AssistantMessage,
    BranchSummary,
    Compaction,
    Custom,
    CustomMessage,
    Damaged,
    Image,
    Leaf,
    MessageEntry,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
    json_codec,
    message_text,
)
from branchline.formats import detect
from branchline.formats.integrity import check_log
from branchline.formats.piglet import PIGLET
from branchline.tree import walk_nodes
from branchline.views.entry_rows import RowTexts
from formats.piglet_kit import (
    EXPECTED,
    META,
    SAMPLES,
    answer,
    as_piglet,
    letters,
    line,
    live,
    read,
    said,
    sample,
    user,
)

each_sample = pytest.mark.parametrize("expected", EXPECTED, ids=lambda expected: Path(expected["file"]).stem)


# -- samples ----------------------------------------------------------------------------------------------


@each_sample
def test_a_sample_is_recognized_by_its_lines(expected):
    path = SAMPLES / expected["file"]

    assert detect(path.read_bytes()[:65536], str(path)) is PIGLET


@each_sample
def test_a_sample_gives_every_entry_under_its_id(expected):
    found = read(SAMPLES / expected["file"])

    kinds = Counter(
        json_codec.loads(found.raw(position))["type"]
        for position in range(len(found.tree))
        if position not in found.tree.placeholders
    )

    assert kinds == expected["types"]
    assert [found.tree.keys[position] for position in found.tree.placeholders] == expected["placeholders"]


@each_sample
@pytest.mark.parity("PIG-06")
def test_a_sample_stands_where_its_last_entry_is(expected):
    found = read(SAMPLES / expected["file"])
    tree, leaf = found.tree, found.reading.leaf

    assert (None if leaf < 0 else tree.keys[leaf]) == expected["leaf"]
    assert [tree.keys[position] for position in tree.path_positions(leaf)] == expected["active_path"]


@each_sample
def test_a_sample_branches_where_it_branches(expected):
    tree = read(SAMPLES / expected["file"]).tree

    assert tree.roots() == expected["roots"]
    assert [tree.keys[position] for position in tree.tip_positions()] == expected["leaves"]
    assert [key for key in tree.keys if len(tree.children(key)) > 1] == expected["branch_points"]


@each_sample
def test_a_sample_tells_who_it_is_and_where_it_comes_from(expected):
    reading = read(SAMPLES / expected["file"]).reading

    header = reading.header
    metadata = (header.metadata if header else None) or {}

    assert (header.id if header else None) == expected["id"]
    assert (header.cwd if header else None) == expected["cwd"]
    assert (header.parent_session if header else None) == expected["parent"]
    assert metadata.get("fork_point") == expected["fork_point"]
    assert metadata.get("model", "") == expected["model"]
    assert (reading.title or "") == expected["title"]
    assert {key: state.text for key, state in reading.labels.items()} == {
        **expected["labels"],
        **expected["dangling_labels"],
    }


@each_sample
def test_the_context_of_a_sample_is_what_piglet_would_send(expected):
    found = read(SAMPLES / expected["file"])

    assert letters(said(found)) == expected["context"]


@each_sample
def test_a_sample_counts_its_cost_once_and_tells_what_it_inherited(expected):
    found = read(SAMPLES / expected["file"])

    spent = totals(found, inherited_entries=found.reading.inherited_entries)

    assert spent.all.total.cost == pytest.approx(expected["cost_total"])
    assert spent.inherited.total.cost == pytest.approx(expected["cost_inherited"])


@each_sample
def test_the_damage_of_a_sample_is_found_on_its_lines(expected):
    found = read(SAMPLES / expected["file"])

    findings = check_log(found)
    lines = {
        kind: sorted({one.line for one in findings if one.kind == kind})
        for kind in {one.kind for one in findings}
    }
    keys = {found.reading.line_of(position): key for position, key in enumerate(found.tree.keys)}

    unreadable = set(lines.pop("unreadable", ())) | set(lines.pop("glued", ()))
    assert sorted(unreadable) == expected["unreadable_lines"]
    assert lines.pop("encoding", []) == expected["invalid_utf8_lines"]
    assert bool(lines.pop("bom", ())) == expected["bom"]
    assert bool(lines.pop("no-final-newline", ())) != expected["ends_with_newline"]
    guessed = lines.pop("guessed-link", []) + lines.pop("orphan", [])
    assert [keys[number] for number in guessed] == expected["guessed_links"]
    assert [keys[number] for number in lines.pop("duplicate-id", ())] == expected["duplicates"]
    assert lines.pop("not-an-entry", []) == [int(problem.split()[1][:-1]) for problem in expected["problems"]]
    assert lines.keys() <= {"no-header", "two-writers"}


@pytest.mark.parametrize(
    "expected",
    [one for one in EXPECTED if not one["file"].startswith("damaged/")],
    ids=lambda expected: Path(expected["file"]).stem,
)
def test_a_healthy_sample_is_read_as_piglet_reads_it(expected):
    data = (SAMPLES / expected["file"]).read_bytes()
    found = read(data)

    piglet = as_piglet(data)

    assert piglet["path"] == [
        found.tree.keys[position] for position in found.tree.path_positions(found.reading.leaf)
    ]
    assert piglet["context"] == letters(said(found))


def test_every_sample_file_is_named_in_the_list():
    assert {str(path.relative_to(SAMPLES)) for path in SAMPLES.rglob("*.jsonl")} == {
        e["file"] for e in EXPECTED
    }


# -- records ----------------------------------------------------------------------------------------------


def test_blocks_are_read_by_the_keys_that_they_have():
    found = read(sample("22f3986e"))

    prompt, asking, result, failed_result, failed, *_ = found.entries(range(len(found.tree)))

    assert prompt.message.content[0] == Text(text="what is in this picture, and fix the build")
    assert [type(block) for block in prompt.message.content] == [Text, Image, Text]
    thoughts, words, call, other = asking.message.content
    assert (thoughts, words) == (
        Thinking(thinking="I should read the file first."),
        Text(text="Let me look."),
    )
    assert call == ToolCall(
        id="call_1", name="read", arguments={"path": "main.go"}, thought_signature="abc=="
    )
    assert other.thought_signature is None
    assert (asking.message.provider, asking.message.model, asking.message.stop_reason) == (
        "google",
        "gemini-3-pro",
        "toolUse",
    )
    assert (asking.message.usage.input, asking.message.usage.cost.total) == (5000, 0.01925)
    assert isinstance(result.message, ToolResult)
    assert [type(block) for block in result.message.content] == [Text, Image]
    assert failed_result.message.is_error is True
    assert (failed.message.content, failed.message.error_message) == ((), "429 rate limited")


@pytest.mark.parity("PIG-03", "PIG-04")
def test_extensions_keep_data_and_say_things():
    found = read(sample("22f3986e"))

    data, context, noted = found.entries(range(5, 8))

    assert isinstance(data, Custom)
    assert (data.custom_type, data.data) == ("ext:memory:facts", {"count": 1, "facts": ["uses postgres"]})
    assert isinstance(context, CustomMessage)
    assert context.content == "[context] the repo uses postgres"
    assert isinstance(noted, MessageEntry)
    assert noted.message.content == (Text(text="noted"),)
    assert letters(said(found)) == "uattauaa"


@pytest.mark.parity("PIG-02")
def test_a_compaction_stands_for_everything_before_it():
    found = read(sample("d14fa134"))

    (compaction,) = [e for e in found.entries(range(len(found.tree))) if isinstance(e, Compaction)]

    assert compaction.tokens_before == 84211
    assert [message_text(message) for message in compaction.retained_tail or ()] == [
        "Summary of 0-3",
        "question 4",
        "answer 4",
    ]
    assert [message_text(message) for message in said(found)][3:] == ["after compaction", "still here"]


def test_a_compaction_without_readable_messages_does_nothing():
    data = (
        META
        + user("a", None, "one")
        + line("compact", "b", "a", [])
        + line("compact", "c", "b", [{"type": "label"}, 5])
    )

    found = read(data)

    assert letters(said(found)) == "u"
    assert isinstance(found.entry(1), Unknown)


def test_a_branch_moves_the_leaf_and_its_summary_is_for_people():
    found = read(sample("302f642e"))
    tree = found.tree

    summary = found.entry(tree.positions["d0a48282"])
    move = found.entry(tree.positions["8b32b5b0"])
    reset = found.entry(tree.positions["8c126a91"])

    assert isinstance(summary, BranchSummary)
    assert summary.from_id == "c4bda307"
    assert summary.summary == "tried steps one and two; mysql locks made it fail"
    assert letters(said(found, tree.positions["6ddf81c1"])) == "uaua"
    assert move == Leaf(id="8b32b5b0", parent="9084ca08", timestamp=move.timestamp, target="9084ca08")
    assert isinstance(reset, Leaf)
    assert reset.target is None


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("user", "words"),
        ("user", {"content": 5}),
        ("user", {"blocks": [5]}),
        ("assistant", {"content": "words"}),
        ("assistant", {"content": [{"arguments": []}]}),
        ("tool_result", {"isError": "no"}),
        ("tool_result", None),
    ],
)
def test_a_payload_of_another_shape_is_a_node_that_says_nothing(kind, data):
    found = read(META + user("a", None, "one") + line(kind, "b", "a", data) + user("c", "b", "two"))

    assert isinstance(found.entry(1), Unknown)
    assert [message_text(message) for message in said(found)] == ["one", "two"]


def test_an_unanswered_call_is_closed_for_a_model():
    closed = close_tool_calls(said(read(sample("4bb0ac8d"))))

    assert letters(closed) == "uat"


def test_times_of_other_zones_are_instants():
    found = read(sample("fbc8de77"))

    assert all(time.endswith("Z") for time in found.tree.times)
    assert found.reading.header is not None
    assert found.reading.header.timestamp.endswith("Z")
    assert found.tree.times[0] >= found.reading.header.timestamp


def test_an_answer_without_words_is_quiet_unless_it_failed():
    call = {"content": [{"id": "c", "name": "read", "arguments": {}}], "stopReason": "toolUse"}
    failed = {"content": None, "stopReason": "error"}
    data = (
        META
        + line("assistant", "a", None, call)
        + line("assistant", "b", "a", failed)
        + answer("c", "b", "words")
    )

    assert read(data).tree.textless == {0}


# -- labels and display -----------------------------------------------------------------------------------


def test_a_label_for_an_entry_that_is_not_there_is_reported():
    found = read(META + user("a", None, "one") + line("label", "b", "a", {"targetId": "gone", "label": "x"}))

    assert [finding.kind for finding in found.findings] == ["label-target"]


@pytest.mark.parity("PIG-05")
def test_the_last_label_counts_an_empty_one_clears_and_none_moves_the_leaf():
    branched, cleared = read(sample("302f642e")), read(sample("6ed55c77"))

    assert branched.reading.labels["3226f25a"].text == "best plan"
    assert cleared.reading.labels == {}
    labelled = read(
        META + user("a", None, "one") + line("label", "b", "a", {"targetId": "a", "label": "good"})
    )
    assert labelled.leaf == "a"


def test_a_label_for_nobody_is_reported():
    found = read(META + user("a", None, "one") + line("label", "b", "a", {"targetId": "zz", "label": "lost"}))

    (finding,) = found.findings

    assert "zz" in finding.message


@pytest.mark.parity("PIG-08")
def test_the_entries_of_the_path_can_be_shown():
    with live(sample("302f642e")) as session:
        rows = RowTexts(session.transcript)

        assert [rows(session.index.positions[key]) for key in session.path()] == [
            "user: a new trunk",
            "assistant: fresh start",
        ]


@pytest.mark.parity("PIG-10")
def test_the_whole_tree_is_told_depth_first_with_the_active_part_first():
    found = read(sample("302f642e"))
    labels = {key: state.text for key, state in found.reading.labels.items()}

    nodes = list(walk_nodes(found.tree, found.reading.leaf, labels))

    assert [node.id for node in nodes][:5] == ["8c126a91", "f2cc2b63", "3875b774", "f994c1cd", "3226f25a"]
    assert len(nodes) == 16
    labelled = next(node for node in nodes if node.id == "3226f25a")
    assert (labelled.label, labelled.children, labelled.depth, labelled.active) == ("best plan", 2, 1, False)
    assert [node.id for node in nodes if node.active] == ["8c126a91", "f2cc2b63", "3875b774"]
    below = [node.id for node in nodes if node.parent == "3226f25a"]
    assert below == ["9084ca08", "d0a48282"]


@pytest.mark.parity("PIG-13")
def test_a_list_shows_what_every_session_is():
    rows = {row.id[:8]: row for row in SessionLibrary(SAMPLES / "sessions").list(deep=True)}

    row = rows["302f642e"]

    assert len(rows) == 13  # the legacy file and its upgraded copy have one id
    assert row.path is not None
    assert row.path.endswith("302f642e-51a8-48e5-a27b-f0c8451ddc14.jsonl")
    assert (row.title, row.cwd, row.format) == ("Migration with branches", "/home/dev/acme", "piglet")
    assert (row.created, row.model) == ("2026-11-15T07:28:46.321600917Z", "claude-sonnet-4-6")
    assert row.messages == 2
    assert rows["d2bf80bf"].parent_session == "302f642e-51a8-48e5-a27b-f0c8451ddc14"


@pytest.mark.parity("PIG-15")
def test_a_fork_names_its_parent_and_how_many_messages_it_took():
    header = read(sample("cc56e6d4")).reading.header

    assert header is not None
    assert header.parent_session == "d14fa134-8516-4ba0-954b-d23a928d1234"
    assert (header.metadata or {})["fork_point"] == 2


# -- legacy files -----------------------------------------------------------------------------------------


@pytest.mark.parity("PIG-14")
def test_lines_without_ids_are_numbered_and_form_a_chain():
    found = read(sample("d5f178a8"))

    assert found.tree.keys == ["L0", "L1", "L2", "L3", "L4"]
    assert found.tree.parents == [-1, 0, 1, 2, 3]
    assert [message_text(message) for message in said(found)] == ["legacy summary", "legacy three"]


def test_lines_that_are_no_entries_have_numbers_too():
    data = META + user("", None, "zero") + b"null\n{}\n5\n" + user("", None, "three") + user("x", "L3", "new")

    found = read(data)

    assert found.tree.keys == ["L0", "L3", "x"]
    assert found.tree.parents == [-1, 0, 1]


@pytest.mark.parametrize(
    ("parent", "keys"),
    [
        ("L2", ["L0", "L1", "L2", "x"]),  # piglet had read the line before it was damaged
        ("L1", ["L0", "L1", "x"]),  # piglet never could read it
        ("L7", ["L0", "L1", "x"]),
    ],
)
def test_a_damaged_line_has_a_number_if_what_follows_says_so(parent, keys):
    data = META + user("", None, "zero") + b'{"type":"assistant","ts":"2026\n' + user("", None, "two")

    found = read(data + user("x", parent, "new"))

    assert found.tree.keys == keys
    assert found.tree.parents[-1] == len(keys) - 2
    assert bool(found.tree.placeholders) == (parent == "L2")


def test_a_damaged_legacy_line_at_the_end_of_time_has_no_number():
    data = META + user("", None, "zero") + b"\0\0\0\n" + user("", None, "one")

    found = read(data)

    assert found.tree.keys == ["L0", "L1"]
    assert found.leaf == "L1"


# -- damage -----------------------------------------------------------------------------------------------


def test_a_placeholder_keeps_the_path_whole():
    found = read(sample("torn-then-append"))

    entry = found.entry(found.tree.positions["ad6f1fdd"])

    assert isinstance(entry, Damaged)
    assert entry.parent == "feb3f188"


@pytest.mark.parametrize(
    ("fragment", "parent"),
    [
        (b'{"type":"user","id":"c","parentId":"a","ts":"20', "a"),
        (b'{"type":"user","id":"c","ts":"20', None),
        (b'{"type":"user","id":"c","parentId":"a', "b"),  # what it named is lost: below the entry before it
        (b'{"type":"user","id":"c"', "b"),
    ],
)
def test_a_fragment_hangs_where_it_still_says(fragment, parent):
    found = read(META + user("a", None, "one") + user("b", "a", "two") + fragment + b"\n")

    assert found.tree.parent("c") == parent
    assert found.leaf == "b"


def test_a_message_inside_a_torn_compaction_is_not_taken_for_an_entry():
    inner = line("user", "", None, {"content": "copy"}, "0001-01-01T00:00:00Z").strip()
    torn = b'{"type":"compact","id":"b","parentId":"a","ts":"2026-11-15T06:08:32Z","data":[' + inner + b","

    found = read(META + user("a", None, "one") + torn + user("c", "a", "two"))

    assert found.tree.keys == ["a", "b", "c"]
    assert found.tree.placeholders == {1}


def test_a_meta_row_that_names_no_session_is_ignored():
    data = (
        META
        + user("a", None, "one")
        + b'{"type":"meta","ts":"2026-11-15T06:08:32Z","data":{"id":"","title":"x"}}\n'
    )

    reading = read(data).reading

    assert reading.title is None
    assert reading.header is not None
    assert [finding.kind for finding in reading.findings] == ["extra-header"]


def test_a_file_without_a_readable_meta_row_is_known_by_its_name_and_only_read():
    data = sample("bad-meta").read_bytes()

    reading = read(data, "/x/piglet/sessions/286c7d3f-a3f1-4c1b-a5f3-4d43f3e46fe0.jsonl").reading

    assert reading.header is not None
    assert reading.header.id == "286c7d3f-a3f1-4c1b-a5f3-4d43f3e46fe0"
    assert reading.read_only


def test_a_chain_of_a_hundred_thousand_entries_is_walked_without_recursion():
    data = META + b"".join(user(f"{n:08x}", f"{n - 1:08x}" if n else None, "x") for n in range(100_000))

    found = read(data)

    assert len(found.tree.path_positions(found.reading.leaf)) == 100_000
    assert not found.findings


# -- places -----------------------------------------------------------------------------------------------


def test_all_sessions_lie_in_one_directory():
    assert PIGLET.home.roots({}, "/home/dev") == ["/home/dev/.config/piglet/sessions"]
    assert PIGLET.home.roots({"XDG_CONFIG_HOME": "/c"}, "/home/dev") == ["/c/piglet/sessions"]
    assert PIGLET.home.directory("/any", {"XDG_CONFIG_HOME": "/c"}, "/home/dev") == "/c/piglet/sessions"


def test_piglets_own_lock_lies_beside_the_file():
    assert PIGLET.home.lock_file("/x/46f1d87e.jsonl") == "/x/46f1d87e.jsonl.lock"


def test_what_is_not_piglets_is_not_taken_for_it():
    pi = b'{"type":"session","version":3,"id":"x","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}\n'

    assert not PIGLET.reader.sniff(pi + user("a", None, "x"), "x.jsonl")
    assert not PIGLET.reader.sniff(b'{"type":"meta","meta":{"id":"x"}}\n', "x.jsonl")
    assert not PIGLET.reader.sniff(b"hello\n", "x.jsonl")
    assert PIGLET.reader.sniff(b"\0\0\0\n" + user("", None, "x"), "x.jsonl")


def test_user_and_answer_are_messages():
    found = read(META + user("a", None, "one") + answer("b", "a", "two"))

    one, two = found.entries(range(2))

    assert isinstance(one.message, UserMessage)
    assert isinstance(two.message, AssistantMessage)
