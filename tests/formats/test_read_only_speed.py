"""Opening a transcript of Claude Code or a rollout of Codex costs little more than a native session."""

from __future__ import annotations

import json

import pytest

from branchline.entries import AssistantMessage, Text, Thinking, ToolCall, ToolResult, message_text
from branchline.formats import CLAUDE_CODE, CODEX, PI
from formats.claude_code_kit import record, result
from formats.codex_kit import event, item, line, meta
from formats.test_foreign_speed import best, opening, talk, written


def as_claude_code(entries):
    made = []
    before = None
    for entry in entries:
        message = entry.message
        if isinstance(message, AssistantMessage):
            blocks = []
            for block in message.content:
                if isinstance(block, Thinking):
                    blocks.append({"type": "thinking", "thinking": block.thinking, "signature": "s" * 60})
                elif isinstance(block, Text):
                    blocks.append({"type": "text", "text": block.text})
                elif isinstance(block, ToolCall):
                    blocks.append(
                        {"type": "tool_use", "id": block.id, "name": block.name, "input": block.arguments}
                    )
            made.append(record(entry.id, before, "assistant", blocks))
        elif isinstance(message, ToolResult):
            made.append(result(entry.id, before, message.tool_call_id, said=message_text(message)))
        else:
            made.append(record(entry.id, before, content=message_text(message)))
        before = entry.id
    return b"".join(made)


def as_codex(entries):
    made = [meta()]
    for number, entry in enumerate(entries):
        message = entry.message
        if isinstance(message, AssistantMessage):
            for block in message.content:
                if isinstance(block, Thinking):
                    summary = [{"type": "summary_text", "text": block.thinking}]
                    made.append(line("response_item", {"type": "reasoning", "summary": summary}))
                elif isinstance(block, Text):
                    made.append(item("assistant", block.text))
                elif isinstance(block, ToolCall):
                    given = {
                        "name": block.name,
                        "arguments": json.dumps(block.arguments),
                        "call_id": block.id,
                    }
                    made.append(line("response_item", {"type": "function_call", **given}))
            made.append(event("token_count", info={"total_token_usage": {"input_tokens": number}}))
        elif isinstance(message, ToolResult):
            output = {"call_id": message.tool_call_id, "output": message_text(message)}
            made.append(line("response_item", {"type": "function_call_output", **output}))
        else:
            made.append(item("user", message_text(message)))
    return b"".join(made)


@pytest.mark.slow
def test_a_transcript_of_claude_code_costs_at_most_two_and_a_half_times_as_much():
    """Measured alone it is 1.7 times; other work on the machine may not make this fail."""
    entries = talk(15_000)
    native, foreign = written(PI, entries), as_claude_code(entries)

    assert best(opening(CLAUDE_CODE, foreign)) < 2.5 * best(opening(PI, native))


@pytest.mark.slow
def test_a_rollout_of_codex_costs_little_more_per_line():
    """It has two and a half times as many lines for same text."""
    entries = talk(15_000)
    native, foreign = written(PI, entries), as_codex(entries)
    more = foreign.count(b"\n") / native.count(b"\n")

    assert best(opening(CODEX, foreign)) < 2 * more * best(opening(PI, native))
