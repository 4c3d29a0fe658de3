"""The session browser, driven by keys: find, mark, pin, rename, delete, undo, continue."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from branchline import SessionLibrary, demo, places
from branchline.library.browser_source import LibrarySource
from branchline.library.pins import Pins
from branchline.tui.app import BranchlineApp
from branchline.tui.screens.browser import BrowserScreen
from branchline.tui.screens.compare import CompareScreen
from branchline.tui.screens.dialogs import ConfirmDialog
from branchline.tui.screens.help import HelpScreen
from branchline.tui.widgets.line_bar import LineBar
from branchline.views.browser.state import BrowserState
from branchline.views.session_row import row_name
from tui.kit import CWD, app_on, drive, press, screen, settle, talk


def names(app: BranchlineApp) -> list[str]:
    return [item.row.title or item.row.first_prompt or item.row.key for item in app.browser.state.items]


def said(app: BranchlineApp) -> str:
    return " ".join(note.message for note in app._notifications)


def test_a_search_narrows_the_list_as_it_is_typed_looks_inside_and_says_what_is_wrong_with_it(
    sessions: Path,
) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        assert len(names(app)) == 6
        await press(pilot, "slash", "=refunds")
        assert names(app) == ["Refunds"]
        await press(pilot, "escape", "slash", "=midnight role:assistant")
        assert set(names(app)) == {"Red checkout test", "In a fork: rewrite the token module"}
        assert "4 filtered out" in app.browser.query_one("#seen", LineBar).words
        await press(pilot, "escape", "slash", "=tool:read label:frozen")
        assert names(app) == ["Red checkout test"]
        await press(pilot, "escape", "slash", "=after:soon")
        assert names(app) == []
        assert "is not a valid time" in screen(app)
        await press(pilot, "enter", "escape")
        assert len(names(app)) == 6
        assert app.browser.words == ""

    drive(app_on(sessions), told)


def test_letters_act_in_the_list_and_are_letters_in_the_search_line(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "slash", "=dq")
        assert app.browser.words == "dq"
        assert app.is_running
        await press(pilot, "backspace", "backspace", "enter", "n")
        assert "named" in app.browser.query_one("#top", LineBar).words
        assert all(item.row.title for item in app.browser.state.items)

    drive(app_on(sessions), told)


def test_several_sessions_go_to_the_trash_at_once_and_come_back_with_one_key(sessions: Path) -> None:
    library = SessionLibrary(sessions)

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        before = names(app)
        await press(pilot, "space", "space", "d", "enter")
        assert names(app) == before[2:]
        assert len(library.trash()) == 2
        await press(pilot, "u")
        assert sorted(names(app)) == sorted(before)
        assert library.trash() == []
        await press(pilot, "u")
        assert "nothing to undo" in said(app)

    drive(app_on(sessions), told)


def test_sessions_of_other_programs_are_removed_only_after_a_question(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "d")
        assert isinstance(app.screen, ConfirmDialog)
        await press(pilot, "escape")
        assert len(names(app)) == 6
        await press(pilot, "d", "enter")
        assert len(names(app)) == 5
        assert "no longer exists" not in said(app)
        await press(pilot, "u")
        assert len(names(app)) == 6

    drive(app_on(sessions), told)  # a directory that is not ours, as `browse --dir` opens it


def test_our_own_sessions_go_to_the_trash_without_a_question(world: Path) -> None:
    directory = Path(places.session_directory(CWD))
    talk(directory, 1, "Ours").close()

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "d")
        assert names(app) == []
        assert "moved to the trash" in said(app)

    drive(app_on(directory), told)


def test_a_title_is_written_into_the_session_and_the_file_keeps_its_name(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "slash", "=dark theme", "enter")
        row = app.browser.row
        assert row is not None
        await press(pilot, "r", "=Night", "enter")
        assert names(app) == ["Night"]
        assert app.browser.row is not None
        assert app.browser.row.path == row.path

    drive(app_on(sessions), told)


def test_pins_stay_on_top_and_are_kept_in_a_file_of_our_own(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "slash", "=refunds", "enter", "p", "escape")
        assert names(app)[0] == "Refunds"
        assert "★" in screen(app)

    drive(app_on(sessions), told)

    path = sessions / "own" / "pins.json"
    assert len(Pins(str(path))) == 1
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_settings_pin_by_id(sessions: Path) -> None:
    (refunds,) = [row for row in SessionLibrary(sessions).list(deep=True) if row.title == "Refunds"]
    app = app_on(sessions)
    app.browser.state.pins = Pins(str(sessions / "none.json"), ids=[refunds.id])

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        assert names(app)[0] == "Refunds"

    drive(app, told)


def test_pins_that_cannot_be_read_are_said_and_none(tmp_path: Path) -> None:
    path = tmp_path / "pins.json"
    path.write_text("not json")

    pins = Pins(str(path))

    assert pins.problem is not None
    assert str(path) in pins.problem
    assert len(pins) == 0


def test_forks_stand_below_their_parent_when_sorted_by_threads_and_never_look_like_it(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "s")
        text = screen(app)
        assert "└─ In a fork: rewrite the token module" in text
        assert text.index("Red checkout test") < text.index("└─")

    drive(app_on(sessions), told)


def test_the_other_scope_is_read_when_first_chosen(sessions: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    talk(other, 3, "Something elsewhere", cwd="/home/u/other").close()
    shutil.copytree(sessions, other, dirs_exist_ok=True)
    app = app_on(sessions)
    app.source._libraries["all"] = SessionLibrary(other)  # type: ignore[attr-defined]

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        assert "Something elsewhere" not in names(app)
        await press(pilot, "tab")
        assert "Something elsewhere" in names(app)
        assert "~/other" in screen(app)
        await press(pilot, "tab")
        assert "Something elsewhere" not in names(app)

    drive(app, told, (120, 30))


def test_the_command_that_continues_a_session_is_copied_as_it_would_be_typed(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        row = app.browser.row
        assert row is not None
        await press(pilot, "y")
        assert app.clipboard == f"cd {CWD} && branchline chat --fork {row.path}"

    drive(app_on(sessions), told)


def test_continuing_in_a_directory_that_is_gone_is_asked_about_first(
    sessions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "pi"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    ran: list[tuple[tuple[str, ...], str | None]] = []
    app = app_on(sessions)
    monkeypatch.setattr(app, "go_on", lambda going, *, cwd: ran.append((going.command, cwd)))

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        row = app.browser.row
        assert row is not None
        await press(pilot, "enter")
        assert isinstance(app.screen, ConfirmDialog)
        assert CWD in screen(app)
        await press(pilot, "escape")
        assert ran == []
        await press(pilot, "enter", "enter")
        assert ran == [(("pi", "--session", row.path), app.source.cwd)]

    drive(app, told)


def test_a_session_continues_in_another_agent_that_is_picked(
    sessions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    ran: list[tuple[tuple[str, ...], str | None]] = []
    app = app_on(sessions)
    monkeypatch.setattr(app, "go_on", lambda going, *, cwd: ran.append((going.command, cwd)))
    monkeypatch.setattr(app.source, "cwd", str(tmp_path))

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        row = app.browser.row
        assert row is not None
        await press(pilot, "i")
        assert "codex" in screen(app)
        await press(pilot, "enter")
        assert isinstance(app.screen, ConfirmDialog)  # the directory of the session is gone
        await press(pilot, "enter")
        await settle(pilot)
        assert said(app) == ""
        (rollout,) = (tmp_path / "codex" / "sessions").rglob("rollout-*.jsonl")
        assert ran == [(("codex", "resume", rollout.stem[-36:]), app.source.cwd)]
        assert row.path is not None
        assert row.path in rollout.read_text()  # as its parent

    drive(app, told)


def test_a_program_that_is_not_installed_is_named_before_a_fork_goes_on_in_chat(
    sessions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    ran: list[tuple[str, ...]] = []
    app = app_on(sessions)
    monkeypatch.setattr(app, "go_on", lambda going, *, cwd: ran.append(going.command))

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        row = app.browser.row
        assert row is not None
        await press(pilot, "enter")
        assert isinstance(app.screen, ConfirmDialog)
        assert "pi is not installed" in " ".join(screen(app).split())
        assert ran == []
        await press(pilot, "enter")
        assert ran == [("branchline", "chat", "--fork", row.path)]

    drive(app, told)


def test_a_session_that_vanished_while_it_was_shown_is_told_and_left_out(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        row = app.browser.row
        assert row is not None
        assert row.path is not None
        os.unlink(row.path)
        await press(pilot, "t")
        assert "no longer exists" in said(app)
        assert isinstance(app.screen, BrowserScreen)
        await press(pilot, "f5")
        assert len(names(app)) == 5

    drive(app_on(sessions), told)


def test_a_terminal_that_is_too_small_says_so_until_it_is_larger(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await pilot.resize_terminal(30, 8)
        await settle(pilot)
        assert "too small" in screen(app)
        await pilot.resize_terminal(80, 24)
        await settle(pilot)
        assert "Red checkout test" in screen(app)

    drive(app_on(sessions), told)


def test_the_mouse_moves_the_cursor_a_wheel_scrolls_and_a_double_click_is_enter(sessions: Path) -> None:
    for number in range(40):
        talk(sessions, 10 + number / 100, f"Question {number}").close()

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await pilot.click("#rows", offset=(10, 2))
        await settle(pilot)
        assert app.browser.list.cursor == 2
        rows = app.browser.list
        rows.post_message(events.MouseScrollDown(rows, 5, 5, 0, 1, 0, False, False, False))
        await settle(pilot)
        assert rows.scroll_offset.y > 0
        assert rows.cursor == 2
        with pytest.MonkeyPatch.context() as patch:
            chosen: list[bool] = []
            patch.setattr(app.browser, "action_go_on", lambda: chosen.append(True))
            await pilot.double_click("#rows", offset=(10, 2))
            await settle(pilot)
        assert chosen

    drive(app_on(sessions), told)


@pytest.mark.parametrize("width", [60, 160])
def test_scope_sort_programs_and_hints_are_chosen_with_a_click_wherever_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    made = demo.prepare(str(tmp_path / "demo"))
    monkeypatch.setenv("BRANCHLINE_HOME", made.home)
    monkeypatch.setenv("HOME", made.home)
    monkeypatch.chdir(made.project)

    async def click(app: BranchlineApp, pilot: Pilot[int], words: str) -> None:
        lines = screen(app).split("\n")
        y = next(y for y, line in enumerate(lines) if words in line)
        await pilot.click(offset=(lines[y].index(words) + 1, y))
        await settle(pilot)

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        state = app.browser.state
        assert all(words in screen(app) for words in (" claude-code  ", " oh-my-pi  ", " zot  "))
        await click(app, pilot, " piglet  ")
        assert state.agent == "piglet"
        assert names(app) == ["What to call things"]
        await click(app, pilot, "[piglet]")
        assert state.agent is None
        await click(app, pilot, " all ")
        assert state.scope == "all"
        await click(app, pilot, "sort: recent")
        assert state.sort == "threaded"
        await click(app, pilot, "? keys")
        assert isinstance(app.screen, HelpScreen)

    app = BranchlineApp(
        BrowserState(
            LibrarySource.everywhere(),
            "here",
            Pins(str(tmp_path / "pins.json")),
            now=time.time,
            home=os.path.expanduser("~"),
        )
    )
    drive(app, told, (width, 24))


def test_a_format_that_fails_in_its_own_way_costs_a_notice_and_not_the_app(sessions: Path) -> None:
    app = app_on(sessions)

    def broken(*_arguments: object) -> object:
        raise RuntimeError("a plugin of somebody")

    app.source.describe = app.source.open = broken  # type: ignore[method-assign, assignment]

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "down", "t")
        assert "cannot open it: a plugin of somebody" in said(app)
        assert "a plugin of somebody" in screen(app)  # in the place of the preview
        app.source.forest = broken  # type: ignore[method-assign, assignment]
        await press(pilot, "f")
        assert "cannot be listed: a plugin of somebody" in said(app)

    drive(app, told)


def test_two_marked_sessions_are_compared_wherever_the_cursor_is(sessions: Path) -> None:
    """Marking moves the cursor on: after two marks it is on a third session."""

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "space", "space")
        assert len(app.browser.state.marked) == 2
        await press(pilot, "c")
        await settle(pilot)
        assert isinstance(app.screen, CompareScreen)

    drive(app_on(sessions), told)


def test_a_thread_with_a_pinned_session_is_on_top_when_sessions_are_threaded(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        last = app.browser.state.items[-1].row
        await press(pilot, "end", "p", "s")
        state = app.browser.state
        assert state.sort == "threaded"
        assert row_name(state.items[0].row) == row_name(last)
        assert state.items[0].pinned

    drive(app_on(sessions), told)
