"""Every chat has a home of its own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory; sessions are kept in a home beside it."""
    place = tmp_path / "project"
    place.mkdir()
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(place)
    return place
