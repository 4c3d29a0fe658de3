"""The transcript, driven by keys: folds, jumps, finding, another branch, and a session that goes on."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from textual.pilot import Pilot

from branchline import Session
from branchline.tui.app import BranchlineApp
from branchline.tui.screens.transcript import TranscriptScreen
from branchline.tui.widgets.line_bar import LineBar
from branchline.views.browser.conversation import Conversation
from branchline.views.browser.path_overview import PathOverview
from branchline.views.spans import line_text
from tui.kit import answer, app_on, clock, drive, press, said, screen, settle, story, talk, user


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return story(tmp_path / "sessions")


def reading(app: BranchlineApp) -> TranscriptScreen:
    assert isinstance(app.screen, TranscriptScreen)
    return app.screen


def test_words_are_markdown_thoughts_and_results_are_folded_and_open_with_enter(path: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "alt+t", "right", "home")
        text = screen(app)
        assert "The token expires at midnight" in text  # no stars around the word
        assert "▸ Thought First look" in text
        assert "▸ bash    pytest" in text
        assert "assert 401 == 200" not in text
        await press(pilot, "tab", "tab", "enter")
        assert "▾ bash    pytest" in screen(app)
        assert "assert 401 == 200" in screen(app)
        await press(pilot, "enter")
        assert "assert 401 == 200" not in screen(app)
        await press(pilot, "f8")
        assert "assert 401 == 200" in screen(app)

    drive(app_on(path.parent), told, (90, 40))


def test_a_match_inside_a_folded_part_is_shown_and_folded_again_at_the_next_one(path: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "=401 == 200")
        await settle(pilot)
        await press(pilot, "enter")
        await settle(pilot)
        text = screen(app)
        assert "▾ bash    pytest" in text
        assert "assert 401 == 200" in text
        await press(pilot, "ctrl+u", "=first look")
        assert "▸ bash    pytest" in screen(app)

    drive(app_on(path.parent), told, (90, 40))


def test_jumps_go_to_prompts_errors_labels_and_words(path: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "alt+t", "right", "home", "ctrl+down")
        view = reading(app).view
        assert "This is what I see" in str(reading(app).conversation.cards(view.selected[0]))
        await press(pilot, "ctrl+up", "alt+e")
        assert any(card.error for card in reading(app).conversation.cards(view.selected[0]))
        await press(pilot, "alt+l")
        assert "no more labels" in said(app)
        await press(pilot, "=screenshot 401")
        assert "The screenshot shows" in str(reading(app).conversation.cards(view.selected[0]))
        await press(pilot, "ctrl+p")
        assert "no more matches on this path" in screen(app)

    drive(app_on(path.parent), told)


def test_another_branch_is_read_without_changing_the_session(path: Path) -> None:
    before = path.read_bytes()

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "alt+t", "right", "alt+s")
        assert "Which branch?" in screen(app)
        await press(pilot, "enter")
        text = screen(app)
        assert "Freeze the clock then" in text
        assert "not on the active branch" in text
        assert "[frozen clock]" in text

    drive(app_on(path.parent), told)

    assert path.read_bytes() == before


def test_a_live_session_is_followed_at_its_end_and_left_alone_further_up(path: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "alt+t", "right")
        assert "following new entries" in screen(app)
        with Session.open(path) as other:
            other.append_message(user("one more thing"))
            other.append_message(answer("Here it is."))
        reading(app)._look()
        await settle(pilot)
        assert "Here it is." in screen(app)
        await press(pilot, "home")
        with Session.open(path) as other:
            other.append_message(user("unseen"))
        reading(app)._look()
        await settle(pilot)
        assert "unseen" not in screen(app)
        assert "Can you find out why?" in screen(app)
        os.unlink(path)
        reading(app)._look()
        await settle(pilot)
        assert "was deleted" in said(app)

    drive(app_on(path.parent), told)


@pytest.mark.parametrize("keys", [("right",), ("ctrl+t",)], ids=["transcript", "tree"])
@pytest.mark.parametrize("left", [b"", b"\0" * 5000], ids=["emptied", "overwritten"])
def test_a_file_that_becomes_no_session_while_it_is_shown_is_told_and_ends_nothing(
    path: Path, keys: tuple[str, ...], left: bytes
) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "alt+t", *keys)
        shown = app.screen
        path.write_bytes(left)  # noqa: ASYNC240  it is another program that writes
        end = time.monotonic() + 60
        while "was truncated or replaced" not in said(app):
            assert time.monotonic() < end, said(app)
            await pilot.pause(0.1)
        await press(pilot, "home", "down", "pagedown", "end")
        await pilot.resize_terminal(60, 20)
        await press(pilot, "home", "up")
        assert app.screen is shown

    drive(app_on(path.parent), told)


def test_a_picture_is_a_placeholder_with_its_size_and_is_saved_privately_when_opened(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    saved: list[bytes] = []

    def files() -> list[Path]:
        return list(tmp_path.glob("branchline-*/*"))

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "alt+t", "right", "ctrl+up")
        assert "image: image/png, 8 bytes" in screen(app)
        await press(pilot, "alt+o")
        assert "saved until you quit:" in said(app)
        saved.extend(file.read_bytes() for file in files())

    drive(app_on(path.parent), told)

    assert saved == [b"\x89PNG\r\n\x1a\n"]
    assert files() == []


def test_a_long_conversation_opens_at_its_end_and_is_laid_out_as_it_is_read(tmp_path: Path) -> None:
    directory = tmp_path / "sessions"
    talk(directory, 1, *(f"question {number}\nin two lines" for number in range(400)), title="long").close()

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "right")
        view = reading(app).view
        assert "question 399" in screen(app)
        assert len(view._measured) < 40
        await press(pilot, *["pageup"] * 3)
        seen = screen(app)
        assert "question 39" in seen
        await press(pilot, "home")
        assert "question 0" in screen(app)
        assert "message 1 of 800" in app.screen.query_one("#seen", LineBar).words
        await press(pilot, "end")
        assert "question 399" in screen(app)

    drive(app_on(directory), told)


def test_scrolling_line_by_line_passes_every_line_once(tmp_path: Path) -> None:
    """Heights that are only guessed must not make lines jump, up or down."""
    directory = tmp_path / "sessions"
    talk(
        directory, 1, *(f"q{number:03}" + "\nmore" * (number % 7) for number in range(60)), title="x"
    ).close()

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "right")
        view = reading(app).view
        seen = []
        for _ in range(5000):
            seen.append(view.render_line(0).text.strip(" ▌"))
            if view.scroll_offset.y <= 0:
                break
            reading(app).action_scroll(-1)
        prompts = [line for line in reversed(seen) if line.startswith("q")]
        assert prompts == sorted(set(prompts))
        assert prompts[0] == "q000"
        assert len(prompts) > 50

    drive(app_on(directory), told)


def test_an_earlier_entry_of_the_current_branch_is_not_called_another_branch(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "ctrl+t", "home", "ctrl+r")
        await settle(pilot)
        assert isinstance(app.screen, TranscriptScreen)
        assert "up to an earlier entry" in screen(app)
        assert "not on the active branch" not in screen(app)

    drive(app_on(sessions), told)


def test_the_selected_part_stays_selected_when_the_terminal_is_resized(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "alt+t", "right", "home")
        for size in ((60, 50), (72, 20), (60, 50)):
            await pilot.resize_terminal(*size)
            await settle(pilot)
            assert " message 1 of 8" in screen(app)

    drive(app_on(sessions), told, (60, 18))


def test_a_wide_screen_shows_the_tree_beside_the_text_and_a_click_there_reads_that_branch(path: Path) -> None:
    before = path.read_bytes()

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "alt+t", "right")
        rows = [line.partition("│")[0].rstrip() for line in screen(app).split("\n")[2:7]]
        assert rows == [
            " ● The checkout test is red since Monday. …",
            " ┠─▸ Freeze the clock then               2",
            " ┠─▸ Or make the tokens longer?          2",
            " ● branch summary: Longer tokens were trie…",
            " ◉ This is what I see",
        ]
        await press(pilot, "home")
        assert " ◉ The checkout test" in screen(app)
        await pilot.click("#overview", offset=(8, 1))
        await settle(pilot)
        assert "Done: the test passes." in screen(app)
        assert " ◉ Freeze the clock then" in screen(app)
        assert " ● [frozen clock] Done: the test passes." in screen(app)
        assert " ┠─▸ branch summary: Longer tokens" in screen(app)
        await pilot.resize_terminal(157, 48)
        await settle(pilot)
        assert "┠─▸" not in screen(app)

    drive(app_on(path.parent), told, (158, 48))

    assert path.read_bytes() == before


def test_the_tree_beside_a_text_counts_the_older_ones_of_many_branches(tmp_path: Path) -> None:
    with Session.create("/w", directory=tmp_path, clock=clock(1)) as session:
        first = session.append_message(user("Why?"))
        for number in range(9):
            session.branch(first)
            session.append_message(answer(f"Reason {number}"))

        overview = PathOverview(Conversation(session, session.leaf))

        shown = [line_text(overview.line(row, 40)).rstrip() for row in range(len(overview))]
    assert shown[:2] == [" ● Why?", f" ┠─▸ Reason 4{' ' * 25}1"]
    assert shown[-1] == " ┠─▸ 4 older branches here"
    assert len(shown) == 6
    assert overview.read_at(1) == 0
