"""What was hard to read once: words that are typed, words that are found, notices, narrow columns, damage."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style
from textual.pilot import Pilot
from textual.strip import Strip

from branchline import demo
from branchline.library.browser_source import LibrarySource
from branchline.library.pins import Pins
from branchline.tui.app import BranchlineApp
from branchline.tui.screens.transcript import TranscriptScreen
from branchline.tui.strips import highlight
from branchline.tui.styles import DARK, GROUNDS, LIGHT, styles_for
from branchline.views.browser.state import BrowserState
from branchline.views.hits import find_ranges
from tui.kit import app_on, drive, press, screen

MATCH = Style(bold=True)


def test_what_is_typed_into_a_question_can_be_seen(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "=refunds", "f2", "=2")
        assert "Refunds2▏" in screen(app)
        await press(pilot, "escape", "ctrl+t", "L", "=good end")
        assert "good end▏" in screen(app)

    drive(app_on(sessions), told)


def test_words_are_found_marked_and_missed_in_the_conversation(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "=red checkout test", "right", "=MIDNIGHT")
        assert isinstance(app.screen, TranscriptScreen)
        found = {
            text.lower()
            for strip in app.screen._compositor.render_strips()
            for text, style, _control in strip
            if style is not None and style.underline
        }
        assert "midnight" in found
        await press(pilot, "=zz")
        assert "not on this path" in screen(app)
        await press(pilot, "escape")
        assert "not on this path" not in screen(app)

    drive(app_on(sessions), told)


@settings(deadline=None)
@given(st.text(st.sampled_from("abA 日é"), max_size=30), st.sampled_from(["ab", "a", "日", "é b", "zz"]))
def test_marking_changes_looks_and_never_words(text: str, word: str) -> None:
    strip = Strip([Segment(text[:7], Style(italic=True)), Segment(text[7:], Style())])

    shown = highlight(strip, [word], MATCH)

    assert shown.text == text
    assert shown.cell_length == strip.cell_length
    bold = "".join(part.text for part in shown if part.style is not None and part.style.bold)
    ranges = find_ranges(text, [word])
    assert bold == "".join(text[start:end] for start, end in ranges)


def test_a_message_stands_above_the_keys_covers_nothing_and_goes_with_the_next_action(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "alt+p")
        lines = screen(app).splitlines()
        assert lines[-2].strip() == "1 session pinned"
        assert lines[-1].rstrip().endswith("F1 keys")
        await press(pilot, "down")
        assert "pinned" not in screen(app)

    drive(app_on(sessions), told)


def test_the_preview_names_damage_and_does_not_pour_it_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = demo.prepare(tmp_path / "demo")
    monkeypatch.setenv("BRANCHLINE_HOME", made.home)
    monkeypatch.setenv("HOME", made.home)
    monkeypatch.chdir(made.project)
    state = BrowserState(
        LibrarySource.everywhere(),
        "here",
        Pins(str(tmp_path / "pins.json")),
        words="release",
        now=time.time,
        home=os.path.expanduser("~"),
    )

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot)
        assert "unreadable line, 352 characters" in screen(app)
        assert '"parentId"' not in screen(app)

    drive(BranchlineApp(state), told, (160, 48))


def light_of(color: str) -> float:
    """The relative luminance of a colour, as the guidelines for accessible content define it."""
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", [DARK, LIGHT])
@pytest.mark.parametrize("ground", ["background", "panel", "cursor-ground"])
def test_every_word_can_be_read_on_every_ground(theme: str, ground: str) -> None:
    """At least 4.5 to 1, which is what the guidelines ask for of small text."""
    for role, style in styles_for(theme).items():
        if role == "bar" or role.startswith("heat"):  # no words: heights say the same
            continue
        behind = light_of(GROUNDS[theme][ground] if style.bgcolor is None else style.bgcolor.name)
        color = GROUNDS[theme]["foreground"] if style.color is None else style.color.name
        brighter, darker = sorted((light_of(color), behind), reverse=True)
        assert (brighter + 0.05) / (darker + 0.05) >= 4.5, role


def test_the_row_under_the_cursor_is_told_without_colours(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        for keys in ((), ("f9",), ("escape", "ctrl+t"), ("ctrl+g",), ("escape", "enter")):
            await press(pilot, *keys)
            assert sum("▌" in line for line in screen(app).splitlines()) >= 1, keys

    drive(app_on(sessions), told)
