"""Answers of Claude Code whose results arrive before their last calls, in every other format."""

from __future__ import annotations

import pytest

from branchline.conversion import branch_tips, convert
from branchline.formats import EntryLog
from formats.claude_code_kit import call, read, record, result
from formats.conversion_kit import HEADER, TARGETS, said, written

OTHERS = [name for name in TARGETS if name != "claude-code"]
INTERRUPTED = [
    record("u1", None, content="Do four things"),
    record("a1", "u1", "assistant", [call("c1")], answer="one"),
    record("a2", "a1", "assistant", [call("c2")], answer="one"),
    record("p1", "a1", "progress", data={"type": "hook_progress"}),
    result("r1", "a1", "c1"),
    record("a3", "r1", "assistant", [call("c3")], answer="one"),
    record("a3.2", "a3", "assistant", [call("c5")], answer="one"),
    record("p2", "a2", "progress", data={"type": "hook_progress"}),
    result("r2", "a2", "c2"),
    record("a4", "r2", "assistant", [call("c4")], answer="one"),
    result("r3", "a3", "c3"),
    record("p3", "r3", "progress", data={"type": "hook_progress"}),
    result("r4", "a4", "c4"),
    result("r5", "a3.2", "c5"),
    record("a5", "r5", "assistant", "Done.", answer="two"),
]


def shape(log: EntryLog) -> list[tuple[str, ...]]:
    """Each message that a model sees: its calls by number, or the call that it answers."""
    return [
        (role, *[f"{part[0]} {part[1]}" for part in parts if part[0] in ("call", "result of")])
        for role, parts in said(log)
    ]


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("whole", [True, False])
def test_one_answer_precedes_all_of_its_results(name, whole):
    source = read(b"".join(INTERRUPTED))
    leaf = None if whole else source.tree.position("a5")

    made = written(convert(source, TARGETS[name], HEADER, leaf=leaf).data, TARGETS[name])

    assert shape(made) == [
        ("UserMessage",),
        ("AssistantMessage", "call 0", "call 1", "call 2", "call 3", "call 4"),
        *[("ToolResult", f"result of {number}") for number in (0, 1, 2, 4, 3)],
        ("AssistantMessage",),
    ]
    assert said(made) == said(source, leaf, TARGETS[name])


@pytest.mark.parametrize("name", OTHERS)
def test_a_session_that_ends_with_a_late_call_keeps_the_results_before_it(name):
    source = read(b"".join(INTERRUPTED[:6]))

    made = written(convert(source, TARGETS[name], HEADER).data, TARGETS[name])

    assert ("ToolResult", "result of 0") in shape(made)


def test_a_branch_from_an_interrupted_answer_stays():
    branch = record("u2", "r1", content="Something else")
    source = read(b"".join([*INTERRUPTED, branch]))

    made = written(convert(source, TARGETS["pi"], HEADER).data, TARGETS["pi"])

    assert len(branch_tips(made)) == len(branch_tips(source))
    assert made.leaf == "u2"
    assert ("ToolResult", "result of 0") in shape(made)
