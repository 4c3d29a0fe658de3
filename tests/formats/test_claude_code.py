"""Transcripts of Claude Code are read as their manifest says: tree, branches, leaf, context, cost, damage."""

from __future__ import annotations

import json

import pytest

from branchline import Session
from branchline.context import build_context, totals
from branchline.entries import (
    AssistantMessage,
    Compaction,
    ContextEdit,
    Custom,
    CustomMessage,
    MessageEntry,
    SessionInfo,
    ToolResult,
    UserMessage,
    message_text,
)
from branchline.errors import BranchlineError, NotASession
from branchline.formats import detect
from branchline.formats.claude_code import CLAUDE_CODE
from branchline.formats.claude_code.kinds import ASIDE, MICRO
from branchline.formats.claude_code.lineage import lineage
from branchline.tree import ROOT
from formats.claude_code_kit import (
    ALL,
    EXPECTED,
    NAME,
    SAMPLES,
    THIRD_PARTY,
    call,
    counted,
    keys,
    read,
    record,
    result,
    since_the_last_start,
)
from support import sample

NOTHING = {"input": 0, "output": 0, "cacheWrite": 0, "cacheRead": 0}


def found_in(found):
    """What a manifest tells of a file, as it was read."""
    reading, tree, links = found.reading, found.tree, found.reading.linker
    kinds = [finding.kind for finding in found.findings]
    beside = {*links.sidechain, *reading.numbers, *reading.edits, *tree.placeholders}
    records = [place for place, kind in enumerate(reading.kinds) if kind != ASIDE and place not in beside]
    line = since_the_last_start(found, reading.active_line)
    abandoned = [
        place
        for place in records
        if line
        and line[0] in links.starts
        and place not in set(line)
        and since_the_last_start(found, tree.path_positions(place))[0] == line[0]
    ]
    since = next(
        (number for number, place in enumerate(line[::-1]) if tree.types[place] == "compaction"), None
    )
    title = reading.title
    return {
        "unreadableLines": kinds.count("unreadable") + kinds.count("glued"),
        "nonObjectLines": kinds.count("not-an-entry"),
        "treeRecords": len(records),
        "duplicateUuids": kinds.count("duplicate-id"),
        "brokenParents": kinds.count("guessed-link") + kinds.count("orphan"),
        "cyclesOrSelfParents": kinds.count("self-parent") + kinds.count("cycle"),
        "starts": len(links.starts),
        "branchPoints": len(links.points),
        "branches": sum(len(point.branches) for point in links.points),
        "compactions": tree.types.count("compact_boundary"),
        "microcompactions": sum(reading.kinds[place] == MICRO for place in records),
        "activeLeaf": None if reading.leaf < 0 else tree.keys[reading.leaf],
        "activeLeafFrom": reading.leaf_named_by or None,
        "activeLine": counted(found, line),
        "abandoned": counted(found, abandoned),
        "sinceLastCompaction": None if since is None else counted(found, line[len(line) - since :]),
        "title": title and title[:80].strip(),
        "sessionIds": sorted(reading.session_ids),
    }


def spent_in(found):
    spent = totals(found).all.total
    return [spent.input, spent.output, spent.cache_write, spent.cache_read]


def spent_as_expected(usage, *parts):
    return [
        sum(usage.get(part, NOTHING)[name] for part in parts)
        for name in ("input", "output", "cacheWrite", "cacheRead")
    ]


def check(found, expected):
    facts = found_in(found)
    wanted = {name: expected[name] for name in facts}
    wanted["title"] = wanted["title"] and wanted["title"][:80].strip()
    if expected["compactions"] and expected["sinceLastCompaction"] and facts["sinceLastCompaction"] is None:
        del facts["sinceLastCompaction"], wanted["sinceLastCompaction"]  # a boundary whose summary is lost
    assert facts == wanted
    assert spent_in(found) == spent_as_expected(expected["usage"], "main", "inlineSidechains")
    subagents = [place for place in found.reading.linker.sidechain if found.tree.parents[place] == ROOT]
    assert len(subagents) == expected["subAgents"]["inlineSidechains"]
    assert [entry.id for entry in found.entries(range(len(found.tree)))] == found.tree.keys


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_sample_has_the_tree_leaf_title_cost_and_damage_that_its_manifest_tells(name):
    check(read(SAMPLES / name), EXPECTED[name])


