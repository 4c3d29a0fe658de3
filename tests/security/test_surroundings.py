"""Nothing beside a session, and nothing in it, runs when a command reads it.

One directory holds everything that something might run: modules, programs, settings, MCP servers, plugins, hooks.
It is the present directory, the directory that the session names and the first entry of ``PATH``. Every text of
the session is a command for a shell.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import branchline
from branchline import Session
from branchline.web.server import _open_browser
from security.traps import Trap

BROWSERS = (
    "xdg-open",
    "xdg-settings",
    "x-www-browser",
    "www-browser",
    "sensible-browser",
    "firefox",
    "chromium",
)
MORE_PROGRAMS = (
    "git",
    "less",
    "more",
    "vi",
    "editor",
    "stty",
    "tput",
    "infocmp",
    "uname",
    "ldconfig",
    "gcc",
)
READING = [
    ["ls"],
    ["ls", "--all", "--json"],
    ["show", "FILE"],
    ["show", "FILE", "--full"],
    ["tree", "FILE"],
    ["inspect", "FILE"],
    ["context", "FILE"],
    ["stats", "--dir", "."],
    ["search", "touch", "--dir", "."],
    ["search", "/to.ch/", "--dir", "."],
    ["forest", "--dir", "."],
    ["check", "--dir", "."],
    ["export", "FILE", "-o", "OUT/x.html"],
    ["export", "FILE", "-o", "OUT/x.md"],
    ["share", "FILE", "-o", "OUT/y.html", "--yes"],
    ["convert", "FILE", "--to", "codex", "-o", "OUT/c"],
    ["diff", "FILE"],
    ["resume", "FILE", "--show"],
    ["resume", "FILE"],
    ["resume", "FILE", "--in", "codex"],
    ["chat", "--resume", "FILE"],
    ["sql", "select * from sessions"],
    ["plugins"],
    ["formats"],
    ["models"],
    ["config"],
    ["completion", "bash"],
    ["help", "show"],
    ["mcp"],
    ["index"],
]  # fmt: skip

FIRST = [
    each
    for each in READING
    if each[0] in ("ls", "search", "share", "resume", "chat", "plugins", "models", "mcp", "stats")
]
"""Those that start programs, load plugins or read settings; the others run with the long campaigns."""


@pytest.fixture
def surroundings(trap: Trap) -> Path:
    """The session, in a directory full of traps."""
    trap.plant_everything()
    for name in (*BROWSERS, *MORE_PROGRAMS):
        trap.plant_program(name)
    folder = trap.directory
    payload = f"touch {shlex.quote(str(trap.mark('payload')))}"
    server = {"mcpServers": {"evil": {"command": "sh", "args": ["-c", payload]}}}
    for name in (
        ".mcp.json",
        "mcp.json",
        ".branchline/mcp.json",
        ".claude/settings.json",
        ".vscode/mcp.json",
    ):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(server))
    settings = f'model = "evil:x"\neditor = "{payload}"\npager = "{payload}"\n'
    for name in ("config.toml", ".branchline/config.toml", "branchline.toml", ".branchline.toml"):
        (folder / name).write_text(settings)
    info = folder / "evil-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
    groups = ("branchline", "branchline.plugins", "branchline.formats")
    (info / "entry_points.txt").write_text("".join(f"[{group}]\nevil = evil:run\n" for group in groups))
    trap.plant_module("evil.py")
    for name in (".env", ".envrc", ".bashrc", ".profile", ".inputrc", "Makefile", ".git/hooks/post-checkout"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{payload}\n")
    return hostile_session(folder, payload)


def hostile_session(folder: Path, payload: str) -> Path:
    words = [
        f"$({payload})",
        f"`{payload}`",
        f"'; {payload}; '",
        f'"; {payload}; "',
        f"| {payload}",
        f"\n{payload}\n",
    ]
    words += [
        f"[@click=app.run('{payload}')]x[/]",
        f"\x1b]52;c;{payload}\x07",
        f"file:///{payload}",
        f"--exec={payload}",
    ]
    session = Session.create(folder, directory=folder, persist="always")
    session.set_title(words[0])
    for word in words:
        session.append_message(word)
        call = {"type": "toolCall", "id": word, "name": word, "arguments": {"command": word, "path": word}}
        answer = {"role": "assistant", "content": [{"type": "text", "text": word}, call]}
        session.append_message({**answer, "provider": word, "model": word, "stopReason": "toolUse"})
        result = {"type": "text", "text": word}
        last = session.append_message(
            {"role": "toolResult", "toolCallId": word, "toolName": word, "content": [result]}
        )
    session.append_label(last, "label")
    assert session.file is not None
    session.close()
    return Path(session.file)


def environment(trap: Trap) -> dict[str, str]:
    """The environment of a person whose search paths name the present directory."""
    source = Path(branchline.__file__).parents[1]
    path = os.pathsep.join([".", "", str(Path(sys.executable).parent), "/usr/bin", "/bin"])
    return {**os.environ, "PATH": path, "PYTHONPATH": str(source), "NODE_PATH": ".", "LD_LIBRARY_PATH": ""}


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(each, id=" ".join(each), marks=() if each in FIRST else pytest.mark.slow)
        for each in READING
    ],
)
def test_no_command_runs_anything_that_is_beside_or_in_a_session(
    command: list[str], surroundings: Path, trap: Trap, tmp_path: Path
) -> None:
    words = [word.replace("OUT", str(tmp_path)).replace("FILE", str(surroundings)) for word in command]

    done = subprocess.run(
        [sys.executable, "-P", "-m", "branchline", *words],
        cwd=trap.directory,
        env=environment(trap),
        input=b"hello\n",
        capture_output=True,
        timeout=120,
        check=False,
    )

    assert done.returncode in (0, 1, 2), done.stderr
    assert b"Traceback" not in done.stderr
    assert trap.sprung == set()


def test_the_web_viewer_finds_no_browser_in_the_present_directory(
    surroundings: Path, trap: Trap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(trap.directory)
    monkeypatch.setenv("PATH", os.pathsep.join([".", "", str(trap.directory.parent / "none")]))
    monkeypatch.setenv("DISPLAY", ":99")
    monkeypatch.delenv("BROWSER", raising=False)

    _open_browser("http://127.0.0.1:1/")

    assert trap.sprung == set()


def test_completion_runs_nothing_that_a_session_is_called(
    surroundings: Path, trap: Trap, tmp_path: Path
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    wrapper = tools / "branchline"
    wrapper.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m branchline "$@"\n')
    wrapper.chmod(0o755)
    clean = {**environment(trap), "PATH": os.pathsep.join([str(tools), "/usr/bin", "/bin"])}
    script = 'eval "$(branchline completion bash)"; COMP_WORDS=(branchline show ""); COMP_CWORD=2; _branchline_completion branchline; printf "%s\\n" "${COMPREPLY[@]}"'

    done = subprocess.run(
        ["/bin/bash", "--norc", "-c", script], cwd=trap.directory, env=clean, capture_output=True, check=False
    )

    assert trap.sprung == set(), done.stderr
