"""The forest picker: where each session was forked from, and going to one of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from branchline.tui.app import BranchlineApp
from branchline.tui.screens.browser import BrowserScreen
from branchline.tui.screens.forest import ForestScreen
from tui.kit import app_on, drive, press, screen


@pytest.mark.parity("ZOT-04")
def test_rows_have_indentation_age_preview_and_count_enter_goes_there_and_escape_leaves(
    sessions: Path,
) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "down", "f9")
        assert isinstance(app.screen, ForestScreen)
        lines = screen(app).splitlines()
        (parent,) = [line for line in lines if "Red checkout test" in line]
        (fork,) = [line for line in lines if "└─ In a fork: rewrite the token module" in line]
        assert parent.startswith("▌● Red")  # the cursor, on the one we came from
        assert parent.split()[-2:] == ["8", "2d"]
        assert lines.index(fork) == lines.index(parent) + 1
        await press(pilot, "=refunds", "enter")
        assert isinstance(app.screen, BrowserScreen)
        assert app.browser.row is not None
        assert app.browser.row.title == "Refunds"
        await press(pilot, "f9", "escape")
        assert app.browser.row.title == "Refunds"

    drive(app_on(sessions), told)


def test_one_can_type_on_when_nothing_is_found(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "f9", "=qqq")
        assert "no matches" in screen(app)
        await press(pilot, "backspace", "backspace", "backspace", "=refunds")
        assert "Refunds" in screen(app)

    drive(app_on(sessions), told)


@pytest.mark.parity("IND-13", part="the picker, which does nothing when nothing is picked")
def test_leaving_the_browser_without_picking_changes_nothing(sessions: Path) -> None:
    before = {path: path.read_bytes() for path in sessions.iterdir() if path.is_file()}

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "down", "ctrl+t", "escape", "right", "escape", "f9", "escape", "escape")
        assert not app.is_running or app.return_code == 0

    drive(app_on(sessions), told)

    assert {path: path.read_bytes() for path in sessions.iterdir() if path.is_file()} == before
