"""Odd sessions: a model sees the same conversation after a conversion, or the report says what is different."""

from __future__ import annotations

import re

import pytest

from branchline.context import build_context
from branchline.conversion import convert
from branchline.entries import AssistantMessage, ToolCall, ToolResult, message_text
from branchline.formats import PI
from formats.claude_code_kit import api_problems, request, request_items
from formats.conversion_kit import HEADER, TARGETS, read, written
from formats.odd_sessions import ODD_SESSIONS, PNG, answer, image, session, text, user
from interop.conversations import joined, said


def test_of_two_results_of_a_call_the_last_one_is_kept():
    made = convert(read(ODD_SESSIONS["a second result"], PI), TARGETS["qwen"], HEADER)

    assert [(note.kind, note.why) for note in made.fidelity.lost] == [
        ("tool result", "a later result of the same call replaces it")
    ]


def test_a_result_of_no_call_costs_the_others_nothing():
    made = convert(read(ODD_SESSIONS["a result of no call among others"], PI), TARGETS["qwen"], HEADER)

    assert [len(note.entries) for note in made.fidelity.approximated if note.kind == "tool result"] == [1]
    assert not made.fidelity.lost


@pytest.mark.parametrize("target", ["qwen", "copilot"])
@pytest.mark.parametrize(
    "name",
    [
        "an id for calls of two answers",
        "an id for two calls of an answer",
        "calls without ids",
        "ids of another API",
        "long ids",
        "ids that differ in what is cleaned",
        "names of tools that no API takes",
    ],
)
def test_calls_have_ids_and_names_that_model_apis_accept(name, target):
    source = read(ODD_SESSIONS[name], PI)

    found = written(convert(source, TARGETS[target], HEADER).data, TARGETS[target])

    messages = [item.message for item in build_context(found, found.reading.leaf).messages]
    calls = [
        block
        for message in messages
        if isinstance(message, AssistantMessage)
        for block in message.content
        if isinstance(block, ToolCall)
    ]
    results = [message for message in messages if isinstance(message, ToolResult)]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,40}", call.id) for call in calls)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call.name) for call in calls)
    assert [(call.id, call.name) for call in calls] == [
        (result.tool_call_id, result.tool_name) for result in results
    ]
    assert [message_text(result) for result in results] == sorted(
        [message_text(result) for result in results], key=["one", "two", "three", "1", "2", "3"].index
    )


@pytest.mark.parametrize("target", ["qwen", "copilot"])
def test_encrypted_thinking_does_not_turn_calls_into_text(target):
    source = read(ODD_SESSIONS["thinking without and with signatures"], PI)

    found = written(convert(source, TARGETS[target], HEADER).data, TARGETS[target])

    assert said(found) == said(source)


@pytest.mark.parametrize(("target", "copies"), [("claude-code", 1), ("codex", 2)])  # Codex shows its own
def test_an_image_of_an_unusual_type_is_a_note_and_the_others_stay(target, copies):
    rows = session(user([image("image/bmp"), image(), image("image/png", "")]), answer(text("I see.")))

    made = convert(read(rows, PI), TARGETS[target], HEADER)

    assert made.data.count(PNG.encode()) == copies
    assert b"[image, image/bmp, " in made.data
    assert b"[image, image/png, 0 characters]" in made.data
    assert any("images of unusual types" in note.why for note in made.fidelity.approximated)


DIFFERENT = {
    "a branch at a result that was replaced": "as a user message",
    "an id for two calls of an answer": "",  # each call has its own result: more than a model would see
    "names of tools that no API takes": "without the name of the tool",
    "images of unknown kinds": "a note instead of images of unusual types",
    "a compaction between a call and its result": "as a user message",
    "half a character": "with replacement characters for lone surrogates",
}
"""The sessions that Claude Code does not continue as they are, with the words of the report."""


@pytest.mark.parametrize("name", ODD_SESSIONS)
def test_claude_code_sends_the_conversation_of_an_odd_session_and_the_api_accepts_it(name):
    source = read(ODD_SESSIONS[name], PI)

    made = convert(source, TARGETS["claude-code"], HEADER)

    messages = request(made.data)
    assert api_problems(messages) == []
    if name in DIFFERENT:
        assert any(DIFFERENT[name] in note.why for note in made.fidelity.approximated)
    else:
        assert joined(request_items(messages)) == said(source)
