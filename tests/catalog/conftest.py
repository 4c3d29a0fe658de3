"""A catalog of one's own for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

import branchline.catalog.record


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache directory; files that were just written count as settled."""
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(branchline.catalog.record, "_RACE_NS", 0)
    return tmp_path / "home" / "cache"
