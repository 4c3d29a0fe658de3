"""Generate screenshots of every screen by driving the app with the demo library: `make screenshots`.

Each is an SVG of the terminal, so that a changed screen shows up as a changed image.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from textual.pilot import Pilot

from branchline import demo
from branchline.library.browser_source import LibrarySource
from branchline.library.pins import Pins
from branchline.tui.app import BranchlineApp
from branchline.views.browser.state import BrowserState

_FONTS = re.compile(r"@font-face \{.*?\}\s*|<!--.*?-->\s*", re.DOTALL)
_NUMBERS = re.compile(r"terminal-\d+-")
_NOW = datetime(2026, 3, 7, 9, 0, tzinfo=UTC).timestamp()
SCREENS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("sessions", ()),
    ("search", (*"harbour",)),
    ("hit", ("f3", "enter")),
    ("keys", ("escape", "escape", "escape", "f1")),
    ("actions", ("escape", "ctrl+o")),
    ("filters", ("escape", "tab")),
    ("statistics", ("escape", "f4")),
    ("tree", ("escape", *"tables", "ctrl+t")),
    ("entry", ("enter",)),
    ("turns", ("escape", "ctrl+g")),
    ("transcript", ("escape", "escape", "escape", *"summer", "right", "home", *["tab"] * 4)),
    ("files", ("f7",)),
    ("branches", ("escape", "end", "alt+s")),
    ("compare", ("escape", "f6")),
    ("forest", ("escape", "escape", "escape", "f9")),
    ("groups", ("escape", "ctrl+g", "alt+r", "insert", "down", "insert")),
    ("title", ("f2",)),
    ("trash", ("escape", "delete")),
    ("damage", ("escape", "escape", "ctrl+g", "alt+r", "home", "ctrl+t", "f3")),
)


async def settle(pilot: Pilot[int]) -> None:
    for _ in range(3):
        await pilot.pause(0.3)


def app_over_demo(theme: str) -> BranchlineApp:
    """Return the app for the sessions of this home, at a fixed time."""
    state = BrowserState(
        LibrarySource.everywhere(),
        "here",
        Pins(),
        now=lambda: _NOW,
        home=os.environ["HOME"],
        hide="empty",
        demo=True,
    )
    return BranchlineApp(state, theme=theme)  # type: ignore[arg-type]


def enter_demo(folder: str) -> None:
    """Change the environment so that only the demo library is visible."""
    os.environ["TZ"] = "UTC"
    made = demo.prepare(folder)
    os.environ["BRANCHLINE_HOME"] = os.environ["HOME"] = made.home
    os.chdir(made.project)


async def pictures(target: Path, size: tuple[int, int], theme: str, wanted: set[str]) -> None:
    """Visit all screens once and save an image of each selected one."""
    app = app_over_demo(theme)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        for name, keys in SCREENS:
            await pilot.press(*keys)
            await settle(pilot)
            if name in wanted:
                picture = _FONTS.sub("", app.export_screenshot(title=f"branchline: {name}"))
                path = target / f"{name}-{theme}-{size[0]}x{size[1]}.svg"
                path.write_text(_NUMBERS.sub("terminal-", picture), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path)
    parser.add_argument("--size", default="100x30")
    parser.add_argument("--theme", default="dark", choices=["dark", "light"])
    parser.add_argument("--only", nargs="*", default=[name for name, _keys in SCREENS])
    arguments = parser.parse_args()
    width, _, height = arguments.size.partition("x")
    target = arguments.target.resolve()
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        enter_demo(folder)
        asyncio.run(pictures(target, (int(width), int(height)), arguments.theme, set(arguments.only)))
        os.chdir(target)


if __name__ == "__main__":
    main()
