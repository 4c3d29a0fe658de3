"""Whatever happens to a file while it is shown, on whichever screen: a notice, no crash, and every key still works."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from textual.pilot import Pilot

from branchline import Session
from branchline.tui.app import BranchlineApp
from branchline.views.browser.keymap import SCREENS
from branchline.views.session_row import row_name
from tui.kit import CWD, answer, app_on, clock, drive, press, said, settle, story, talk, user

Disaster = Callable[[Path], None]


def vanish(path: Path) -> None:
    path.unlink()


def shrink(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    os.truncate(path, sum(map(len, lines[:3])))


def empty(path: Path) -> None:
    os.truncate(path, 0)


def replace(path: Path) -> None:
    """Another session takes its place, as a program does that writes a new file and renames it."""
    other = path.with_name("other.tmp")
    with Session.create(CWD, directory=path.parent / "elsewhere", clock=clock(3)) as session:
        session.append_message(user("Something else entirely"))
        session.append_message(answer("Indeed."))
        made = session.file
    assert made is not None
    os.rename(made, other)
    os.replace(other, path)


def garble(path: Path) -> None:
    path.write_bytes(b"\x00\xff no session\n" * 400)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def some_and_all(*some: Disaster) -> list[Disaster | ParameterSet]:
    """Every disaster; all but some of them take their time."""
    every = (vanish, shrink, empty, replace, garble, folder)
    return [one if one in some else pytest.param(one, marks=pytest.mark.slow) for one in every]


WAYS: dict[str, tuple[str, ...]] = {
    "sessions": (),
    "tree": ("ctrl+t",),
    "transcript": ("right",),
    "turns": ("ctrl+t", "ctrl+g"),
    "forest": ("f9",),
    "compare": ("right", "f6"),
}
MODALS: dict[str, tuple[str, ...]] = {
    "what to do with an entry": ("ctrl+t", "home", "enter"),
    "a label": ("ctrl+t", "L"),
    "the whole entry": ("ctrl+t", "home", "enter", *["down"] * 6, "enter"),
    "which branch": ("right", "alt+s"),
    "a title": ("f2",),
    "a deletion": ("delete",),
    "a way to go on": ("ctrl+o", "enter"),
}
LEAVING = frozenset({"back", "quit", "theme", "open", "picture", "search"})


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look more often than a person would notice."""
    for module in ("browser", "forest", "tree", "transcript", "compare"):
        monkeypatch.setattr(f"branchline.tui.screens.{module}._LOOK", 0.1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    directory = tmp_path / "sessions"
    made = story(directory)
    talk(directory, 1, "Another", title="Another").close()
    now = made.stat().st_mtime
    for file in directory.glob("*.jsonl"):
        moment = now if file == made else now - 1000
        os.utime(file, (moment, moment))
    return made


def name_of_story(app: BranchlineApp) -> str:
    return next(row_name(item.row) for item in app.browser.state.items if item.row.title)


async def to_the_story(app: BranchlineApp, pilot: Pilot[int]) -> None:
    await press(pilot, "=red checkout test")
    app.browser.list.move_to(app.browser.state.place_of(name_of_story(app)) or 0)
    await settle(pilot)
    assert app.browser.row is not None
    assert app.browser.row.title == "Red checkout test"


@pytest.mark.parametrize("disaster", some_and_all(replace))
@pytest.mark.parametrize("screen", WAYS)
def test_a_file_that_changes_under_a_screen_is_told_and_no_key_ends_the_app(
    path: Path, screen: str, disaster: Disaster
) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await to_the_story(app, pilot)
        await press(pilot, *WAYS[screen])
        disaster(path)
        end = time.monotonic() + 60
        while not said(app):
            assert time.monotonic() < end, "nothing was said"
            await pilot.pause(0.1)
        await settle(pilot)
        shown = app.screen
        for key in SCREENS[screen]:
            if key.action.partition("(")[0] in LEAVING:
                continue
            await pilot.press(key.keys.split(",")[0])
            for _ in range(4):
                if app.screen is shown or len(app.screen_stack) < 2:
                    break
                await pilot.press("escape")
                await pilot.pause()
            assert app.is_running
            assert app.return_code in (None, 0)
        await pilot.resize_terminal(60, 20)
        await settle(pilot)
        assert app.is_running

    drive(app_on(path.parent), told, (120, 30))


@pytest.mark.parametrize("disaster", some_and_all(replace))
@pytest.mark.parametrize("question", MODALS)
def test_a_file_that_changes_under_a_question_can_still_be_answered(
    path: Path, question: str, disaster: Disaster
) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await to_the_story(app, pilot)
        await press(pilot, *MODALS[question])
        disaster(path)
        await pilot.pause(0.3)
        await settle(pilot)
        await press(pilot, "down", "end", "enter")
        assert app.is_running

    drive(app_on(path.parent), told, (120, 30))
