"""Which command continues a session, and where."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from branchline.formats.continuing import CONTINUING
from branchline.formats.detect import formats
from branchline.library import SessionRow
from branchline.tui.app import run_command
from branchline.tui.going_on import Going, going_on

ROW = SessionRow(key="k", id="the-id", path="/s/a file.jsonl", cwd="/home/u/my shop")


def installed(*names: str) -> Callable[[str], str | None]:
    return lambda name: f"/bin/{name}" if name in names else None


def test_every_program_whose_sessions_are_read_has_a_command() -> None:
    assert {format_.name for format_ in formats()} <= set(CONTINUING)


@pytest.mark.parametrize(
    ("agent", "line"),
    [
        ("pi", "pi --session '/s/a file.jsonl'"),
        ("oh-my-pi", "omp --resume '/s/a file.jsonl'"),
        ("zot", "zot --session '/s/a file.jsonl'"),
        ("claude-code", "claude --resume the-id"),
        ("codex", "codex resume the-id"),
        ("induscode", "induscode --resume"),
    ],
)
def test_a_session_goes_on_in_the_program_that_owns_it_in_its_directory(agent: str, line: str) -> None:
    program = line.split(maxsplit=1)[0]

    going = going_on(ROW, agent, can_chat=True, installed=installed(program), is_directory=lambda _: True)

    assert going.line == f"cd '/home/u/my shop' && {line}"
    assert going.problem is None
    assert not going.moved


def test_our_own_session_goes_on_in_chat_or_else_in_pi() -> None:
    chat = going_on(ROW, "branchline", can_chat=True, installed=installed("pi"), is_directory=lambda _: True)
    pi = going_on(ROW, "branchline", can_chat=False, installed=installed("pi"), is_directory=lambda _: True)
    none = going_on(ROW, "branchline", can_chat=False, installed=installed(), is_directory=lambda _: True)

    assert chat.command == ("branchline", "chat", "--resume", ROW.path)
    assert pi.command == ("pi", "--session", ROW.path)
    assert pi.problem is None
    assert none.problem is not None


def test_a_program_that_is_missing_and_a_directory_that_is_gone_are_said() -> None:
    going = going_on(ROW, "codex", can_chat=True, installed=installed(), is_directory=lambda _: False)

    assert going.problem is not None
    assert "codex is not installed" in going.problem
    assert going.moved


def test_a_command_is_run_in_its_directory_and_one_that_cannot_start_is_none(tmp_path: Path) -> None:
    script = "import os; open('here', 'w').write(os.getcwd()); raise SystemExit(3)"
    ran = Going(program="python", command=(sys.executable, "-c", script), cwd=str(tmp_path))

    assert run_command(ran, str(tmp_path)) == 3
    assert (tmp_path / "here").read_text() == str(tmp_path)
    assert run_command(Going(program="x", command=("/nonexistent/x",), cwd=None), None) is None
