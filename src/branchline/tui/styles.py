"""What the roles of a line look like, on dark and on light ground. Every look is told by more than colour.

Known without Textual, so that the first screenful can be drawn before it is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from rich.style import Style

from branchline.views.spans import ROLES, StyleRole

__all__ = ["DARK", "GROUNDS", "LIGHT", "styles_for"]

DARK, LIGHT = "branchline-dark", "branchline-light"

GROUNDS: Mapping[str, Mapping[str, str]] = {
    DARK: {
        "foreground": "#d5d9e5",
        "background": "#15171e",
        "panel": "#1e212b",
        "cursor-ground": "#262d47",
        "border": "#3a4055",
        "scrollbar": "#2b3042",
    },
    LIGHT: {
        "foreground": "#24272e",
        "background": "#fbfaf7",
        "panel": "#efede6",
        "cursor-ground": "#dde8fc",
        "border": "#c4c0b4",
        "scrollbar": "#d9d5c9",
    },
}
"""What lines are drawn on, and what stands between them."""

_LOOKS: Mapping[str, Mapping[StyleRole, str]] = {
    DARK: {
        "title": "bold",
        "heading": "bold #7aa2f7",
        "id": "#b5a287",
        "time": "#9aa1b6",
        "number": "#aab1c5",
        "path": "#7d9fcf",
        "program": "#b49ae0",
        "model": "#86b3a0",
        "label": "bold #e8c37a",
        "cost": "#93b98a",
        "bar": "#7aa2f7",
        "dim": "#8f96ab",
        "user": "bold #7fd0f5",
        "thinking": "italic #979db3",
        "tool": "#9aa3ba",
        "bash": "#e0a57a",
        "custom": "#c3a6e8",
        "system": "#9aa1b6",
        "summary": "#d6b56a",
        "setting": "#8f96ab",
        "active": "bold #7aa2f7",
        "cursor": "bold",
        "match": "bold underline #ffd866",
        "good": "#9ece6a",
        "warning": "#e0af68",
        "error": "#f7768e",
        "added": "#9ece6a",
        "removed": "#f7768e",
    },
    LIGHT: {
        "title": "bold",
        "heading": "bold #2f5fb3",
        "id": "#7a5f35",
        "time": "#5d616c",
        "number": "#454a55",
        "path": "#2f5fa3",
        "program": "#7a4ab0",
        "model": "#2f6b55",
        "label": "bold #8a5a00",
        "cost": "#2e6b2e",
        "bar": "#2f5fb3",
        "dim": "#60646d",
        "user": "bold #0b6390",
        "thinking": "italic #5d616c",
        "tool": "#565b68",
        "bash": "#9a4f12",
        "custom": "#7a4ab0",
        "system": "#5d616c",
        "summary": "#7d5a00",
        "setting": "#60646d",
        "active": "bold #2f5fb3",
        "cursor": "bold",
        "match": "bold underline #9a4f12",
        "good": "#2e6b2e",
        "warning": "#8a5a00",
        "error": "#b3261e",
        "added": "#2e6b2e",
        "removed": "#b3261e",
    },
}


@cache
def styles_for(theme: str) -> Mapping[StyleRole, Style]:
    """A style for every role. Themes of other makers get the looks for dark ground."""
    chosen = _LOOKS.get(theme, _LOOKS[DARK])
    return {role: Style.parse(chosen.get(role, "")) if chosen.get(role) else Style() for role in ROLES}
