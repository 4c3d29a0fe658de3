"""What real Claude Code and Codex wrote is read as its ``expected.json`` says, where those samples are at hand."""

from __future__ import annotations

import re

import pytest

from branchline import Session
from branchline.entries import (
    AssistantMessage,
    Compaction,
    MessageEntry,
    ToolCall,
    ToolResult,
    UserMessage,
    message_text,
)
from branchline.library.branch_count import count_branches
from support import SHARED, load

SETS = [place for program in ("claude-code", "codex") if (place := SHARED / program / "more").exists()]
SAMPLES = [
    pytest.param(place / record["file"], record, id=record["file"].rpartition("/")[2])
    for place in SETS
    for record in load(place / "expected.json")
]


def told(session):
    """The active path: a letter for each entry, the texts of prompts and answers, the number of calls."""
    roles, texts, calls = "", [], 0
    for entry in session.entries(session.path()):
        match entry:
            case Compaction():
                roles += "k"
            case MessageEntry(message=UserMessage() as message):
                roles += "u"
                texts.append(message_text(message, "\n"))
            case MessageEntry(message=AssistantMessage() as message) if message.stop_reason != "error":
                roles += "a"
                texts.append(message_text(message, "\n"))
                calls += sum(isinstance(block, ToolCall) for block in message.content)
            case MessageEntry(message=ToolResult()):
                roles += "t"
            case _:
                pass
    return re.sub("a+", "a", roles), [text[:60] for text in texts if text.strip()], calls


@pytest.mark.parametrize(("path", "record"), SAMPLES)
def test_a_session_of_the_real_program(path, record, data):
    with Session.open(path) as session:
        roles, texts, calls = told(session)
        branches = count_branches(session.index)
    seen = data("inspect", path)

    assert roles == re.sub("a+", "a", record["roles"].replace("s", ""))
    assert texts == [text for text in record["texts"] if text]
    assert calls == record["tool_calls"]
    assert {name: seen["usage"][name] for name in record["usage"]} == record["usage"]
    assert seen["usage"]["cost"] == record["cost"]
    assert (seen["title"], seen["cwd"]) == (record["title"], record["cwd"])
    assert seen["parent_session"] == record["parent"]
    assert seen["findings"] == []
    # The reverted turns are in the other file of the thread, which the record does not look at.
    assert branches == record["branches"] + ("_" in path.stem)
