"""Nothing in the directory of a session runs when that session continues."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from branchline import Session
from branchline.actions.resume import ResumePlan, continue_session
from branchline.chat.shell import ShellCommand
from branchline.programs import find_program, own_command, safe_environment
from security.traps import MODULES, PROGRAMS, Trap

RELATIVE = ["", ".", ":", "./", "..", "bin", ":/usr/bin:/bin", ".:/usr/bin:/bin", "/usr/bin::/bin", "/bin:."]


def made_session(cwd: Path) -> str:
    with Session.create(cwd, persist="always") as session:
        session.append_message({"role": "user", "content": "hello"})
        assert session.file is not None
        return session.file


def chatting(path: str, cwd: Path) -> ResumePlan:
    return ResumePlan(program="branchline", command=("branchline", "chat", "--resume", path), cwd=str(cwd))


@pytest.mark.parametrize("name", MODULES)
def test_a_module_in_the_directory_of_a_session_is_not_imported(name: str, trap: Trap) -> None:
    trap.plant_module(name)

    code = continue_session(chatting(made_session(trap.directory), trap.directory), str(trap.directory))

    assert code == 0
    assert trap.sprung == set()


@pytest.mark.parametrize("name", MODULES)
def test_a_module_in_the_present_directory_is_not_imported(
    name: str, trap: Trap, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap.plant_module(name)
    monkeypatch.chdir(trap.directory)

    code = continue_session(chatting(made_session(trap.directory), trap.directory), None)

    assert code == 0
    assert trap.sprung == set()


@pytest.mark.parametrize("entry", ["", ".", "./", "../hostile"])
@pytest.mark.parametrize("inside", [False, True], ids=["from elsewhere", "from inside"])
def test_a_relative_entry_of_the_module_path_is_not_the_directory_of_a_session(
    entry: str, inside: bool, trap: Trap, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap.plant_everything()
    known = os.environ.get("PYTHONPATH")
    path = made_session(trap.directory)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([entry, *([known] if known else [])]))
    if inside:
        monkeypatch.chdir(trap.directory)

    code = continue_session(chatting(path, trap.directory), str(trap.directory))

    assert code == 0
    assert trap.sprung == set()


def test_the_trap_works(trap: Trap) -> None:
    """Without -P the planted package runs: the tests above can fail."""
    trap.plant_everything()

    subprocess.run(
        [sys.executable, "-m", "branchline", "--version"],
        cwd=trap.directory,
        env={**os.environ, "PYTHONPATH": ""},
        check=False,
        capture_output=True,
    )

    assert trap.sprung & {"branchline+__main__.py", "branchline+__init__.py", "json.py"}


@pytest.mark.parametrize("path", RELATIVE)
@pytest.mark.parametrize("name", ["codex", "claude", "pi"])
def test_a_program_in_the_present_directory_is_not_found(
    name: str, path: str, trap: Trap, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap.plant_everything()
    (trap.directory / "bin").mkdir()
    shutil.copy2(trap.directory / name, trap.directory / "bin" / name)
    monkeypatch.chdir(trap.directory)
    monkeypatch.setenv("PATH", path)
    going = ResumePlan(program=name, command=(name, "resume"), cwd=str(trap.directory))

    found = find_program(name)
    code = continue_session(going, str(trap.directory))

    assert found is None
    assert code is None
    assert trap.sprung == set()


@pytest.mark.parametrize("name", ["./codex", "../hostile/codex", "bin/codex", "codex/../codex"])
def test_a_program_is_not_named_by_a_relative_path(
    name: str, trap: Trap, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap.plant_program("codex")
    monkeypatch.chdir(trap.directory)

    assert find_program(name) is None


@pytest.mark.parametrize("entry", ["", ".", "./", "../hostile"])
@pytest.mark.parametrize("interpreter", ["node", "sh", "ls"])
def test_a_program_does_not_find_its_interpreter_in_the_directory_of_a_session(
    interpreter: str, entry: str, trap: Trap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Agents begin with ``#!/usr/bin/env node``, which looks through PATH in the directory it starts in."""
    trap.plant_everything()
    tools = tmp_path / "tools"
    tools.mkdir()
    agent = tools / "codex"
    agent.write_text(f"#!/usr/bin/env {interpreter}\n")
    agent.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([entry, str(tools), "/usr/bin", "/bin"]))
    going = ResumePlan(program="codex", command=("codex", "--version"), cwd=str(trap.directory))

    continue_session(going, str(trap.directory))

    assert trap.sprung == set()


@pytest.mark.parametrize("name", ["PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "NODE_PATH"])
@pytest.mark.parametrize("value", ["", ".", ":", "a:b", "./x::"])
def test_a_started_program_gets_no_relative_search_path(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, f"{value}{os.pathsep}/usr/lib")

    mixed = safe_environment()
    monkeypatch.setenv(name, value)
    relative = safe_environment()

    assert mixed[name] == "/usr/lib"
    assert relative.get(name) == (os.defpath if name == "PATH" else None)


def test_other_variables_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", ".")
    monkeypatch.delenv("NODE_PATH", raising=False)

    environment = safe_environment()

    assert environment["ANTHROPIC_BASE_URL"] == "."
    assert "NODE_PATH" not in environment


def test_branchline_starts_itself_in_the_same_interpreter_without_the_present_directory() -> None:
    assert own_command("chat") == (sys.executable, "-P", "-m", "branchline", "chat")


@pytest.mark.parametrize("entry", ["", ".", "../hostile"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_shell_command_finds_no_program_in_the_directory_of_a_session(
    name: str, entry: str, trap: Trap, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap.plant_program(name)
    monkeypatch.setenv("PATH", os.pathsep.join([entry, "/usr/bin", "/bin"]))

    asyncio.run(ShellCommand(f"{name} --help < /dev/null", str(trap.directory)).run(str, in_context=False))

    assert trap.sprung == set()


def test_a_shell_command_in_the_present_directory_keeps_its_environment(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "src")

    done = asyncio.run(ShellCommand('echo "$PYTHONPATH"', str(here)).run(str, in_context=False))

    assert done.output == "src\n"
