"""The two themes as Textual wants them, and the colours of code."""

from __future__ import annotations

from textual.theme import Theme

from branchline.tui.styles import DARK, GROUNDS, LIGHT

__all__ = ["THEMES", "code_theme"]


def _variables(name: str) -> dict[str, str]:
    return {part: GROUNDS[name][part] for part in ("cursor-ground", "border", "scrollbar")}


THEMES = (
    Theme(
        name=DARK,
        dark=True,
        primary="#7aa2f7",
        secondary="#bb9af7",
        accent="#e0af68",
        warning="#e0af68",
        error="#f7768e",
        success="#9ece6a",
        foreground=GROUNDS[DARK]["foreground"],
        background=GROUNDS[DARK]["background"],
        surface=GROUNDS[DARK]["background"],
        panel=GROUNDS[DARK]["panel"],
        variables=_variables(DARK),
    ),
    Theme(
        name=LIGHT,
        dark=False,
        primary="#2f5fb3",
        secondary="#7a4ab0",
        accent="#8a5a00",
        warning="#8a5a00",
        error="#b3261e",
        success="#2e6b2e",
        foreground=GROUNDS[LIGHT]["foreground"],
        background=GROUNDS[LIGHT]["background"],
        surface=GROUNDS[LIGHT]["background"],
        panel=GROUNDS[LIGHT]["panel"],
        variables=_variables(LIGHT),
    ),
)


def code_theme(*, dark: bool) -> str:
    """The colours of code in Markdown."""
    return "nord" if dark else "xcode"
