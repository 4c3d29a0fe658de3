"""Which command continues a session, and where."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from branchline.actions.resume import ResumePlan, continue_session, plan_resume
from branchline.formats.resume_commands import RESUME_COMMANDS
from branchline.plugins.formats import formats

PATH = "/s/a file.jsonl"
ID = "0199f3a2-7c1e-7d44-9b35-2f6a1c0de987"


def decided(agent: str, *installed: str, there: bool = True, here: bool = False) -> ResumePlan:
    return plan_resume(
        agent,
        path=PATH,
        id=ID,
        cwd="/home/u/my shop",
        installed=lambda name: f"/bin/{name}" if name in installed else None,
        is_directory=lambda _: there,
        here=here,
    )


def test_every_program_whose_sessions_are_read_has_a_command() -> None:
    assert {format_.name for format_ in formats()} <= set(RESUME_COMMANDS)


@pytest.mark.parametrize(
    ("agent", "line"),
    [
        ("pi", "pi --session '/s/a file.jsonl'"),
        ("oh-my-pi", "omp --resume '/s/a file.jsonl'"),
        ("zot", "zot --session '/s/a file.jsonl'"),
        ("claude-code", f"claude --resume {ID}"),
        ("codex", f"codex resume {ID}"),
        ("induscode", "induscode --resume"),
    ],
)
def test_a_session_goes_on_in_the_program_that_owns_it_in_its_directory(agent: str, line: str) -> None:
    program = line.split(maxsplit=1)[0]

    going = decided(agent, program)

    assert going.shell_command == f"cd '/home/u/my shop' && {line}"
    assert going.not_installed is None
    assert going.unusable is None


def test_our_own_session_goes_on_in_chat() -> None:
    assert decided("branchline", "pi").command == ("branchline", "chat", "--resume", PATH)


def test_where_the_program_is_missing_a_fork_goes_on_in_chat_and_that_is_said() -> None:
    going = decided("codex", there=False)

    assert going.command == ("branchline", "chat", "--fork", PATH)
    assert "codex is not installed" in (going.note or "")
    assert going.unusable == "the directory of this session no longer exists: /home/u/my shop"


def test_here_means_a_fork_in_chat_whatever_is_installed() -> None:
    assert decided("pi", "pi", here=True).command == ("branchline", "chat", "--fork", PATH)
    assert decided("branchline", here=True).command == ("branchline", "chat", "--fork", PATH)


def test_a_command_is_run_in_its_directory_and_one_that_cannot_start_is_none(tmp_path: Path) -> None:
    script = "import os; open('here', 'w').write(os.getcwd()); raise SystemExit(3)"
    ran = ResumePlan(program="python", command=(sys.executable, "-c", script), cwd=str(tmp_path))

    assert continue_session(ran, str(tmp_path)) == 3
    assert (tmp_path / "here").read_text() == str(tmp_path)
    assert continue_session(ResumePlan(program="x", command=("/nonexistent/x",), cwd=None), None) is None
