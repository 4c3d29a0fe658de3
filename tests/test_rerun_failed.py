"""`make test-failed` names tests that fail once as flaky, and never lets many of them pass."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support import ROOT

SCRIPT = ROOT / "scripts" / "rerun_failed.py"
FAILS_ONCE = """
from pathlib import Path

def fails_once(name):
    seen = Path(name)
    if not seen.exists():
        seen.touch()
        raise AssertionError(name)
"""


def in_directory(directory: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (sys.executable, *command), cwd=directory, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture
def tests_that_failed(tmp_path):
    """Return a function that writes tests, runs them once and says what the script makes of their failures."""

    def run(text: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "test_some.py").write_text(FAILS_ONCE + text)
        (tmp_path / "pytest.ini").write_text("[pytest]\n")
        in_directory(tmp_path, "-m", "pytest", "-q")
        return in_directory(tmp_path, SCRIPT, "-q")

    return run


def test_a_test_that_passes_alone_is_printed_as_flaky(tests_that_failed):
    done = tests_that_failed("def test_a(): fails_once('a')\ndef test_b(): pass")

    assert done.returncode == 0
    assert "flaky: test_some.py::test_a" in done.stdout
    assert "test_b" not in done.stdout


def test_a_test_that_fails_again_fails_the_run(tests_that_failed):
    done = tests_that_failed("def test_a(): fails_once('a')\ndef test_b(): assert False")

    assert done.returncode == 1
    assert "flaky" not in done.stdout


def test_more_than_three_failures_fail_without_a_second_run(tests_that_failed):
    done = tests_that_failed("\n".join(f"def test_{name}(): fails_once('{name}')" for name in "abcd"))

    assert done.returncode == 1
    assert "4 tests failed" in done.stdout


@pytest.mark.parametrize(("code", "recorded"), [(1, True), (2, False), (3, False), (137, False)])
def test_failures_of_a_run_that_broke_off_are_not_run_again(tmp_path, code, recorded):
    """The tests after them were never run, so nothing could say that all is well."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "requirements").mkdir()
    cache = tmp_path / ".pytest_cache/v/cache/lastfailed"
    cache.parent.mkdir(parents=True)
    cache.write_text('{"test_old.py::test_a": true}')
    programs = tmp_path / ".venv/bin"
    programs.mkdir(parents=True)
    for name in (
        "requirements/run.txt",
        "requirements/dev.txt",
        "pyproject.toml",
        ".venv/runnable",
        ".venv/ready",
    ):
        (tmp_path / name).touch()
    python = programs / "python"
    python.write_text(f"#!/bin/sh\necho '{{}}' > {cache}\nexit {code}\n")
    python.chmod(0o755)

    done = subprocess.run(
        ("make", "test"), cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )

    assert f"Error {code}" in done.stderr
    assert cache.exists() is recorded


def test_a_run_that_recorded_no_failure_is_not_made_green(tests_that_failed):
    done = tests_that_failed("def test_a(): pass")

    assert done.returncode == 1
