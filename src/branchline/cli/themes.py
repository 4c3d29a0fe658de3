"""The styles of roles on a terminal: two themes with the sixteen standard colours.

Only these, because users choose them in their terminal. The dark theme avoids colours that are hard to see on
black, the light theme those that are hard to see on white; neither sets a background.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal

from branchline.views.spans import StyleRole

__all__ = ["THEMES", "ThemeName", "theme_for"]

ThemeName = Literal["dark", "light"]

_BOLD, _DIM, _ITALIC, _REVERSE = "1", "2", "3", "7"
_RED, _GREEN, _YELLOW, _BLUE, _MAGENTA, _CYAN = "31", "32", "33", "34", "35", "36"
_BRIGHT_BLUE = "94"

_COMMON: dict[StyleRole, str] = {
    "plain": "",
    "title": _BOLD,
    "heading": _BOLD,
    "time": _DIM,
    "number": _DIM,
    "dim": _DIM,
    "prompt": _BOLD,
    "assistant": "",
    "thinking": f"{_DIM};{_ITALIC}",
    "tool": _DIM,
    "system": _DIM,
    "setting": _DIM,
    "active": _BOLD,
    "cursor": _BOLD,
    "match": _REVERSE,
    "found": _REVERSE,
    "good": _GREEN,
    "error": _RED,
    "added": _GREEN,
    "removed": _RED,
    "cost": _GREEN,
    "heat1": _DIM,
    "heat2": "",
    "heat3": _BOLD,
    "heat4": _BOLD,
}
THEMES: Mapping[ThemeName, Mapping[StyleRole, str]] = {
    "dark": {
        **_COMMON,
        "id": _YELLOW,
        "path": _BRIGHT_BLUE,
        "program": _MAGENTA,
        "model": _CYAN,
        "label": f"{_BOLD};{_YELLOW}",
        "bar": _CYAN,
        "user": _CYAN,
        "bash": _MAGENTA,
        "custom": _MAGENTA,
        "summary": _YELLOW,
        "warning": _YELLOW,
    },
    "light": {
        **_COMMON,
        "id": _BLUE,
        "path": _BLUE,
        "program": _MAGENTA,
        "model": _MAGENTA,
        "label": f"{_BOLD};{_MAGENTA}",
        "bar": _BLUE,
        "user": f"{_BOLD};{_BLUE}",
        "bash": _MAGENTA,
        "custom": _MAGENTA,
        "summary": _MAGENTA,
        "warning": f"{_BOLD};{_RED}",
    },
}
"""The SGR parameters of each role; empty for the default style of the terminal."""


def theme_for(
    choice: Literal["auto", "dark", "light"], environment: Mapping[str, str] | None = None
) -> ThemeName:
    """Return the theme; ``auto`` uses the background that the terminal reports, else dark."""
    if choice != "auto":
        return choice
    environment = os.environ if environment is None else environment
    background = environment.get("COLORFGBG", "").rpartition(";")[2]
    return "light" if background in ("7", "15") else "dark"
