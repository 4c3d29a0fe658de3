"""Token counts: usage reported by the last answer, plus estimates for later messages."""

from __future__ import annotations

import pytest

from branchline.context import TokenEstimate, build_context, context_tokens, estimate_message
from branchline.entries import (
    AssistantMessage,
    BashExecution,
    CompactionSummaryMessage,
    Image,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownMessage,
    UserMessage,
)
from context.story import answer, at, call, compaction, edit, message, story, usage, user


def tokens(*entries):
    session = story(*entries)
    return context_tokens(build_context(session, at(session)))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (UserMessage(content="12345"), 2),
        (UserMessage(content=(Text(text="1234"), Image(data="x"))), 1201),
        (UserMessage(content="😀😀"), 1),
        (UserMessage(content="😀😀😀"), 2),
        (
            AssistantMessage(
                content=(
                    Thinking(thinking="hmm"),
                    Text(text="ok"),
                    ToolCall(id="c", name="read", arguments={"n": 1.0}),
                )
            ),
            4,  # 3 + 2 + 4 + len('{"n":1}')
        ),
        (ToolResult(tool_call_id="c", tool_name="read", content=(Text(text="x" * 8),)), 2),
        (BashExecution(command="ls", output="a\nb"), 2),
        (CompactionSummaryMessage(summary="x" * 9), 3),
        (SystemMessage(content="1234", sections={"name": "5678", "gone": None}), 2),
        (SystemMessage(content="", tools_added=({"name": "a"},)), 4),
        (UnknownMessage(role="oracle", fields={"content": "x"}), 0),
    ],
)
def test_a_message_is_estimated_by_its_length(said, expected):
    assert estimate_message(said) == expected


def test_the_last_report_counts_and_the_rest_is_estimated():
    estimate = tokens(user("x" * 400), answer("y", usage=usage(50)), user("z" * 40))

    assert estimate == TokenEstimate(tokens=60, usage_tokens=50, trailing_tokens=10, last_usage_index=1)


def test_a_report_without_a_total_is_added_up():
    old = {"input": 5, "output": 6, "cacheRead": 7, "cacheWrite": 8, "cost": {}}

    assert tokens(user("q"), answer("a", usage=old)).tokens == 26


@pytest.mark.parametrize("reason", ["error", "aborted"])
def test_reports_of_failed_answers_do_not_count(reason):
    estimate = tokens(
        user("xxxx"), answer("a", usage=usage(9)), answer("b", usage=usage(70), stopReason=reason)
    )

    assert estimate.tokens == 9 + 1


def test_a_report_of_nothing_does_not_count():
    assert tokens(user("xxxx"), answer("yyyy", usage=usage(0))).last_usage_index is None


@pytest.mark.parametrize("change", [edit("e1", "short"), compaction("s", "e1")])
def test_reports_older_than_a_change_of_the_context_do_not_count(change):
    stale = tokens(user("x" * 400), answer("y" * 40, usage=usage(500)), change)
    fresh = tokens(user("x" * 400), answer("y" * 40, usage=usage(500)), change, answer("z", usage=usage(7)))

    assert stale.usage_tokens == 0
    assert fresh.tokens == 7


def test_the_system_state_is_counted_once():
    """Patches that replace each other's sections are not added up."""
    patch = message("system", content="", sections={"a": "x" * 40})

    assert tokens(patch, patch, patch, user("xxxx")).tokens == 11


def test_arguments_are_counted_as_compact_json():
    assert tokens(answer(call("r", a=[1, "ü"]))).tokens == (1 + len('{"a":[1,"ü"]}') + 3) // 4
