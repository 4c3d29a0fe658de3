"""What rows say, what a search finds, what is copied."""

from __future__ import annotations

import json

import pytest

from branchline.entries import Damaged, entry_from_fields
from branchline.formats import EntryLog, LabelState
from branchline.views.entry_rows import RowTexts, copy_text, row_text, search_text
from branchline.views.tool_calls import Call
from branchline.views.tool_views import call_text
from branchline.views.tree_search import Search
from support import transcript

HEADER = '{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}'


def session(*entries: dict) -> EntryLog:
    """A session whose entries hang from one another unless they say otherwise."""
    lines = [HEADER]
    parent = None
    for number, fields in enumerate(entries):
        entry = {"id": f"e{number}", "parentId": parent, "timestamp": "2026-01-01T00:00:01.000Z", **fields}
        lines.append(json.dumps(entry))
        parent = entry["id"]
    return transcript(("\n".join(lines) + "\n").encode())


def message(role: str, content=(), **more) -> dict:
    return {"type": "message", "message": {"role": role, "content": content, **more}}


def words(text: str) -> list[dict]:
    return [{"type": "text", "text": text}]


def record(type: str, **fields):  # noqa: A002
    return entry_from_fields({"type": type, "id": "x", "parentId": None, "timestamp": "", **fields})


# -- tool calls -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments", "shown"),
    [
        ("read", {"path": "/home/u/a.py"}, "[read: ~/a.py]"),
        ("read", {"file_path": "/home/u"}, "[read: ~]"),
        ("read", {"path": "/home/user2/a"}, "[read: /home/user2/a]"),
        ("read", {"path": "a", "offset": 10}, "[read: a:10]"),
        ("read", {"path": "a", "offset": 10, "limit": 5}, "[read: a:10-14]"),
        ("read", {"path": "a", "limit": 5}, "[read: a:1-5]"),
        ("read", {}, "[read: ]"),
        ("write", {"path": "a", "content": "x"}, "[write: a]"),
        ("edit", {"path": "a"}, "[edit: a]"),
        ("bash", {"command": "make\n\ttest "}, "[bash: make  test]"),
        ("bash", {"command": "x" * 50}, f"[bash: {'x' * 50}]"),
        ("bash", {"command": "x" * 51}, f"[bash: {'x' * 50}...]"),
        ("grep", {"pattern": "a.*b"}, "[grep: /a.*b/ in .]"),
        ("grep", {"pattern": "a", "path": "/home/u/src"}, "[grep: /a/ in ~/src]"),
        ("find", {"pattern": "*.py", "path": "src"}, "[find: *.py in src]"),
        ("ls", {}, "[ls: .]"),
        ("search", {"query": "q", "n": 1.0}, "[search query=q n=1]"),
        ("search", {"query": "q" * 80}, "[search query=" + "q" * 60 + "...]"),
        ("read", {"path": ["odd"], "offset": "x"}, '[read: ["odd"]]'),
    ],
)
def test_a_call_is_named_by_what_it_works_on(name, arguments, shown):
    assert call_text(Call("c", name, arguments), home="/home/u") == shown


def test_a_result_is_named_by_the_call_above_it():
    calls = [
        {"type": "toolCall", "id": f"c{n}", "name": "read", "arguments": {"path": f"f{n}"}} for n in "12"
    ]
    source = session(
        message("assistant", calls),
        message("toolResult", words("one"), toolCallId="c1", toolName="read"),
        message("toolResult", words("two"), toolCallId="c2", toolName="read"),
        message("assistant", [{**calls[0], "arguments": {"path": "again"}}]),
        message("toolResult", words("three"), toolCallId="c1", toolName="read"),
        message("toolResult", words("lost"), toolCallId="c9", toolName="write"),
    )

    texts = RowTexts(source)

    assert [texts(place) for place in (1, 2, 4, 5)] == [
        "[read: f1]",
        "[read: f2]",
        "[read: again]",
        "[write]",
    ]


def test_results_without_a_call_cost_no_walk_through_the_whole_session():
    result = message("toolResult", words("x"), toolCallId="none", toolName="read")
    source = session(*[result] * 3000)
    reads = []
    source.entry = lambda position, entry=source.entry: reads.append(position) or entry(position)

    texts = RowTexts(source)

    assert {texts(place) for place in range(2900, 3000)} == {"[read]"}
    assert len(reads) == 100


def test_a_call_with_odd_fields_is_still_found():
    source = session(
        message("assistant", [{"type": "toolCall", "id": "c", "name": "ls", "arguments": None}]),
        message("toolResult", words("x"), toolCallId="c", toolName="list"),
    )

    assert RowTexts(source)(1) == "[ls: .]"


