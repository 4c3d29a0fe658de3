"""One table of keys: what it names is there, nothing is bound twice, and the guide shows all of it."""

from __future__ import annotations

import pytest

from branchline.tui.screens.browser import BrowserScreen
from branchline.tui.screens.compare import CompareScreen
from branchline.tui.screens.files import FilesScreen
from branchline.tui.screens.forest import ForestScreen
from branchline.tui.screens.statistics import StatisticsScreen
from branchline.tui.screens.transcript import TranscriptScreen
from branchline.tui.screens.tree import TreeScreen
from branchline.tui.screens.turns import TurnPickerScreen
from branchline.views.browser.keymap import SCREENS, keys_of, letter_name, shown_key
from support import ROOT

CLASSES = {
    "sessions": BrowserScreen,
    "tree": TreeScreen,
    "transcript": TranscriptScreen,
    "turns": TurnPickerScreen,
    "forest": ForestScreen,
    "compare": CompareScreen,
    "statistics": StatisticsScreen,
    "files": FilesScreen,
}
EDITING = frozenset("abefhdwuky")
"""What Ctrl does with these letters belongs to the field in which one types."""


@pytest.mark.parametrize("name", SCREENS)
def test_every_key_has_an_action_of_its_screen_and_no_key_two(name: str) -> None:
    keys = [key for entry in SCREENS[name] for key in entry.keys.split(",") if key]
    letters = [entry.letter for entry in SCREENS[name] if entry.letter]

    assert len(keys) == len(set(keys))
    assert len(letters) == len(set(letters))
    assert not {f"ctrl+{letter}" for letter in EDITING} & set(keys)
    for entry in SCREENS[name]:
        action = entry.action.split("(")[0]
        assert hasattr(CLASSES[name], f"action_{action}"), action


@pytest.mark.parametrize("name", SCREENS)
def test_the_guide_has_every_key_of_every_screen(name: str) -> None:
    guide = (ROOT / "docs" / "guides" / "terminal.md").read_text(encoding="utf-8")

    for entry in keys_of(name):
        assert f"| {shown_key(entry.keys)} | {letter_name(entry.letter)} | {entry.words} |" in guide


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        ("L,shift+l", "Shift+L"),
        ("ctrl+left,alt+left", "Ctrl+← Alt+←"),
        ("question_mark,f1", "? F1"),
        ("shift+ctrl+o,ctrl+shift+o", "Ctrl+Shift+O"),
        ("insert,ctrl+space,ctrl+@", "Ins Ctrl+Space"),
    ],
)
def test_keys_are_shown_as_people_write_them(keys: str, shown: str) -> None:
    assert shown_key(keys) == shown
