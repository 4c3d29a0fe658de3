"""Sessions that real programs wrote are read as those who made them say."""

from __future__ import annotations

from typing import Any

import pytest

from branchline import Session
from formats.sample_keys import counts_of, expected_turns, keys_of
from support import SHARED, load, sample

PROGRAMS = ("qwen", "copilot", "gemini", "kimi", "cline")


def _more(program: str) -> list[Any]:
    path = SHARED / program / "more" / "expected.json"
    found = load(path) if path.exists() else [{"file": "more/expected.json"}]
    return [pytest.param(program, one, id=f"{program}-{one['file'][-60:]}") for one in found]


@pytest.mark.parametrize(("program", "expected"), [case for name in PROGRAMS for case in _more(name)])
def test_a_session_of_a_real_program_has_the_turns_title_usage_branches_and_parent_that_it_should(
    program, expected
):
    path = sample(program, "more", expected["file"])

    found = keys_of(path)

    wanted = {
        name: expected[name] for name in ("title", "cwd", "tool_calls", "usage", "cost", "branches", "parent")
    }
    assert found == {"turns": expected_turns(expected["roles"], expected["texts"]), **wanted}


FIRST = {
    "qwen": ("prompts", "answers", "toolCalls", "toolResults", "thoughts", "compactions"),
    "copilot": ("prompts", "answers", "toolCalls", "toolResults", "failedTools", "thinking", "compactions"),
    "gemini": ("prompts", "answers", "toolCalls"),
    "kimi": ("prompts", "toolCalls", "toolResults", "thinking"),
    "cline": ("prompts", "answers", "toolCalls", "toolResults", "thinking"),
}


def _first(program: str) -> list[Any]:
    path = SHARED / program / "first" / "expected.json"
    found = load(path) if path.exists() else {"first/expected.json": {}}
    return [pytest.param(program, file, one, id=f"{program}-{file[-50:]}") for file, one in found.items()]


@pytest.mark.parametrize(("program", "file", "expected"), [case for name in FIRST for case in _first(name)])
def test_a_session_of_the_first_set_has_the_counts_title_and_directory_that_it_should(
    program, file, expected
):
    path = sample(program, "first", file)

    with Session.open(path) as session:
        found = counts_of(session)
        title, cwd = session.title, session.header.cwd

    wanted = {name: expected[name] for name in FIRST[program]}
    assert {name: found[name] for name in wanted} == wanted
    assert (expected.get("title") or title) == title
    assert expected.get("cwd", cwd) == cwd
