"""Fixtures for the tests of the library."""

from __future__ import annotations

from pathlib import Path

import pytest

from stores.places import common_place

__all__ = ["common_place", "place"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory for sessions that is not there yet."""
    return tmp_path / "sessions"
