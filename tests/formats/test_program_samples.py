"""Sessions that real programs wrote are read as those who made them say."""

from __future__ import annotations

from typing import Any

import pytest

from formats.sample_keys import expected_turns, keys_of
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

    wanted = {name: expected[name] for name in ("title", "cwd", "tool_calls", "usage", "branches", "parent")}
    assert found == {"turns": expected_turns(expected["roles"], expected["texts"]), **wanted}
