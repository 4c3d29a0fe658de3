"""A larger terminal never shows less: every word of a screen is on each larger one too, for every screen."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

from textual.containers import Vertical
from textual.pilot import Pilot
from textual.screen import ModalScreen

from branchline.tui.app import BranchlineApp
from tui.kit import app_on, drive, press, screen

SIZES = [(60, 18), (60, 60), (110, 24), (157, 36), (200, 18), (200, 60)]
"""The smallest and the largest, each also with the height or width of the other, and two just before a column or
a pane joins.
"""
KEYS: dict[str, tuple[str, ...]] = {
    "sessions": (),
    "two lines": ("alt+r", "f8"),
    "search": ("alt+r", "f8", "=token"),
    "actions": ("ctrl+o",),
    "keys": ("escape", "f1"),
    "statistics": ("escape", "escape", "f4"),
    "forest": ("escape", "f9"),
    "tree": ("escape", "alt+t", "ctrl+t", "home"),
    "entry": ("enter",),
    "log": ("escape", "f9"),
    "turns": ("escape", "ctrl+g", "home"),
    "transcript": ("escape", "escape", "right", "home"),
    "files": ("f7",),
    "compare": ("escape", "f6"),
}


def words(app: BranchlineApp) -> set[str]:
    """The words of a screen. Not those that are cut, that a pane may break, or that count what is left out."""
    shown = screen(app)
    if isinstance(app.screen, ModalScreen):  # what it covers is seen again when it is left
        box = app.screen.query_one(Vertical).region
        rows = shown.split("\n")[box.y : box.bottom]
        shown = "\n".join(row[box.x : box.right] for row in rows)
    text = re.sub(r"\S*…\S*|\S{24,}|\d+ more", " ", shown)
    return set(re.findall(r"[^\W\d]\w*", text))


def test_no_screen_shows_less_at_a_larger_size(sessions: Path) -> None:
    lost: list[str] = []

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        for name, keys in KEYS.items():
            await press(pilot, *keys)
            seen = {}
            for size in SIZES:
                await pilot.resize_terminal(*size)
                await pilot.pause()
                seen[size] = words(app)
            for small, large in itertools.permutations(SIZES, 2):
                if small[0] <= large[0] and small[1] <= large[1] and not seen[small] <= seen[large]:
                    less = " ".join(sorted(seen[small] - seen[large]))
                    lost.append(f"{name}: {small} shows what {large} does not: {less}")

    drive(app_on(sessions), told, SIZES[0])

    assert not lost, "\n".join(lost)