# -- rows -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "shown"),
    [
        (record(**message("user", "  a\n\tb  ")), "user: a  b"),
        (record(**message("user", words("x" * 300))), "user: " + "x" * 200),
        (record(**message("user", [])), "user:"),
        (record(**message("assistant", words("yes"), stopReason="aborted")), "assistant: yes"),
        (record(**message("assistant", [], stopReason="aborted", errorMessage="no")), "assistant: (aborted)"),
        (record(**message("assistant", [], stopReason="error")), "assistant: (no content)"),
        (
            record(**message("assistant", words("half"), stopReason="error", errorMessage="no")),
            "assistant: half",
        ),
        (record(**message("assistant", [], errorMessage="e\n" * 90)), "error: " + "e " * 40),
        (record(**message("assistant", words(" \n"))), "assistant: (no content)"),
        (record(**message("bashExecution", command="make\nall", output="")), "[bash]: make all"),
        (record(**message("system", "be good")), "[system]"),
        (record(**message("oracle", "x")), "[oracle]"),
        (record("custom_message", customType="note", content="hi\nyou"), "[note]: hi you"),
        (record("compaction", summary="s", tokensBefore=1500), "[compaction: 2k tokens]"),
        (record("compaction", summary="s"), "[compaction: 0k tokens]"),
        (record("compaction", summary="s", tokensBefore=10**400), "[compaction: infk tokens]"),
        (record("compaction", summary="s", tokensBefore=float("inf")), "[compaction: infk tokens]"),
        (record("branch_summary", summary="went\twrong"), "[branch summary]: went wrong"),
        (record("model_change", provider="p", modelId="m"), "[model: m]"),
        (record("thinking_level_change", thinkingLevel="high"), "[thinking: high]"),
        (record("custom", customType="ext"), "[custom: ext]"),
        (record("context_edit", targetId="t", replacement=None), "[context omit: t]"),
        (record("context_edit", targetId="t", replacement={"content": "x"}), "[context replace: t]"),
        (record("label", targetId="t", label="x"), "[label: x]"),
        (record("label", targetId="t"), "[label: (cleared)]"),
        (record("session_info", name="N"), "[title: N]"),
        (record("session_info", name=""), "[title: empty]"),
        (record("usage", kind="cache"), ""),
        (record("leaf", targetId="t"), ""),
        (record("what_is_this"), ""),
        (Damaged(id="d", text='{"type":"mess'), '[damaged]: {"type":"mess'),
    ],
)
def test_a_row_says_in_one_line_what_its_entry_is(entry, shown):
    assert row_text(entry) == shown


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (record(**message("user", words("Hello"))), "user Hello"),
        (record(**message("user", words("x" * 300))), "user " + "x" * 200),
        (record(**message("bashExecution", command="make", output="o")), "bashExecution make"),
        (record(**message("oracle", "x")), "oracle x"),
        (record("custom_message", customType="note", content="hi"), "note hi"),
        (record("compaction", summary="secret"), "compaction"),
        (record("branch_summary", summary="s"), "branch summary s"),
        (record("session_info", name="N"), "title N"),
        (record("model_change", provider="p", modelId="m"), "model m"),
        (record("thinking_level_change", thinkingLevel="high"), "thinking high"),
        (record("custom", customType="ext"), "custom ext"),
        (record("context_edit", targetId="t", replacement=None), "context edit omit t"),
        (record("label", targetId="t", label="x"), "label x"),
        (record("leaf", targetId="t"), ""),
        (Damaged(id="d", text="torn"), "damaged torn"),
    ],
)
def test_a_search_looks_at_what_the_entry_is(entry, text):
    assert search_text(entry) == text


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (record(**message("user", words("x" * 300))), "x" * 300),
        (record(**message("assistant", [], errorMessage="overloaded")), "overloaded"),
        (record(**message("bashExecution", command="make", output="o")), "make"),
        (record("branch_summary", summary="s"), "s"),
        (record("custom_message", customType="note", content="hi"), "hi"),
        (record("model_change", provider="p", modelId="m"), ""),
        (Damaged(id="d", text="torn"), "torn"),
    ],
)
def test_a_copy_is_the_whole_text(entry, text):
    assert copy_text(entry) == text


# -- search -----------------------------------------------------------------------------------------------


@pytest.mark.parity("OMP-11")
def test_a_search_needs_all_words_in_any_case_and_order():
    source = session(
        message("user", words("Fix the Parser")),
        message("assistant", words("done")),
        message("user", words("fix it")),
    )
    labels = {"e2": LabelState("Parser idea", "")}

    search = Search(source, labels)

    assert search.find("parser FIX") == {0, 2}
    assert search.find("fix") == {0, 2}
    assert search.find("assist") == {1}
    assert search.find("nothing fix") == set()
    assert search.find("  ") is None


def test_a_search_reads_the_session_once_and_then_only_what_is_new():
    source = session(*[message("user", words(f"turn {n}")) for n in range(1500)])
    reads = []
    source.iter_entries = lambda places, entries=source.iter_entries: reads.extend(places) or entries(places)
    search = Search(source)

    assert search.find("turn 1499") == {1499}
    assert search.find("turn 7") == {n for n in range(1500) if "7" in str(n)}
    assert reads == list(range(1500))
