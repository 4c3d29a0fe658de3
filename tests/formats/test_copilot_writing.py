"""What is written for Copilot CLI: events that it loads."""

from __future__ import annotations

import json

import pytest

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
