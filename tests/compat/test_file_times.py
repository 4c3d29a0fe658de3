"""The facades list by the times of the files, as the programs that they stand for do."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from branchline import SessionLibrary
from branchline.compat import induscode, oh_my_pi, operator, piglet
from library.kit import CWD, talk


@pytest.fixture
def names(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The names of two sessions, the one whose file changed last first; the other was used last."""
    used, copied = (talk(tmp_path, number, format=request.param) for number in (5, 1))
    used.close()
    copied.close()
    assert used.file is not None
    os.utime(used.file, (1_000_000, 1_000_000))
    if request.param != "operator":
        assert [row.id for row in SessionLibrary(tmp_path).list(deep=True)] == [used.id, copied.id]
    return copied.id, used.id


@pytest.mark.parametrize("names", ["induscode"], indirect=True)
@pytest.mark.parametrize("deep", [False, True])
def test_induscode(tmp_path, names, deep):
    rows = asyncio.run(induscode.SessionLibrary(sessions_dir=tmp_path).list(deep))

    assert tuple(row.id for row in rows) == names


@pytest.mark.parametrize("names", ["piglet"], indirect=True)
def test_piglet(tmp_path, names):
    assert tuple(summary.id for summary in piglet.list(tmp_path)) == names


@pytest.mark.parametrize("names", ["operator"], indirect=True)
def test_operator(tmp_path, names):
    assert tuple(info.id for info in operator.list_sessions_from_dir(tmp_path)) == names
    assert operator.SessionManager.continue_recent(CWD, tmp_path).session_id == names[0]


@pytest.mark.parametrize("names", ["oh-my-pi"], indirect=True)
def test_oh_my_pi(tmp_path, names):
    assert oh_my_pi.SessionManager.continueRecent(CWD, tmp_path).getSessionId() == names[0]
