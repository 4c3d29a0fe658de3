"""`branchline formats`: the table of programs, and a package for a new one that passes the conformance suite."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from branchline.actions.format_support import supported_formats
from branchline.cli.app import cli
from support import ROOT


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Path:
    """The template for a program called tiny-agent, as the command writes it."""
    place = tmp_path_factory.mktemp("template")
    result = CliRunner().invoke(cli, ["formats", "new", "tiny-agent", str(place)])
    assert result.exit_code == 0, result.output
    return place / "branchline-tiny-agent"


@pytest.fixture(scope="module")
def installed(package, tmp_path_factory) -> dict[str, str]:
    """The environment of a process in which that package is installed, with its entry point."""
    site = tmp_path_factory.mktemp("site")
    about = site / "branchline_tiny_agent-0.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: branchline-tiny-agent\nVersion: 0.1.0\n")
    (about / "entry_points.txt").write_text(
        "[branchline.formats]\ntiny-agent = branchline_tiny_agent:TINY_AGENT\n"
    )
    paths = [str(site), str(package / "src"), str(ROOT / "src")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "HOME": str(site), "PYTEST_ADDOPTS": ""}


def test_the_tests_of_a_new_format_pass_the_conformance_suite_included(package, installed):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=package,
        env=installed,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert "15 passed" in done.stdout


def test_an_installed_format_is_listed_and_its_sessions_are_found(package, installed, tmp_path):
    sessions = tmp_path / ".tiny-agent" / "sessions"
    sessions.mkdir(parents=True)
    (sessions / "hello.jsonl").write_bytes((package / "tests" / "samples" / "hello.jsonl").read_bytes())

    def run(*words: str) -> dict:
        command = [sys.executable, "-m", "branchline", *words, "--json"]
        done = subprocess.run(
            command, env={**installed, "HOME": str(tmp_path)}, capture_output=True, check=True
        )
        return json.loads(done.stdout)

    assert "tiny-agent" in [row["name"] for row in run("formats")["formats"]]
    (row,) = run("ls", "--all", "--agent", "tiny-agent")["sessions"]
    assert (row["id"], row["cwd"], row["messages"]) == ("s1", "/home/me/shop", 2)


def test_a_template_never_writes_over_anything(package):
    before = {path: path.read_bytes() for path in package.rglob("*.py")}

    result = CliRunner().invoke(cli, ["formats", "new", "tiny-agent", str(package.parent)])

    assert result.exit_code == 1
    assert {path: path.read_bytes() for path in package.rglob("*.py")} == before


@pytest.mark.parametrize("name", ["", "Tiny", "../x", "a b", "-x", "x-", "pi", "oh-my-pi", "branchline"])
def test_a_name_that_is_no_name_or_that_a_format_has_is_refused(name, tmp_path):
    result = CliRunner().invoke(cli, ["formats", "new", "--", name, str(tmp_path)])

    assert result.exit_code == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("page", ["README.md", "docs/formats/index.md"])
def test_the_table_of_programs_says_what_the_formats_say(page):
    """Each cell is generated from what a format consists of; other tests show that it works."""
    lines = [
        f"| {row.name} | {row.read} | {row.written or '–'} | {row.continued or '–'} "
        f"| {row.searched} | {row.followed} | {row.cost} |"
        for row in supported_formats()
    ]

    assert "\n".join(lines) in (ROOT / page).read_text(encoding="utf-8")
