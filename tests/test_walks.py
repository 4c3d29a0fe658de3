"""``scripts/walks.py`` counts what an operation passes, in the sources and on its second run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from branchline import Session

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))
import walks


def test_a_walk_counts_the_second_run_in_the_package_only():
    runs = []

    found = walks.walk(lambda: runs.append(Session.in_memory("/work").id))

    assert len(runs) == 2
    assert 1 < found.files < found.functions <= found.calls
    assert walks.walk(lambda: Path("/")) == walks.Walk(0, 0, 0, 0)


def test_every_operation_has_a_walk(tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(walks, "LISTED", 30)
    monkeypatch.setattr(walks, "_RACE_SECONDS", 0)

    found = walks.walks(tmp_path)

    assert len(found) == 7
    assert all(one.files > 10 for one in found.values())
    assert found["open a pi session"].functions < found["the same, blanks after colons"].functions
