"""Every screen as a person sees it, at two sizes; the texts are kept beside the tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from branchline.tui.app import BranchlineApp
from tui.kit import app_on, drive, press, same_as_snapshot, screen

SIZES = [(80, 24), (160, 48)]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parity("IND-14")
def test_every_screen_opens_from_the_browser_through_one_library_and_looks_as_it_did(
    sessions: Path, size: tuple[int, int]
) -> None:
    name = f"{size[0]}x{size[1]}"

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        same_as_snapshot(app, f"sessions-{name}")
        await press(pilot, "f1")
        same_as_snapshot(app, f"keys-{name}")
        await press(pilot, "escape", "alt+h")
        assert "Syncthing" in screen(app)
        assert "_broken.jsonl" in screen(
            app
        )  # its path is another one each time, so that no snapshot is kept
        await press(pilot, "escape", "down", "ctrl+t")
        same_as_snapshot(app, f"tree-{name}")
        await press(pilot, "enter")
        same_as_snapshot(app, f"entry-{name}")
        await press(pilot, "escape", "ctrl+g")
        same_as_snapshot(app, f"turns-{name}")
        await press(pilot, "escape", "escape", "right")
        same_as_snapshot(app, f"transcript-{name}")
        await press(pilot, "escape", "f9")
        same_as_snapshot(app, f"forest-{name}")
        await press(pilot, "escape", "insert", "f6")
        same_as_snapshot(app, f"compare-{name}")

    drive(app_on(sessions), told, size)


def test_light_and_dark_show_the_same_words_in_other_colours(sessions: Path) -> None:
    colours: dict[str, set[str]] = {}
    words: list[str] = []

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        for theme in ("dark", "light"):
            strips = app.screen._compositor.render_strips()
            colours[theme] = {
                style.bgcolor.name
                for strip in strips
                for _, style, _ in strip
                if style is not None and style.bgcolor
            }
            words.append(screen(app))
            await press(pilot, "f12")

    drive(app_on(sessions), told)

    assert words[0] == words[1]
    assert colours["dark"].isdisjoint(colours["light"])


def test_without_colours_everything_can_still_be_told_apart(
    sessions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "down", "ctrl+t")
        assert "▌ " in screen(app)  # the cursor
        assert "• " in screen(app)  # the active branch
        assert "← you are here" in screen(app)

    drive(app_on(sessions), told)
