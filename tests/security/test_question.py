"""The permission question in a real terminal: what it shows, and that Enter denies."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.chat_terminal import Terminal
from security.traps import Trap

pytest.importorskip("prompt_toolkit")
pytest.importorskip("fastmcp")

SERVER = """
from mcp.server import MCPServer

server = MCPServer("test")


@server.tool()
def run(path: str) -> str:
    open({mark!r}, "w").close()
    return "it ran"


server.run()
"""


@pytest.fixture
def terminal(here: Path, trap: Trap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    for name in ("TMUX", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    script, config = tmp_path / "server.py", tmp_path / "mcp.json"
    script.write_text(SERVER.format(mark=str(trap.mark("ran"))))
    servers = {"evil": {"command": sys.executable, "args": [str(script)]}}
    config.write_text(json.dumps({"mcpServers": servers}))
    made = Terminal(
        f"question-{os.getpid()}-{time.monotonic_ns()}",
        f"{sys.executable} -P -m branchline chat --no-session --mcp {config}",
        here,
    )
    yield made
    made.close()


def test_enter_denies_and_an_allowed_call_runs(terminal: Terminal, trap: Trap) -> None:
    terminal.wait(r"offline:echo · context")

    terminal.say('offline: call evil_run {"path": "secret.txt"}')
    asked = terminal.wait(r"Run evil\.run\?")
    terminal.press("Enter")
    terminal.wait("The user denied this call")

    assert "The model wants to call evil.run (MCP server evil)" in asked
    assert '"path": "secret.txt"' in asked
    assert trap.sprung == set()

    terminal.wait(r"^❯ *$")
    terminal.say('offline: call evil_run {"path": "again.txt"}')
    terminal.wait(r"Run evil\.run\?")
    terminal.press("Down", "Enter")
    terminal.wait("it ran")

    assert trap.sprung == {"ran"}


def test_escape_denies(terminal: Terminal, trap: Trap) -> None:
    terminal.wait(r"offline:echo · context")

    terminal.say('offline: call evil_run {"path": "secret.txt"}')
    terminal.wait(r"Run evil\.run\?")
    terminal.press("Escape")
    terminal.wait("The user denied this call")

    assert trap.sprung == set()
