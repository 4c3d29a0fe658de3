"""Patterns that would never end cost a moment, and nothing waits for them."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.pilot import Pilot

from branchline.library.regex_worker import RegexTimeout, RegexWorker
from branchline.tui.app import BranchlineApp
from tui.kit import app_on, drive, press, said, screen, talk

ENDLESS = "(a+)+b"
TEXT = "a" * 60


@settings(deadline=None, max_examples=20)
@given(
    st.lists(st.text(max_size=20), max_size=4), st.sampled_from(["a.c", "^x", "[0-9]+", "é|日", r"\bfoo\b"])
)
def test_a_pattern_finds_what_python_finds(texts: list[str], pattern: str) -> None:
    with RegexWorker(pattern) as search:
        found = search(texts)

    assert found is any(re.search(pattern, text, re.IGNORECASE | re.MULTILINE) for text in texts)


def test_a_matcher_answers_again_and_again_whatever_the_texts_are() -> None:
    with RegexWorker("needle") as search:
        answers = [
            search(texts) for texts in (["hay"], ["a NEEDLE"], [], ["\ud83d"], ["x" * 1_000_000, "needle"])
        ]

    assert answers == [False, True, False, False, True]


def test_a_pattern_that_never_ends_is_ended() -> None:
    begun = time.monotonic()

    with RegexWorker(ENDLESS, seconds=0.2) as search, pytest.raises(RegexTimeout):
        search([TEXT])

    assert time.monotonic() - begun < 5


@pytest.fixture
def endless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(
        "branchline.library.regex_worker.RegexWorker.__init__.__kwdefaults__", {"seconds": 0.3}
    )
    directory = tmp_path / "sessions"
    talk(directory, 1, "An ab to be found", title="ab").close()
    talk(directory, 2, TEXT, title="Trap").close()
    return directory


@pytest.mark.parametrize("way", [(), ("f9",)])
def test_keys_are_answered_while_a_pattern_is_looked_for_and_the_list_says_that_it_was_given_up(
    endless: Path, way: tuple[str, ...]
) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, *way)
        await pilot.press(*"re", "colon", *"(a+)+b")
        begun = time.monotonic()
        await pilot.press("down", "up")
        assert time.monotonic() - begun < 2
        end = time.monotonic() + 60
        while not any(words in screen(app) + said(app) for words in ("timed out", "took too long")):
            assert time.monotonic() < end, screen(app)
            await pilot.pause(0.1)

    drive(app_on(endless), told, (120, 30))


@pytest.mark.parametrize("way", [(), ("f9",)])
def test_a_pattern_finds_sessions_on_both_lists(sessions: Path, way: tuple[str, ...]) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, *way, "=re:ref.nds")
        assert "Refunds" in screen(app)
        assert "dark theme" not in screen(app)

    drive(app_on(sessions), told, (120, 30))