@pytest.mark.parametrize("name", THIRD_PARTY)
def test_a_file_from_the_wild_has_what_its_manifest_tells(name):
    check(read(sample("claude-code", name)), ALL[name])


@pytest.mark.parametrize("name", sorted({*EXPECTED, *THIRD_PARTY} - {"corrupt/empty.jsonl"}))
def test_every_sample_is_told_from_its_first_bytes(name):
    path = SAMPLES / name if name in EXPECTED else sample("claude-code", name)
    for size in (1 << 16, 4096):
        assert detect(path.read_bytes()[:size], str(path)) is CLAUDE_CODE


def agents_of(path):
    folder = path.with_suffix("")
    files = sorted(folder.rglob("agent-*.jsonl"))
    if not files:
        session = path.stem.encode()
        files = [file for file in sorted(path.parent.glob("agent-*.jsonl")) if session in file.read_bytes()]
    return [read(file) for file in files]


@pytest.mark.parametrize(
    "name", sorted(name for name in {**ALL, **EXPECTED} if {**ALL, **EXPECTED}[name]["subAgents"]["files"])
)
def test_the_agents_of_a_session_lie_beside_it_and_their_cost_is_in_their_own_records(name):
    path = SAMPLES / name if name in EXPECTED else sample("claude-code", name)
    expected = {**ALL, **EXPECTED}[name]

    files = agents_of(path)

    assert len(files) == expected["subAgents"]["files"]
    spent = [sum(column) for column in zip(*map(spent_in, files), strict=True)]
    assert spent == spent_as_expected(expected["usage"], "agentFiles")
    assert {file.reading.header.parent_session for file in files} <= {path.stem}


# -- several files ----------------------------------------------------------------------------------------


def lineage_files():
    return [read(path) for path in sorted((SAMPLES / "synthetic/lineage").glob("*.jsonl"))]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0)])
def test_a_branch_and_a_background_session_are_linked_to_the_file_that_their_beginning_belongs_to(order):
    files = lineage_files()
    parents = lineage([files[number].reading for number in order])

    by_file = {number: parents[place] for place, number in enumerate(order)}

    assert by_file[0] is None
    assert [order[by_file[number]] for number in (1, 2)] == [0, 0]
    assert [bool(files[number].reading.forked_from) for number in (1, 2)] == [True, False]
    assert set(files[0].tree.keys) & set(files[2].tree.keys) >= {"u1", "a1", "u3", "a3"}


def test_of_two_files_without_marks_the_one_with_older_records_owns_the_shared_ones():
    first = record("u0", None) + record("u1", "u0") + record("a1", "u1", "assistant")
    second = (
        record("u1", "u0") + record("a1", "u1", "assistant") + record("u9", "a1", promptId="later", x=1, y=2)
    )
    older = read(first.replace(b"10:00:00", b"09:00:00", 1), "a.jsonl")

    assert lineage([read(second, "b.jsonl").reading, older.reading]) == [1, None]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_files_without_marks_the_one_with_other_lines_from_that_time_owns_the_shared_records(order):
    """``--fork-session`` copies the records of the tree only, and the copy may go on before the original."""
    shared = record("u1", None) + record("a1", "u1", "assistant", timestamp="2026-09-01T10:05:00.000Z")
    asked = record(None, None, "queue-operation", timestamp="2026-09-01T10:04:00.000Z")
    original = read(asked + shared + record("u2", "a1", timestamp="2026-09-01T10:08:00.000Z"), "a.jsonl")
    later = record(None, None, "queue-operation", timestamp="2026-09-01T10:06:00.000Z")
    copy = read(later + shared + record("u9", "a1", timestamp="2026-09-01T10:07:00.000Z"), "b.jsonl")
    files = [original.reading, copy.reading]

    parents = lineage([files[number] for number in order])

    assert parents[order.index(0)] is None
    assert parents[order.index(1)] == order.index(0)


