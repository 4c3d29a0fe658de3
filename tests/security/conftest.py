"""A person with an empty home, who stands in one directory while a session names another."""

from __future__ import annotations

from pathlib import Path

import pytest

from security.traps import Trap


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of the person."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BRANCHLINE_CONFIG", str(tmp_path / "home" / "config.toml"))
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    for name in ("PYTHONWARNINGS", "BRANCHLINE_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(project)
    return project


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    """The directory that a hostile session names."""
    return Trap(tmp_path / "hostile", tmp_path / "marks")
