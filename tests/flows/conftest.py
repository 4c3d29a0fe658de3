from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A directory for sessions: in memory where the system has such a place, since most proofs are not about syncs."""
    try:
        with tempfile.TemporaryDirectory(dir=Path("/dev/shm")) as directory:
            yield Path(directory) / "sessions"
    except OSError:
        yield tmp_path / "sessions"