def test_a_branch_knows_which_of_its_entries_are_copies():
    child = lineage_files()[1]

    assert child.reading.header.parent_session == "aaaaaaaa-0000-4000-8000-000000000001"
    assert child.reading.inherited_entries == 4
    assert totals(child, inherited_entries=child.reading.inherited_entries).own.total.output == 5


# -- what the model sees ----------------------------------------------------------------------------------


def said(found):
    context = build_context(found, found.reading.leaf)
    return [(type(item.message).__name__, message_text(item.message)) for item in context.messages]


def test_after_a_compaction_the_model_sees_the_summary_what_was_preserved_and_what_followed():
    path = SAMPLES / "synthetic/compaction-then-rewind/5a000000-0000-4000-8000-000000000008.jsonl"

    words = said(read(path))

    assert words[0][0] == "CompactionSummaryMessage"
    assert words[1:] == [
        ("UserMessage", "Polish it"),
        ("AssistantMessage", "Polished."),
        ("UserMessage", "Wait, test it first"),
        ("AssistantMessage", "Tested."),
    ]


def test_a_boundary_without_a_summary_still_ends_what_the_model_sees():
    data = record("u1", None) + record("a1", "u1", "assistant")
    data += record("cb", None, "system", subtype="compact_boundary", logicalParentUuid="a1")
    data += record("u2", "cb", content="after")

    found = read(data)

    assert said(found) == [("UserMessage", "after")]
    assert keys(found, found.tree.path_positions(found.reading.leaf)) == ["u1", "a1", "cb", "u2"]


def test_results_that_a_microcompaction_cleared_are_replaced_in_the_context_only():
    data = record("u1", None) + record("a1", "u1", "assistant", [call("c1"), call("c2")])
    data += result("r1", "a1", "c1", "c2")
    about = {"compactedToolIds": ["c2", "unknown"]}
    data += record("mb", "r1", "system", subtype="microcompact_boundary", microcompactMetadata=about)
    data += record("u2", "mb", content="go on")

    found = read(data)

    assert [words for kind, words in said(found) if kind == "ToolResult"] == [
        "of c1",
        "[Old tool result content cleared]",
    ]
    (edit,) = [entry for entry in found.entries(range(len(found.tree))) if isinstance(entry, ContextEdit)]
    assert edit.target == "r1.2"
    stored = found.entry(found.tree.position("r1.2"))
    assert isinstance(stored, MessageEntry)
    assert message_text(stored.message) == "of c2"


def test_the_records_of_one_answer_are_one_message_with_all_its_calls_before_their_results():
    path = SAMPLES / "synthetic/parallel-tools/5a000000-0000-4000-8000-000000000001.jsonl"

    context = build_context(found := read(path), found.reading.leaf)

    kinds = [type(item.message).__name__ for item in context.messages]
    assert kinds == ["UserMessage", "AssistantMessage", *["ToolResult"] * 3, "AssistantMessage", "UserMessage", "AssistantMessage"]  # fmt: skip
    assert context.model.id == "claude-opus-4-5-20251101"
    names = [item.message.tool_name for item in context.messages if isinstance(item.message, ToolResult)]
    assert names == ["Bash", "Bash", "Bash"]


def test_growing_snapshots_of_an_answer_are_merged_without_repeating_blocks():
    text = {"type": "text", "text": "Let me look"}
    data = record("u1", None) + record("a1", "u1", "assistant", [text], answer="m")
    data += record("a2", "a1", "assistant", [text, call("c")], answer="m", output=50)

    found = read(data)

    answer = build_context(found, found.reading.leaf).messages[1].message
    assert isinstance(answer, AssistantMessage)
    assert len(answer.content) == 2
    assert totals(found).all.total.output == 50


# -- single records ---------------------------------------------------------------------------------------


def only(line):
    found = read(line)
    return found.entry(len(found.tree) - 1)


