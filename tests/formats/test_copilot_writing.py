"""What is written for Copilot CLI: events that it loads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from branchline.context.tool_pairs import NO_RESULT
from branchline.conversion import convert
from branchline.formats import COPILOT
from branchline.formats.derived_ids import is_uuid
from branchline.session import Session
from formats.conversion_kit import HEADER


@pytest.fixture
def events():
    with Session.in_memory("/home/u/project", id="source") as session:
        texts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
        session.append_message({"role": "user", "content": texts})
        session.append_message(
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "what now"}], "model": "gpt-5"}
        )
        session.append_message("go on")
        session.append_message({"role": "assistant", "content": [{"type": "text", "text": "done"}]})
        data = convert(session.transcript, COPILOT, HEADER).data
    return [json.loads(line) for line in data.splitlines()]


def test_every_event_has_a_uuid_without_which_the_program_calls_the_file_corrupt(events):
    ids = [event["id"] for event in events]

    assert all(map(is_uuid, ids))
    assert [event["parentId"] for event in events] == [None, *ids[:-1]]


def test_texts_of_one_prompt_stand_on_lines_of_their_own(events):
    assert [event["data"]["content"] for event in events if event["type"] == "user.message"] == [
        "one\ntwo",
        "go on",
    ]


def test_an_answer_that_only_thinks_says_nothing(events):
    answers = [event["data"] for event in events if event["type"] == "assistant.message"]

    assert [answer["content"] for answer in answers] == ["", "done"]
    assert answers[0]["reasoningText"] == "what now"


@pytest.mark.parametrize("title", ["Monads", "yes", "a: b # c", '"quoted"', "two\nlines", "naïve ✓"])
def test_an_installed_session_has_its_title_where_the_program_looks_for_it(tmp_path, monkeypatch, title):
    monkeypatch.setenv("COPILOT_HOME", str(tmp_path / "copilot"))
    with Session.in_memory(str(tmp_path), id="source") as session:
        session.append_message("hello")
        session.set_title(title)
        written = session.title
        (made,) = session.convert(to="copilot", install=True).files

    beside = Path(made.path).with_name("workspace.yaml")
    facts = COPILOT.companion.facts(beside.read_bytes())

    assert (facts.title, facts.cwd) == (written, str(tmp_path))
    assert "user_named: true\n" in beside.read_text()
    assert beside.stat().st_mode & 0o777 == 0o600


def test_a_session_without_a_title_gets_its_name_from_the_program(tmp_path, monkeypatch):
    monkeypatch.setenv("COPILOT_HOME", str(tmp_path / "copilot"))
    with Session.in_memory(str(tmp_path), id="source") as session:
        session.append_message("hello")
        (made,) = session.convert(to="copilot", install=True).files

    assert [path.name for path in Path(made.path).parent.iterdir()] == ["events.jsonl"]


def test_messages_that_a_compaction_kept_follow_its_summary(tmp_path):
    with Session.in_memory("/p", id="source") as session:
        session.append_message("long ago")
        kept = [
            {
                "role": "assistant",
                "content": [{"type": "toolCall", "id": "c", "name": "ls", "arguments": {}}],
            },
            {
                "role": "toolResult",
                "toolCallId": "c",
                "toolName": "ls",
                "content": [{"type": "text", "text": "a"}],
            },
            {"role": "assistant", "content": [{"type": "text", "text": "Got it."}]},
        ]
        session.append_compaction("They counted.", messages=kept)
        session.append_message("and now?")
        data = convert(session.transcript, COPILOT, HEADER).data

    events = [json.loads(line) for line in data.splitlines()]
    spoken = [event["data"] for event in events if event["type"].endswith((".message", "_complete"))]

    assert "They counted." in spoken[0]["content"]
    assert [request["name"] for request in spoken[1]["toolRequests"]] == ["ls"]
    assert spoken[2]["result"] == {"content": "a"}
    assert [one["content"] for one in spoken[3:]] == ["Got it.", "and now?"]


def test_a_call_at_the_end_gets_a_result_that_says_that_there_is_none():
    with Session.in_memory("/p", id="source") as session:
        session.append_message("hello")
        call = {"type": "toolCall", "id": "c", "name": "ls", "arguments": {}}
        session.append_message({"role": "assistant", "content": [call]})
        data = convert(session.transcript, COPILOT, HEADER).data

    last = json.loads(data.splitlines()[-1])

    assert last["type"] == "tool.execution_complete"
    assert last["data"]["toolCallId"] == "c"
    assert last["data"]["success"] is False
    assert last["data"]["result"]["content"] == NO_RESULT
