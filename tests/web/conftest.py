"""Fixtures for the tests of the viewer."""

from __future__ import annotations

import pytest

from branchline.web import viewed


@pytest.fixture(autouse=True)
def no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read short files for the first list also on a busy machine."""
    monkeypatch.setattr(viewed, "_LIST_SECONDS", 60.0)
