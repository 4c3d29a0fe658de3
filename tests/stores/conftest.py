"""Fixtures of the store tests."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from stores.places import common_place

__all__ = ["common_place", "run_python"]


@pytest.fixture
def run_python() -> Callable[..., str]:
    """Run a program in a fresh interpreter and give what it printed."""

    def run(code: str, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
