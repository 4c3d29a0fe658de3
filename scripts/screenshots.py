"""Pictures of every screen, made by driving the app over a library: `make screenshots`.

Each is an SVG of what a terminal shows, so that a changed screen is a changed picture.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from tui.kit import app_on, library, press, settle  # noqa: E402

_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
SCREENS = (
    ("sessions", ()),
    ("search", ("slash", "=token role:user")),
    ("keys", ("escape", "question_mark")),
    ("tree", ("escape", "down", "t")),
    ("entry", ("enter",)),
    ("turns", ("escape", "ctrl+g")),
    ("transcript", ("escape", "escape", "o", "tab", "tab", "enter")),
    ("branches", ("s",)),
    ("compare", ("escape", "c")),
    ("forest", ("escape", "escape", "f")),
)


async def pictures(target: Path, size: tuple[int, int], theme: str, wanted: set[str]) -> None:
    """Go through all screens once and keep a picture of each that is wanted."""
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "sessions"
        directory.mkdir()
        library(directory)
        app = app_on(directory, theme=theme)
        async with app.run_test(size=size) as pilot:
            await settle(pilot)
            for name, keys in SCREENS:
                await press(pilot, *keys)
                if name in wanted:
                    picture = _FONTS.sub("", app.export_screenshot(title=f"branchline: {name}"))
                    path = target / f"{name}-{theme}-{size[0]}x{size[1]}.svg"
                    path.write_text(picture.replace(folder, "/home/u"), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path)
    parser.add_argument("--size", default="100x30")
    parser.add_argument("--theme", default="dark", choices=["dark", "light"])
    parser.add_argument("--only", nargs="*", default=[name for name, _keys in SCREENS])
    arguments = parser.parse_args()
    width, _, height = arguments.size.partition("x")
    arguments.target.mkdir(parents=True, exist_ok=True)
    asyncio.run(pictures(arguments.target, (int(width), int(height)), arguments.theme, set(arguments.only)))


if __name__ == "__main__":
    main()
