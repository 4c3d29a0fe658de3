"""A command line in a world of its own: an empty home, an empty working directory, no colours asked for."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from branchline.cli.app import cli
from cli.chat_terminal import Terminal, chat_in

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory; sessions are kept in a home beside it."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BRANCHLINE_CONFIG", str(tmp_path / "home" / "config.toml"))
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    for name in ("NO_COLOR", "COLORFGBG", "BRANCHLINE_DEBUG", "PYTHONWARNINGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(project)
    return project


@pytest.fixture
def run() -> Run:
    """Run a command in this process; whatever happens, it must end with an exit code and no traceback."""

    def call(*arguments: object, code: int = 0, stdin: str | bytes | None = None) -> Result:
        result = CliRunner().invoke(cli, [str(argument) for argument in arguments], input=stdin)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
        assert "Traceback" not in result.output
        assert "internal error in branchline" not in result.stderr, result.stderr
        assert result.exit_code == code, (result.exit_code, result.output)
        return result

    return call


@pytest.fixture
def data(run: Run) -> Callable[..., dict[str, Any]]:
    """Run a command with --json and give its result."""

    def call(*arguments: object, code: int = 0, stdin: str | bytes | None = None) -> dict[str, Any]:
        result = run(*arguments, "--json", code=code, stdin=stdin)
        assert result.stdout.isascii()
        value = json.loads(result.stdout)
        assert value["schema"] == f"branchline.{arguments[0]}/1"
        assert isinstance(value, dict)
        return value

    return call


@pytest.fixture
def talk(run: Run) -> str:
    """A session with a branch, a label and a title; the id is ``talk``."""
    run("new", "--id", "talk", "--title", "Auth refactor")
    run("append", "talk", "How do I start?")
    run(
        "append", "talk", "--role", "assistant", "Read src/auth.py.", "--model", "anthropic/claude-sonnet-4-5"
    )
    run("append", "talk", "Then what?")
    run("label", "talk", "@leaf", "left")
    run("branch", "talk", "@leaf~1")
    run("append", "talk", "And the tests?")
    return "talk"


@pytest.fixture
def process() -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Run the installed command as a process of its own."""

    def call(*arguments: object, **options: Any) -> subprocess.CompletedProcess[bytes]:
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("capture_output", "stdout" not in options)
        done = subprocess.run(
            [*program(), *map(str, arguments)], check=False, timeout=60, env=dict(os.environ), **options
        )
        assert b"Traceback" not in (done.stderr or b""), done.stderr
        return done

    return call


def program() -> list[str]:
    """The command as it is installed beside this interpreter, or the module where it is not."""
    installed = Path(sys.executable).parent / "branchline"
    return [str(installed)] if installed.exists() else [sys.executable, "-m", "branchline"]


def entry_line(entry_id: str, parent: str | None, role: str, text: str, *, second: int = 0) -> str:
    """One message as pi writes it."""
    message: dict[str, Any] = {
        "role": role,
        "content": [{"type": "text", "text": text}],
        "timestamp": 1_767_603_600_000,
    }
    if role == "assistant":
        message |= {"provider": "anthropic", "model": "claude-sonnet-4-5", "stopReason": "stop"}
    return json.dumps(
        {
            "type": "message",
            "id": entry_id,
            "parentId": parent,
            "timestamp": f"2026-01-05T09:00:{second:02d}.000Z",
            "message": message,
        }
    )


@pytest.fixture
def write_session(world: Path) -> Callable[..., Path]:
    """Write a file of a header and lines, each as text or bytes."""

    def write(*lines: str | bytes, name: str = "made.jsonl", header: bool = True, end: bytes = b"\n") -> Path:
        head = {
            "type": "session",
            "version": 3,
            "id": "made",
            "timestamp": "2026-01-05T09:00:00.000Z",
            "cwd": str(world),
        }
        every = [json.dumps(head), *lines] if header else list(lines)
        path = world / name
        path.write_bytes(
            b"\n".join(line if isinstance(line, bytes) else line.encode() for line in every) + end
        )
        return path

    return write


@pytest.fixture
def line() -> Callable[..., str]:
    return entry_line


@pytest.fixture
def start(world: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Terminal]]:
    """Begin chats in terminals of their own, which are closed in the end."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("ZOT_HOME", str(world.parent / "zot"))
    for name in ("TMUX", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    made: list[Terminal] = []

    def begin(*options: str) -> Terminal:
        made.append(chat_in(world, *options))
        made[-1].wait(r"context \S+ \S+ of")
        return made[-1]

    yield begin
    for terminal in made:
        terminal.close()


@pytest.fixture
def terminal(start: Callable[..., Terminal]) -> Terminal:
    """A chat in a terminal of its own."""
    return start()
