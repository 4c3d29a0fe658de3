"""Tool calls as a person reads them, whatever their arguments are."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.entries import ToolResult, entry_from_fields
from branchline.views.cards import cards
from branchline.views.spans import line_text, shown_line
from branchline.views.text import safe
from branchline.views.tool_calls import Call
from branchline.views.tool_results import result_view
from branchline.views.tool_views import call_line, call_sections, call_text, diff_runs

PATCH = """*** Begin Patch
*** Update File: /home/u/src/a.py
@@
-old
+new
*** Add File: b.py
+x
*** End Patch"""


def _text(text: str) -> dict:
    return {"type": "text", "text": text}


def _record(message: dict) -> dict:
    when = "2026-01-01T00:00:00.000Z"
    return {"type": "message", "id": "e", "parentId": None, "timestamp": when, "message": message}


def _result(text: str) -> dict:
    return {"role": "toolResult", "toolCallId": "c", "toolName": "shell", "content": [_text(text)]}


def _answer_of(*blocks: dict):
    return entry_from_fields(_record({"role": "assistant", "content": list(blocks)}))


def _answer(arguments: dict):
    return _answer_of({"type": "toolCall", "id": "c", "name": "Bash", "arguments": arguments})


@pytest.mark.parametrize(
    ("name", "arguments", "shown"),
    [
        # Claude Code
        ("Bash", {"command": "make test", "description": "Run tests"}, "Bash: make test"),
        ("Read", {"file_path": "/home/u/a.py", "offset": 10, "limit": 5}, "Read: ~/a.py:10-14"),
        ("Edit", {"file_path": "/home/u/a.py", "old_string": "a", "new_string": "b"}, "Edit: ~/a.py"),
        ("MultiEdit", {"file_path": "a.py", "edits": []}, "MultiEdit: a.py"),
        ("Write", {"file_path": "a.py", "content": "x"}, "Write: a.py"),
        ("NotebookEdit", {"notebook_path": "n.ipynb", "new_source": "1"}, "NotebookEdit: n.ipynb"),
        ("Grep", {"pattern": "a.*b", "path": "src", "glob": "*.py"}, "Grep: /a.*b/ in src"),
        ("Glob", {"pattern": "**/*.py"}, "Glob: **/*.py in ."),
        ("LS", {"path": "/home/u"}, "LS: ~"),
        (
            "Task",
            {"subagent_type": "Explore", "description": "Find it", "prompt": "Look"},
            "Task: Explore: Find it",
        ),
        (
            "TodoWrite",
            {"todos": [{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"}]},
            "TodoWrite: 1 of 2 done, now b",
        ),
        ("WebFetch", {"url": "https://a.example/x", "prompt": "p"}, "WebFetch: https://a.example/x"),
        ("WebSearch", {"query": "python trees"}, "WebSearch: python trees"),
        ("BashOutput", {"bash_id": "b1"}, "BashOutput: b1"),
        ("Skill", {"skill": "pdf", "args": "x"}, "Skill: pdf"),
        (
            "AskUserQuestion",
            {"questions": [{"question": "Which?", "options": []}]},
            "AskUserQuestion: Which?",
        ),
        # Codex
        ("exec_command", {"cmd": "ls -la", "workdir": "/x"}, "exec_command: ls -la"),
        ("shell", {"command": ["bash", "-lc", "make test"]}, "shell: make test"),
        ("shell", {"command": ["ls", "-la"]}, "shell: ls -la"),
        ("apply_patch", {"input": PATCH}, "apply_patch: ~/src/a.py, b.py"),
        (
            "update_plan",
            {"plan": [{"step": "one", "status": "completed"}, {"step": "two", "status": "pending"}]},
            "update_plan: 1 of 2 done",
        ),
        ("web_search", {"type": "search", "query": "trees"}, "web_search: trees"),
        ("write_stdin", {"session_id": 3, "chars": "y\n"}, "write_stdin: y"),
        ("view_image", {"path": "a.png"}, "view_image: a.png"),
        # pi and oh-my-pi
        ("bash", {"command": "make"}, "bash: make"),
        ("read", {"path": "a.py"}, "read: a.py"),
        ("edit", {"path": "a.py", "edits": [{"oldText": "a", "newText": "b"}]}, "edit: a.py"),
        ("ls", {}, "ls: ."),
        # MCP, and tools that nobody knows
        (
            "mcp__github__create_issue",
            {"title": "It breaks", "labels": ["bug"], "private": False},
            'github/create_issue title="It breaks" labels=["bug"] private=false',
        ),
        ("mcp__files__read", {"path": "a"}, "files/read path=a"),
        ("deploy", {"env": "prod", "steps": [{}, {}], "opts": {"a": 1}}, None),
        ("deploy", {}, "deploy"),
        ("", {}, "tool"),
    ],
)
def test_a_call_is_one_line_that_says_what_it_works_on(name, arguments, shown):
    line = call_line(Call("c", name, arguments), home="/home/u")

    assert line == ("deploy env=prod steps=[2 items] opts={1 key}" if shown is None else shown)


def test_an_edit_is_a_difference_of_lines():
    arguments = {"file_path": "a.py", "old_string": "one\ntwo\nthree", "new_string": "one\n2\nthree"}

    (section,) = call_sections(Call("c", "Edit", arguments))

    assert (section.kind, section.text) == ("diff", " one\n-two\n+2\n three")
    assert list(diff_runs(section.text)) == [
        (" one", "dim"),
        ("-two", "removed"),
        ("+2", "added"),
        (" three", "dim"),
    ]


def test_several_edits_are_several_differences():
    edits = [{"old_string": "a", "new_string": "b"}, {"oldText": "c", "newText": "d", "replace_all": True}]

    sections = call_sections(Call("c", "MultiEdit", {"file_path": "a.py", "edits": edits}))

    assert [(each.kind, each.text) for each in sections] == [
        ("diff", "-a\n+b"),
        ("diff", "-c\n+d"),
        ("text", "replace_all: true"),
    ]


def test_an_opened_call_shows_commands_contents_prompts_and_plans_in_full():
    todos = [{"content": "a", "status": "completed"}, {"content": "b", "status": "pending"}]

    assert [each.text for each in call_sections(Call("c", "Bash", {"command": "a\nb", "timeout": 5}))] == [
        "a\nb",
        "timeout: 5",
    ]
    assert [
        each.text for each in call_sections(Call("c", "Write", {"file_path": "f", "content": "x\n"}))
    ] == ["x\n"]
    assert [each.text for each in call_sections(Call("c", "Task", {"description": "d", "prompt": "p"}))] == [
        "p"
    ]
    assert [each.text for each in call_sections(Call("c", "TodoWrite", {"todos": todos}))] == ["[x] a\n[ ] b"]
    assert [each.text for each in call_sections(Call("c", "apply_patch", {"input": PATCH}))] == [PATCH]


def test_an_unknown_tool_lists_its_arguments_and_no_raw_json_where_they_are_simple():
    call = Call("c", "deploy", {"env": "prod", "note": "two\nlines", "opts": {"a": 1}})

    assert [(each.title, each.text) for each in call_sections(call)] == [
        ("", "env: prod"),
        ("note", "two\nlines"),
        ("opts", '{\n  "a": 1\n}'),
    ]


def test_arguments_of_an_unexpected_type_are_listed_and_never_lost():
    call = Call("c", "Read", {"file_path": ["odd"], "offset": "x", "limit": True})

    assert call_line(call) == 'Read: ["odd"]'
    assert [each.text for each in call_sections(call)] == ["offset: x\nlimit: true"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from(
    [
        "command",
        "cmd",
        "path",
        "file_path",
        "pattern",
        "offset",
        "limit",
        "edits",
        "old_string",
        "new_string",
        "content",
        "todos",
        "plan",
        "prompt",
        "questions",
        "query",
        "url",
        "input",
        "description",
        "subagent_type",
        "view_range",
        "start_line",
    ]
)
NAMES = st.sampled_from(
    [
        "Bash",
        "exec_command",
        "Read",
        "Edit",
        "MultiEdit",
        "Write",
        "Grep",
        "Glob",
        "LS",
        "Task",
        "TodoWrite",
        "update_plan",
        "apply_patch",
        "WebFetch",
        "WebSearch",
        "AskUserQuestion",
        "Skill",
        "ExitPlanMode",
        "mcp__a__b",
        "unknown",
        "write_stdin",
        "\x1b[31m",
    ]
)


@settings(max_examples=300, deadline=None)
@given(NAMES | st.text(max_size=20), st.dictionaries(KEYS | st.text(max_size=8), JSON, max_size=6))
def test_no_arguments_break_a_line_or_leave_it_unbounded(name, arguments):
    call = Call("c", name, arguments)

    for line in (call_line(call), call_text(call)):
        assert len(line) <= 210
        assert "\n" not in line
        assert "\t" not in line
    for section in call_sections(call):
        safe(section.text)


def test_control_characters_in_arguments_reach_no_screen():
    (card,) = cards([_answer({"command": "\x1b[2J\x07rm", "note\x1b": "\u202e"})])

    shown = line_text(shown_line([card.title]))

    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "\x1b" not in "".join(safe(each.text) for each in card.sections())


def test_huge_arguments_cost_a_line_next_to_nothing():
    """A tree draws the row again and again; an argument of 20 MB must not be read each time."""
    huge = "x" * 20_000_000
    calls = [
        Call("c", "Bash", {"command": huge}),
        Call("c", "unknown", {"a": huge, "b": [huge] * 3, "c": {"d": huge}}),
        Call("c", "Edit", {"file_path": huge, "old_string": huge}),
    ]

    start = time.perf_counter()
    lines = [call_text(call) for call in calls for _ in range(20)]

    assert time.perf_counter() - start < 1
    assert max(map(len, lines)) <= 210


def test_an_edit_of_many_lines_is_compared_in_a_moment():
    old = "\n".join(f"old {number}" for number in range(20_000))
    new = "\n".join(f"new {number}" for number in range(20_000))

    start = time.perf_counter()
    (section,) = call_sections(Call("c", "Edit", {"file_path": "a", "old_string": old, "new_string": new}))

    assert time.perf_counter() - start < 2
    assert section.text.count("\n") == 39_999


# -- results ----------------------------------------------------------------------------------------------


def result(text: str, name: str = "shell", **more) -> ToolResult:
    fields = {"role": "toolResult", "toolCallId": "c", "toolName": name, "content": [_text(text)], **more}
    entry = entry_from_fields(_record(fields))
    return entry.message


@pytest.mark.parametrize(
    ("given", "text", "failed", "facts"),
    [
        (result("ok"), "ok", False, ()),
        (result("no", isError=True), "no", True, ()),
        (result("x", "WebFetch", details={"durationMs": 1234}), "x", False, ("1.2s",)),
        (result("x", "Task", details={"totalDurationMs": 125_000}), "x", False, ("2m 5s",)),
        (result("x", "bash", details={"exitCode": 2}), "x", True, ("exit code 2",)),
        (
            result(json.dumps({"output": "hi\n", "metadata": {"exit_code": 1, "duration_seconds": 0.3}})),
            "hi\n",
            True,
            ("exit code 1", "0.3s"),
        ),
        (
            result("Exit code: 0\nWall time: 12.4 seconds\nOutput:\nhi", "shell_command"),
            "Exit code: 0\nWall time: 12.4 seconds\nOutput:\nhi",
            False,
            ("12s",),
        ),
        (
            result(
                "Chunk ID: 1\nWall time: 0.05 seconds\nProcess exited with code 7\nOutput:\n", "exec_command"
            ),
            "Chunk ID: 1\nWall time: 0.05 seconds\nProcess exited with code 7\nOutput:\n",
            True,
            ("exit code 7", "0.1s"),
        ),
        # what only looks like it: the output itself, another tool, wrong types
        (result("Output:\nExit code: 3"), "Output:\nExit code: 3", False, ()),
        (result("Exit code: 3", "Read"), "Exit code: 3", False, ()),
        (result("x", details={"durationMs": "soon", "exitCode": [1]}), "x", False, ()),
        (result("x", details={"durationMs": 1e300}), "x", False, ()),
        (result('{"output": 5, "metadata": {}}'), '{"output": 5, "metadata": {}}', False, ()),
    ],
)
def test_a_result_tells_whether_it_failed_and_how_long_it_took(given, text, failed, facts):
    assert result_view(given) == (text, failed, facts)


def test_the_card_of_a_call_has_its_outcome():
    shell = {"type": "toolCall", "id": "c", "name": "shell", "arguments": {"command": ["ls"]}}
    open_, done, failed = (
        cards([_answer_of(shell), *rest])[0]
        for rest in (
            [],
            [entry_from_fields(_record(_result("fine")))],
            [entry_from_fields(_record(_result("Exit code: 2\nWall time: 3 seconds\nOutput:\n")))],
        )
    )

    assert [card.status for card in (open_, done, failed)] == [
        ("no result",),
        (),
        ("failed", "exit code 2", "3.0s"),
    ]


def test_a_search_that_the_provider_ran_is_a_call_and_not_raw_json():
    search = {"type": "web_search_call", "id": "ws", "status": "completed", "action": {"query": "trees"}}

    (card,) = cards([_answer_of(search)])

    assert (card.kind, card.title, card.open) == ("tool", "web_search: trees", False)


def test_results_of_a_server_tool_are_listed_by_title_and_address():
    call = {"type": "toolCall", "id": "s", "name": "web_search", "arguments": {"query": "trees"}}
    found = {
        "type": "web_search_tool_result",
        "tool_use_id": "s",
        "content": [{"type": "web_search_result", "title": "A tree", "url": "https://a.example"}],
    }

    (card,) = cards([_answer_of(call, found)])

    assert (card.title, card.body, card.open) == ("web_search: trees", "A tree — https://a.example", False)