@pytest.mark.parametrize(
    ("content", "name", "shown"),
    [
        ("<command-name>/review</command-name>\n<command-args>src</command-args>", "command", "/review src"),
        ("<command-message>x</command-message><command-name>init</command-name>", "command", "/init"),
        ("<local-command-stdout>done</local-command-stdout>", "local-command-stdout", None),
        ("<bash-input>ls</bash-input>", "bash-input", None),
        ("Caveat: The messages below were generated", "caveat", None),
        ("<system-reminder>x</system-reminder>", "system-reminder", None),
        ("<task-notification>x", "task-notification", None),
        ("<teammate-message from=1>x", "teammate-message", None),
        ("[Request interrupted by user for tool use]", "interrupt", None),
        ([{"type": "text", "text": "[Request interrupted by user]"}], "interrupt", None),
    ],
)
def test_what_no_person_typed_is_no_prompt(content, name, shown):
    entry = only(record("u", None, content=content))

    assert isinstance(entry, CustomMessage)
    assert entry.custom_type == name
    assert shown is None or entry.content == shown


@pytest.mark.parametrize(
    "content", ["<ide_opened_file>a</ide_opened_file> hello", "<b>bold</b>", "Caveat emptor", ""]
)
def test_everything_else_is_a_prompt(content):
    entry = only(record("u", None, content=content))

    assert isinstance(entry, MessageEntry)
    assert isinstance(entry.message, UserMessage)


def test_a_failed_call_of_the_model_is_an_answer_that_failed():
    entry = only(
        record("u", None)
        + record("a", "u", "assistant", "API Error: 529", model="<synthetic>", isApiErrorMessage=True)
    )

    assert isinstance(entry, MessageEntry)
    assert isinstance(entry.message, AssistantMessage)
    assert (entry.message.stop_reason, entry.message.error_message, entry.message.usage) == (
        "error",
        "API Error: 529",
        None,
    )


def test_bookkeeping_is_data_with_its_name():
    entry = only(record("u", None) + record("s", "u", "system", subtype="turn_duration", durationMs=5))

    assert isinstance(entry, Custom)
    assert entry.custom_type == "system/turn_duration"
    assert entry.data["durationMs"] == 5


def test_titles_are_session_info_and_do_not_move_the_leaf():
    data = record("u", None) + b'{"type":"custom-title","customTitle":"mine","sessionId":"s"}\n'

    found = read(data)

    assert isinstance(found.entry(1), SessionInfo)
    assert (found.reading.title, found.leaf) == ("mine", "u")


def test_a_record_of_a_type_that_nobody_knows_is_kept():
    entry = only(record("u", None) + record("n", "u", "hologram", depth=3))

    assert isinstance(entry, Custom)
    assert (entry.custom_type, entry.data["depth"]) == ("hologram", 3)


def test_a_compaction_tells_how_long_the_context_was():
    data = record("u1", None)
    data += record(
        "cb", "u1", "system", subtype="compact_boundary", compactMetadata={"trigger": "auto", "preTokens": 9}
    )
    entry = only(data + record("cs", "cb", content="so far", isCompactSummary=True))

    assert isinstance(entry, Compaction)
    assert (entry.summary, entry.tokens_before, entry.first_kept) == ("so far", 9, None)


# -- the library ------------------------------------------------------------------------------------------


def test_a_session_opens_and_refuses_everything_that_would_write(tmp_path):
    path = tmp_path / NAME
    path.write_bytes(
        before := (SAMPLES / "synthetic/resume-mark/5a000000-0000-4000-8000-000000000002.jsonl").read_bytes()
    )

    with Session.open(path) as session:
        assert session.leaf == "a2"
        assert session.title == "Fix the bug"
        for verb in (
            lambda: session.append_message("x"),
            lambda: session.append_label("a2", "here"),
            lambda: session.set_title("t"),
            lambda: session.append_model_change("anthropic", "m"),
        ):
            with pytest.raises(BranchlineError, match="read-only"):
                verb()

    assert path.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == [path]


def test_files_of_the_program_are_not_appended_to():
    assert CLAUDE_CODE.writer is not None
    assert not CLAUDE_CODE.is_appendable


