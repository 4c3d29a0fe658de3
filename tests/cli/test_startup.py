"""Nothing is loaded before it is needed: a library user pays for msgspec, a command for what it does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "click",
    "rich",
    "textual",
    "starlette",
    "uvicorn",
    "pydantic",
    "pydantic_ai",
    "asyncio",
    "sqlite3",
    "platformdirs",
}


def loaded(code: str) -> set[str]:
    """The modules that a piece of code leaves in memory."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint('\\n'.join(sys.modules), file=sys.stderr)"],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return set(done.stderr.split())


def test_importing_the_package_loads_no_heavy_module() -> None:
    assert loaded("import branchline") & HEAVY == set()


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_loads_no_heavy_module(option: str) -> None:
    modules = loaded(
        f"import sys; sys.argv = ['branchline', {option!r}]\nfrom branchline.cli import main; main()"
    )

    assert modules & HEAVY == set()
    assert "branchline.library" not in modules


def test_importing_the_command_line_loads_no_command() -> None:
    modules = loaded("import branchline.cli.app")

    assert modules & (HEAVY - {"click"}) == set()
    assert {name for name in modules if name.startswith("branchline.cli.")} <= {
        "branchline.cli.app",
        "branchline.cli.options",
        "branchline.cli.streams",
    }


def test_help_loads_no_command() -> None:
    run = "import sys; sys.argv = ['branchline', '--help']\nfrom branchline.cli import main\ntry: main()\nexcept SystemExit: pass"

    modules = loaded(run)

    assert "branchline.cli.commands.ls" not in modules
    assert "branchline.library" not in modules


def test_a_command_loads_its_own_family_alone() -> None:
    run = "import sys; sys.argv = ['branchline', 'ls']\nfrom branchline.cli import main\ntry: main()\nexcept SystemExit: pass"

    modules = loaded(run)

    assert (
        modules & {"rich", "textual", "asyncio", "branchline.actions.repair", "branchline.cli.commands.show"}
        == set()
    )


def test_the_module_is_the_command(process) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "branchline", "--version"], check=True, capture_output=True, timeout=60
    )

    assert done.stdout == process("--version").stdout
    assert done.stdout.startswith(b"branchline 0.")


@pytest.mark.parametrize("words", ["stats", "config", "completion bash", "demo --help", "diff --help"])
def test_plain_commands_need_no_library_for_drawing(words: str, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path))
    run = f"import sys; sys.argv = ['branchline', *{words.split()!r}]\nfrom branchline.cli import main\ntry: main()\nexcept SystemExit: pass"

    modules = loaded(run)

    assert modules & (HEAVY - {"click", "sqlite3"}) == set()
    assert "wcwidth" not in modules


def test_settings_cost_no_parser_where_there_is_no_file(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path))

    modules = loaded("from branchline.settings import load; load()")

    assert modules & {"tomllib", "difflib", "click", "branchline.settings.toml_edit"} == set()


def test_a_search_of_the_index_loads_no_reader_and_no_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = tmp_path / ".claude" / "projects" / "-work"
    sessions.mkdir(parents=True)
    message = {"role": "user", "content": "the needle"}
    line = {"type": "user", "uuid": "1", "parentUuid": None, "sessionId": "s", "cwd": "/work"}
    line |= {"message": message, "timestamp": "2026-01-01T00:00:00.000Z"}
    (sessions / "s.jsonl").write_text(json.dumps(line) + "\n")
    os.utime(sessions / "s.jsonl", (1, 1))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "ours"))
    run = "import sys; sys.argv = ['branchline', *{}]\nfrom branchline.cli import main\ntry: main()\nexcept SystemExit: pass"
    raced = "import branchline.catalog.record\nbranchline.catalog.record._RACE_NS = -10**12\n"
    loaded(raced + run.format(["index"]))

    modules = loaded(run.format(["search", "needle"]))

    assert "branchline.catalog.candidates" in modules
    assert (
        modules
        & {
            "branchline.formats.entry_log",
            "branchline.formats.lines",
            "branchline.formats.claude_code.reader",
            "branchline.formats.claude_code.records",
            "branchline.formats.common.native_reader",
            "branchline.log.file",
            "branchline.session",
            "branchline.tree.linker",
        }
        == set()
    )
