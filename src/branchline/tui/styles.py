"""The styles of the roles of a line, for dark and light backgrounds. No meaning depends on colour alone.

One accent marks the position; weight and dimming do the rest. Terminals with 256 colours get colours of their
palette, because rounding would make soft backgrounds loud. Does not import Textual, so that the first frame
can be drawn before it is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Literal

from rich.style import Style

from branchline.views.spans import ROLES, StyleRole

__all__ = ["DARK", "GROUNDS", "LIGHT", "styles_for", "theme_name"]

DARK, LIGHT = "branchline-dark", "branchline-light"
_256 = "-256"

_Tokens = Mapping[str, str]


def _indexed(number: int) -> str:
    """Return a colour of the 256-colour palette in hexadecimal."""
    if number >= 232:
        level = 8 + 10 * (number - 232)
        return f"#{level:02x}{level:02x}{level:02x}"
    steps = (0, 95, 135, 175, 215, 255)
    number -= 16
    return "#" + "".join(f"{steps[number // size % 6]:02x}" for size in (36, 6, 1))


_TOKENS: dict[str, _Tokens] = {
    DARK: {
        "background": "#151513",
        "foreground": "#ebe8e1",
        "ink2": "#bfbbb1",
        "ink3": "#9b978d",
        "accent": "#7fbde6",
        "red": "#f0938a",
        "green": "#8ccb98",
        "amber": "#e0b25c",
        "cursor-ground": "#1b3040",
        "prompt": "#23231f",
        "mark": "#5c4a12",
        "added": "#1c2f20",
        "removed": "#381f1c",
        "panel": "#23231f",
        "border": "#3a3934",
        "scrollbar": "#33322d",
        "heat1": "#1c3547",
        "heat2": "#2b5878",
        "heat3": "#4280ab",
    },
    LIGHT: {
        "background": "#fbfaf7",
        "foreground": "#1b1a17",
        "ink2": "#4a4740",
        "ink3": "#67635a",
        "accent": "#155e8a",
        "red": "#ad2c22",
        "green": "#256b3a",
        "amber": "#825300",
        "cursor-ground": "#d9e7f0",
        "prompt": "#f0ede6",
        "mark": "#fbe39a",
        "added": "#e6f2e7",
        "removed": "#faeae7",
        "panel": "#eae6dc",
        "border": "#cfccc3",
        "scrollbar": "#dcd8cd",
        "heat1": "#c3d9e6",
        "heat2": "#8fb9d2",
        "heat3": "#4f8fb6",
    },
}
_PALETTE: dict[str, tuple[int, int]] = {
    "background": (233, 231),
    "foreground": (254, 234),
    "ink2": (252, 239),
    "ink3": (248, 241),
    "accent": (117, 24),
    "red": (210, 124),
    "green": (114, 22),
    "amber": (179, 94),
    "cursor-ground": (237, 189),
    "prompt": (235, 255),
    "mark": (58, 222),
    "added": (235, 194),
    "removed": (235, 224),
    "panel": (236, 254),
    "border": (239, 251),
    "scrollbar": (238, 252),
    "heat1": (23, 152),
    "heat2": (24, 110),
    "heat3": (67, 67),
}
for _place, _name in enumerate((DARK, LIGHT)):
    _TOKENS[_name + _256] = {token: _indexed(pair[_place]) for token, pair in _PALETTE.items()}

GROUNDS: Mapping[str, _Tokens] = _TOKENS
"""What lines are drawn with and on, by theme."""

_LOOKS: dict[StyleRole, str] = {
    "title": "bold",
    "heading": "bold",
    "id": "{ink3}",
    "time": "{ink3}",
    "number": "{ink3}",
    "path": "{ink3}",
    "program": "{ink2}",
    "model": "{ink3}",
    "label": "{accent}",
    "cost": "{ink2}",
    "bar": "{heat3}",
    "dim": "{ink3}",
    "user": "bold",
    "prompt": "on {prompt}",
    "thinking": "italic {ink3}",
    "tool": "{ink2}",
    "bash": "{ink2}",
    "custom": "{ink2}",
    "system": "{ink3}",
    "summary": "{ink2}",
    "setting": "{ink3}",
    "active": "bold {accent}",
    "cursor": "bold underline",
    "match": "bold underline on {mark}",
    "found": "bold underline {background} on {accent}",
    "good": "{ink3}",
    "warning": "{amber}",
    "error": "{red}",
    "added": "{green} on {added}",
    "removed": "{red} on {removed}",
    "heat1": "{heat1}",
    "heat2": "{heat2}",
    "heat3": "{heat3}",
    "heat4": "{accent}",
}


def theme_name(choice: Literal["dark", "light"], *, palette: bool = False) -> str:
    """Return the theme for a background; ``palette`` is for terminals with at most 256 colours."""
    return (LIGHT if choice == "light" else DARK) + (_256 if palette else "")


@cache
def styles_for(theme: str) -> Mapping[StyleRole, Style]:
    """Return a style for every role. Other themes get the styles for a dark background."""
    tokens = _TOKENS.get(theme, _TOKENS[DARK])
    return {
        role: Style.parse(look.format_map(tokens)) if (look := _LOOKS.get(role, "")) else Style()
        for role in ROLES
    }
