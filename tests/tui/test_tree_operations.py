"""The tree screen reshapes a session: named branches, grafts, squashes, undo, redo, the log."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from branchline import Session
from branchline.actions.summary_model import SummaryModel
from branchline.entries import message_text
from branchline.tui.app import BranchlineApp
from branchline.tui.screens.compare import CompareScreen
from branchline.tui.screens.streaming_dialog import StreamingDialog
from branchline.tui.screens.tree import TreeScreen
from tui.kit import app_on, drive, press, said, screen, story, talk
from tui.test_tree import here, open_tree


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return story(tmp_path / "sessions")


def words_of(path: Path) -> list[str]:
    with Session.open(path) as session:
        return [message_text(item.message) for item in session.context().messages]


def test_a_branch_is_named_listed_with_its_end_and_jumped_to(path: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await open_tree(pilot)
        await press(pilot, "f5")
        assert "no branch has a name" in said(app)
        await press(pilot, "=done: the test", "f2", "=frozen", "enter")
        assert "'frozen' begins here" in said(app)
        assert "you are here" in here(app)
        await press(pilot, "home", "f5")
        assert "frozen" in screen(app)
        assert "0 entries, ends at assistant: Done: the test passes., you are" in screen(app)
        await press(pilot, "enter")
        assert "Done: the test passes" in here(app)
        await press(pilot, "ctrl+z", "f5")
        assert "undid name: 'frozen' begins at assistant: Done" in said(app)
        assert "The screenshot shows" in here(app)

    drive(app_on(path.parent), told, (120, 36))

    with Session.open(path) as session:
        assert session.named_branches() == []


def test_a_turn_is_grafted_undone_redone_and_the_log_shows_it(path: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await open_tree(pilot)
        await press(pilot, "=freeze the clock then", "enter", "=graft this", "enter")
        assert "grafted 2 entries; Ctrl+Z undoes it" in said(app)
        assert "Done: the test passes" in here(app)
        assert "you are here" in here(app)
        await press(pilot, "ctrl+z")
        assert "undid graft: 2 entries, now at assistant: Done" in said(app)
        assert "Alt+Z redoes it" in said(app)
        assert "The screenshot shows" in here(app)
        await press(pilot, "alt+z", "ctrl+z", "alt+z", "f9")
        log = screen(app)
        assert log.index("redo now at") < log.index("undo now at") < log.index("graft 2 entries")
        await press(pilot, "=graft", "enter")
        assert "Done: the test passes" in here(app)

    drive(app_on(path.parent), told, (120, 36))

    assert "Freeze the clock then" in words_of(path)[-2]


def test_a_range_is_marked_squashed_or_grafted_elsewhere_and_compared(path: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await open_tree(pilot)
        await press(pilot, "=this is what", "insert", "ctrl+u", "=screenshot", "enter")
        await press(pilot, "=squash", "enter")
        await press(pilot, "=Only a picture.", "enter")
        assert "squashed; the original path stays in the tree" in said(app)
        assert "[branch summary]: Only a picture." in here(app)
        await press(pilot, "ctrl+z", "=freeze the clock then", "insert", "ctrl+u")
        await press(pilot, "=longer tokens hide", "enter", "=graft the marked", "enter")
        assert "grafted 2 entries" in said(app)
        await press(pilot, "ctrl+z", "=longer tokens hide", "f6")
        assert isinstance(app.screen, CompareScreen)

    drive(app_on(path.parent), told, (120, 36))

    with Session.open(path) as session:
        grafts = [each for each in session.operations() if each.verb == "graft"]
        assert [len(each.entries) for each in grafts] == [2]
        assert "hide the fault" in str(session.entry(session.path(grafts[0].entries[0])[-2]))


def test_a_model_writes_the_summary_of_a_squash_and_escape_stops_it(path: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await open_tree(pilot)
        assert isinstance(app.screen, TreeScreen)
        leaf = app.screen.session.leaf
        await press(pilot, "=this is what", "insert", "ctrl+u", "=screenshot", "enter")
        assert "by offline:echo" in screen(app)
        await press(pilot, "=squash with", "enter")
        await pilot.press(*"offline: slow 9", "enter")
        while not isinstance(app.screen, StreamingDialog):
            await pilot.pause(0.02)
        await press(pilot, "escape")
        assert "cannot summarize: it was aborted" in said(app)
        assert isinstance(app.screen, TreeScreen)
        assert app.screen.session.leaf == leaf
        await press(pilot, "enter", "=squash with", "enter", "=offline: say One picture.", "enter")
        assert "squashed; the original path stays in the tree" in said(app)
        assert "One picture." in here(app)

    drive(app_on(path.parent, summary_model=SummaryModel(name="offline:echo")), told, (120, 40))


def test_a_turn_comes_from_another_session(path: Path) -> None:
    talk(path.parent, 2, "How do refunds work?").close()

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await open_tree(pilot)
        await press(pilot, "enter", "=of another session", "enter", "=refunds", "enter")
        await press(pilot, "=refunds", "enter")
        assert isinstance(app.screen, TreeScreen)
        assert "About that: How do refunds work?" in here(app)

    drive(app_on(path.parent), told, (120, 36))

    assert "How do refunds work?" in words_of(path)[-1]


def test_what_cannot_be_done_is_a_sentence_and_nothing_is_written(path: Path) -> None:
    before = path.read_bytes()

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await open_tree(pilot)
        await press(pilot, "alt+z")
        assert "nothing to redo" in said(app)
        await press(pilot, "enter", "=graft this", "enter")
        assert "cannot graft" in said(app)
        assert "which is a part of it" in said(app)
        await press(pilot, "f2", "= ", "enter")
        assert "a branch name has 1 to 120 characters" in said(app)
        await press(pilot, "home", "down", "enter", "=graft this", "enter")
        assert "is the result of a tool call that is not in the range" in said(app)
        await press(pilot, "=this is what", "insert", "ctrl+u", "=screenshot")
        await press(pilot, "enter", "=squash", "enter", "enter")
        assert "a summary cannot be empty" in said(app)
        await press(pilot, "escape")
        assert isinstance(app.screen, TreeScreen), "the first Escape only forgets the mark"

    drive(app_on(path.parent), told, (120, 36))

    assert path.read_bytes() == before
