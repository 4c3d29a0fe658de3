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


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own: no test writes into the folders of the programs of whoever runs it."""
    place = tmp_path / "person"
    monkeypatch.setenv("HOME", str(place))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "ZOT_HOME", "INDUSAGI_HOME"):
        monkeypatch.delenv(name, raising=False)
    return place
