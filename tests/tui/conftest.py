from __future__ import annotations

from pathlib import Path

import pytest

from tui.kit import library


@pytest.fixture(autouse=True)
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, in UTC, without settings."""
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", "/home/u")
    monkeypatch.setenv("TZ", "UTC")
    for name in ("NO_COLOR", "COLORFGBG", "BRANCHLINE_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    """A directory full of sessions."""
    directory = tmp_path / "sessions"
    directory.mkdir()
    library(directory)
    return directory
