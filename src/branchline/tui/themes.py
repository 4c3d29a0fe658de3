"""The Textual themes, and the theme of code blocks."""

from __future__ import annotations

from textual.theme import Theme

from branchline.tui.styles import GROUNDS, LIGHT

__all__ = ["THEMES", "code_theme"]


def _theme(name: str) -> Theme:
    tokens = GROUNDS[name]
    return Theme(
        name=name,
        dark=not name.startswith(LIGHT),
        primary=tokens["accent"],
        secondary=tokens["ink2"],
        accent=tokens["accent"],
        warning=tokens["amber"],
        error=tokens["red"],
        success=tokens["green"],
        foreground=tokens["foreground"],
        background=tokens["background"],
        surface=tokens["background"],
        panel=tokens["panel"],
        variables={part: tokens[part] for part in ("cursor-ground", "border", "scrollbar")},
    )


THEMES = tuple(map(_theme, GROUNDS))


def code_theme(*, dark: bool) -> str:
    return "nord" if dark else "xcode"
