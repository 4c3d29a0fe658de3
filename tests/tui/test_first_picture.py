"""What is drawn before Textual is loaded is what Textual draws first, cell by cell."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from rich.color import ColorSystem
from rich.segment import Segment

from branchline import SessionLibrary
from branchline.tui.app import BranchlineApp
from branchline.tui.first_frame import Area, color_system, first_frame, to_ansi
from branchline.tui.screens.browser import BrowserScreen
from branchline.tui.styles import DARK, GROUNDS, styles_for
from branchline.views.browser.state import BrowserState
from branchline.views.spans import Span, cut_line, line_width
from tui.kit import app_on, screen, state_of, talk

Cell = tuple[str, str | None, str | None]


def drawn_cells(picture: list[list[Area]]) -> list[list[Cell]]:
    """Each cell of a picture with its colours."""
    grounds, styles = GROUNDS[DARK], styles_for(DARK)
    rows = []
    for row in picture:
        cells: list[Cell] = []
        for area in row:
            shown = cut_line(area.line, area.columns)
            for text, role in (*shown, Span(" " * (area.columns - line_width(shown)))):
                ink = styles[role].color
                color = grounds[area.ink] if ink is None else ink.name
                cells += [(letter, None if letter == " " else color, grounds[area.ground]) for letter in text]
        rows.append(cells)
    return rows


def textual_cells(segments: list[Segment]) -> list[Cell]:
    cells: list[Cell] = []
    for text, style, _control in segments:
        color = None if style is None or style.color is None else style.color.name
        ground = None if style is None or style.bgcolor is None else style.bgcolor.name
        cells += [(letter, None if letter == " " else color, ground) for letter in text]
    return cells


def both(
    state: BrowserState, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> tuple[list[list[Cell]], list[list[Cell]]]:
    """The picture of a state that has read its first batch, and the screen that Textual makes of it."""
    state.begin()
    state.loaded.batches = iter(())  # nothing more comes, and nothing is counted: both show the same
    for name in ("_rested", "count_costs", "ask_inside"):
        monkeypatch.setattr(BrowserScreen, name, lambda _browser: None)
    ours = drawn_cells(first_frame(state, *size))
    app = BranchlineApp(state)
    theirs: list[list[Cell]] = []

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            theirs.extend(textual_cells(list(strip)) for strip in app.screen._compositor.render_strips())

    asyncio.run(run())
    return ours, theirs


@pytest.mark.parametrize("size", [(80, 24), (160, 48), (113, 30), (110, 21), (60, 14), (40, 10)])
def test_nothing_moves_when_textual_takes_the_screen_over(
    sessions: Path, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        talk(sessions, 10 + number / 10, f"Question {number}", title=f"Session {number}").close()

    ours, theirs = both(state_of(sessions), size, monkeypatch)

    bar = min(size[0], 120)
    # The last line names the best action for the first session, which only the app finds out.
    for row, (drawn, shown) in enumerate(zip(ours[:-1], theirs[:-1], strict=True)):
        # The last column of the list has the scroll bar; the preview comes later.
        assert [cell[0] for cell in drawn[: bar - 1]] == [cell[0] for cell in shown[: bar - 1]], row
        assert drawn[: bar - 1] == shown[: bar - 1], row


def test_an_empty_list_and_a_search_are_drawn_as_textual_draws_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = both(state_of(tmp_path, words="nothing"), (80, 24), monkeypatch)

    assert ["".join(cell[0] for cell in row) for row in ours[:-1]] == [
        "".join(cell[0] for cell in row) for row in theirs[:-1]
    ]


def test_the_words_of_sessions_cannot_act_on_the_terminal_in_the_first_picture(sessions: Path) -> None:
    state = state_of(sessions)
    state.begin()

    text = to_ansi(first_frame(state, 80, 24), DARK, None)

    for number, row in enumerate(text.split("\x1b[")[1:], 1):
        assert row.startswith(f"{number};1H")  # no other sequence than ours
        assert all(letter.isprintable() for letter in row)


@pytest.mark.parametrize(
    ("environment", "system"),
    [
        ({"COLORTERM": "truecolor", "TERM": "xterm"}, ColorSystem.TRUECOLOR),
        ({"TERM": "screen-256color"}, ColorSystem.EIGHT_BIT),
        ({"TERM": "linux"}, ColorSystem.STANDARD),
        ({"COLORTERM": "truecolor", "NO_COLOR": "1"}, None),
    ],
)
def test_a_terminal_gets_the_colours_that_it_has(
    environment: dict[str, str], system: ColorSystem | None
) -> None:
    assert color_system(environment) is system


def test_a_source_that_fails_at_the_first_look_is_told_by_the_app_and_does_not_end_it(
    sessions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_on(sessions)
    state = app.browser.state

    def broken(*_arguments: object, **_options: object) -> object:
        raise RuntimeError("a format of another package fell over")

    monkeypatch.setattr(SessionLibrary, "iter_rows", broken)
    assert state.begin()  # something is there, even if it is only the failure

    async def run() -> str:
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause(0.3)
            return screen(app)

    assert "fell over" in asyncio.run(run())


def test_the_first_picture_needs_neither_textual_nor_an_event_loop(sessions: Path) -> None:
    code = (
        "import sys\n"
        "from branchline.views.browser.state import BrowserState\n"
        "from branchline.tui.first_frame import first_frame, to_ansi\n"
        "from branchline.tui.styles import DARK\n"
        "from branchline.library.pins import Pins\n"
        "from branchline import SessionLibrary\n"
        "from branchline.library.browser_source import LibrarySource\n"
        "import branchline.cli.commands.browse, branchline.tui.launch, branchline.tui.terminal_handover\n"
        f"state = BrowserState(LibrarySource(SessionLibrary({str(sessions)!r})), 'here', Pins(), now=lambda: 0.0)\n"
        "state.begin()\n"
        "assert 'Refunds' in to_ansi(first_frame(state, 80, 24), DARK, None)\n"
        "print(*sorted({'textual', 'asyncio', 'pluggy', 'importlib.metadata', 'rich.console', 'rich.markdown'}"
        " & set(sys.modules)))\n"
    )

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert said.split() == []
