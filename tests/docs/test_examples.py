"""The examples in the documentation are programs, and they run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support import ROOT

FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


def blocks(page: Path, language: str) -> list[str]:
    return [code for found, code in FENCE.findall(page.read_text(encoding="utf-8")) if found == language]


WITH_PYTHON = [page for page in PAGES if blocks(page, "python")]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_python_blocks_of_a_page_run_one_after_the_other(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "home"))
    source = "\n".join(blocks(page, "python"))

    exec(compile(source, str(page), "exec"), {"__name__": "example"})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")

    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


WITH_CONSOLE = [page for page in PAGES if blocks(page, "console")]


def steps(page: Path) -> list[tuple[str, list[str]]]:
    """The commands of a page, each with the lines that it says will come out."""
    found: list[tuple[str, list[str]]] = []
    for line in "".join(blocks(page, "console")).splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def fits(shown: list[str], real: list[str]) -> bool:
    """A line of only `…` stands for any number of lines, `…` in a line for any text."""
    parts = [".*" if line == "…" else ".*?".join(map(re.escape, line.split("…"))) + r"\n" for line in shown]
    pattern = "".join("(?:.*\\n)*" if part == ".*" else part for part in parts)
    return re.fullmatch(pattern, "".join(line.rstrip() + "\n" for line in real)) is not None


@pytest.mark.parametrize("page", WITH_CONSOLE, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_print_what_it_says(page, tmp_path):
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "BRANCHLINE_HOME": str(tmp_path / "home"),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    }
    (tmp_path / "project").mkdir()

    for command, shown in steps(page):
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path / "project",
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert fits(shown, done.stdout.splitlines()), f"{command}\nsays:\n{done.stdout}"
