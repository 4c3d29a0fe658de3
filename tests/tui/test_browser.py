"""The session browser, driven by keys: find, mark, pin, rename, delete, undo, continue."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from branchline import Session, SessionLibrary, demo
from branchline.library.browser_source import LibrarySource
from branchline.library.pins import Pins
from branchline.tui.app import BranchlineApp
from branchline.tui.screens.browser import BrowserScreen
from branchline.tui.screens.compare import CompareScreen
from branchline.tui.screens.dialogs import ConfirmDialog, SelectDialog
from branchline.tui.screens.help import HelpScreen
from branchline.tui.screens.statistics import StatisticsScreen
from branchline.tui.screens.transcript import TranscriptScreen
from branchline.tui.screens.tree import TreeScreen
from branchline.tui.widgets.field import Field
from branchline.tui.widgets.line_bar import LineBar
from branchline.views.browser.source import Scope
from branchline.views.browser.state import BrowserState
from branchline.views.hits import Hits
from branchline.views.query import Query
from branchline.views.session_row import row_name
from tui.kit import CWD, app_on, drive, press, said, screen, settle, state_of, talk


def names(app: BranchlineApp) -> list[str]:
    return [item.row.title or item.row.first_prompt or item.row.key for item in app.browser.state.items]


def test_a_search_narrows_the_list_as_it_is_typed_looks_inside_and_says_what_is_wrong_with_it(
    sessions: Path,
) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        assert len(names(app)) == 6
        await press(pilot, "=refunds")
        assert names(app) == ["Refunds"]
        await press(pilot, "escape", "=midnight role:assistant")
        assert names(app) == ["Red checkout test"]  # its fork has the same entry: one place in two sessions
        assert "place 1 of 1 in 1 session" in app.browser.query_one("#search", LineBar).words
        assert "in 2 sessions" in screen(app)
        await press(pilot, "escape", "=label:frozen")
        assert names(app) == ["Red checkout test"]
        await press(pilot, "escape", "=after:soon")
        assert names(app) == []
        assert "is not a valid time" in screen(app)
        await press(pilot, "escape")
        assert len(names(app)) == 6
        assert app.browser.words == ""

    drive(app_on(sessions), told)


def test_a_search_without_matches_names_the_keys_that_lead_somewhere(tmp_path: Path) -> None:
    talk(tmp_path, 1, "hello").close()

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "=pi")
        assert "No session matches pi." in screen(app)
        assert "agent:pi, 1 session" in screen(app)
        assert "search all directories" in screen(app)
        assert "Esc clear" in app.browser.query_one("#hints", LineBar).words
        await press(pilot, "ctrl+u", "=agent:pi")
        assert len(names(app)) == 1
        await press(pilot, "ctrl+t", "ctrl+z")
        assert "nothing to undo" in said(app)

    drive(app_on(tmp_path), told)


def test_the_first_line_keeps_the_screen_and_cuts_the_title_or_the_first_prompt(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "=dark theme", "ctrl+t")
        place = app.screen.query_one("#top", LineBar)
        assert " branchline / shop / Add a dark theme / Tree " in place.words
        await pilot.resize_terminal(54, 24)
        await settle(pilot)
        assert "… / Tree " in place.words

    drive(app_on(sessions), told)


def test_typing_a_word_changes_nothing_but_the_search(sessions: Path) -> None:
    """Whatever a word is made of: every letter of these acted once."""
    before = sorted(file.name for file in sessions.iterdir())

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        state = app.browser.state
        chosen = (state.scope, state.sort, state.agent, state.shape, state.grouped, state.paths)
        for words in ("deploy", "quit nausea", "xyz?!", "t"):
            await press(pilot, *words)  # key by key
            assert app.browser.words == words
            assert app.screen is app.browser
            assert not state.marked
            assert (state.scope, state.sort, state.agent, state.shape, state.grouped, state.paths) == chosen
            await press(pilot, "escape")
        assert app.browser.words == ""
        assert len(names(app)) == 6

    drive(app_on(sessions), told)

    assert sorted(file.name for file in sessions.iterdir() if file.name != "own") == before


def test_enter_right_behind_the_letters_of_a_filter_chooses_what_they_find(sessions: Path) -> None:
    """A terminal may deliver a burst of keys at once: Enter must not overtake what was typed before it."""

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "ctrl+o")
        dialog = app.screen
        assert isinstance(dialog, SelectDialog)
        dialog.query_one(Field).edit.insert("copy")  # its message is still on the way
        dialog.action_choose()
        await settle(pilot)
        assert " copied: " in said(app)

    drive(app_on(sessions), told)


def test_letters_act_where_the_settings_say_so_and_a_search_begins_with_a_slash(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "slash", *"dq")
        assert app.browser.words == "dq"
        await press(pilot, "backspace", "backspace", "enter", "n")
        assert all(item.row.title for item in app.browser.state.items)
        await press(pilot, "n", "space", "d")
        assert isinstance(app.screen, ConfirmDialog)
        await press(pilot, "escape", "t")
        assert isinstance(app.screen, TreeScreen)
        await press(pilot, "escape", "q", "q")
        assert not app.is_running

    drive(BranchlineApp(state_of(sessions, letters=True)), told)


def test_the_search_line_has_the_keys_of_readline(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "=refunds euros", "ctrl+w", "ctrl+a", "=x", "ctrl+e", "ctrl+h", "ctrl+b", "ctrl+k")
        assert app.browser.words == "xrefund"
        await press(pilot, "ctrl+y", "ctrl+u")
        assert app.browser.words == ""
        await press(pilot, "ctrl+y", "left", "delete")
        assert app.browser.words == "xrefund"
        assert app.screen is app.browser

    drive(app_on(sessions), told)


def test_a_hit_is_shown_marked_stepped_through_and_opened_on_its_branch(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "=longer")
        assert "place 1 of" in screen(app)
        assert "Longer tokens hide the fault" in screen(app)
        roles = [hit.role for hits in app.browser.state.hits.values() for hit in hits]
        place = app.browser.state.place
        await press(pilot, *["f3"] * roles.index("assistant"))
        assert len(roles) == 1 or app.browser.state.place != place
        hit = app.browser.hit
        assert hit is not None
        assert not hit.on_path
        assert "on another branch" in screen(app)
        await press(pilot, "enter")
        assert isinstance(app.screen, TranscriptScreen)
        reading = app.screen
        assert reading.words == "longer"
        assert reading.conversation.place == "elsewhere"
        part = reading.conversation.parts[reading.view.selected[0]]
        assert hit.entry in [reading.session.index.keys[position] for position in part]
        assert any(
            "longer" in text.lower() and style is not None and style.underline
            for strip in reading._compositor.render_strips()
            for text, style, _control in strip
        )

    drive(app_on(sessions), told, (120, 36))


def test_an_answer_to_words_that_are_no_longer_searched_for_is_dropped(sessions: Path) -> None:
    app = app_on(sessions)
    asked: list[str] = []
    search = app.source.search

    def slow(scope: Scope, query: Query, *, limit: int) -> Hits:
        asked.append(" ".join(query.words))
        time.sleep(0.15)
        return search(scope, query, limit=limit)

    app.source.search = slow  # type: ignore[method-assign]

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        for end in range(1, 8):
            app.browser.set_words("refunds"[:end])
            app.browser.search_changed()
        await pilot.pause(0.5)
        await settle(pilot)
        assert names(app) == ["Refunds"]
        assert asked[-1] == "refunds"
        assert len(asked) < len("refunds")  # one question at a time, and only the last

    drive(app, told)


def test_a_search_that_lacked_sessions_is_repeated_when_they_are_in_the_index(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "=zzzqq")
        cut = Hits(sessions=6, searched=2, unindexed=4, is_complete=False)
        app.browser.state.take_hits(cut)
        app.browser.show_everything()
        await pilot.pause()
        assert "only 2 of 6 sessions searched, no matches in these" in screen(app)
        assert "4 sessions not indexed yet" in screen(app)
        app.browser.count_costs()
        await settle(pilot)
        assert "no matches in 5 sessions" in screen(app)  # the sixth cannot be read
        assert "not indexed yet" not in screen(app)

    drive(app_on(sessions), told)


def test_several_sessions_go_to_the_trash_at_once_and_come_back_with_one_key(sessions: Path) -> None:
    library = SessionLibrary(sessions)

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        before = names(app)
        await press(pilot, "insert", "insert", "delete", "enter")
        assert names(app) == before[2:]
        assert len(library.trash()) == 2
        await press(pilot, "ctrl+z")
        assert sorted(names(app)) == sorted(before)
        assert library.trash() == []
        await press(pilot, "ctrl+z")
        assert "nothing to undo" in said(app)

    drive(app_on(sessions), told)


def test_sessions_are_removed_only_after_a_question_that_says_who_will_miss_them(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "delete")
        assert isinstance(app.screen, ConfirmDialog)
        asked = " ".join(screen(app).split())
        assert "Move 1 session to the trash? 1 of pi. That program will no longer list it. Ctrl+Z" in asked
        await press(pilot, "y", "escape")  # a letter confirms nothing
        assert len(names(app)) == 6
        await press(pilot, "delete", "enter")
        assert len(names(app)) == 5
        assert "no longer exists" not in said(app)
        await press(pilot, "ctrl+z")
        assert len(names(app)) == 6

    drive(app_on(sessions), told)  # a directory that is not ours, as `browse --dir` opens it


def test_a_title_is_written_into_the_session_and_the_file_keeps_its_name(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "=dark theme")
        row = app.browser.row
        assert row is not None
        await press(pilot, "f2", "=Night", "enter")
        assert names(app) == ["Night"]
        assert app.browser.row is not None
        assert app.browser.row.path == row.path

    drive(app_on(sessions), told)


def test_pins_stay_on_top_and_are_kept_in_a_file_of_our_own(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "=refunds", "alt+p", "escape")
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
        await press(pilot, "ctrl+s", "ctrl+s")
        text = screen(app)
        assert "└─ In a fork: rewrite the token module" in text
        assert text.index("Red checkout test") < text.index("└─")

    drive(app_on(sessions), told)


def test_the_other_scope_is_read_when_first_chosen(sessions: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    talk(other, 30, "Something elsewhere", cwd="/home/u/other").close()
    shutil.copytree(sessions, other, dirs_exist_ok=True)
    app = app_on(sessions)
    app.source._libraries["all"] = SessionLibrary(other)  # type: ignore[attr-defined]

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        assert "Something elsewhere" not in names(app)
        await press(pilot, "shift+tab")
        assert "Something elsewhere" in names(app)
        assert "~/other" in screen(app)
        await press(pilot, "shift+tab")
        assert "Something elsewhere" not in names(app)

    drive(app, told, (120, 30))


def test_the_command_that_continues_a_session_is_copied_as_it_would_be_typed(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        row = app.browser.row
        assert row is not None
        await press(pilot, "alt+c")
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
        await press(pilot, "alt+i")
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


def test_a_copy_that_lacks_messages_is_made_only_after_a_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Session.create(tmp_path, directory=tmp_path / "kept", persist="at_once") as session:
        session.append_message("an old prompt")
        session.append_compaction("in short", session.append_message("a kept prompt"), 100)
    program = tmp_path / "bin" / "zot"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    monkeypatch.setenv("ZOT_HOME", str(tmp_path / "zot"))
    ran: list[tuple[str, ...]] = []
    app = app_on(tmp_path / "kept", scope="all")
    monkeypatch.setattr(app, "go_on", lambda going, *, cwd: ran.append(going.command))

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        for _ in range(2):
            await press(pilot, "alt+i", "enter")
            await settle(pilot)
            assert isinstance(app.screen, ConfirmDialog)
            assert "zot would lack 1 message of the path" in screen(app)
            assert not list((tmp_path / "zot").rglob("*.jsonl"))
            await press(pilot, "escape")
        await press(pilot, "alt+i", "enter")
        await settle(pilot)
        await press(pilot, "enter")
        await settle(pilot)
        (copy,) = (tmp_path / "zot").rglob("*.jsonl")
        assert ran == [("zot", "--session", str(copy))]

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
        await press(pilot, "ctrl+t")
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
            patch.setattr(app.browser, "action_open", lambda: chosen.append(True))
            await pilot.double_click("#rows", offset=(10, 2))
            await settle(pilot)
        assert chosen

    drive(app_on(sessions), told)


@pytest.mark.parametrize("width", [60, 100])
def test_agents_scope_hints_and_screens_are_chosen_with_a_click_wherever_they_stand(
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
        await click(app, pilot, "branchline 4")
        assert state.agent == "branchline"
        await click(app, pilot, "All 8")
        assert state.agent is None
        await click(app, pilot, "+")  # those that do not fit
        await press(pilot, "=piglet", "enter")
        assert names(app) == ["What to call things"]
        await click(app, pilot, " ▾")
        assert state.scope == "all"
        await click(app, pilot, "F1 keys")
        assert isinstance(app.screen, HelpScreen)
        await press(pilot, "escape")
        await click(app, pilot, "Statistics")
        assert isinstance(app.screen, StatisticsScreen)

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
        await press(pilot, "down", "ctrl+t")
        assert "cannot open it: a plugin of somebody" in said(app)
        assert "a plugin of somebody" in screen(app)  # in the place of the preview
        app.source.forest = broken  # type: ignore[method-assign, assignment]
        await press(pilot, "f9")
        assert "cannot be listed: a plugin of somebody" in said(app)

    drive(app, told)


def test_two_marked_sessions_are_compared_wherever_the_cursor_is(sessions: Path) -> None:
    """Marking moves the cursor on: after two marks it is on a third session."""

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "insert", "insert")
        assert len(app.browser.state.marked) == 2
        await press(pilot, "f6")
        await settle(pilot)
        assert isinstance(app.screen, CompareScreen)

    drive(app_on(sessions), told)


def test_a_thread_with_a_pinned_session_is_on_top_when_sessions_are_threaded(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        last = app.browser.state.items[-1].row
        await press(pilot, "end", "alt+p", "ctrl+s", "ctrl+s")
        state = app.browser.state
        assert state.sort == "threaded"
        assert row_name(state.items[0].row) == row_name(last)
        assert state.items[0].pinned

    drive(app_on(sessions), told)


def test_a_session_that_is_picked_for_a_command_is_given_back_and_leaving_gives_none(sessions: Path) -> None:
    app = app_on(sessions, picking="show")

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        assert "Enter show" in screen(app)
        await press(pilot, "=refunds", "enter")
        assert not app.is_running

    drive(app, told)

    assert app.picked is not None
    assert app.picked.title == "Refunds"
    left = app_on(sessions, picking="show")
    drive(left, lambda _app, pilot: press(pilot, "escape"))
    assert left.picked is None


def test_the_demo_is_marked_on_every_screen_and_enter_reads_there(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        for keys in (
            (),
            ("enter",),
            ("f7",),
            ("escape", "ctrl+t"),
            ("escape", "escape", "f4"),
            ("escape", "f9"),
        ):
            await press(pilot, *keys)
            assert screen(app).splitlines()[0].rstrip().endswith("demo"), keys

    drive(BranchlineApp(state_of(sessions, demo=True)), told, (100, 30))


def test_a_session_is_expanded_in_place_and_rows_can_have_two_lines(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "down", "f8")
        row = app.browser.row
        assert row is not None
        assert row.id in screen(app)
        await press(pilot, "down", "up", "f8", "alt+r")
        assert app.browser.row == row
        assert row.id not in screen(app)
        assert screen(app).count("~/shop, claude-sonnet-4-5") >= 3

    drive(app_on(sessions), told, (120, 40))
