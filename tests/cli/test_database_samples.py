"""What real opencode and llm wrote is read as its ``expected.json`` says, where those samples are at hand."""

from __future__ import annotations

import re

import pytest

from branchline import Session, SessionLibrary
from branchline.entries import AssistantMessage, Compaction, MessageEntry, Thinking, ToolResult, UserMessage
from branchline.library.branch_count import count_branches
from cli.test_more_samples import told
from support import SHARED, load

PROGRAMS = [name for name in ("opencode", "llm") if (SHARED / name / "more").exists()]
SAMPLES = [
    pytest.param(SHARED / name / "more" / record["file"], record, id=record["session"])
    for name in PROGRAMS
    for record in load(SHARED / name / "more" / "expected.json")
]
needs_samples = pytest.mark.skipif(not PROGRAMS, reason="the samples of other programs are not at hand")


@needs_samples
@pytest.mark.parametrize(("path", "record"), SAMPLES)
def test_a_session_of_a_real_database(path, record, data):
    with Session.open(f"{path}#{record['session']}") as session:
        roles, texts, calls = told(session)
        # A session that stands before its last entries has one more end: the place where it stands.
        stands_inside = bool(session.children(session.leaf))
        branches = count_branches(session.index) + stands_inside
    seen = data("inspect", path, "--session", record["session"])

    assert roles == re.sub("a+", "a", record["roles"].replace("s", ""))
    assert texts == [text for text in record["texts"] if text]
    assert calls == record["tool_calls"]
    assert {name: seen["usage"][name] for name in record["usage"]} == record["usage"]
    assert seen["usage"]["cost"] == (record["cost"] and pytest.approx(record["cost"]))
    assert (seen["title"], seen["cwd"]) == (record["title"], record["cwd"])
    assert seen["parent_session"] == record["parent"]
    assert seen["findings"] == []
    assert branches == record["branches"]


@needs_samples
def test_the_first_opencode_database():
    path = SHARED / "opencode" / "first" / "opencode.db"
    expected = load(path.with_name("expected.json"))[path.name]

    rows = {row.id: row for row in SessionLibrary(path).list(deep=True)}

    assert rows.keys() == expected.keys()
    for session_id, record in expected.items():
        with Session.open(f"{path}#{session_id}") as session:
            found = session.entries(list(session.index))
            messages = [entry.message for entry in found if isinstance(entry, MessageEntry)]
            answers = [message for message in messages if isinstance(message, AssistantMessage)]
            spent = session.usage().all.total
            assert rows[session_id].title == record["title"]
            assert session.parent_session == record["parent"]
            assert sum(isinstance(entry, Compaction) for entry in found) == record["compactions"]
            # Its messages include the summary of a compaction, and the prompt that asked for it.
            prompts = sum(isinstance(message, UserMessage) for message in messages)
            assert prompts + record["compactions"] == record["userMessages"]
            assert len(answers) + record["compactions"] == record["assistantMessages"]
            results = [message for message in messages if isinstance(message, ToolResult)]
            assert len(results) == record["toolCalls"]
            assert sum(bool(result.is_error) for result in results) == record["failedTools"]
            thoughts = [block for answer in answers for block in answer.content]
            assert sum(isinstance(block, Thinking) for block in thoughts) == record["reasoning"]
            assert (spent.input, spent.output) == (record["usage"]["input"], record["usage"]["output"])
            assert spent.cost == pytest.approx(record["cost"])
            if record["revertMessageID"] is not None:
                assert record["revertMessageID"] in session.children(session.leaf)


@needs_samples
def test_the_first_llm_log():
    path = SHARED / "llm" / "first" / "logs.db"
    expected = load(path.with_name("expected.json"))[path.name]

    rows = {row.id: row for row in SessionLibrary(path).list(deep=True)}

    assert {row.id: row.title for row in rows.values()} == {
        thread["id"]: thread["name"] for thread in expected["threads"]
    }
    spent = []
    for thread in expected["threads"]:
        with Session.open(f"{path}#{thread['id']}") as session:
            assert session.leaf == thread["tip"]
            assert session.parent_session == thread["forkedFrom"]
            answers = [entry for entry in session.entries(session.path()) if _is_answer(entry)]
            assert len(answers) == thread["turns"]
            spent.append(session.usage().all.total)
    assert sum(one.input + one.cache_read for one in spent) == expected["usage"]["input"]
    assert sum(one.output for one in spent) == expected["usage"]["output"]


def _is_answer(entry):
    return isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage)


@needs_samples
def test_deleted_branches_of_opencode_are_read_out_of_its_event_log_if_asked(run):
    path = SHARED / "opencode" / "more" / "opencode.db"
    address = f"{path}#ses_e1ec3a3a9ffe7yXjPCB1xzWb6l"

    with Session.open(address) as plain, Session.open(f"{address}+deleted") as whole:
        now = told(plain)
        assert told(whole) == now
        deleted = [key for key in whole.index if key not in plain.index]
        abandoned = [entry.message for entry in whole.entries(deleted)]
        assert count_branches(whole.index) == 2
    shown = run("tree", f"{address}+deleted", "--plain").stdout

    assert [type(message).__name__ for message in abandoned] == [
        "UserMessage",
        "AssistantMessage",
        "ToolResult",
        "AssistantMessage",
    ]
    assert "Violets are blue." in shown
    assert "Violets are violet." in shown
