"""The tree navigator, driven by keys, as pi's: filters, search, folds, labels; and what is done from it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from textual.pilot import Pilot

from branchline import Session, SessionLibrary, places
from branchline.actions.summary_model import SummaryModel
from branchline.tui.app import BranchlineApp
from branchline.tui.screens.streaming_dialog import StreamingDialog
from branchline.tui.screens.tree import TreeScreen
from branchline.tui.screens.turns import TurnPickerScreen
from branchline.tui.widgets.line_bar import LineBar
from branchline.views.text import width
from support import CORPUS
from tui.kit import CWD, answer, app_on, call, drive, press, result, said, screen, settle, story, talk, user


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return story(tmp_path / "sessions")


def tree(app: BranchlineApp) -> TreeScreen:
    assert isinstance(app.screen, TreeScreen)
    return app.screen


def texts(app: BranchlineApp) -> list[str]:
    state = tree(app).tree_state
    return ["".join(span.text for span in state.line(index, 200))[2:].strip() for index in range(len(state))]


def here(app: BranchlineApp) -> str:
    state = tree(app).tree_state
    return texts(app)[state.cursor]


async def open_tree(pilot: Pilot[int]) -> None:
    await press(pilot, "alt+t", "ctrl+t")  # the story is the only session with a title


@pytest.mark.parity("OMP-11")
def test_rows_filters_search_and_folds_are_those_of_pi(path: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await open_tree(pilot)
        assert here(app).endswith("← you are here")
        assert texts(app)[4].startswith("├⊟ • [branch summary]")  # the active branch first
        everything = len(texts(app))

        await press(pilot, "alt+u")
        assert [line for line in texts(app) if "user:" not in line] == []
        await press(pilot, "alt+u", "alt+t")
        assert not any("[bash" in line for line in texts(app))
        await press(pilot, "alt+l")
        assert [line.split("assistant")[0].strip() for line in texts(app)] == ["[frozen clock]"]
        await press(pilot, "alt+a")
        assert len(texts(app)) > everything
        await press(pilot, "alt+d", "f8", "f8")
        assert tree(app).tree_state.filter == "user-only"
        await press(pilot, "alt+d")

        await press(pilot, "=longer fault")
        assert len(texts(app)) == 1
        assert "Longer tokens hide the fault" in texts(app)[0]
        await press(pilot, "escape")
        assert len(texts(app)) == everything

        await press(pilot, "end", "ctrl+left")
        assert "user: Or make the tokens longer?" in here(app)
        await press(pilot, "ctrl+left")
        assert here(app).startswith("└⊞")
        assert len(texts(app)) == everything - 1
        await press(pilot, "ctrl+right")
        assert len(texts(app)) == everything
        await press(pilot, "home", "up")
        assert tree(app).tree_state.cursor == everything - 1  # around the end

    drive(app_on(path.parent), told)


def test_the_header_names_the_program_that_owns_the_session_not_its_format(tmp_path: Path) -> None:
    with talk(Path(places.session_directory(CWD)), 1, "Where am I?") as session:
        own = Path(str(session.file))
    path = story(tmp_path / "sessions")

    async def ours(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "ctrl+t")
        assert screen(app).split("\n")[0].endswith("  branchline, 2 messages")

    async def elsewhere(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await open_tree(pilot)
        assert screen(app).split("\n")[0].endswith("  pi, 8 messages")

    drive(app_on(own.parent), ours)
    drive(app_on(path.parent), elsewhere)


def test_where_one_stands_is_said_also_in_a_narrow_terminal(tmp_path: Path) -> None:
    talk(tmp_path, 1, "長い質問 " * 40).close()

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "ctrl+t")
        (line,) = [line for line in screen(app).split("\n") if "you are here" in line]
        assert line.rstrip().endswith("…  ← you are here")

    drive(app_on(tmp_path), told, (50, 24))


def test_turns_of_wide_characters_keep_their_tools_in_one_column(tmp_path: Path) -> None:
    with Session.create(CWD, directory=tmp_path) as session:
        for text in ("短い", "長い質問 " * 40):
            session.append_message(user(text))
            session.append_message(answer("", call("c", "read", path="x")))
            session.append_message(result("c", "read", "words"))
            session.append_message(answer("Read."))

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "ctrl+t", "ctrl+g")
        lines = [line for line in screen(app).split("\n") if "1 tool" in line]
        assert len(lines) == 2
        assert {width(line.rstrip()) for line in lines} == {79}

    drive(app_on(tmp_path), told)


def test_jumps_go_by_prompt_and_by_end_of_branch(path: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await open_tree(pilot)
        await press(pilot, "home", "alt+down")
        assert "user: This is what I see" in here(app)
        await press(pilot, "tab", "tab")
        assert "[frozen clock]" in here(app)
        await press(pilot, "shift+tab")
        assert "you are here" in here(app)

    drive(app_on(path.parent), told)


@pytest.mark.parity("OMP-10")
def test_a_label_is_an_entry_shown_on_its_node_and_edited_with_shift_l(path: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await open_tree(pilot)
        await press(pilot, "L", "=here [x]", "enter")
        assert "[here [x]] assistant" in here(app)
        await press(pilot, "T")
        assert ":" in here(app).split("]] ")[1].split(" assistant")[0]
        await press(pilot, "L", *["backspace"] * 8, "enter")
        assert "[here" not in here(app)

    drive(app_on(path.parent), told)

    with Session.open(path) as session:
        labels = [entry.label for entry in session.entries() if entry.type == "label"]  # type: ignore[union-attr]
        assert labels[-2:] == ["here [x]", None]


@pytest.mark.parity("OMP-12", part="the tree and going to an entry from it")
def test_going_back_to_a_prompt_stands_before_it_and_copies_its_text(path: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await open_tree(pilot)
        await press(pilot, "=freeze the clock then", "enter", "enter")
        assert app.clipboard == "Freeze the clock then"
        assert "The token **expires**" in here(app)
        assert "you are here" in here(app)

    drive(app_on(path.parent), told)

    with Session.open(path) as session:
        assert session.leaf is not None
        assert "midnight" in str(session.entry(session.leaf))


def test_a_model_sums_up_the_branch_that_is_left_looking_at_what_it_is_told(path: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await open_tree(pilot)
        await press(pilot, "=done: the test", "enter", "down", "down")
        assert "by offline/echo" in screen(app)
        await press(pilot, "enter", "=offline: say The screenshot was of no use", "enter")
        assert isinstance(app.screen, TreeScreen)
        assert "[branch summary]" in here(app)
        assert "you are here" in here(app)

    drive(app_on(path.parent, summary_model=SummaryModel(name="offline/echo")), told)

    with Session.open(path) as session:
        summary = session.entry(str(session.leaf))
        assert summary.type == "branch_summary"
        assert "The screenshot was of no use" in str(summary)


def test_escape_stops_the_model_that_writes_and_nothing_has_moved(path: Path) -> None:
    before = path.read_bytes()

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await open_tree(pilot)
        await press(pilot, "=done: the test", "enter", "down", "down", "enter")
        await pilot.press(*"offline: slow 9", "enter")
        while not isinstance(app.screen, StreamingDialog):
            await pilot.pause(0.02)
        assert "nothing is written yet" in screen(app)
        await press(pilot, "escape")
        assert isinstance(app.screen, TreeScreen)
        assert "not moved: cancelled" in said(app)

    drive(app_on(path.parent, summary_model=SummaryModel(name="offline:echo")), told)

    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (None, "config set model"),
        (SummaryModel(name="nobody"), "is not a model name"),
        (SummaryModel(name="offline:echo"), "was told to refuse this request"),
    ],
)
def test_without_a_model_that_can_write_it_is_said_and_nothing_moves(
    path: Path, model: SummaryModel | None, reason: str
) -> None:
    before = path.read_bytes()

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await open_tree(pilot)
        await press(pilot, "=done: the test", "enter", "down", "down", "enter")
        if model is not None:
            await press(pilot, "=offline: fail refused", "enter")
        assert isinstance(app.screen, TreeScreen)
        assert reason in said(app)

    drive(app_on(path.parent, summary_model=model), told)

    assert path.read_bytes() == before


def test_a_summary_of_the_branch_that_is_left_stands_at_the_new_place(path: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await open_tree(pilot)
        await press(pilot, "=done: the test", "enter", "down", "enter", "=The picture was of no use", "enter")
        assert "[branch summary]" in here(app)
        assert "The picture was of no use" in here(app)

    drive(app_on(path.parent), told)


def test_forking_from_the_tree_makes_a_linked_session_and_leaves_this_one(path: Path) -> None:
    before = path.read_bytes()

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await open_tree(pilot)
        await press(pilot, "=frozen clock", "enter", "down", "down", "down", "down", "enter")
        assert "forked into" in said(app)
        await press(pilot, "escape", "escape", "alt+t")
        assert len(app.browser.state.items) == 3

    drive(app_on(path.parent), told)

    assert path.read_bytes() == before
    rows = SessionLibrary(path.parent).list(deep=True)
    assert sum(row.parent_session == str(path) for row in rows) == 2


@pytest.mark.parity("ZOT-15")
def test_the_turn_picker_filters_jumps_forks_and_forgets_when_it_is_left(path: Path) -> None:
    library = SessionLibrary(path.parent)

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await open_tree(pilot)
        await press(pilot, "ctrl+g")
        assert isinstance(app.screen, TurnPickerScreen)
        assert "2 tools" in screen(app)
        await press(pilot, "=monday")
        assert len(app.screen.shown) == 1
        await press(pilot, "enter")
        assert "user: The checkout test is red" in here(app)
        await press(pilot, "ctrl+g", "=what i see", "escape", "escape")
        assert len(library.list()) == 2  # left: nothing was forked
        await press(pilot, "ctrl+g", "=what i see", "ctrl+o")
        assert len(library.list()) == 3

    drive(app_on(path.parent), told)


def test_a_path_is_exported_as_markdown_into_a_new_private_file(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await open_tree(pilot)
        await press(pilot, "enter", *["down"] * 9, "enter", "end", "enter")
        assert "written:" in said(app)

    drive(app_on(path.parent), told)

    (made,) = tmp_path.glob("*.md")
    assert "The screenshot shows the same 401." in made.read_text()
    assert made.stat().st_mode & 0o777 == 0o600


def test_what_another_program_appends_is_shown_and_the_cursor_stays(path: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await open_tree(pilot)
        await press(pilot, "home")
        with Session.open(path) as other:
            other.append_message(user("from elsewhere"))
            other.append_message(answer("seen"))
        tree(app)._look()
        await settle(pilot)
        assert any("user: from elsewhere" in line for line in texts(app))
        assert "user: The checkout test" in here(app)

    drive(app_on(path.parent), told)


def test_a_file_that_shrinks_or_vanishes_is_told_once_and_nothing_breaks(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await open_tree(pilot)
        os.truncate(path, sum(map(len, lines[:4])))
        tree(app)._look()
        await settle(pilot)
        assert "was truncated" in said(app)
        assert len(texts(app)) == 2
        os.unlink(path)
        tree(app)._look()
        tree(app)._look()
        await settle(pilot)
        assert said(app).count("was deleted") == 1
        assert len(texts(app)) == 2

    drive(app_on(path.parent), told)


def test_a_branch_is_called_by_the_label_at_its_end_where_it_begins_and_when_it_is_folded(path: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await open_tree(pilot)
        assert "├⊟ user: Freeze the clock then  ⋯ [frozen clock]" in screen(app)
        state = tree(app).tree_state
        place = next(at for at in range(len(state)) if "Freeze" in texts(app)[at])
        tree(app).list.move_to(place)
        await press(pilot, "ctrl+left")
        assert "├⊞ user: Freeze the clock then  ⋯ [frozen clock]" in screen(app)
        await press(pilot, "L", "=mine", "enter")
        assert "[mine] user: Freeze the clock then" in screen(app)  # its own label is enough

    drive(app_on(path.parent), told)


def test_damage_is_shown_in_its_place_with_its_reason(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    lines[4] = lines[4][: len(lines[4]) // 2] + b"\n"
    path.write_bytes(b"".join(lines))

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await open_tree(pilot)
        assert "finding" in screen(app)
        assert sum("[damaged]: unreadable (" in row for row in texts(app)) == 1
        await press(pilot, "f3")
        assert "line 5" in screen(app)

    drive(app_on(path.parent), told)


def test_keys_that_come_faster_than_the_screen_is_drawn_act_on_the_row_that_they_reached(path: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await open_tree(pilot)
        screen_ = tree(app)
        screen_.action_first()
        screen_.action_step(1)
        assert screen_.key == screen_.session.index.keys[screen_.tree_state.outline.positions[1]]

    drive(app_on(path.parent), told)


@pytest.mark.parity("OMP-17", part="the mark of the cursor")
def test_the_mark_of_the_cursor_is_on_one_row_only_however_fast_it_moves(sessions: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "ctrl+t")
        for key in ("home", "down", "down", "down", "up", "end", "up", "up"):
            await pilot.press(key)
            marked = [line for line in screen(app).splitlines() if line.startswith("▌")]
            assert len(marked) == 1

    drive(app_on(sessions), told)


def test_a_session_that_is_only_read_is_offered_nothing_that_writes(tmp_path: Path) -> None:
    folder = tmp_path / "claude"
    folder.mkdir()
    source = min((CORPUS / "claude-code" / "synthetic").rglob("*.jsonl"))
    (folder / source.name).write_bytes(source.read_bytes())

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "shift+tab")
        await press(pilot, "ctrl+t")
        assert isinstance(app.screen, TreeScreen)
        await press(pilot, "enter")
        shown = screen(app)
        assert "Fork at this entry" in shown
        assert "Go back" not in shown
        assert "Label it" not in shown
        await press(pilot, "escape", "L")
        assert isinstance(app.screen, TreeScreen)  # and not the question for a label
        assert "Graft" not in shown
        await press(pilot, "f2", "ctrl+z")
        assert "not named: this session is read-only" in said(app)
        assert "not undid" not in said(app)
        assert "not undone: this session is read-only" in said(app)
        assert "label" not in tree(app).query_one("#hints", LineBar).words
        assert "undo" not in tree(app).query_one("#hints", LineBar).words

    drive(app_on(folder), told)