def test_an_empty_file_is_no_session():
    with pytest.raises(NotASession):
        detect(b"", "x.jsonl")
    found = read(b"")
    assert (found.reading.header, len(found.tree), found.reading.read_only) == (None, 0, "it is empty")


def test_projects_lie_in_the_configuration_directory_under_their_slug():
    assert CLAUDE_CODE.home.roots({}, "/home/u") == ["/home/u/.claude/projects"]
    assert CLAUDE_CODE.home.roots({"CLAUDE_CONFIG_DIR": "/c"}, "/home/u") == ["/c/projects"]
    assert (
        CLAUDE_CODE.home.directory("/home/u/my_app.v2", {}, "/home/u")
        == "/home/u/.claude/projects/-home-u-my-app-v2"
    )


def test_the_header_comes_from_the_name_and_the_first_records():
    header = read(SAMPLES / "synthetic/lineage/aaaaaaaa-0000-4000-8000-000000000001.jsonl").reading.header

    assert (header.id, header.timestamp, header.parent_session) == (
        "aaaaaaaa-0000-4000-8000-000000000001",
        "2026-08-20T10:01:00.000Z",
        None,
    )
    assert header.cwd
    assert header.metadata == {"version": "2.1.226", "gitBranch": "main"}


def test_records_without_a_uuid_hang_behind_the_one_before_them():
    bare = json.loads(record("x", None, "assistant"))
    del bare["uuid"], bare["parentUuid"]
    found = read(record("u", None) + json.dumps(bare).encode() + b"\n" + record("u2", "u"))

    assert keys(found, found.tree.path_positions(2)) == ["u", "line-2", "u2"]
    assert not found.findings


def test_a_kind_of_record_that_nobody_knows_may_stand_first():
    strange = b'{"type":"brand-new-kind","sessionId":"s","value":1}\n'

    assert not CLAUDE_CODE.reader.sniff(strange, NAME)
    assert detect(strange + record("u", None), NAME) is CLAUDE_CODE


def test_records_behind_the_header_of_another_program_tell_nothing():
    header = b'{"type":"session","version":3,"id":"s","timestamp":"2026-09-01T10:00:01.000Z","cwd":"/"}\n'

    assert not CLAUDE_CODE.reader.sniff(header + record("u", None), NAME)


# -- answers that are not sent ----------------------------------------------------------------------------


def test_empty_and_blank_answers_stay_in_the_tree_and_are_not_sent():
    found = read(SAMPLES / "found" / "blank.jsonl")
    roles = [role for role in found.tree.roles if role is not None]

    sent = [message_text(item.message) for item in build_context(found, found.reading.leaf).messages]

    assert roles == ["user", "assistant"] * 3
    assert sent == ["First", "Second", "Third", "An answer."]


@pytest.mark.parametrize(
    ("content", "is_sent"),
    [
        ([], False),
        ("", False),
        ([{"type": "text", "text": " "}, {"type": "text", "text": ""}], False),
        ([{"type": "text", "text": ""}, {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}], True),
        ([{"type": "thinking", "thinking": "hm", "signature": "s"}], True),
    ],
)
def test_an_answer_with_anything_but_blank_text_is_sent(content, is_sent):
    made = [record("u1", None, content="Go"), record("a1", "u1", "assistant", []), record("u2", "a1")]
    answer = json.loads(made[1])
    answer["message"]["content"] = content
    found = read(b"".join([made[0], json.dumps(answer).encode() + b"\n", made[2]]))

    roles = [item.role for item in build_context(found, found.reading.leaf).messages]

    assert roles == ["user", *(["assistant"] if is_sent else []), "user"]


def test_a_blank_piece_of_an_answer_does_not_hide_the_others():
    lines = [
        record("u1", None, content="Go"),
        record("a1", "u1", "assistant", [{"type": "text", "text": ""}], answer="m"),
        record("a2", "a1", "assistant", [{"type": "text", "text": "Done."}], answer="m"),
    ]
    found = read(b"".join(lines))

    sent = [message_text(item.message) for item in build_context(found, found.reading.leaf).messages]

    assert sent == ["Go", "Done."]
