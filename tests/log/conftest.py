from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """A directory for very many small files: in memory where the system has such a place."""
    shared = Path("/dev/shm")
    try:
        with tempfile.TemporaryDirectory(dir=shared) as directory:
            yield Path(directory)
    except OSError:
        yield tmp_path
